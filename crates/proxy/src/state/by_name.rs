//! Statements that a session has prepared by name, in text, and that can be prepared again over
//! another connection: those of which the text is known, as long as it means what it meant. They
//! bind nobody to a connection; all others are [pins](super::pins).

use crate::limits::NAMED_MAX;

/// The number of no connection.
const NOWHERE: u64 = u64::MAX;

/// The statements of one session. Without memory unless there are some.
#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "a session has 8 bytes for what nearly always is not there")]
pub(crate) struct ByName(Option<Box<Vec<One>>>);

/// A statement.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) name: Box<[u8]>,
    pub(crate) text: Box<[u8]>,
    /// Where the session stays as long as it has it.
    pub(crate) hostgroup: u32,
    /// The number of the connection where it is prepared: see
    /// [`serial`](crate::backend::Connection::serial).
    at: u64,
}

impl ByName {
    /// The statement is prepared at the connection with this number, in the place of an older one
    /// of its name. False if there are too many.
    pub(crate) fn add(&mut self, name: &[u8], text: &[u8], hostgroup: u32, at: u64) -> bool {
        self.remove(name);
        let all = self.0.get_or_insert_default();
        let has_room = all.len() < NAMED_MAX;
        if has_room {
            all.push(One { name: name.into(), text: text.into(), hostgroup, at });
        }
        has_room
    }

    /// There is none of this name any more. Returns the one that there was.
    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<One> {
        let at = self.iter().position(|one| *one.name == *name)?;
        let one = self.0.as_mut()?.swap_remove(at);
        self.0 = self.0.take().filter(|all| !all.is_empty());
        Some(one)
    }

    /// Those that are prepared anywhere, which are here no more.
    pub(crate) fn take_placed(&mut self) -> Vec<One> {
        let all = self.0.take().map(|all| *all).unwrap_or_default();
        let (placed, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.at != NOWHERE);
        self.0 = (!others.is_empty()).then(|| Box::new(others));
        placed
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &One> {
        self.0.iter().flat_map(|all| all.iter())
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut One> {
        self.0.iter_mut().flat_map(|all| all.iter_mut())
    }

    /// What this name stands for.
    pub(crate) fn text_of(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|one| *one.name == *name).map(|one| &*one.text)
    }

    /// The hostgroup in which they are prepared.
    pub(crate) fn hostgroup(&self) -> Option<u32> {
        self.iter().next().map(|one| one.hostgroup)
    }

    /// The names of those that are prepared at the connection with this number.
    pub(crate) fn names_at(&self, connection: u64) -> Vec<Box<[u8]>> {
        self.iter().filter(|one| one.is_at(connection)).map(|one| one.name.clone()).collect()
    }

    /// Those that are not prepared there.
    pub(crate) fn missing_at(&self, connection: u64) -> impl Iterator<Item = &One> {
        self.iter().filter(move |one| !one.is_at(connection))
    }

    /// The statement of this name is prepared there now.
    pub(crate) fn place(&mut self, name: &[u8], connection: u64) {
        if let Some(one) = self.iter_mut().find(|one| *one.name == *name) {
            one.at = connection;
        }
    }

    /// The statement of this name is prepared nowhere.
    pub(crate) fn lose(&mut self, name: &[u8]) {
        self.place(name, NOWHERE);
    }

    /// Those that are not prepared at the connection with this number are prepared nowhere.
    pub(crate) fn lose_all_but(&mut self, connection: u64) {
        for one in self.iter_mut().filter(|one| !one.is_at(connection)) {
            one.at = NOWHERE;
        }
    }

    /// The connection in this hostgroup is gone.
    pub(crate) fn forget(&mut self, hostgroup: u32) {
        for one in self.iter_mut().filter(|one| one.hostgroup == hostgroup) {
            one.at = NOWHERE;
        }
    }
}

impl One {
    /// Whether it is prepared at the connection with this number.
    pub(crate) const fn is_at(&self, connection: u64) -> bool {
        self.at == connection
    }

    /// What prepares it, in all modes in which its text means the same.
    pub(crate) fn prepare(&self) -> Vec<u8> {
        let mut text = [b"PREPARE `", &*self.name, b"` FROM '"].concat();
        for byte in &self.text {
            text.extend(std::iter::repeat_n(*byte, if *byte == b'\'' { 2 } else { 1 }));
        }
        text.push(b'\'');
        text
    }
}

/// What takes the statement of this name away from where it is.
pub(crate) fn deallocate(name: &[u8]) -> Vec<u8> {
    [b"DEALLOCATE PREPARE `", name, b"`"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_the_statement_that_was_prepared_last() {
        let mut all = ByName::default();
        assert!(all.add(b"a", b"SELECT 1", 7, 1) && all.add(b"b", b"SELECT 2", 7, 1));
        assert!(all.add(b"a", b"SELECT 3", 7, 2));
        assert_eq!((all.text_of(b"a"), all.text_of(b"c")), (Some(&b"SELECT 3"[..]), None));
        assert_eq!(all.names_at(1), [b"b".as_slice().into()]);
        assert_eq!(all.missing_at(1).map(|one| &*one.name).collect::<Vec<_>>(), [b"a"]);
        all.place(b"a", 1);
        assert_eq!(all.missing_at(1).count(), 0);
        all.forget(8);
        assert_eq!(all.missing_at(1).count(), 0, "that is elsewhere");
        all.forget(7);
        assert_eq!(all.missing_at(1).count(), 2);
        assert!(all.remove(b"a").is_some() && all.remove(b"a").is_none());
        assert_eq!((all.take_placed().len(), all.hostgroup()), (0, Some(7)), "it is nowhere");
        all.place(b"b", 3);
        assert_eq!((all.take_placed().len(), all.hostgroup()), (1, None));
    }

    #[test]
    fn c29_there_is_an_end_to_what_is_kept() {
        let mut all = ByName::default();
        let add = |all: &mut ByName, number: usize| all.add(number.to_string().as_bytes(), b"DO 1", 0, 1);
        assert!((0..NAMED_MAX).all(|number| add(&mut all, number)));
        assert!(!add(&mut all, NAMED_MAX));
        assert!(add(&mut all, 0), "it takes the place of another one");
    }

    #[test]
    fn what_is_said_again_is_the_same_statement() {
        let one = One {
            name: b"p".as_slice().into(),
            text: b"SELECT 'it''s', \"x\"".as_slice().into(),
            hostgroup: 0,
            at: 0,
        };
        assert_eq!(one.prepare(), b"PREPARE `p` FROM 'SELECT ''it''''s'', \"x\"'");
        assert_eq!(deallocate(b"p"), b"DEALLOCATE PREPARE `p`");
    }
}

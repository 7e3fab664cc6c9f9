//! The statements of a session that one connection has.

use wire::reply::Prepared;

/// How a statement has come to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// The session has prepared it, or has executed it since it got it.
    Prepared,
    /// The same, and it says what was known then: the next execution needs another one.
    ForOnce,
    /// Another session has left it, and has executed it last.
    Reused,
}

/// A statement at one server.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// What the server has answered when it was prepared; columns are those of the last execution.
    pub statement: Prepared,
    /// How it has come.
    pub came: Came,
    /// Which types of its parameters the server has, as its session numbers them.
    pub types: u64,
}

impl Place {
    /// The session is the one that has executed it last.
    pub fn note_own(&mut self) {
        if self.came == Came::Reused {
            self.came = Came::Prepared;
        }
    }
}

/// Those of one connection, by serial number, in order. A statement has a serial number in its
/// session, which no later one gets: a closed one is not taken for another.
#[derive(Debug, Default)]
pub struct Places(Vec<(u64, Place)>);

impl Places {
    fn find(&self, serial: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&serial, |(serial, _)| *serial)
    }

    /// The place of a statement.
    pub fn get(&self, serial: u64) -> Option<&Place> {
        self.0.get(self.find(serial).ok()?).map(|(_, place)| place)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, serial: u64) -> Option<&mut Place> {
        let at = self.find(serial).ok()?;
        self.0.get_mut(at).map(|(_, place)| place)
    }

    /// A statement has come.
    pub fn add(&mut self, serial: u64, statement: Prepared, came: Came) {
        let place = Place { statement, came, types: 0 };
        match self.find(serial) {
            Ok(at) => self.0.splice(at..=at, [(serial, place)]).for_each(drop),
            Err(at) => self.0.insert(at, (serial, place)),
        }
    }

    /// It is there no more. Returns its number there.
    pub fn leave(&mut self, serial: u64) -> Option<u32> {
        let at = self.find(serial).ok()?;
        Some(self.0.remove(at).1.statement.id)
    }

    /// None is there any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn statement(id: u32) -> Prepared {
        Prepared { id, params: 0, columns: 1, warnings: 0 }
    }

    #[test]
    fn statements_are_found_by_their_serial_numbers() {
        let mut places = Places::default();
        for (serial, id) in [(3, 3), (1, 1), (2, 2)] {
            places.add(serial, statement(id), Came::Prepared);
        }
        let id = |places: &Places, serial| places.get(serial).map(|place| place.statement.id);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|serial| id(&places, serial)),
            [None, Some(1), Some(2), Some(3), None]
        );
        assert_eq!((places.leave(2), places.leave(2)), (Some(2), None));
        assert_eq!([1, 2, 3].map(|serial| id(&places, serial)), [Some(1), None, Some(3)]);
        places.clear();
        assert!(places.get(1).is_none());
    }
}

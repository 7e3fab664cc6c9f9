//! The statements that are prepared at a connection.
//!
//! One whose text is kept outlives the session that has prepared it: the next session that executes
//! this text, where texts mean the same, finds it there. One session has it at a time, because
//! servers remember the types of a statement's parameters; and at MySQL only who has executed it
//! with [the same](session::state::typed). Those that go out together execute one after the other
//! what they leave as it is.

use std::borrow::Borrow;
use std::rc::Rc;

use session::state::typed::{Type, Typed};
use session::texts::Text;
use wire::command::{Kind, LAST_STATEMENT};
use wire::frame;
use wire::reply::Prepared;

use crate::ledger::{Entry, Placed};

/// What a statement was made of.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The text that was prepared.
    pub text: Text,
    /// What texts meant then ([`Settings::meaning`](session::state::Settings::meaning)).
    pub meaning: u64,
    /// What the client was told of parameters and columns, if it keeps that.
    pub told: Option<u64>,
}

impl Origin {
    fn is(&self, other: &Self) -> bool {
        self.text.is(&other.text) && (self.meaning, self.told) == (other.meaning, other.told)
    }
}

/// What is known of a statement besides what its server says.
#[derive(Debug, Default)]
pub struct Known {
    /// Nothing if it must not outlive its session.
    pub origin: Option<Origin>,
    /// Nothing if its text is not kept.
    pub entry: Option<Rc<Entry>>,
}

#[derive(Debug)]
struct Statement {
    prepared: Prepared,
    /// Nothing of one that another session could not execute.
    origin: Option<Origin>,
    /// The session that has the connection executes it.
    is_taken: bool,
    /// What its server remembers of its executions.
    typed: Typed,
    /// Nothing of one whose text is not kept.
    _placed: Option<Placed>,
}

/// An execution of a statement over whatever connection has it: what that has to be like.
#[derive(Debug)]
pub struct Execution<T = Typed> {
    /// What it was made of.
    pub origin: Origin,
    /// Number of its parameters.
    pub params: u16,
    /// Number of its columns.
    pub columns: u16,
    /// The values that its session has executed it with so far.
    pub typed: T,
    /// The values that are to come now.
    pub now: T,
}

impl<T: Borrow<Typed>> Execution<T> {
    /// Whether a statement does for it.
    fn suits(&self, one: &Statement) -> bool {
        (one.prepared.params, one.prepared.columns) == (self.params, self.columns)
            && one.origin.as_ref().is_some_and(|its| its.is(&self.origin))
            && one.typed.suits(self.typed.borrow(), self.now.borrow())
    }

    /// Whether a statement does for it, and is the same behind it, at a server that
    /// `remembers_types` or does not.
    fn may_follow_at(&self, one: &Statement, remembers_types: bool) -> bool {
        self.suits(one) && (!remembers_types || one.typed.are_kept_by(self.now.borrow()))
    }
}

/// All of one connection; at the end is the one that was prepared or taken last.
#[derive(Debug, Default)]
pub struct Statements {
    all: Vec<Statement>,
    /// Whether one that has come, or was bound, since the connection changed hands may have to be
    /// closed when it does so again.
    has_news: bool,
}

impl Statements {
    /// The session has prepared a statement; without its origin it remains the session's.
    pub fn note(&mut self, prepared: Prepared, known: Known) {
        let placed = known.entry.map(|entry| Placed::new(entry, &prepared));
        let typed = Typed::default();
        self.all.push(Statement { prepared, origin: known.origin, is_taken: true, typed, _placed: placed });
        self.has_news = true;
    }

    /// A statement that does for an execution: from now on it is the session's, which has this
    /// entry if the text is kept. Where the execution was sent already, `sent_as` is the number in
    /// it.
    pub(crate) fn take(
        &mut self,
        execution: &Execution<&Typed>,
        entry: Option<&Rc<Entry>>,
        sent_as: Option<u32>,
    ) -> Option<Prepared> {
        let does = |one: &Statement| {
            !one.is_taken && sent_as.is_none_or(|id| one.prepared.id == id) && execution.suits(one)
        };
        let has_same_types = |one: &Statement| one.typed == *execution.typed && does(one);
        let at = self.all.iter().rposition(has_same_types).or_else(|| self.all.iter().rposition(does))?;
        let found = self.all.remove(at);
        let prepared = found.prepared;
        let placed = entry.map(|entry| Placed::new(Rc::clone(entry), &prepared));
        self.all.push(Statement { is_taken: true, _placed: placed, ..found });
        Some(prepared)
    }

    /// The number of a statement that does for an execution, and is the same behind it, so that
    /// another such execution may follow; where one is `named`, only of that.
    pub(crate) fn find(
        &self,
        execution: &Execution,
        remembers_types: bool,
        named: Option<u32>,
    ) -> Option<u32> {
        let does = |one: &&Statement| {
            named.is_none_or(|id| one.prepared.id == id) && execution.may_follow_at(one, remembers_types)
        };
        self.all.iter().rfind(does).map(|one| one.prepared.id)
    }

    /// A statement is executed with these values, which its server remembers.
    pub fn note_typed(&mut self, id: u32, now: impl Iterator<Item = Type> + Clone) {
        let Some(one) = self.all.iter_mut().rfind(|one| one.prepared.id == id) else { return };
        one.typed.note(now);
        if one.typed.is_mixed() {
            one.origin = None;
            self.has_news = true;
        }
    }

    /// Those that the session does not have, and the server would execute as this number, which may
    /// mean the last one.
    pub fn left_as(&self, id: u32) -> Vec<u32> {
        let is_it = |one: &&Statement| !one.is_taken && (id == LAST_STATEMENT || one.prepared.id == id);
        self.all.iter().filter(is_it).map(|one| one.prepared.id).collect()
    }

    /// A statement was closed.
    pub fn close(&mut self, id: u32) {
        self.all.retain(|one| one.prepared.id != id);
    }

    /// A statement has got values or a cursor: no other session gets it.
    pub fn bind(&mut self, id: u32) {
        if let Some(one) = self.all.iter_mut().find(|one| one.prepared.id == id) {
            one.origin = None;
            self.has_news = true;
        }
    }

    /// A table has changed: what servers have said of statements may be wrong. No other session
    /// gets one of them.
    pub fn bind_all(&mut self) {
        for one in &mut self.all {
            one.origin = None;
        }
        self.has_news = true;
    }

    /// All are gone.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether some have to be closed before another session gets the connection, of which `max`
    /// may stay.
    pub(crate) fn has_surplus(&self, max: u32) -> bool {
        self.has_news && self.surplus(max).next().is_some()
    }

    /// Another session gets the connection, and `max` of them at most: the commands that close the
    /// others. Those are not answered.
    pub(crate) fn change_hands(&mut self, max: u32) -> Vec<u8> {
        let surplus: Vec<u32> = self.surplus(max).collect();
        self.all.retain(|one| !surplus.contains(&one.prepared.id));
        self.release(false);
        surplus.into_iter().flat_map(closing).collect()
    }

    /// Another session gets the connection, and all of them. If its command `is_sent` already, what
    /// may have to be closed is closed for a later one.
    pub(crate) fn release(&mut self, is_sent: bool) {
        for one in &mut self.all {
            one.is_taken = false;
        }
        self.has_news &= is_sent;
    }

    /// Those that are of no use to others, or have as many behind them, or another one that is made
    /// of the same.
    fn surplus(&self, max: u32) -> impl Iterator<Item = u32> {
        let is_surplus = move |(at, one): &(usize, &Statement)| {
            let Some(origin) = &one.origin else { return true };
            let behind = self.all.get(at + 1..).unwrap_or_default();
            let is_same = |other: &Statement| {
                other.origin.as_ref().is_some_and(|its| its.is(origin)) && other.typed == one.typed
            };
            behind.len() >= max as usize || behind.iter().any(is_same)
        };
        self.all.iter().enumerate().filter(is_surplus).map(|(_, one)| one.prepared.id)
    }
}

/// The packet that closes the statement with this number.
pub fn closing(id: u32) -> Vec<u8> {
    frame::command(&[&[Kind::StmtClose as u8][..], &id.to_le_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::texts::Texts;

    fn statement(id: u32) -> Prepared {
        Prepared { id, params: 1, columns: 2, warnings: 0 }
    }

    fn note(all: &mut Statements, prepared: Prepared, origin: Option<Origin>) {
        all.note(prepared, Known { origin, entry: None });
    }

    /// The numbers in these commands.
    fn closed(packets: &[u8]) -> Vec<u8> {
        packets.chunks(9).map(|packet| packet[5]).collect()
    }

    fn take(all: &mut Statements, origin: &Origin, params: u16, columns: u16) -> Option<Prepared> {
        take_with(all, origin, (params, columns), &Typed::default(), &Typed::default())
    }

    fn take_with(
        all: &mut Statements,
        origin: &Origin,
        (params, columns): (u16, u16),
        typed: &Typed,
        now: &Typed,
    ) -> Option<Prepared> {
        all.take(&Execution { origin: origin.clone(), params, columns, typed, now }, None, None)
    }

    struct Origins(Texts);

    impl Origins {
        fn of(&self, text: &str) -> Origin {
            Origin { text: self.0.keep(text.as_bytes()).unwrap(), meaning: 7, told: None }
        }
    }

    #[test]
    fn one_session_has_a_statement_at_a_time() {
        let (origins, mut all) = (Origins(Texts::new(100)), Statements::default());
        let origin = origins.of("a");
        note(&mut all, statement(1), Some(origin.clone()));
        assert_eq!(take(&mut all, &origin, 1, 2), None, "it is the session's already");
        assert_eq!(all.change_hands(9), b"");
        assert_eq!(take(&mut all, &origins.of("a"), 1, 2), Some(statement(1)));
        assert_eq!(take(&mut all, &origin, 1, 2), None);
    }

    #[test]
    fn c15_what_is_not_the_same_is_not_taken() {
        let (origins, mut all) = (Origins(Texts::new(100)), Statements::default());
        note(&mut all, statement(1), Some(origins.of("a")));
        all.change_hands(9);
        let is_taken = |origin: &Origin, params, columns| {
            let mut all = Statements::default();
            note(&mut all, statement(1), Some(origins.of("a")));
            all.change_hands(9);
            take(&mut all, origin, params, columns).is_some()
        };
        assert!(is_taken(&origins.of("a"), 1, 2));
        assert!(!is_taken(&origins.of("b"), 1, 2));
        assert!(!is_taken(&Origin { meaning: 8, ..origins.of("a") }, 1, 2));
        assert!(!is_taken(&Origin { told: Some(1), ..origins.of("a") }, 1, 2));
        assert!(!is_taken(&origins.of("a"), 1, 3));
        assert!(!is_taken(&origins.of("a"), 0, 2));
    }

    #[test]
    fn a_statement_of_no_use_to_others_is_closed() {
        let (origins, mut all) = (Origins(Texts::new(100)), Statements::default());
        note(&mut all, statement(1), Some(origins.of("a")));
        note(&mut all, statement(2), None);
        note(&mut all, statement(3), Some(origins.of("a")));
        note(&mut all, statement(4), Some(origins.of("b")));
        note(&mut all, statement(5), Some(origins.of("c")));
        all.bind(4);
        assert!(all.has_surplus(9));
        assert_eq!(closed(&all.change_hands(9)), [1, 2, 4]);
        assert!(!all.has_surplus(9));
        all.bind_all();
        assert_eq!(closed(&all.change_hands(9)), [3, 5]);
    }

    #[test]
    fn those_that_were_used_last_stay() {
        let (origins, mut all) = (Origins(Texts::new(100)), Statements::default());
        for (id, text) in [(1, "a"), (2, "b"), (3, "c")] {
            note(&mut all, statement(id), Some(origins.of(text)));
        }
        all.change_hands(3);
        take(&mut all, &origins.of("a"), 1, 2).unwrap();
        assert_eq!(closed(&all.change_hands(2)), [2]);
        all.close(3);
        assert_eq!(closed(&all.change_hands(0)), [1]);
    }
}

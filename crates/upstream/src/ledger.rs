//! Who has which prepared statements: one entry for each text of a user in a schema, as long as a
//! client or a connection to a server has it.
//!
//! An entry counts what holds it: a session or a connection that ends need not say so. Executions
//! do not come here.
//!
//! - [`report`]: the entries of all workers together.

pub mod report;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use observe::rows::StatementStats;
use route::Caller;
use session::texts::{Reserved, Text, Texts};
use wire::reply::Prepared;

use crate::limits::{STATEMENT_BYTES_PER_TURN, STATEMENTS_PER_TURN};

/// The entries of one worker.
#[derive(Debug)]
pub struct Ledger {
    index: Rc<Index>,
    /// The same for all workers, so that the hash of an entry is.
    state: RandomState,
}

/// Entries by their hash. One that no session and no connection holds takes itself out.
type Index = RefCell<BTreeMap<u64, Weak<Entry>>>;

/// What a user has prepared in a schema.
#[derive(Debug)]
pub struct Entry {
    hash: u64,
    caller: Arc<Caller>,
    text: Text,
    digest: u64,
    params: Cell<u16>,
    columns: Cell<u16>,
    clients: Cell<u32>,
    servers: Cell<u32>,
    index: Rc<Index>,
    _room: Reserved,
}

/// A client has the statement.
#[derive(Debug)]
pub struct Opened(Rc<Entry>);

/// A connection to a server has it.
#[derive(Debug)]
pub(crate) struct Placed(Rc<Entry>);

/// Some entries in the order of their hashes, which stand where numbers are shown later, and the
/// hash at which the next ones begin. Texts are empty where they were not asked for.
pub type Slice = (Vec<StatementStats>, Option<u64>);

impl Ledger {
    /// Entries have the same hash in all that have the same `state`.
    pub fn new(state: RandomState) -> Self {
        Self { index: Rc::default(), state }
    }

    /// The entry for this text of the caller's user and schema; nothing if there is no room for it
    /// among the texts.
    pub fn entry(&self, caller: &Arc<Caller>, text: &Text, digest: u64, texts: &Texts) -> Option<Rc<Entry>> {
        let hash = self.state.hash_one((caller.user(), caller.schema(), &**text));
        if let Some(there) = self.index.borrow().get(&hash).and_then(Weak::upgrade) {
            // Of two with one hash the first one is shown alone; that happens once in millions of
            // years.
            return there.is(caller, text).then_some(there);
        }
        let names = caller.user().len() + caller.schema().len();
        let room = texts.reserve(size_of::<Entry>() + size_of::<Caller>() + names)?;
        let entry = Rc::new(Entry {
            hash,
            caller: Arc::clone(caller),
            text: text.clone(),
            digest,
            params: Cell::default(),
            columns: Cell::default(),
            clients: Cell::default(),
            servers: Cell::default(),
            index: Rc::clone(&self.index),
            _room: room,
        });
        self.index.borrow_mut().insert(hash, Rc::downgrade(&entry));
        Some(entry)
    }

    /// As many entries from the hash `from` on as may be copied in one turn of a worker's loop,
    /// with their texts or without. Not those that no session has yet: a server has not said
    /// whether there is such a statement.
    pub fn slice(&self, from: u64, with_texts: bool) -> Slice {
        let index = self.index.borrow();
        let (mut copied, mut bytes) = (Vec::new(), 0);
        for (seen, (&hash, entry)) in index.range(from..).enumerate() {
            if seen >= STATEMENTS_PER_TURN || bytes >= STATEMENT_BYTES_PER_TURN {
                return (copied, Some(hash));
            }
            let is_had = |entry: &Rc<Entry>| entry.clients.get() > 0 || entry.servers.get() > 0;
            if let Some(entry) = entry.upgrade().filter(is_had) {
                copied.push(entry.copy(with_texts));
                bytes += if with_texts { entry.text.len() } else { 0 };
            }
        }
        (copied, None)
    }
}

impl Entry {
    fn is(&self, caller: &Caller, text: &Text) -> bool {
        (self.caller.user(), self.caller.schema()) == (caller.user(), caller.schema()) && *self.text == **text
    }

    fn copy(&self, with_text: bool) -> StatementStats {
        StatementStats {
            id: self.hash,
            schema: self.caller.schema().into(),
            user: self.caller.user().into(),
            digest: self.digest,
            params: self.params.get(),
            columns: self.columns.get(),
            clients: self.clients.get().into(),
            servers: self.servers.get().into(),
            text: if with_text { (*self.text).into() } else { Box::default() },
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.index.borrow_mut().remove(&self.hash);
    }
}

impl Opened {
    /// From now on, a client has the statement.
    pub fn new(entry: Rc<Entry>) -> Self {
        entry.clients.set(entry.clients.get() + 1);
        Self(entry)
    }

    /// The statement.
    pub const fn entry(&self) -> &Rc<Entry> {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.clients.set(self.0.clients.get() - 1);
    }
}

impl Placed {
    /// From now on, a connection has the statement, of which its server has said this.
    pub(crate) fn new(entry: Rc<Entry>, prepared: &Prepared) -> Self {
        entry.params.set(prepared.params);
        entry.columns.set(prepared.columns);
        entry.servers.set(entry.servers.get() + 1);
        Self(entry)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        self.0.servers.set(self.0.servers.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Prepared = Prepared { id: 1, params: 2, columns: 3, warnings: 0 };

    fn caller(user: &str, schema: &str) -> Arc<Caller> {
        Arc::new(Caller::new(user.as_bytes(), schema.as_bytes(), "", 0))
    }

    struct Books {
        texts: Texts,
        ledger: Ledger,
    }

    impl Books {
        fn new(max: usize) -> Self {
            Self { texts: Texts::new(max), ledger: Ledger::new(RandomState::new()) }
        }

        fn entry(&self, user: &str, schema: &str, text: &str) -> Option<Rc<Entry>> {
            let kept = self.texts.keep(text.as_bytes())?;
            self.ledger.entry(&caller(user, schema), &kept, 7, &self.texts)
        }

        /// Clients, servers, parameters and columns of all.
        fn counts(&self) -> Vec<(u64, u64, u16, u16)> {
            let (all, next) = self.ledger.slice(0, true);
            assert_eq!(next, None);
            all.iter().map(|one| (one.clients, one.servers, one.params, one.columns)).collect()
        }
    }

    #[test]
    fn who_has_a_statement_is_counted() {
        let books = Books::new(1 << 20);
        let entry = || books.entry("app", "shop", "SELECT ?").unwrap();
        let awaited = entry();
        assert_eq!(books.counts(), [], "no server has said yet what that is");
        let (one, two) = (Opened::new(entry()), Opened::new(entry()));
        let placed = Placed::new(awaited, &ANSWER);
        assert_eq!(books.counts(), [(2, 1, 2, 3)]);
        drop(one);
        assert_eq!(books.counts(), [(1, 1, 2, 3)]);
        drop(two);
        assert_eq!(books.counts(), [(0, 1, 2, 3)]);
        drop(placed);
        assert_eq!(books.counts(), []);
        assert!(books.ledger.index.borrow().is_empty());
        assert_eq!(books.texts.bytes(), 0);
    }

    #[test]
    fn users_schemas_and_texts_are_told_apart() {
        let books = Books::new(1 << 20);
        let names = [
            ("a", "s", "DO 1"),
            ("b", "s", "DO 1"),
            ("a", "t", "DO 1"),
            ("a", "s", "DO 2"),
            ("as", "", "DO 1"),
        ];
        let had: Vec<Opened> = names
            .iter()
            .map(|(user, schema, text)| Opened::new(books.entry(user, schema, text).unwrap()))
            .collect();
        assert_eq!(books.counts().len(), names.len());
        drop(had);
        assert_eq!(books.counts(), []);
    }

    #[test]
    fn c29_entries_take_room_among_the_texts() {
        let books = Books::new(1000);
        let had: Vec<_> = (0..100).map_while(|n| books.entry("app", "shop", &format!("DO {n}"))).collect();
        assert!(!had.is_empty() && had.len() < 10, "{}", had.len());
        assert!(books.texts.bytes() <= 1000);
        drop(had);
        assert!(books.entry("app", "shop", "DO 1").is_some());
    }

    #[test]
    fn a_turn_copies_some_entries() {
        let books = Books::new(1 << 30);
        let long = "x".repeat(STATEMENT_BYTES_PER_TURN / 2);
        let had: Vec<_> = (0..3 * STATEMENTS_PER_TURN)
            .map(|n| Opened::new(books.entry("app", "shop", &format!("{long} {n}")).unwrap()))
            .collect();
        let walk = |with_texts| {
            let (mut from, mut turns, mut hashes) = (0, 0, Vec::new());
            loop {
                let (some, next) = books.ledger.slice(from, with_texts);
                turns += 1;
                hashes.extend(some.iter().map(|one| one.id));
                let Some(next) = next else { return (turns, hashes) };
                from = next;
            }
        };
        let (turns, hashes) = walk(false);
        assert_eq!((turns, hashes.len()), (3, had.len()));
        assert!(hashes.is_sorted());
        assert_eq!(walk(true), (had.len() / 2, hashes));
    }
}

//! What was learnt of the definitions of tables: which tables an answer depends on, and which ones
//! a write changes.
//!
//! Foreign keys are followed from the child, which a user that reads it sees: an answer depends on
//! the parents of its tables. Views and triggers are followed from the table that a statement
//! names. What is not known of all of that makes an answer depend on each write, or counts as a
//! write to all tables.
//!
//! A definition counts for [`AGE_MAX_MS`], and as long as no definition and no privilege is changed
//! through this proxy. It is asked for again in good time. Where there is no room for more, nothing
//! new is learnt until something is too old: to forget what is in use would have it asked for again
//! and again.

mod reach;

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use sql::shape::Table;

use crate::definition::{Definition, Kind};
use crate::key::Key;
use crate::size;
use crate::versions::{Moment, Versions};
pub use reach::{Reading, Written};

/// How long a definition counts, in milliseconds: a change elsewhere is noticed after it.
const AGE_MAX_MS: u64 = 300_000;

/// The age from which a definition is asked for again, in milliseconds.
const REFRESH_MS: u64 = AGE_MAX_MS / 2;

/// Definitions at most.
const DEFINITIONS_MAX: usize = 16_384;

/// For how long nothing new is asked for once there was no room, in milliseconds.
const FULL_MS: u64 = 10_000;

/// For whom definitions are known, and when it is asked for them.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// The account and the hostgroup: an account sees what it may.
    pub whose: Key,
    /// Now, in milliseconds.
    pub now_ms: u64,
}

/// A definition that was asked for.
#[derive(Debug)]
pub struct Learnt {
    /// The account and the hostgroup.
    pub whose: Key,
    /// Its name, with the schema.
    pub table: Table,
    /// What the server has told.
    pub definition: Definition,
    /// When it was asked.
    pub moment: Moment,
}

#[derive(Debug)]
struct Entry {
    definition: Arc<Definition>,
    moment: Moment,
    at_ms: u64,
    /// What it takes of the memory.
    bytes: usize,
}

impl Entry {
    const fn is_over(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.at_ms) >= AGE_MAX_MS
    }

    /// Whether it is what the server would tell, as far as this proxy knows.
    fn counts(&self, versions: &Versions, now_ms: u64) -> bool {
        !self.is_over(now_ms) && versions.have_same_definitions(self.moment)
    }
}

/// The definitions that a process has learnt, shared by its workers.
#[derive(Debug)]
pub struct Catalog {
    all: RwLock<HashMap<(Key, String), Entry>>,
    /// Bytes of all of them, and how many that may be.
    bytes: AtomicUsize,
    limit: AtomicUsize,
    /// Until when nothing new is asked for, in milliseconds.
    full_until_ms: AtomicU64,
}

impl Catalog {
    /// An empty one for so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            all: RwLock::default(),
            bytes: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            full_until_ms: AtomicU64::new(0),
        }
    }

    /// Takes note of a definition, if there is room. Whether another one was known.
    pub fn learn(&self, learnt: Learnt, versions: &Versions, now_ms: u64) -> bool {
        let Learnt { whose, table, definition, moment } = learnt;
        let key = (whose, key_of(&table));
        let bytes = bytes_of(&key.1, &definition);
        let mut all = self.write();
        let before = self.remove(&mut all, &key);
        let is_another = before.is_some_and(|before| *before != definition);
        if !self.has_room_for(&all, bytes) {
            if self.has_room(now_ms) {
                self.retain(&mut all, |entry| entry.counts(versions, now_ms));
            }
            if !self.has_room_for(&all, bytes) {
                if self.has_room(now_ms) {
                    self.full_until_ms.store(now_ms + FULL_MS, Relaxed);
                }
                return is_another;
            }
        }
        self.bytes.fetch_add(bytes, Relaxed);
        all.insert(key, Entry { definition: Arc::new(definition), moment, at_ms: now_ms, bytes });
        is_another
    }

    /// Whether a definition is known, and needs not be asked for again now.
    #[must_use]
    pub fn knows(&self, sight: Sight, versions: &Versions, table: &Table) -> bool {
        self.get(sight, versions, table).is_some_and(|(_, until_ms)| sight.now_ms < until_ms)
    }

    /// Whether there is no such table, as an account was told that would see one.
    #[must_use]
    pub fn is_absent(&self, sight: Sight, versions: &Versions, table: &Table) -> bool {
        let known = self.get(sight, versions, table);
        known.is_some_and(|(definition, _)| definition.kind == Kind::Unseen && definition.is_whole)
    }

    /// A definition, and when it is to be asked for again.
    fn get(&self, sight: Sight, versions: &Versions, table: &Table) -> Option<(Arc<Definition>, u64)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get(&(sight.whose, key_of(table)))?;
        let counts = entry.counts(versions, sight.now_ms);
        counts.then(|| (Arc::clone(&entry.definition), entry.at_ms + REFRESH_MS))
    }

    /// Whether it is of use to ask for something new, and to look for what may leave.
    fn has_room(&self, now_ms: u64) -> bool {
        now_ms >= self.full_until_ms.load(Relaxed)
    }

    /// Forgets what is too old.
    pub(crate) fn sweep(&self, now_ms: u64) {
        self.retain(&mut self.write(), |entry| !entry.is_over(now_ms));
    }

    /// It may take so many bytes from now on. If it has more it forgets everything.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Relaxed);
        if self.bytes() > limit {
            self.retain(&mut self.write(), |_| false);
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    fn has_room_for(&self, all: &HashMap<(Key, String), Entry>, bytes: usize) -> bool {
        all.len() < DEFINITIONS_MAX && self.bytes().saturating_add(bytes) <= self.limit.load(Relaxed)
    }

    fn remove(
        &self,
        all: &mut HashMap<(Key, String), Entry>,
        key: &(Key, String),
    ) -> Option<Arc<Definition>> {
        let entry = all.remove(key)?;
        self.bytes.fetch_sub(entry.bytes, Relaxed);
        Some(entry.definition)
    }

    fn retain(&self, all: &mut HashMap<(Key, String), Entry>, keeps: impl Fn(&Entry) -> bool) {
        all.retain(|_, entry| {
            let stays = keeps(entry);
            if !stays {
                self.bytes.fetch_sub(entry.bytes, Relaxed);
            }
            stays
        });
        all.shrink_to_fit();
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<(Key, String), Entry>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.write().len()
    }
}

/// Bytes of a definition that is kept by this name, with its place in the map, of which half may be
/// empty.
fn bytes_of(name: &str, definition: &Definition) -> usize {
    let place = 2 * size_of::<((Key, String), Entry)>();
    place + size::block(name.len()) + size::block(size_of::<Definition>()) + definition.bytes()
}

/// The name by which a definition is kept: as it is written.
fn key_of(table: &Table) -> String {
    let schema = table.schema.as_deref().unwrap_or_default();
    [schema, &table.name].join("\0")
}

#[cfg(test)]
mod tests;

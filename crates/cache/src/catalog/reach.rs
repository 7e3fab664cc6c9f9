//! What the tables of a statement lead to: by views, triggers and foreign keys.

use sql::shape::Table;

use super::{Catalog, Sight};
use crate::clock::Clock;
use crate::definition::{Definition, Kind, TABLES_MAX};
use crate::name::Name;
use crate::refusal::Refusal;
use crate::versions::Versions;

/// What an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Hashes of the tables of which a write changes the answer.
    pub tables: Vec<u64>,
    /// Besides, each write may.
    pub is_open: bool,
    /// Why the answer is not cached in any mode.
    pub refusal: Option<Refusal>,
    /// Their columns with times and dates.
    pub clock: Clock,
    /// Not all tables have transactions that end at their server.
    pub has_other_engines: bool,
    /// Tables whose definitions are to be asked for.
    pub to_ask: Vec<Table>,
    /// When definitions are to be asked for again at the earliest, in milliseconds.
    pub until_ms: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            tables: Vec::new(),
            is_open: false,
            refusal: None,
            clock: Clock::default(),
            has_other_engines: false,
            to_ask: Vec::new(),
            until_ms: u64::MAX,
        }
    }
}

/// What a write changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Hashes of the tables that it changes; nothing if that is not known.
    pub tables: Option<Vec<u64>>,
    /// Tables whose definitions are to be asked for.
    pub to_ask: Vec<Table>,
}

impl Catalog {
    /// What an answer depends on that reads these tables.
    #[must_use]
    pub fn reading(&self, sight: Sight, versions: &Versions, tables: Vec<Table>) -> Reading {
        let mut reading = Reading::default();
        let mut walk = Walk::of(tables, Via::Statement);
        while let Some((table, via)) = walk.next() {
            let Some((definition, until_ms)) = self.get(sight, versions, &table) else {
                reading.refusal = reading.refusal.or(Some(Refusal::NotLearnt));
                if self.has_room(sight.now_ms) {
                    reading.to_ask.push(table);
                }
                continue;
            };
            reading.note(&table, via, &definition);
            walk.add(&definition.tables, Via::View);
            match &definition.parents {
                _ if definition.kind == Kind::View => {}
                Some(parents) => walk.add(parents, Via::Key),
                None => reading.is_open = true,
            }
            reading.until_ms = reading.until_ms.min(until_ms);
            if sight.now_ms >= until_ms {
                reading.to_ask.push(table);
            }
        }
        reading.is_open |= walk.is_cut;
        if walk.is_cut {
            // There may be another view among those that were not looked at.
            reading.refusal = reading.refusal.or(Some(Refusal::Hidden));
        }
        reading
    }

    /// What a statement changes that writes to `writes`, and reads `reads`.
    #[must_use]
    pub fn written(&self, sight: Sight, versions: &Versions, writes: Vec<Table>, reads: &[Table]) -> Written {
        let (mut hashes, mut to_ask, mut is_known) = (Vec::new(), Vec::new(), true);
        let mut walk = Walk::of(writes, Via::Statement);
        // A view that is read may call code that writes.
        walk.add(reads, Via::View);
        while let Some((table, via)) = walk.next() {
            let Some((definition, until_ms)) = self.get(sight, versions, &table) else {
                is_known = false;
                if self.has_room(sight.now_ms) {
                    to_ask.push(table);
                }
                continue;
            };
            if sight.now_ms >= until_ms {
                to_ask.push(table.clone());
            }
            let is_read = via == Via::View;
            is_known &= match definition.kind {
                Kind::Table { is_local, .. } => is_read || is_local && definition.triggers.is_some(),
                Kind::View => !definition.calls,
                Kind::Unseen | Kind::Other => false,
            };
            walk.add(&definition.tables, via);
            if !is_read {
                hashes.push(hash_of(&table));
                walk.add(definition.triggers.as_deref().unwrap_or_default(), Via::Statement);
            }
        }
        Written { tables: (is_known && !walk.is_cut).then_some(hashes), to_ask }
    }
}

impl Reading {
    /// Takes note of what a table adds.
    fn note(&mut self, table: &Table, via: Via, definition: &Definition) {
        let is_hidden = match definition.kind {
            Kind::Table { is_transactional, .. } => {
                self.has_other_engines |= !is_transactional;
                // By its own privileges, an account reads no column that it does not see.
                via == Via::View && !definition.is_whole
            }
            Kind::View => false,
            Kind::Unseen | Kind::Other => true,
        };
        self.tables.push(hash_of(table));
        if via == Via::Key {
            // Its rows are not read.
            self.is_open |= is_hidden;
            return;
        }
        self.clock.merge(&definition.clock);
        self.refusal = self.refusal.or(definition.refusal).or(is_hidden.then_some(Refusal::Hidden));
    }
}

/// In what way a table belongs to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Via {
    /// It is named.
    Statement,
    /// A view reads it.
    View,
    /// It is the parent of a foreign key.
    Key,
}

/// Tables that a statement leads to, each once in each way.
#[derive(Debug)]
struct Walk {
    all: Vec<(Table, Via)>,
    next: usize,
    /// There are more.
    is_cut: bool,
}

impl Walk {
    fn of(tables: Vec<Table>, via: Via) -> Self {
        let is_cut = tables.len() > TABLES_MAX;
        let all = tables.into_iter().take(TABLES_MAX).map(|table| (table, via)).collect();
        Self { all, next: 0, is_cut }
    }

    fn next(&mut self) -> Option<(Table, Via)> {
        let next = self.all.get(self.next).cloned();
        self.next += 1;
        next
    }

    fn add(&mut self, tables: &[Table], via: Via) {
        for table in tables {
            if self.all.iter().any(|(one, how)| (one, *how) == (table, via)) {
                continue;
            }
            if self.all.len() >= TABLES_MAX {
                self.is_cut = true;
                return;
            }
            self.all.push((table.clone(), via));
        }
    }
}

pub(super) fn hash_of(table: &Table) -> u64 {
    let schema = table.schema.as_deref().unwrap_or_default();
    Name::Written(schema.as_bytes(), table.name.as_bytes()).hash()
}

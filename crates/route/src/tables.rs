//! What the query cache asks about statements: found out when it asks, and remembered by digest.

use std::cell::RefCell;
use std::sync::Arc;

use ::cache::Refusal;
use sql::shape::{Effects, Table, names_all_tables};
use sql::{Modes, Shape};

use crate::limits::TABLES_MAX;

/// The tables of a statement, and what keeps its answer from being cached.
#[derive(Debug, PartialEq, Eq)]
pub struct Tables {
    /// Why its answer is not cached, as far as its text says.
    pub refusal: Option<Refusal>,
    /// Those that it reads.
    pub reads: Vec<Table>,
    /// Those that it writes, or whose definition it changes.
    pub writes: Vec<Table>,
    /// Whether these are all that its text names, and it calls nothing that is stored.
    pub are_all: bool,
}

impl Tables {
    /// Those of this text.
    pub fn of(text: &[u8]) -> Self {
        let tables = Self::in_modes(text, Modes::default());
        if !may_quote_names(text) {
            return tables;
        }
        // Where sessions have `ANSI_QUOTES` is not always told.
        let quoted = Self::in_modes(text, Modes { ansi_quotes: true, ..Modes::default() });
        Self {
            refusal: tables.refusal.or(quoted.refusal),
            are_all: tables.are_all && quoted.are_all && !text.contains(&b'\\'),
            reads: [tables.reads, quoted.reads].concat(),
            writes: [tables.writes, quoted.writes].concat(),
        }
    }

    fn in_modes(text: &[u8], modes: Modes) -> Self {
        let shape = Shape::of(text, modes);
        Self {
            refusal: Refusal::of(text, modes, &shape),
            are_all: !shape.effects.intersects(Effects::UNKNOWN | Effects::FUNCTION)
                && names_all_tables(text, modes),
            reads: shape.reads,
            writes: shape.writes,
        }
    }
}

/// Whether quotes in a text may be those of names, which its digest does not tell then.
pub fn may_quote_names(text: &[u8]) -> bool {
    text.contains(&b'"')
}

const _: () = assert!(TABLES_MAX.is_power_of_two(), "places are the lower bits of digests");

/// Those of the statements that a worker was asked about. A digest has one place; another one with
/// the same place takes it.
#[derive(Debug, Default)]
pub struct KnownTables(RefCell<Vec<Option<Place>>>);

/// A digest and its tables.
type Place = (u64, Arc<Tables>);

impl KnownTables {
    /// Those of `text`. The digest is nothing if statements with other tables may have it, too.
    /// That names may be in double quotes is seen here.
    pub fn of(&self, digest: Option<u64>, text: &[u8]) -> Arc<Tables> {
        let Some(digest) = digest.filter(|_| !may_quote_names(text)) else {
            return Arc::new(Tables::of(text));
        };
        let mut places = self.0.borrow_mut();
        if places.is_empty() {
            places.resize(TABLES_MAX, None);
        }
        let at = usize::try_from(digest & (TABLES_MAX as u64 - 1)).unwrap_or(0);
        match places.get(at) {
            Some(Some((known, tables))) if *known == digest => Arc::clone(tables),
            _ => {
                let tables = Arc::new(Tables::of(text));
                if let Some(place) = places.get_mut(at) {
                    *place = Some((digest, Arc::clone(&tables)));
                }
                tables
            }
        }
    }

    /// Digests will be others.
    pub fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_by_a_digest_is_not_looked_at_again() {
        let known = KnownTables::default();
        let first = known.of(Some(7), b"SELECT a FROM t");
        assert_eq!((first.refusal, first.are_all, first.reads.len()), (None, true, 1));
        assert!(Arc::ptr_eq(&first, &known.of(Some(7), b"SELECT a FROM t")));
        assert_eq!(known.of(None, b"SELECT NOW() FROM t").refusal, Some(Refusal::Volatile));
        assert!(!known.of(Some(7 + TABLES_MAX as u64), b"CALL p()").are_all);
        assert!(!Arc::ptr_eq(&first, &known.of(Some(7), b"SELECT a FROM t")), "its place was taken");
    }

    #[test]
    fn names_in_double_quotes_are_tables_whatever_the_mode_is() {
        let known = KnownTables::default();
        let names = |text: &[u8]| {
            let tables = known.of(Some(7), text);
            let names: Vec<String> = tables.reads.iter().map(|table| table.name.clone()).collect();
            (names.join(" "), tables.are_all)
        };
        assert_eq!(names(b"SELECT a FROM t JOIN \"u\""), ("t t u".to_owned(), true));
        assert_eq!(names(b"SELECT a FROM t JOIN \"w\""), ("t t w".to_owned(), true));
        assert!(!names(b"SELECT a FROM t JOIN \"w\\\"").1);
        assert_eq!(Tables::of(b"SELECT a FROM \"mysql\".\"user\", t").refusal, Some(Refusal::AboutServer));
    }

    #[test]
    fn names_with_digits_are_not_known_by_another_one() {
        let (known, mut digest) = (KnownTables::default(), sql::Digest::default());
        for name in ["logs.2024", "logs.2025", "`logs-1`", "`logs-2`", "`a'b`", "`a'c`"] {
            let text = format!("SELECT a FROM {name} WHERE b = 'x' AND c = 'y'");
            digest.read(text.as_bytes(), &sql::Options::default());
            let found = known.of(digest.facts().clear.then_some(digest.hash()), text.as_bytes());
            assert_eq!(found.reads, Tables::of(text.as_bytes()).reads, "{name}");
        }
        let reads = Tables::of(b"SELECT a FROM logs.2024 JOIN `logs`.2025 t").reads;
        let names: Vec<_> = reads.iter().map(|table| (table.schema.as_deref(), &*table.name)).collect();
        assert_eq!(names, [(Some("logs"), "2024"), (Some("logs"), "2025")]);
    }
}

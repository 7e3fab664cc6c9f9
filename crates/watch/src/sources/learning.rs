//! Definitions of tables that statements of the log change: which ones are asked for, and from
//! where in the log on the answers count.
//!
//! A server tells what a definition is when it is asked. A statement that is read after that may be
//! older: its trigger was dropped since. A server changes a definition only when no transaction
//! uses it, and logs that before others use it again. So all that has used an older definition is
//! in front of the end that the log has after the answer. Behind that end the answer counts, until
//! the log tells of another change.

use cache::{Learnt, Position};
use sql::shape::Table;

/// Definitions that are asked for at a time.
const DEFINITIONS_MAX: usize = 16;

/// Definitions that are wanted, and those that do not count yet.
#[derive(Debug, Default)]
pub(super) struct Learning {
    wanted: Vec<Table>,
    /// What the server has told, and the end of the log after that.
    told: Option<(Position, Vec<Learnt>)>,
}

impl Learning {
    /// The definitions of these tables would tell what transactions change.
    pub(super) fn want(&mut self, tables: Vec<Table>) {
        for table in tables {
            let names = [table.schema.as_deref().unwrap_or_default(), &table.name];
            let is_askable = names.iter().all(|name| !name.contains(['\'', '\\']));
            if is_askable && self.wanted.len() < DEFINITIONS_MAX && !self.wanted.contains(&table) {
                self.wanted.push(table);
            }
        }
    }

    /// Tables whose definitions are asked for now. There are none as long as others do not count
    /// yet, which may be the same.
    pub(super) fn take(&mut self) -> Vec<Table> {
        if self.told.is_some() { Vec::new() } else { std::mem::take(&mut self.wanted) }
    }

    /// The server has told these definitions, and the log has ended here after that.
    pub(super) fn hear(&mut self, definitions: Vec<Learnt>, end: Position) {
        if !definitions.is_empty() {
            self.told = Some((end, definitions));
        }
    }

    /// Definitions that count now that the log was read up to this place.
    pub(super) fn read(&mut self, to: Position) -> Vec<Learnt> {
        let told = self.told.take_if(|(end, _)| *end <= to);
        told.map_or_else(Vec::new, |(_, definitions)| definitions)
    }
}

#[cfg(test)]
mod tests {
    use cache::{Cache, Definition, Scope};

    use super::*;

    fn table(name: &str) -> Table {
        Table { schema: Some("s".to_owned()), name: name.to_owned() }
    }

    fn learnt(name: &str) -> Learnt {
        let cache = Cache::new([1, 2], 1 << 20);
        let whose = cache.keys.builder().finish();
        let moment = cache.versions.moment(&Scope::of_definitions()).unwrap();
        Learnt { whose, table: table(name), definition: Definition::unknown(), moment }
    }

    const fn at(offset: u64) -> Position {
        Position { file: 1, offset }
    }

    #[test]
    fn c20_a_definition_counts_behind_the_log_that_may_be_older() {
        let mut learning = Learning::default();
        learning.want(vec![table("t")]);
        assert_eq!(learning.take(), [table("t")]);
        learning.hear(vec![learnt("t")], at(90));
        assert!(learning.read(at(89)).is_empty(), "a statement before 90 may have had another trigger");
        let now: Vec<_> = learning.read(at(90)).into_iter().map(|learnt| learnt.table).collect();
        assert_eq!(now, [table("t")]);
        assert!(learning.read(at(91)).is_empty());
    }

    #[test]
    fn nothing_is_asked_again_before_it_counts() {
        let mut learning = Learning::default();
        learning.hear(vec![learnt("t")], at(90));
        learning.want(vec![table("t"), table("t"), table("it's")]);
        assert!(learning.take().is_empty());
        learning.read(at(90));
        assert_eq!(learning.take(), [table("t")]);
        learning.hear(Vec::new(), at(95));
        learning.want((0..99).map(|number| table(&number.to_string())).collect());
        assert_eq!(learning.take().len(), DEFINITIONS_MAX);
    }
}

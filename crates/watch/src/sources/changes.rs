//! What a transaction of the log changes, as the query cache counts it.
//!
//! Rows name their tables. Of a table that only a statement names, triggers change others, which
//! the log does not tell: they come from the cache's catalog of definitions, which the server is
//! asked for as sessions do it. As long as they are not known, such a transaction counts against
//! all tables. So does an XA transaction with statements at MariaDB, where a trigger may be dropped
//! between `XA PREPARE` and `XA COMMIT`.
//!
//! Statements also name temporary tables, which have neither definitions nor triggers. A name
//! without a definition is that of one: a `CREATE TABLE` behind the question is in the log, and has
//! all definitions forgotten.

use binlog::{How, Tables, Transaction};
use cache::{Cache, Change, Name, Sight};
use sql::shape::Table;

use super::probe::Kind;

/// What a transaction changes, and the tables whose definitions would tell it better.
pub(super) fn of(transaction: &Transaction, cache: &Cache, sight: Sight, kind: Kind) -> (Change, Vec<Table>) {
    let Transaction { definitions, privileges, tables, .. } = transaction;
    let (tables, to_ask) = match tables {
        Tables::All(_) => (None, Vec::new()),
        Tables::These(these) => {
            let hashes =
                these.keys().map(|table| Name::Written(table.schema.as_bytes(), table.name.as_bytes()));
            let mut hashes: Vec<u64> = hashes.map(Name::hash).collect();
            let named = these.iter().filter(|(_, how)| how.contains(How::STATEMENT));
            let named: Vec<Table> = named
                .map(|(table, _)| Table { schema: Some(table.schema.clone()), name: table.name.clone() })
                .filter(|table| !cache.catalog.is_absent(sight, &cache.versions, table))
                .collect();
            if named.is_empty() {
                (Some(hashes), Vec::new())
            } else if transaction.is_xa && kind == Kind::MariaDb {
                (None, Vec::new())
            } else {
                let written = cache.catalog.written(sight, &cache.versions, named, &[]);
                let tables = written.tables.map(|tables| {
                    hashes.extend(tables);
                    hashes
                });
                (tables, written.to_ask)
            }
        }
    };
    (Change { tables, defines: *definitions, grants: *privileges }, to_ask)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cache::{Definition, Learnt, Scope};

    use super::*;

    fn transaction(table: &str, how: How) -> Transaction {
        let table = binlog::Table { schema: "s".to_owned(), name: table.to_owned() };
        Transaction {
            gtid: None,
            tables: Tables::These(BTreeMap::from([(table, how)])),
            definitions: false,
            privileges: false,
            is_xa: false,
        }
    }

    fn hash(table: &str) -> u64 {
        Name::Written(b"s", table.as_bytes()).hash()
    }

    #[test]
    fn rows_name_their_tables_and_statements_not_all() {
        let cache = Cache::new([1, 2], 1 << 20);
        let sight = Sight { whose: cache.keys.builder().number(1).finish(), now_ms: 0 };
        let of = |table: &str, how| of(&transaction(table, how), &cache, sight, Kind::MariaDb);
        let rows = (Change { tables: Some(vec![hash("t")]), ..Change::default() }, Vec::new());
        assert_eq!(of("t", How::ROWS), rows);
        assert_eq!(of("t", How::empty()), rows, "named in front of rows of others");
        let (change, to_ask) = of("t", How::STATEMENT);
        assert_eq!(change.tables, None, "triggers may change any");
        let [table] = &to_ask[..] else { panic!("{to_ask:?}") };
        let rows: [[Option<&[u8]>; 3]; 4] = [
            [Some(b"table"), Some(b"BASE TABLE"), Some(b"InnoDB")],
            [Some(b"may"), Some(b"SELECT"), Some(b"")],
            [Some(b"may"), Some(b"TRIGGER"), Some(b"")],
            [Some(b"trigger"), Some(b"494E5345525420494E544F20752056414C554553202831290A"), Some(b"")],
        ];
        let definition = Definition::of("s", &rows).unwrap();
        let moment = cache.versions.moment(&Scope::of_definitions()).unwrap();
        cache.learn(Learnt { whose: sight.whose, table: table.clone(), definition, moment }, 0);
        let (change, to_ask) = of("t", How::STATEMENT);
        assert_eq!((change.tables, to_ask.len()), (None, 1), "the trigger's table is not known");
        let rows: [[Option<&[u8]>; 3]; 1] = [[Some(b"may"), Some(b"SELECT"), Some(b"")]];
        let definition = Definition::of("s", &rows).unwrap();
        let table = Table { schema: Some("s".to_owned()), name: "own".to_owned() };
        cache.learn(Learnt { whose: sight.whose, table, definition, moment }, 0);
        let (change, to_ask) = of("own", How::STATEMENT);
        assert_eq!((change.tables, to_ask.len()), (Some(vec![hash("own")]), 0), "a temporary table");
        let committed = Transaction { is_xa: true, ..transaction("t", How::STATEMENT) };
        let (change, to_ask) = super::of(&committed, &cache, sight, Kind::MariaDb);
        assert_eq!((change.tables, to_ask.len()), (None, 0), "a trigger may have been dropped since");
    }
}

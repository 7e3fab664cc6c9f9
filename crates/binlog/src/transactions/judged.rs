//! What a logged statement changes.

use sql::shape::{Effects, names_all_tables};
use sql::{Shape, StatementKind};

use super::tables::{How, Table, Why};
use crate::event::Statement;

/// What may hide any change at all.
const HIDDEN: Effects = Effects::UNKNOWN.union(Effects::PREPARED);

/// What a statement changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    /// Tables, or why every table may have changed.
    pub(super) tables: Result<Vec<(Table, How)>, Why>,
    /// It changes definitions.
    pub(super) definitions: bool,
    /// It changes accounts, roles or privileges.
    pub(super) privileges: bool,
}

impl Judged {
    /// Judges a statement by its text.
    pub(super) fn of(statement: &Statement<'_>) -> Self {
        let (Some(text), Some(modes)) = (statement.text, statement.modes) else {
            return Self { tables: Err(Why::Statement), definitions: true, privileges: true };
        };
        let shape = Shape::of(text, modes);
        let nothing = Self { tables: Ok(Vec::new()), definitions: false, privileges: false };
        if shape.several || shape.effects.intersects(HIDDEN) && !is_about_privileges(&shape, text) {
            return Self { tables: Err(Why::Statement), definitions: true, privileges: true };
        }
        let tables = |how| {
            let schema = || String::from_utf8_lossy(statement.schema).into_owned();
            let table = |table: &sql::shape::Table| Table {
                schema: table.schema.clone().unwrap_or_else(schema),
                name: table.name.clone(),
            };
            let is_clear = !shape.writes.is_empty() && names_all_tables(text, modes);
            if !is_clear {
                return Err(Why::Statement);
            }
            Ok(shape.writes.iter().map(|written| (table(written), how)).collect())
        };
        let is_temporary = shape.effects.contains(Effects::TEMPORARY_TABLE);
        match shape.kind {
            StatementKind::CreateTemporary | StatementKind::DropTable if is_temporary => nothing,
            StatementKind::Insert
            | StatementKind::Replace
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::Load => Self { tables: tables(How::STATEMENT), ..nothing },
            // It is logged for the stored function that it calls, which defines nothing.
            kind if kind.is_select() => Self { tables: Err(Why::Statement), ..nothing },
            StatementKind::AlterTable if has_another_table(text) => {
                Self { tables: Err(Why::Definitions), definitions: true, privileges: false }
            }
            StatementKind::AlterTable
            | StatementKind::CreateTable
            | StatementKind::CreateIndex
            | StatementKind::DropIndex
            | StatementKind::DropTable
            | StatementKind::RenameTable => {
                Self { tables: tables(How::DEFINITION), definitions: true, ..nothing }
            }
            // The table stays what it is, and no trigger runs.
            StatementKind::TruncateTable => Self { tables: tables(How::DEFINITION), ..nothing },
            StatementKind::AnalyzeTable | StatementKind::Optimize => nothing,
            _ if is_about_privileges(&shape, text) => Self { privileges: true, ..nothing },
            StatementKind::Flush => nothing,
            _ => Self { tables: Err(Why::Definitions), definitions: true, privileges: true },
        }
    }
}

/// Whether an `ALTER TABLE` may change a table that its shape does not name.
fn has_another_table(text: &[u8]) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphabetic());
    words.any(|word| word.eq_ignore_ascii_case(b"RENAME") || word.eq_ignore_ascii_case(b"EXCHANGE"))
}

/// Whether a statement changes accounts, roles or privileges, and nothing else.
fn is_about_privileges(shape: &Shape, text: &[u8]) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let mut next = || words.next().unwrap_or_default().to_ascii_uppercase();
    let (first, second, third) = (next(), next(), next());
    let object = if second == b"OR" && third == b"REPLACE" { next() } else { second.clone() };
    match shape.kind {
        StatementKind::Grant | StatementKind::Revoke => true,
        StatementKind::Flush => second == b"PRIVILEGES" || third == b"PRIVILEGES",
        StatementKind::Set => object == b"PASSWORD" || second == b"DEFAULT" && third == b"ROLE",
        _ => {
            let verbs = [&b"CREATE"[..], b"ALTER", b"DROP", b"RENAME"];
            verbs.contains(&&*first) && (object == b"USER" || object == b"ROLE")
        }
    }
}

#[cfg(test)]
mod tests {
    use sql::Modes;

    use super::*;

    fn judged(text: &str) -> Judged {
        let (text, modes) = (Some(text.as_bytes()), Some(Modes::default()));
        Judged::of(&Statement { schema: b"d", text, modes })
    }

    /// The tables of a statement, and whether it changes definitions (`D`) and privileges (`P`).
    fn said(text: &str) -> String {
        let Judged { tables, definitions, privileges } = judged(text);
        let tables = match tables {
            Err(why) => format!("{why:?}"),
            Ok(tables) => tables.iter().map(|(table, _)| table.to_string()).collect::<Vec<_>>().join(","),
        };
        let flags = [(definitions, " D"), (privileges, " P")];
        flags.iter().filter(|(is, _)| *is).fold(tables, |said, (_, flag)| said + flag)
    }

    #[test]
    fn rows_change_in_the_tables_that_are_named() {
        for (text, expected) in [
            ("INSERT INTO t (a) VALUES (1)", "d.t"),
            ("REPLACE INTO s.t SELECT * FROM u", "s.t"),
            ("UPDATE t, s.u SET t.a = u.a", "d.t,s.u"),
            ("DELETE FROM t WHERE a = f(1)", "Statement D P"),
            ("SELECT `d`.`f`()", "Statement"),
            ("LOAD DATA INFILE 'x' INTO TABLE `t` (a)", "d.t"),
            ("INSERT INTO t VALUES (1); DELETE FROM u", "Statement D P"),
            ("# Dummy event replacing event type 160 that slave cannot handle.", "Definitions D P"),
        ] {
            assert_eq!(said(text), expected, "{text}");
        }
    }

    #[test]
    fn definitions_of_tables_are_told_apart_from_others() {
        for (text, expected) in [
            ("CREATE TABLE t (a INT)", "d.t D"),
            ("CREATE TABLE `u` (\n `a` int DEFAULT NULL\n) START TRANSACTION", "d.u D"),
            ("CREATE TABLE t LIKE s.u", "d.t D"),
            ("CREATE TABLE t AS SELECT f()", "Statement D P"),
            ("DROP TABLE `t`,`s`.`u` /* generated by server */", "d.t,s.u D"),
            ("DROP TEMPORARY TABLE IF EXISTS `t`", ""),
            ("CREATE TEMPORARY TABLE t (a INT)", ""),
            ("CREATE TEMPORARY TABLE t AS SELECT f()", "Statement D P"),
            ("ALTER TABLE t RENAME TO u", "Definitions D"),
            ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "Definitions D"),
            ("RENAME TABLE t TO s.v, u TO t", "d.t,d.u,s.v D"),
            ("TRUNCATE TABLE t", "d.t"),
            ("CREATE INDEX i ON t (a)", "d.t D"),
            ("CREATE VIEW v AS SELECT * FROM t", "Definitions D P"),
            ("CREATE DATABASE s", "Definitions D P"),
            ("DROP DATABASE s", "Definitions D P"),
            ("ANALYZE TABLE t", ""),
            ("FLUSH TABLES", ""),
        ] {
            assert_eq!(said(text), expected, "{text}");
        }
    }

    #[test]
    fn privileges_are_no_tables() {
        for text in [
            "GRANT SELECT ON d.t TO 'u'@'%'",
            "REVOKE SELECT ON d.t FROM u",
            "CREATE USER 'u'@'%' IDENTIFIED WITH 'caching_sha2_password' AS 'x'",
            "CREATE OR REPLACE USER u",
            "ALTER USER u ACCOUNT LOCK",
            "DROP USER u",
            "RENAME USER u TO v",
            "CREATE ROLE r",
            "DROP ROLE r",
            "SET DEFAULT ROLE r FOR u",
            "SET PASSWORD FOR 'u'@'%'='*00'",
            "FLUSH PRIVILEGES",
        ] {
            assert_eq!(said(text), " P", "{text}");
        }
    }

    #[test]
    fn long_statements_may_change_all() {
        let long = Statement { schema: b"d", text: None, modes: Some(Modes::default()) };
        let unknown = Statement { schema: b"d", text: Some(b"DELETE FROM t"), modes: None };
        for statement in [long, unknown] {
            assert_eq!(Judged::of(&statement).tables, Err(Why::Statement));
        }
    }
}

//! What is changed, and which answers that drops.

/// Answers that a change drops, by the names of their texts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Drops {
    /// None.
    Nothing,
    /// These.
    These(&'static [&'static str]),
    /// All of them: `docs/src/cache.md` says that such a change counts against all tables.
    All,
}

use Drops::{All, Nothing, These};

/// How a change is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    /// By these statements of a session.
    By(&'static [&'static str]),
    /// By this statement of another session: the one before has ended.
    ByAnother(&'static str),
    /// By `LOAD DATA LOCAL` of a file with one row.
    ByFile(&'static str),
    /// By an event of the server.
    ByEvent,
}

use How::{By, ByAnother, ByEvent, ByFile};

/// A change, and what is dropped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) how: How,
    /// If the log has the rows.
    pub(super) rows: Drops,
    /// If the log has the statements.
    pub(super) text: Drops,
}

/// A change that drops the same in each format.
const fn drops(how: How, drops: Drops) -> Change {
    Change { how, rows: drops, text: drops }
}

/// A change that drops less where the log has rows.
const fn differs(how: How, rows: Drops, text: Drops) -> Change {
    Change { how, rows, text }
}

/// Answers that depend on `t`.
const OF_T: Drops = These(&["t", "v"]);
/// A write to a parent counts against all that cascades may reach, but not against `kin`.
const FAMILY: Drops = These(&["parent", "child", "grandchild", "orphan"]);
/// The same of a child.
const CHILDREN: Drops = These(&["child", "grandchild", "orphan"]);

/// Changes of rows.
pub(super) const ROWS: &[Change] = &[
    drops(By(&["INSERT INTO t VALUES (10, 10)"]), OF_T),
    drops(By(&["UPDATE t SET a = a + 1 WHERE id = 10"]), OF_T),
    drops(By(&["REPLACE INTO t VALUES (10, 12)"]), OF_T),
    drops(By(&["INSERT INTO t VALUES (10, 13) ON DUPLICATE KEY UPDATE a = 13"]), OF_T),
    drops(By(&["DELETE FROM t WHERE id = 10"]), OF_T),
    differs(By(&["UPDATE t SET a = 1 WHERE id = 77"]), Nothing, OF_T),
    drops(By(&["INSERT INTO t SELECT id + 20, a FROM u"]), OF_T),
    drops(By(&["UPDATE t JOIN u USING (id) SET t.a = t.a + 1, u.a = u.a + 1"]), These(&["t", "v", "u"])),
    differs(By(&["UPDATE t JOIN u USING (id) SET t.a = u.a + 7"]), OF_T, These(&["t", "v", "u"])),
    drops(By(&["DELETE t, u FROM t JOIN u USING (id) WHERE id = 3"]), These(&["t", "v", "u"])),
    differs(By(&["DELETE t FROM t JOIN u USING (id) WHERE id = 2"]), OF_T, These(&["t", "v", "u"])),
    drops(ByFile("LOAD DATA LOCAL INFILE 'x' INTO TABLE u"), These(&["u"])),
    drops(By(&["UPDATE far.t SET a = a + 1"]), These(&["far.t"])),
    drops(By(&["USE far", "UPDATE t SET a = a + 1", "USE test"]), These(&["far.t"])),
    drops(By(&["UPDATE v SET a = a + 1"]), OF_T),
    drops(
        By(&["BEGIN", "UPDATE t SET a = a + 1", "UPDATE u SET a = a + 1", "COMMIT"]),
        These(&["t", "v", "u"]),
    ),
    drops(By(&["BEGIN", "UPDATE t SET a = a + 1", "ROLLBACK"]), Nothing),
    drops(
        By(&[
            "BEGIN",
            "UPDATE t SET a = a + 1",
            "SAVEPOINT s",
            "UPDATE u SET a = a + 1",
            "ROLLBACK TO s",
            "COMMIT",
        ]),
        OF_T,
    ),
    drops(By(&["CREATE TEMPORARY TABLE own LIKE t", "INSERT INTO own VALUES (40, 40)"]), Nothing),
    drops(By(&["INSERT INTO u SELECT * FROM own", "DROP TEMPORARY TABLE own"]), These(&["u"])),
    drops(By(&["SET sql_log_bin = 0", "UPDATE u SET a = a", "SET sql_log_bin = 1"]), Nothing),
];

/// Changes of rows by what the server runs itself.
pub(super) const STORED: &[Change] = &[
    drops(By(&["INSERT INTO source VALUES (2, 2)"]), These(&["source", "target"])),
    differs(By(&["UPDATE source SET a = a + 1"]), These(&["source"]), These(&["source", "target"])),
    drops(By(&["CALL raise()"]), OF_T),
    differs(By(&["DO raised()"]), OF_T, All),
    drops(ByEvent, These(&["t", "v", "old"])),
    drops(By(&["INSERT INTO parent VALUES (5, 5)"]), FAMILY),
    drops(By(&["INSERT INTO child VALUES (5, 5, 5)"]), CHILDREN),
    drops(By(&["INSERT INTO grandchild VALUES (5, 5, 5)"]), These(&["grandchild"])),
    drops(By(&["UPDATE parent SET id = 6 WHERE id = 5"]), FAMILY),
    drops(By(&["DELETE FROM parent WHERE id = 1"]), FAMILY),
    drops(By(&["DELETE FROM child WHERE id = 2"]), CHILDREN),
    drops(By(&["REPLACE INTO parent VALUES (3, 30)"]), FAMILY),
    drops(By(&["UPDATE kin SET a = a + 1"]), These(&["kin"])),
];

/// What is prepared before the log is followed may have changed any table.
pub(super) const EARLY: How = By(&["XA START 'e'", "UPDATE u SET a = a + 1", "XA END 'e'", "XA PREPARE 'e'"]);
pub(super) const EARLY_COMMIT: Change = drops(ByAnother("XA COMMIT 'e'"), All);

/// XA transactions: only the commit counts.
pub(super) const XA: &[Change] = &xa(OF_T, These(&["u"]));

/// The same at MariaDB: one with statements counts against all tables.
pub(super) const XA_OF_MARIADB: &[Change] = &xa(All, All);

/// XA transactions, of which commits with statements drop these.
const fn xa(of_t: Drops, of_u: Drops) -> [Change; 7] {
    [
        drops(By(&["XA START 'a'", "UPDATE t SET a = a + 1", "XA END 'a'", "XA PREPARE 'a'"]), Nothing),
        differs(By(&["XA COMMIT 'a'"]), OF_T, of_t),
        drops(By(&["XA START 'b'", "UPDATE t SET a = a + 1", "XA END 'b'", "XA COMMIT 'b' ONE PHASE"]), OF_T),
        drops(By(&["XA START 'c'", "UPDATE u SET a = a + 1", "XA END 'c'", "XA PREPARE 'c'"]), Nothing),
        differs(ByAnother("XA COMMIT 'c'"), These(&["u"]), of_u),
        drops(By(&["XA START 'd'", "UPDATE u SET a = a + 1", "XA END 'd'", "XA PREPARE 'd'"]), Nothing),
        drops(By(&["XA ROLLBACK 'd'"]), Nothing),
    ]
}

/// Changes of definitions and privileges, and statements that look like such.
pub(super) const DEFINITIONS: &[Change] = &[
    drops(By(&["ANALYZE TABLE u"]), Nothing),
    drops(By(&["FLUSH TABLES"]), Nothing),
    drops(By(&["TRUNCATE TABLE u"]), These(&["u"])),
    differs(By(&["DELETE FROM kin WHERE id = 4 AND raised() = 1"]), These(&["t", "v", "kin"]), All),
    drops(By(&["CREATE TABLE made (id INT)"]), All),
    drops(By(&["DROP TABLE made"]), All),
    drops(By(&["CREATE TABLE made AS SELECT * FROM t"]), All),
    drops(By(&["DROP TABLE made"]), All),
    drops(By(&["ALTER TABLE u ADD b INT NOT NULL DEFAULT 5"]), All),
    drops(By(&["CREATE INDEX by_a ON u (a)"]), All),
    drops(By(&["RENAME TABLE old TO older, swapped TO old"]), All),
    drops(By(&["ALTER TABLE parts EXCHANGE PARTITION low WITH TABLE older"]), All),
    drops(By(&["CREATE VIEW w AS SELECT * FROM u"]), All),
    drops(By(&["CREATE TRIGGER more BEFORE UPDATE ON u FOR EACH ROW SET NEW.a = 5"]), All),
    drops(By(&["DROP VIEW w"]), All),
    drops(By(&["DROP TRIGGER more"]), All),
    drops(By(&["CREATE DATABASE later"]), All),
    drops(By(&["DROP DATABASE later"]), All),
    drops(By(&["CREATE USER later"]), All),
    drops(By(&["GRANT SELECT ON test.* TO later"]), All),
    drops(By(&["REVOKE SELECT ON test.* FROM later"]), All),
    drops(By(&["DROP USER later"]), All),
    drops(By(&["INSERT INTO mysql.db (Host, Db, User) VALUES ('nowhere', 'none', 'nobody')"]), All),
    drops(By(&["DELETE FROM mysql.db WHERE Host = 'nowhere'"]), All),
];

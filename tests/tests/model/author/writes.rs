//! INSERT, UPDATE, DELETE and their kin, and changes of tables.

use super::Author;
use crate::step::Step;

const WRITES: [&str; 36] = [
    "INSERT INTO {db}.t (a, b) VALUES ({n}, {tag})",
    "INSERT INTO {db}.t (a, b) VALUES ({n}, {tag})",
    "INSERT INTO t (a) VALUES ({n})",
    "INSERT INTO {db}.t (a, b) VALUES ({n}, {tag}), ({n}, '{char}'), ({n}, NULL)",
    "INSERT INTO {db}.t (id, a) VALUES ({n}, {n})",
    "INSERT INTO {db}.t (id, a) VALUES (NULL, {n}), (0, {n})",
    "INSERT IGNORE INTO {db}.t (id, a, b) VALUES ({id}, 1, {tag}), ({id}, 2, {tag})",
    "INSERT INTO {db}.u (k, v) VALUES ({n}, {tag})",
    "INSERT INTO {db}.u (k, v) VALUES ({n}, {tag}) ON DUPLICATE KEY UPDATE v = {tag}",
    "INSERT INTO {db}.u (k, v) VALUES ({n}, {tag}) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = 'again'",
    "REPLACE INTO {db}.u (k, v) VALUES ({n}, {tag})",
    "INSERT INTO {db}.u (k, v) SELECT 100 + id, name FROM shared.s WHERE id = {id}",
    "INSERT INTO {db}.n (v) VALUES ({tag})",
    "INSERT INTO {db}.n (v) VALUES ({tag}), ('{char}')",
    "INSERT INTO {db}.t SET a = {n}, b = {tag}, d = '2026-01-02 03:04:05'",
    "INSERT INTO {db}.t (a, d) VALUES ({n}, '2026-02-31')",
    "INSERT IGNORE INTO {db}.t (a, b) VALUES ('12 and more', REPEAT('x', 70))",
    "INSERT INTO {db}.t () VALUES ()",
    "UPDATE {db}.t SET a = a + 1 WHERE id = {id}",
    "UPDATE {db}.t SET a = {n}, b = {tag}",
    "UPDATE {db}.t SET a = a WHERE id < {n}",
    "UPDATE {db}.u SET v = {tag} WHERE k = {n}",
    "UPDATE {db}.t SET a = 'x' WHERE id = {id}",
    "UPDATE {db}.t, {db}.u SET t.b = u.v WHERE t.a = u.k",
    "UPDATE {db}.t SET a = 3 ORDER BY id LIMIT 2",
    "UPDATE t SET id = LAST_INSERT_ID(id + 10) WHERE id = {n}",
    "DELETE FROM {db}.t WHERE id = {n}",
    "DELETE FROM {db}.t WHERE id > 12",
    "DELETE FROM {db}.u WHERE k = {n}",
    "DELETE FROM {db}.n ORDER BY id LIMIT 1",
    "DELETE {db}.t FROM {db}.t JOIN {db}.u ON t.a = u.k",
    "INSERT INTO {db}.t (a, b) VALUES ({n}, {tag}) RETURNING id, b",
    "DELETE FROM {db}.u WHERE k = {n} RETURNING {tag}, id",
    "DO LAST_INSERT_ID({n})",
    "INSERT INTO {db}b.t (other) VALUES ({tag})",
    "INSERT INTO {db}.t (a) SELECT a FROM {db}.t WHERE id = {id}",
];

const DEFINITIONS: [&str; 14] = [
    "CREATE TABLE {db}.extra (id INT PRIMARY KEY, {tag} INT)",
    "CREATE TABLE IF NOT EXISTS {db}.extra (id INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(10))",
    "CREATE TABLE IF NOT EXISTS {db}.extra AS SELECT id, name FROM shared.s WHERE id < {id}",
    "DROP TABLE IF EXISTS {db}.extra",
    "DROP TABLE IF EXISTS {db}.nowhere, {db}.extra",
    "DROP TABLE {db}.extra",
    "ALTER TABLE {db}.u ADD COLUMN x1 INT NULL",
    "ALTER TABLE {db}.u DROP COLUMN x1",
    "ALTER TABLE {db}.t MODIFY COLUMN b VARCHAR(80) NULL",
    "TRUNCATE TABLE {db}.n",
    "TRUNCATE {db}.u",
    "CREATE OR REPLACE VIEW {db}.seen AS SELECT id, a FROM {db}.t",
    "SELECT {tag}, seen.* FROM {db}.seen ORDER BY id",
    "CHECK TABLE {db}.t",
];

impl Author {
    /// A statement that writes, and often what it has done.
    pub(super) fn write(&mut self) {
        if self.dice.chance(3) {
            let text = format!("{}\tfrom file\n{}\t\\N\n7\n", self.dice.below(90), self.dice.below(90));
            let data = if self.dice.chance(15) { Vec::new() } else { text.into_bytes() };
            let sql = self.filled("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {db}.t (a, b)");
            self.said += 1;
            self.steps.push(Step::Load(sql, data));
        } else {
            self.one_of(&WRITES);
        }
        if self.dice.chance(45) {
            self.ask_for_last();
        }
    }

    /// A statement that changes what there is.
    pub(super) fn define(&mut self) {
        self.one_of(&DEFINITIONS);
        if self.dice.chance(30) {
            self.ask_for_last();
        }
    }

    /// A statement that fails, or is refused, or warns.
    pub(super) fn mistake(&mut self) {
        self.one_of(&[
            "SELEC {tag}",
            "SELECT {tag}, nothing FROM {db}.t",
            "SELECT {tag} FROM {db}.nowhere",
            "SELECT {tag} FROM nowhere.t",
            "SELECT {tag}, no_function({n})",
            "INSERT INTO {db}.t (id, a) VALUES (1, {n}), (1, {n})",
            "INSERT INTO {db}.t (a, a) VALUES (1, 2)",
            "UPDATE {db}.t SET id = 1",
            "SELECT {tag}, (SELECT id FROM shared.s)",
            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {tag}",
            "SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = {tag}",
            "KILL QUERY CONNECTION_ID()",
            "KILL 4294967290",
            "",
            ";",
            "/* {tag} */",
            "SELECT {tag} 'unterminated",
            "INSERT INTO {db}.t VALUES (1, {tag})",
            "CREATE TABLE {db}.t (id INT)",
            "USE nowhere",
            "RELEASE SAVEPOINT nothing",
            "EXECUTE nothing",
            "DEALLOCATE PREPARE nothing",
            "HANDLER nothing READ FIRST",
            "CALL shared.nothing({tag})",
            "DROP TEMPORARY TABLE nothing",
            "SELECT {tag} INTO @a, @b",
            "RESIGNAL",
            "XA COMMIT 'nothing'",
        ]);
        if self.dice.chance(50) {
            self.ask_for_last();
        }
    }
}

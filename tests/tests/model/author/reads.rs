//! SELECT and SHOW of many shapes.

use super::Author;
use crate::step::Command;

const READS: [&str; 41] = [
    "SELECT {tag} AS tag, {n} AS n",
    "SELECT {tag}",
    "SELECT {tag} FROM DUAL WHERE 1 = 0",
    "SELECT {tag} AS tag, id, a, b FROM {db}.t WHERE id = {id}",
    "SELECT {tag} AS tag, t.* FROM {db}.t ORDER BY id",
    "SELECT {tag} x, t.id, u.v FROM {db}.t LEFT JOIN {db}.u ON u.k = t.a ORDER BY t.id, u.id LIMIT {n}",
    "SELECT {tag}, COUNT(*), SUM(a), MAX(b), AVG(c) FROM {db}.t",
    "SELECT {tag}, a, COUNT(*) FROM {db}.t GROUP BY a ORDER BY a",
    "SELECT {tag}, a, COUNT(*) FROM {db}.t GROUP BY a WITH ROLLUP",
    "(SELECT {tag} x, 1 y) UNION ALL (SELECT b, id FROM {db}.t WHERE id < {n} ORDER BY id LIMIT 3)",
    "SELECT {tag}, s.* FROM shared.s s WHERE id BETWEEN {id} AND {id} + 3 ORDER BY id",
    "SELECT {tag}, EXISTS (SELECT 1 FROM {db}.t WHERE a = {n})",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {n}) SELECT {tag}, n FROM r ORDER BY n",
    "SELECT {tag}, GROUP_CONCAT(name ORDER BY id) FROM shared.s",
    "SELECT {tag}, id FROM {db}.t WHERE id = {id} FOR UPDATE",
    "SELECT {tag}, id FROM {db}.t WHERE id = {id} LOCK IN SHARE MODE",
    "SELECT {tag}, DATABASE(), USER(), CURRENT_USER()",
    "SELECT {tag}, HEX('{char}'), CHARSET('a'), COLLATION('a'), '{char}' AS c",
    "SELECT {tag}, 1 / 0, CAST('abc' AS SIGNED)",
    "SELECT {tag}, CAST('12x' AS SIGNED) + '7y', CAST('2026-02-31' AS DATE)",
    "SELECT {tag}, \"double\"",
    "SELECT {tag}, 'a' || 'b', 'back\\\\slash'",
    "SELECT {tag}, FROM_UNIXTIME(1700000000), UNIX_TIMESTAMP('2024-05-05 12:00:00')",
    "SELECT {tag}, @@sql_mode, @@time_zone, @@group_concat_max_len",
    "SELECT {tag}, @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection",
    "SELECT {tag}, @@autocommit, @@session.sql_safe_updates, @@sql_select_limit",
    "SELECT id, a FROM t ORDER BY id",
    "SELECT {tag}, COUNT(*) FROM t",
    "SELECT {tag}, v FROM {db}.n ORDER BY id",
    "SELECT {tag}, id, k, LENGTH(v), LEFT(v, 20) FROM {db}.u ORDER BY id LIMIT 5",
    "SELECT * FROM {db}.u WHERE k = {n}",
    "SELECT SQL_CALC_FOUND_ROWS {tag}, id FROM shared.s ORDER BY id LIMIT {id}",
    "SELECT SQL_CALC_FOUND_ROWS id FROM {db}.t WHERE a > {n} ORDER BY id LIMIT 1",
    "SELECT SQL_NO_CACHE {tag}, id FROM shared.s WHERE name LIKE '%e%' ORDER BY id",
    "SELECT {tag}, RAND({n}) < 2, MD5({tag}), CRC32({tag})",
    "SELECT {tag}, 0x41, X'4D', b'01000001', 1e10, 18446744073709551615, -1.50",
    "SHOW CREATE TABLE {db}.u",
    "SHOW VARIABLES LIKE 'character_set%'",
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_mode', 'time_zone', 'autocommit', 'sql_select_limit')",
    "TABLE {db}.t ORDER BY id LIMIT 2",
    "VALUES ROW(1, {tag}), ROW({n}, 'x')",
];

/// At MariaDB these leave `ROW_COUNT()` at the connection as it was if they fail.
const LOOKS: [&str; 4] = ["SHOW TABLES", "SHOW TABLES FROM {db}", "SHOW COLUMNS FROM t", "DESCRIBE shared.s"];

/// Reads that all clients say again and again, so that they go out together where sessions wait for
/// connections. Some have warnings or fail, by their values alone.
const COMMON: [(usize, &str); 6] = [
    (8, "SELECT {tag}, s.* FROM shared.s s WHERE id = {id}"),
    (12, "SELECT {tag}, '{n}' + 1"),
    (1, "SELECT {tag}, 'x{n}' + 1"),
    (12, "SELECT {tag}, id FROM shared.s WHERE id = {id} AND JSON_EXTRACT('[{n}]', '$[0]') > 3"),
    (1, "SELECT {tag}, id FROM shared.s WHERE id = {id} AND JSON_EXTRACT('[{n}]', '$[') > 3"),
    (2, "SELECT {tag}, b.* FROM shared.big b WHERE id = {id}"),
];

impl Author {
    /// What others say as well, in one way for all.
    pub(super) fn read_as_others(&mut self) {
        if self.dice.chance(45) {
            return self.execute_as_others();
        }
        for _ in 0..self.dice.within(1..12) {
            let all = COMMON.iter().flat_map(|(weight, text)| std::iter::repeat_n(*text, *weight));
            let texts: Vec<&str> = all.collect();
            let text = *self.dice.pick(&texts);
            let command = Command::Query(self.filled(text));
            self.say(command);
        }
        if self.dice.chance(20) {
            self.ask_for_last();
        }
    }

    /// A statement that reads.
    pub(super) fn read(&mut self) {
        match self.dice.below(40) {
            // Packets of several reads and writes, and a result of many rows.
            0 => {
                let len = *self.dice.pick(&[1000, 16_000, 65_600, 200_000]);
                self.query(format!("SELECT {{tag}}, REPEAT('x', {len})"));
            }
            1 => self.query("SELECT {tag}, b.* FROM shared.big b WHERE id < {n} * {n} ORDER BY id"),
            2 if !self.gaps => self.one_of(&["SELECT CONNECTION_ID()", "select connection_id( );"]),
            2 => self.one_of(&[
                "SELECT {tag}, CONNECTION_ID()",
                "select connection_id() as id from dual",
                "SELECT {tag}, @@pseudo_thread_id = CONNECTION_ID()",
            ]),
            3..=6 => {
                self.one_of(&LOOKS);
                if !self.gaps {
                    self.query("DO {n}");
                }
            }
            _ => self.one_of(&READS),
        }
        if self.dice.chance(15) {
            self.ask_for_last();
        }
    }
}

//! What holds on to a connection: locks of tables and of names, temporary tables, HANDLER.

use super::Author;

impl Author {
    /// A temporary table and its use.
    pub(super) fn temporary_table(&mut self) {
        self.one_of(&[
            "CREATE TEMPORARY TABLE tmp (id INT AUTO_INCREMENT PRIMARY KEY, x VARCHAR(30))",
            "CREATE TEMPORARY TABLE {db}.t AS SELECT {n} AS id, {n} AS a, {tag} AS b",
            "CREATE TEMPORARY TABLE IF NOT EXISTS tmp (id INT AUTO_INCREMENT PRIMARY KEY, x VARCHAR(30))",
            "CREATE TEMPORARY TABLE tmp LIKE {db}.n",
            "CREATE TEMPORARY TABLE tmp SELECT id, name AS x FROM shared.s",
        ]);
        for _ in 0..self.dice.within(0..4) {
            self.one_of(&[
                "INSERT INTO tmp (x) VALUES ({tag})",
                "SELECT {tag}, tmp.* FROM tmp ORDER BY id",
                "SHOW CREATE TABLE tmp",
                "SELECT {tag}, id FROM {db}.t ORDER BY id LIMIT 2",
                "SELECT LAST_INSERT_ID()",
            ]);
        }
        self.later("DROP TEMPORARY TABLE IF EXISTS tmp, {db}.t");
    }

    /// A lock, or the end of one.
    pub(super) fn lock(&mut self) {
        match self.dice.below(10) {
            0..=2 => {
                self.one_of(&[
                    "LOCK TABLES {db}.t WRITE",
                    "LOCK TABLES {db}.t WRITE, {db}.u READ, shared.s READ",
                    "LOCK TABLES t READ, shared.s AS s READ",
                    "LOCK TABLE {db}.n WRITE",
                ]);
                self.later("UNLOCK TABLES");
            }
            3 => self.query("UNLOCK TABLES"),
            4..=6 => {
                self.one_of(&[
                    "SELECT GET_LOCK({lock}, 0)",
                    "SELECT {tag}, GET_LOCK({lock}, 1) AS got",
                    "DO GET_LOCK({lock}, 0)",
                    "SELECT GET_LOCK({lock}, 0), GET_LOCK({lock}, 0)",
                ]);
                let end = *self.dice.pick(&["SELECT RELEASE_LOCK({lock})", "DO RELEASE_ALL_LOCKS()"]);
                self.later(end);
            }
            7 => self.one_of(&[
                "SELECT {tag}, IS_FREE_LOCK({lock})",
                "SELECT RELEASE_LOCK({lock})",
                "SELECT {tag}, RELEASE_ALL_LOCKS()",
                "SELECT IS_USED_LOCK({lock}) = CONNECTION_ID()",
                "DO RELEASE_LOCK({lock})",
            ]),
            _ => {
                self.one_of(&["HANDLER {db}.t OPEN", "HANDLER shared.s OPEN AS t"]);
                for _ in 0..self.dice.within(1..4) {
                    self.one_of(&[
                        "HANDLER t READ FIRST",
                        "HANDLER t READ NEXT LIMIT 2",
                        "HANDLER t READ `PRIMARY` = ({id})",
                        "SELECT {tag}",
                        "INSERT INTO {db}.u (k, v) VALUES ({n}, {tag})",
                    ]);
                }
                self.later("HANDLER t CLOSE");
            }
        }
        if self.dice.chance(20) {
            self.ask_for_last();
        }
    }
}

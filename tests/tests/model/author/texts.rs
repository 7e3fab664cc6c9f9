//! Statements that have more than one answer, or run other statements: several at once, procedures,
//! text PREPARE.

use super::Author;

impl Author {
    /// Several statements in one, as many as the client may send.
    pub(super) fn several(&mut self) {
        self.one_of(&[
            "SELECT {tag}, 1; SELECT 2, {tag}",
            "SELECT {tag}; INSERT INTO {db}.t (a, b) VALUES ({n}, {tag}); SELECT LAST_INSERT_ID(), ROW_COUNT()",
            "BEGIN; UPDATE {db}.t SET a = a + 1; COMMIT",
            "BEGIN; INSERT INTO {db}.t (a) VALUES ({n}); ROLLBACK; SELECT {tag}, COUNT(*) FROM {db}.t",
            "SELECT {tag}; SELECT * FROM {db}.nowhere; SELECT 'never'",
            "SET @m = {n}; SELECT {tag}, @m; SET time_zone = '+01:00'; SELECT @@time_zone",
            "USE {db}b; SELECT {tag}, DATABASE(); USE {db}",
            "SET NAMES latin1; SELECT {tag}, '{char}'",
            "CREATE TEMPORARY TABLE in_many (x INT); INSERT INTO in_many VALUES ({n}); SELECT {tag}, x FROM in_many; \
             DROP TEMPORARY TABLE in_many",
            "INSERT IGNORE INTO {db}.t (id) VALUES (1); SHOW WARNINGS; SELECT {tag}, @@warning_count",
            "SELECT {tag}; SELEC 2",
            "SELECT {tag};;SELECT 2",
            "SELECT GET_LOCK({lock}, 0); SELECT {tag}; DO RELEASE_LOCK({lock})",
            "SELECT {tag}; BEGIN",
            "SELECT SQL_CALC_FOUND_ROWS id FROM shared.s ORDER BY id LIMIT 2; SELECT FOUND_ROWS(), {tag}",
            "BEGIN NOT ATOMIC SET @z = {n}; SELECT {tag}, @z; END",
            "PREPARE in_many FROM 'SELECT 1'; EXECUTE in_many; DEALLOCATE PREPARE in_many; SELECT {tag}",
            "CALL shared.p_two({tag}); SELECT 'behind', {tag}",
            "SELECT {tag}, 'one; not two'; SELECT 2 /* ; */",
        ]);
        if self.dice.chance(25) {
            self.ask_for_last();
        }
    }

    /// Calls a procedure.
    pub(super) fn call(&mut self) {
        self.one_of(&[
            "CALL shared.p_two({tag})",
            "CALL shared.p_two({tag})",
            "CALL shared.p_none()",
            "CALL shared.p_set({tag})",
            "CALL shared.p_mode()",
            "CALL shared.p_names()",
            "CALL shared.p_temp({tag})",
            "CALL shared.p_begin({tag})",
            "CALL shared.p_commit()",
            "CALL shared.p_auto(0)",
            "CALL shared.p_auto(1)",
            "CALL shared.p_error({tag})",
            "CALL shared.p_warn({tag})",
            "CALL shared.p_out({n}, @out)",
            "SELECT {tag}, @out, @from_p",
            "CALL shared.p_lock({lock})",
            "CALL shared.p_prepare({tag})",
            "EXECUTE of_p",
            "CALL shared.p_id({n})",
            "CALL shared.p_found()",
            "CALL shared.p_two()",
            "SELECT {tag}, COUNT(*) FROM shared.p_tmp",
            "CALL shared.p_plain({tag}, {n})",
            "CALL shared.p_plain({tag}, {n})",
            "CALL shared.p_deep({tag}, {n})",
            "CALL {db}.p_add({tag})",
            "CALL p_add({tag})",
            "SELECT {tag}, shared.f_twice({n}), shared.f_twice(id) FROM shared.s ORDER BY id LIMIT 2",
            "INSERT INTO {db}.t (a, b) VALUES (shared.f_twice({n}), {tag})",
            "SELECT {tag}, shared.f_sets({n})",
            "SELECT {tag}, @from_f",
        ]);
        match self.dice.below(5) {
            0 => self.read(),
            1 => self.ask_for_last(),
            2 => self.query(
                "SELECT {tag}, @@group_concat_max_len, @@time_zone, @@autocommit, @@character_set_client",
            ),
            _ => {}
        }
    }

    /// Statements prepared as text.
    pub(super) fn text_prepared(&mut self) {
        let name = *self.dice.pick(&["one", "two", "`three`"]);
        match self.dice.below(8) {
            0..=3 => {
                let text = *self.dice.pick(&[
                    "'SELECT ?, {n}'",
                    "'INSERT INTO {db}.t (a, b) VALUES (?, ''of text'')'",
                    "'SELECT id, a FROM t ORDER BY id LIMIT ?'",
                    "'SELECT ? FROM {db}.nowhere'",
                    "'SELECT LAST_INSERT_ID(), ROW_COUNT(), ?'",
                    "@text",
                    "'SET @q = ?'",
                    "'UPDATE {db}.u SET v = ? WHERE k = 20'",
                    "'SELECT id, name FROM shared.s ORDER BY id LIMIT 2'",
                    "'INSERT INTO {db}.t (b) VALUES (''by name'')'",
                ]);
                self.query(format!("PREPARE {name} FROM {text}"));
                self.query("SET @p = {n}");
                let using = if text.contains('?') || text.starts_with('@') { " USING @p" } else { "" };
                self.query(format!("EXECUTE {name}{using}"));
                if self.dice.chance(70) {
                    self.later(&format!("DEALLOCATE PREPARE {name}"));
                }
            }
            4 | 5 => {
                let using = *self.dice.pick(&["", " USING @p", " USING @p, @a", " USING @a"]);
                self.query(format!("EXECUTE {name}{using}"));
                if self.dice.chance(30) {
                    self.ask_for_last();
                }
            }
            6 => self.query(format!("DROP PREPARE {name}")),
            _ => self.one_of(&[
                "SET @text = CONCAT('SELECT ', {n}, ', ?')",
                "EXECUTE IMMEDIATE 'SELECT 1, ?' USING @p",
                "EXECUTE IMMEDIATE CONCAT('SELECT ', {n})",
            ]),
        }
    }
}

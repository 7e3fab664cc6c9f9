//! Questions about the statement before, in every spelling: the insert id, rows, warnings,
//! diagnostics.

use super::Author;

const IDS: [&str; 20] = [
    "SELECT LAST_INSERT_ID()",
    "SELECT LAST_INSERT_ID() AS id",
    "select last_insert_id() id, {tag}",
    "SELECT {tag}, LAST_INSERT_ID() FROM DUAL",
    "SELECT LAST_INSERT_ID() ;",
    "/* {tag} */ SELECT LAST_INSERT_ID() -- of whom?",
    "SELECT @@identity",
    "SELECT @@last_insert_id",
    "SELECT @@session.last_insert_id, @@IDENTITY AS i",
    "SELECT /* here */ LAST_INSERT_ID( /* none */ ) + 1",
    "SELECT {tag}, t.* FROM {db}.t WHERE id = LAST_INSERT_ID()",
    "SELECT {tag}, id FROM {db}.t WHERE id IS NULL",
    "INSERT INTO {db}.u (k, v) VALUES (LAST_INSERT_ID() + {n}, {tag})",
    "INSERT INTO {db}.t (a, b) VALUES (LAST_INSERT_ID(), {tag}), (LAST_INSERT_ID(), 'two')",
    "UPDATE {db}.u SET v = {tag} WHERE id = LAST_INSERT_ID()",
    "SET @id = LAST_INSERT_ID()",
    "SELECT @id := LAST_INSERT_ID()",
    "SELECT LAST_INSERT_ID({n})",
    "SELECT LAST_INSERT_ID() INTO @id",
    "SELECT {tag}, LAST_INSERT_ID() AS `select`, ROW_COUNT(), FOUND_ROWS()",
];

const ROWS: [&str; 11] = [
    "SELECT ROW_COUNT()",
    "select row_count() as r, {tag}",
    "SELECT {tag}, ROW_COUNT() FROM DUAL",
    "SET @r = ROW_COUNT()",
    "SELECT FOUND_ROWS()",
    "SELECT FOUND_ROWS() AS f, {tag}",
    "SELECT {tag}, found_rows() + 0 FROM dual;",
    "SET @f = FOUND_ROWS()",
    "SELECT {tag}, ROW_COUNT(), FOUND_ROWS()",
    "SELECT {tag}, @r, @f, @id",
    "DO ROW_COUNT()",
];

const WARNINGS: [&str; 18] = [
    "SHOW WARNINGS",
    "show warnings limit 1",
    "SHOW WARNINGS LIMIT 1, 2",
    "/* {tag} */ SHOW WARNINGS;",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW COUNT(*) ERRORS",
    "SELECT @@warning_count",
    "SELECT {tag}, @@warning_count, @@error_count",
    "SELECT @@session.error_count AS e, {tag}",
    "SELECT @@SESSION.warning_count FROM DUAL;",
    "SHOW SESSION VARIABLES LIKE 'warning_count'",
    "GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT",
    "GET CURRENT DIAGNOSTICS @n = NUMBER",
    "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @e = MYSQL_ERRNO, @m = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 2 @m = MESSAGE_TEXT",
    "SELECT {tag}, @n, @r, @s, @e, @m",
    "SET @w = @@warning_count",
];

impl Author {
    /// One or more questions about the statement before, perhaps with something else in between.
    pub(super) fn ask_for_last(&mut self) {
        if self.dice.chance(15) {
            self.ping();
        }
        for _ in 0..self.dice.within(1..4) {
            match self.dice.below(5) {
                0 | 1 => self.one_of(&IDS),
                2 => self.one_of(&ROWS),
                _ => self.one_of(&WARNINGS),
            }
        }
    }
}

//! What a session sets: its variables, and its users' own.

use super::Author;

const SETTINGS: [&str; 67] = [
    "SET sql_mode = ''",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE'",
    "SET @@sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')",
    "SET @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), ',ANSI_QUOTES'), @@SESSION.wait_timeout = 3600",
    "SET sql_mode = REPLACE(@@sql_mode, 'ANSI_QUOTES', '')",
    "SET sql_mode = CONCAT('NO_ZERO_DATE,', REPLACE(@@session.sql_mode, 'PIPES_AS_CONCAT', ''))",
    "SET sql_mode = DEFAULT",
    "SET sql_mode = 'BOGUS'",
    "SET @@session.sql_mode := 'NO_ENGINE_SUBSTITUTION', @a = {n}",
    "SET time_zone = '+02:00'",
    "SET time_zone = '-11:30', group_concat_max_len = 9",
    "SET time_zone = 'Mars/Olympus'",
    "SET time_zone = SYSTEM",
    "SET NAMES utf8mb4",
    "SET NAMES latin1",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET NAMES 'latin1' COLLATE 'latin1_bin'",
    "SET NAMES binary",
    "SET NAMES bogus",
    "SET NAMES latin1 COLLATE utf8mb4_bin",
    "SET NAMES DEFAULT",
    "SET CHARACTER SET latin1",
    "SET CHARSET utf8mb4",
    "SET CHARACTER SET DEFAULT",
    "SET character_set_results = latin1",
    "SET character_set_results = NULL",
    "SET character_set_results = 'utf8mb4'",
    "SET character_set_client = latin1",
    "SET character_set_connection = latin1",
    "SET collation_connection = utf8mb4_bin",
    "SET collation_connection = 'latin1_german1_ci', character_set_results = 'latin1'",
    "SET group_concat_max_len = {n} + 4",
    "SET SESSION group_concat_max_len = 1024",
    "SET LOCAL group_concat_max_len = DEFAULT",
    "SET sql_safe_updates = 1",
    "SET sql_safe_updates = 0",
    "SET sql_select_limit = 2",
    "SET sql_select_limit = DEFAULT",
    "SET SQL_BIG_SELECTS = 1, sql_auto_is_null = 1",
    "SET sql_auto_is_null = 0",
    "SET max_error_count = 1",
    "SET max_error_count = 64",
    "SET sql_notes = 0",
    "SET sql_warnings = 1, sql_notes = 1",
    "SET foreign_key_checks = OFF",
    "SET unique_checks = 0, foreign_key_checks = 1",
    "SET max_sort_length = 20",
    "SET div_precision_increment = {id}",
    "SET lc_messages = 'de_DE'",
    "SET lc_messages = 'en_US'",
    "SET lc_time_names = 'fr_FR'",
    "SET lc_time_names = 'en_US', default_week_format = 3",
    "SET default_week_format = {id}",
    "SET wait_timeout = 1000",
    "SET auto_increment_increment = {id}, auto_increment_offset = 1",
    "SET auto_increment_increment = 1",
    "SET insert_id = 500 + {n}",
    "SET last_insert_id = {n}",
    "SET rand_seed1 = {n}, rand_seed2 = 7",
    "SET timestamp = 1700000000 + {n}",
    "SET timestamp = DEFAULT",
    "SET no_such_variable = 1",
    "SET port = 7",
    "SET SESSION max_connections = 7",
    "SET default_week_format = 3, sql_quote_show_create = 0",
];

impl Author {
    /// Sets something, and perhaps looks.
    pub(super) fn variable(&mut self) {
        match self.dice.below(12) {
            0 => self.one_of(&[
                "SET @@group_concat_max_len = 10, @b = @@group_concat_max_len, time_zone = 'bogus'",
                "SET @a = 1, sql_mode = 'ANSI', @b = @@sql_mode",
                "SET @old = @@sql_mode, sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'",
                "SET sql_mode = @old",
                "SET time_zone = @tz",
                "SET group_concat_max_len = (SELECT 7 + COUNT(*) FROM shared.s)",
                "SET STATEMENT max_statement_time = 9 FOR SELECT {tag}",
                "SELECT /*+ SET_VAR(group_concat_max_len = 8) */ {tag}, GROUP_CONCAT(name ORDER BY id) FROM shared.s",
                "SET /* {tag} */ SESSION time_zone='+00:00' , @@session.div_precision_increment=6;",
                "set session transaction isolation level read committed",
                "SET max_execution_time = 50000",
                "SET max_statement_time = 50",
            ]),
            1 => {
                // The clock stands still; so its time can be compared.
                self.query("SET timestamp = 1750000000 + {n}");
                self.query("SELECT {tag}, NOW(), CURRENT_DATE, UNIX_TIMESTAMP()");
                self.query("INSERT INTO {db}.t (d) VALUES (NOW())");
                self.query("SET timestamp = DEFAULT");
            }
            2 => {
                self.query("SET rand_seed1 = {n}, rand_seed2 = {n}");
                self.query("SELECT {tag}, RAND(), RAND()");
            }
            3 => {
                self.query("SET insert_id = 900 + {n}");
                self.query("INSERT INTO {db}.t (a, b) VALUES ({n}, {tag})");
                self.ask_for_last();
            }
            _ => self.one_of(&SETTINGS),
        }
        match self.dice.below(6) {
            0 => self.query("SELECT {tag}, @@sql_mode, @@time_zone, @@group_concat_max_len, @@div_precision_increment, 1 / 3"),
            1 => self.query("SELECT {tag}, '{char}', HEX('{char}'), COLLATION('x'), @@character_set_results"),
            2 => self.ask_for_last(),
            3 => self.read(),
            _ => {}
        }
    }

    /// Sets or reads variables of the user.
    pub(super) fn user_variable(&mut self) {
        self.one_of(&[
            "SET @a = {n}",
            "SET @a = {tag}, @b = {n}",
            "SET @a = @b + 1",
            "SET @b := NULL",
            "SET @a = 1.50, @b = 1e3, @c = X'4142', @d = '{char}', @e = -7",
            "SET @a = (SELECT MAX(id) FROM {db}.t)",
            "SET @tz = '+03:00', @`quoted name` = {tag}, @'q' = 2",
            "SET @c = _latin1'abc' COLLATE latin1_bin",
            "SELECT {tag}, @a, @b, @c, @d, @e",
            "SELECT {tag}, @a, @`quoted name`, @nobody",
            "SELECT {tag}, @a := {n}, @a + 1",
            "SELECT @a := COALESCE(@a, 0) + 1 AS a, {tag}",
            "SELECT id, name INTO @a, @b FROM shared.s WHERE id = {id}",
            "SELECT {tag} INTO @c",
            "SELECT {tag}, id, @x := id FROM shared.s ORDER BY id LIMIT 3",
            "SELECT {tag}, s.id FROM shared.s s WHERE s.id > @a ORDER BY s.id",
            "INSERT INTO {db}.t (a, b) VALUES (@b, @c)",
            "UPDATE {db}.t SET a = (@n := COALESCE(@n, 0) + 1) ORDER BY id",
            "DO @a := 5",
            "SELECT {tag}, CHARSET(@a), COLLATION(@c), COERCIBILITY(@d)",
            "SELECT {tag}, @A, @`a`, @x",
            "SET @a = CONCAT(@a, 'x'), @b = @a",
            "SET @big = REPEAT('x', 5000)",
            "SELECT {tag}, LENGTH(@big)",
        ]);
    }
}

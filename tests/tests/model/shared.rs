//! The statements that make what a run finds: what all clients read, and what each has for itself.

/// What is made behind it was there long ago, so that its server can say of a routine that it was
/// not altered lately.
pub(crate) const LONG_AGO: &str = "SET timestamp = 1700000000";

/// In the schema `shared`, which no client changes.
pub(crate) const SHARED: [&str; 24] = [
    "CREATE TABLE shared.s (id INT PRIMARY KEY, name VARCHAR(30), price DECIMAL(8, 2))",
    "INSERT INTO shared.s VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, 'three', 3), (4, NULL, 4), (5, 'f\u{fc}nf', 5), \
     (6, 'six', 6.25), (7, 'seven', 7), (8, 'eight', 8), (9, 'nine', 9), (10, 'ten', 10)",
    "CREATE TABLE shared.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(300))",
    "INSERT INTO shared.big (v) SELECT REPEAT(CHAR(64 + a.id), 250) FROM shared.s a, shared.s b, shared.s c ORDER BY a.id",
    "CREATE PROCEDURE shared.p_two(tag VARCHAR(20)) BEGIN SELECT tag, 1; \
     SELECT tag, id FROM shared.s ORDER BY id LIMIT 3; END",
    "CREATE PROCEDURE shared.p_none() DO 1",
    "CREATE PROCEDURE shared.p_set(tag VARCHAR(20)) BEGIN SET SESSION group_concat_max_len = 12, @from_p = tag; \
     SET time_zone = '+05:00'; SELECT tag, @@group_concat_max_len; END",
    "CREATE PROCEDURE shared.p_mode() SET sql_mode = 'ANSI'",
    "CREATE PROCEDURE shared.p_names() SET NAMES latin1",
    "CREATE PROCEDURE shared.p_temp(tag VARCHAR(20)) BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS p_tmp (x VARCHAR(20)); \
     INSERT INTO p_tmp VALUES (tag); SELECT tag, COUNT(*) FROM p_tmp; END",
    "CREATE PROCEDURE shared.p_begin(tag VARCHAR(20)) BEGIN START TRANSACTION; SELECT tag; END",
    "CREATE PROCEDURE shared.p_commit() COMMIT",
    "CREATE PROCEDURE shared.p_auto(n INT) SET autocommit = n",
    "CREATE PROCEDURE shared.p_error(tag VARCHAR(20)) BEGIN SELECT tag; \
     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = tag; SELECT 'never'; END",
    "CREATE PROCEDURE shared.p_warn(tag VARCHAR(20)) SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = tag, MYSQL_ERRNO = 1642",
    // MySQL answers a CALL that runs no statement with the rows of the statement before, on the
    // same connection.
    "CREATE PROCEDURE shared.p_out(n INT, OUT twice INT) BEGIN SET twice = n * 2; DO 0; END",
    "CREATE PROCEDURE shared.p_lock(name VARCHAR(64)) SELECT GET_LOCK(name, 0)",
    "CREATE PROCEDURE shared.p_prepare(tag VARCHAR(20)) BEGIN SET @sql = CONCAT('SELECT ''', tag, ''''); \
     PREPARE of_p FROM @sql; EXECUTE of_p; END",
    "CREATE PROCEDURE shared.p_id(n INT) SELECT LAST_INSERT_ID(n)",
    // What leaves nothing, and can be told to leave nothing.
    "CREATE FUNCTION shared.f_twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
    "CREATE PROCEDURE shared.p_plain(tag VARCHAR(20), n INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE found INT; \
     WHILE i < n DO SET i = i + 7; END WHILE; SELECT COUNT(*) INTO found FROM shared.s WHERE id <= n; \
     SELECT tag, i, found, shared.f_twice(n); END",
    "CREATE PROCEDURE shared.p_deep(tag VARCHAR(20), n INT) BEGIN CALL shared.p_plain(tag, n); \
     SELECT tag, LAST_INSERT_ID(); END",
    // And what does not.
    "CREATE FUNCTION shared.f_sets(n INT) RETURNS INT READS SQL DATA BEGIN SET @from_f = n; RETURN n; END",
    "CREATE PROCEDURE shared.p_found() SELECT SQL_CALC_FOUND_ROWS id FROM shared.s ORDER BY id LIMIT 1",
];

/// In the schemas of one client, `{db}` and `{db}b`. The first two remove them.
pub(crate) const OWN: [&str; 11] = [
    "DROP DATABASE IF EXISTS {db}",
    "DROP DATABASE IF EXISTS {db}b",
    "CREATE DATABASE {db}",
    "CREATE DATABASE {db}b CHARACTER SET latin1",
    "CREATE TABLE {db}.t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT NULL, b VARCHAR(60) NULL, \
     c DECIMAL(10, 2) NOT NULL DEFAULT 1.5, d DATETIME NULL) ENGINE = InnoDB",
    "INSERT INTO {db}.t (a, b) VALUES (1, 'first'), (2, 'second'), (3, NULL)",
    "CREATE TABLE {db}.u (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE, v LONGTEXT) \
     ENGINE = InnoDB",
    "CREATE TABLE {db}.n (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60)) ENGINE = MyISAM",
    "CREATE TABLE {db}b.t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, other VARCHAR(20)) AUTO_INCREMENT = 1000",
    "INSERT INTO {db}b.t (other) VALUES ('of b')",
    "CREATE PROCEDURE {db}.p_add(v VARCHAR(60)) BEGIN DECLARE added, changed INT; INSERT INTO {db}.t (b) VALUES (v); \
     SET added = LAST_INSERT_ID(); UPDATE {db}.t SET a = 1 WHERE id = added; SET changed = ROW_COUNT(); \
     SELECT v, added, changed; END",
];

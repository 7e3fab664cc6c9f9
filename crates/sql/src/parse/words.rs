//! Words that are no names unless they are quoted.

use std::ops::Deref;

use crate::conditional::Dialect;

/// Bytes of the longest word that the grammar has.
const LEN_MAX: usize = 32;

/// A word in upper case; empty if it is longer than any of the grammar.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Upper {
    bytes: [u8; LEN_MAX],
    len: usize,
}

impl Upper {
    pub(super) fn of(word: &[u8]) -> Self {
        let mut upper = Self::default();
        if let Some(place) = upper.bytes.get_mut(..word.len()) {
            place.copy_from_slice(word);
            place.make_ascii_uppercase();
            upper.len = word.len();
        }
        upper
    }
}

impl Deref for Upper {
    type Target = str;

    fn deref(&self) -> &str {
        let word = self.bytes.get(..self.len).unwrap_or_default();
        std::str::from_utf8(word).unwrap_or_default()
    }
}

/// Whether the word, in upper case, is reserved.
pub(super) fn is_reserved(word: &str, dialect: Dialect) -> bool {
    let has = |words: &[&str]| words.binary_search(&word).is_ok();
    has(&COMMON)
        || if dialect.is_mariadb() { has(&MARIADB) } else { has(&MYSQL) }
        || dialect.reserves_more() && has(&MYSQL_9)
}

/// Character sets, whose names with `_` in front introduce a string.
pub(super) fn is_charset(word: &str) -> bool {
    CHARSETS.binary_search(&word).is_ok()
}

/// Words that both servers reserve, sorted.
#[rustfmt::skip]
static COMMON: [&str; 229] = [
    "ACCESSIBLE", "ADD", "ALL", "ALTER", "ANALYZE", "AND", "AS", "ASC", "ASENSITIVE", "BEFORE",
    "BETWEEN", "BIGINT", "BINARY", "BLOB", "BOTH", "BY", "CALL", "CASCADE", "CASE", "CHANGE", "CHAR",
    "CHARACTER", "CHECK", "COLLATE", "COLUMN", "CONDITION", "CONSTRAINT", "CONTINUE", "CONVERT",
    "CREATE", "CROSS", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "CURSOR",
    "DATABASES", "DAY_HOUR", "DAY_MICROSECOND", "DAY_MINUTE", "DAY_SECOND", "DEC", "DECIMAL", "DECLARE",
    "DEFAULT", "DELAYED", "DELETE", "DESC", "DESCRIBE", "DETERMINISTIC", "DISTINCT", "DISTINCTROW",
    "DIV", "DOUBLE", "DROP", "DUAL", "EACH", "ELSE", "ELSEIF", "ENCLOSED", "ESCAPED", "EXCEPT",
    "EXISTS", "EXIT", "EXPLAIN", "FALSE", "FETCH", "FLOAT", "FLOAT4", "FLOAT8", "FOR", "FORCE",
    "FOREIGN", "FROM", "FULLTEXT", "GRANT", "GROUP", "HAVING", "HIGH_PRIORITY", "HOUR_MICROSECOND",
    "HOUR_MINUTE", "HOUR_SECOND", "IF", "IGNORE", "IN", "INDEX", "INFILE", "INNER", "INOUT",
    "INSENSITIVE", "INSERT", "INT", "INT1", "INT2", "INT3", "INT4", "INT8", "INTEGER", "INTERSECT",
    "INTERVAL", "INTO", "IS", "ITERATE", "JOIN", "KEY", "KEYS", "KILL", "LEADING", "LEAVE", "LEFT",
    "LIKE", "LIMIT", "LINEAR", "LINES", "LOAD", "LOCALTIME", "LOCALTIMESTAMP", "LOCK", "LONG",
    "LONGBLOB", "LONGTEXT", "LOOP", "LOW_PRIORITY", "MATCH", "MAXVALUE", "MEDIUMBLOB", "MEDIUMINT",
    "MEDIUMTEXT", "MIDDLEINT", "MINUTE_MICROSECOND", "MINUTE_SECOND", "MOD", "MODIFIES", "NATURAL",
    "NOT", "NO_WRITE_TO_BINLOG", "NULL", "NUMERIC", "ON", "OPTIMIZE", "OPTIONALLY", "OR", "ORDER",
    "OUT", "OUTER", "OUTFILE", "OVER", "PARTITION", "PRECISION", "PRIMARY", "PROCEDURE", "PURGE",
    "RANGE", "READ", "READS", "READ_WRITE", "REAL", "RECURSIVE", "REFERENCES", "REGEXP", "RELEASE",
    "RENAME", "REPEAT", "REPLACE", "REQUIRE", "RESIGNAL", "RESTRICT", "RETURN", "REVOKE", "RIGHT",
    "RLIKE", "ROWS", "ROW_NUMBER", "SCHEMAS", "SECOND_MICROSECOND", "SELECT", "SENSITIVE", "SEPARATOR",
    "SET", "SHOW", "SIGNAL", "SMALLINT", "SPATIAL", "SPECIFIC", "SQL", "SQLEXCEPTION", "SQLSTATE",
    "SQLWARNING", "SQL_BIG_RESULT", "SQL_CALC_FOUND_ROWS", "SQL_SMALL_RESULT", "SSL", "STARTING",
    "STRAIGHT_JOIN", "TABLE", "TERMINATED", "THEN", "TINYBLOB", "TINYINT", "TINYTEXT", "TO", "TRAILING",
    "TRIGGER", "TRUE", "UNDO", "UNION", "UNIQUE", "UNLOCK", "UNSIGNED", "UPDATE", "USAGE", "USE",
    "USING", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "VALUES", "VARBINARY", "VARCHAR", "VARCHARACTER",
    "VARYING", "WHEN", "WHERE", "WHILE", "WITH", "WRITE", "XOR", "YEAR_MONTH", "ZEROFILL",
];

/// Words that MariaDB alone reserves.
#[rustfmt::skip]
static MARIADB: [&str; 16] = [
    "CURRENT_ROLE", "DELETE_DOMAIN_ID", "DO_DOMAIN_IDS", "IGNORE_DOMAIN_IDS",
    "MASTER_DEMOTE_TO_REPLICA", "MASTER_DEMOTE_TO_SLAVE", "MASTER_SSL_VERIFY_SERVER_CERT", "OFFSET",
    "PAGE_CHECKSUM", "PARSE_VCOL_EXPR", "PORTION", "REF_SYSTEM_ID", "RETURNING", "STATS_AUTO_RECALC",
    "STATS_PERSISTENT", "STATS_SAMPLE_PAGES",
];

/// Words that MySQL alone reserves.
#[rustfmt::skip]
static MYSQL: [&str; 31] = [
    "CUBE", "CUME_DIST", "DATABASE", "DENSE_RANK", "EMPTY", "FIRST_VALUE", "FUNCTION", "GENERATED",
    "GET", "GROUPING", "GROUPS", "IO_AFTER_GTIDS", "IO_BEFORE_GTIDS", "JSON_TABLE", "LAG", "LAST_VALUE",
    "LATERAL", "LEAD", "NTH_VALUE", "NTILE", "OF", "OPTIMIZER_COSTS", "OPTION", "PERCENT_RANK", "RANK",
    "ROW", "SCHEMA", "STORED", "SYSTEM", "VIRTUAL", "WINDOW",
];

/// Words that MySQL reserves since version 9 or shortly before; names in older statements.
#[rustfmt::skip]
static MYSQL_9: [&str; 4] = [
    "EXTERNAL", "LIBRARY", "QUALIFY", "TABLESAMPLE",
];

/// Character sets of both servers.
#[rustfmt::skip]
static CHARSETS: [&str; 42] = [
    "ARMSCII8", "ASCII", "BIG5", "BINARY", "CP1250", "CP1251", "CP1256", "CP1257", "CP850", "CP852",
    "CP866", "CP932", "DEC8", "EUCJPMS", "EUCKR", "GB18030", "GB2312", "GBK", "GEOSTD8", "GREEK",
    "HEBREW", "HP8", "KEYBCS2", "KOI8R", "KOI8U", "LATIN1", "LATIN2", "LATIN5", "LATIN7", "MACCE",
    "MACROMAN", "SJIS", "SWE7", "TIS620", "UCS2", "UJIS", "UTF16", "UTF16LE", "UTF32", "UTF8",
    "UTF8MB3", "UTF8MB4",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for words in [&COMMON[..], &MARIADB, &MYSQL, &MYSQL_9, &CHARSETS] {
            assert!(words.is_sorted(), "{words:?}");
        }
    }

    #[test]
    fn dialects_differ() {
        let [old, new, mariadb] =
            ["8.0.36", "9.7.4", "10.11.19-MariaDB"].map(|version| Dialect::of(version.as_bytes()).unwrap());
        let reserved = |word| [old, new, mariadb].map(|dialect| is_reserved(word, dialect));
        assert_eq!(reserved("SELECT"), [true, true, true]);
        assert_eq!(reserved("RANK"), [true, true, false]);
        assert_eq!(reserved("LIBRARY"), [false, true, false]);
        assert_eq!(reserved("OFFSET"), [false, false, true]);
        assert_eq!(reserved("NAME"), [false, false, false]);
        assert_eq!(&*Upper::of(b"group_by"), "GROUP_BY");
        assert_eq!(&*Upper::of(&[b'a'; 33]), "");
    }
}

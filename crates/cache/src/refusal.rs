//! Why a statement's answer is not cached.
//!
//! An answer may be stored if it is a function of the key and of the tables that the statement
//! names. What is not is recognised by the statement's shape, and by words that the shape has no
//! effect for. Others are reasons of the session that sends it. The list of reasons is closed: each
//! miss of a cached rule has one of them.
//!
//! Views, engines and virtual columns need definitions: [`Catalog`](crate::Catalog) judges these.

use sql::lexer::Kind;
use sql::shape::Effects;
use sql::{FoundRows, Lexer, Modes, Shape};

use crate::clock::Clock;

/// A reason in the text of a statement, or in its session. The first that holds is the one that is
/// told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It is no plain `SELECT`: it changes something, or is about the server.
    NotARead,
    /// Several statements in one text.
    Several,
    /// It may do anything: a function that is not known, a text that is not understood.
    UnknownFunction,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
    Locks,
    /// `INTO OUTFILE`, `LOAD_FILE()`.
    File,
    /// `NOW()`, `RAND()`, `UUID()`.
    Volatile,
    /// `SLEEP()`, `BENCHMARK()`, functions that wait for a position.
    Waits,
    /// `USER()`, `DATABASE()`, `CONNECTION_ID()`.
    ReadsSession,
    /// `@x`, in whatever way.
    UserVariable,
    /// `@@x`.
    SystemVariable,
    /// `FOUND_ROWS()`, `ROW_COUNT()`, `LAST_INSERT_ID()`.
    ReadsLast,
    /// `SQL_CALC_FOUND_ROWS`: what `FOUND_ROWS()` gives next is not the number of rows.
    CountsRows,
    /// `GET_LOCK()` and its family.
    NamedLocks,
    /// `NEXT VALUE FOR`, `LASTVAL()`.
    Sequence,
    /// It asks not to be cached.
    NoCache,
    /// A word whose meaning is no function of the key: `PROCEDURE`, `ROWS EXAMINED`, `ROWNUM`.
    Word,
    /// It reads no table: an answer is made faster than it is found.
    NoTable,
    /// Tables of `mysql`, `information_schema`, `performance_schema` or `sys`.
    AboutServer,
    /// Not all of it was looked at, or it is not certain where its strings end.
    NotRead,
    /// A transaction is open.
    Transaction,
    /// Autocommit is off.
    Autocommit,
    /// Rows of transactions that are open are read.
    ReadUncommitted,
    /// The session has temporary tables, which hide others.
    TemporaryTables,
    /// The session has locked tables.
    LockedTables,
    /// What the session has set or left at its server is not known.
    UnknownSession,
    /// The client may ask about warnings or an error of the statement before.
    Warnings,
    /// It has to see a transaction, or data of some age at most.
    MustSee,
    /// A copy goes to another hostgroup.
    Mirrored,
    /// It has attributes that the server may read.
    Attributes,
    /// It opens a cursor, or values of it were sent in parts.
    Cursor,
    /// The client keeps the columns of prepared statements, and is told only changed ones.
    KeepsColumns,
    /// Own writes are to be seen, and replicas get them later.
    Replica,
    /// Own writes are to be seen, and there are users whose commands are not looked at.
    FastForward,
    /// The definitions of its tables were not learnt yet.
    NotLearnt,
    /// A view, or a table of one, whose definition the user may not see.
    Hidden,
    /// Own writes are to be seen, and a table's engine has no transactions or is changed elsewhere.
    Engine,
    /// The client is a proxy that caches answers, and cannot be told how old they are.
    Untold,
    /// Writes elsewhere are to be seen, and the server's binary log is not followed, or not yet.
    NotFollowed,
}

impl Refusal {
    /// All reasons, in the order in which they are looked for.
    pub const ALL: [Self; 38] = [
        Self::Several,
        Self::UnknownFunction,
        Self::Locks,
        Self::File,
        Self::Volatile,
        Self::Waits,
        Self::ReadsSession,
        Self::UserVariable,
        Self::SystemVariable,
        Self::ReadsLast,
        Self::CountsRows,
        Self::NamedLocks,
        Self::Sequence,
        Self::AboutServer,
        Self::NotARead,
        Self::NoCache,
        Self::Word,
        Self::NoTable,
        Self::NotRead,
        Self::Transaction,
        Self::Autocommit,
        Self::ReadUncommitted,
        Self::TemporaryTables,
        Self::LockedTables,
        Self::UnknownSession,
        Self::Warnings,
        Self::MustSee,
        Self::Mirrored,
        Self::Attributes,
        Self::Cursor,
        Self::KeepsColumns,
        Self::Replica,
        Self::FastForward,
        Self::NotLearnt,
        Self::Hidden,
        Self::Engine,
        Self::Untold,
        Self::NotFollowed,
    ];

    /// What operators read.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotARead => "not a plain read",
            Self::Several => "several statements",
            Self::UnknownFunction => "a function that is not known",
            Self::Locks => "locks rows",
            Self::File => "reads or writes a file",
            Self::Volatile => "another answer each time",
            Self::Waits => "waits",
            Self::ReadsSession => "depends on the session",
            Self::UserVariable => "user variable",
            Self::SystemVariable => "system variable",
            Self::ReadsLast => "depends on the statement before",
            Self::CountsRows => "SQL_CALC_FOUND_ROWS",
            Self::NamedLocks => "locks by name",
            Self::Sequence => "sequence",
            Self::NoCache => "SQL_NO_CACHE",
            Self::Word => "a word that is not a function of its tables",
            Self::NoTable => "no table",
            Self::AboutServer => "about the server",
            Self::NotRead => "not read to its end",
            Self::Transaction => "in a transaction",
            Self::Autocommit => "autocommit is off",
            Self::ReadUncommitted => "reads uncommitted rows",
            Self::TemporaryTables => "temporary tables",
            Self::LockedTables => "locked tables",
            Self::UnknownSession => "the session may have set something that is not known",
            Self::Warnings => "the statement before has warnings",
            Self::MustSee => "has to see a transaction or data of some age",
            Self::Mirrored => "mirrored",
            Self::Attributes => "query attributes",
            Self::Cursor => "cursor or long data",
            Self::KeepsColumns => "the client keeps columns",
            Self::Replica => "own writes reach replicas later",
            Self::FastForward => {
                "users with fast_forward, or layer-4 listeners, write without the cache's knowledge"
            }
            Self::NotLearnt => "its tables were not known yet",
            Self::Hidden => "a view or table whose definition may not be seen",
            Self::Engine => "own writes, and a table's engine is not InnoDB or RocksDB",
            Self::Untold => "a proxy that cannot be told how old answers are",
            Self::NotFollowed => "the server's binary log is not followed",
        }
    }

    /// The effects that make it so.
    const fn effects(self) -> Effects {
        match self {
            Self::UnknownFunction => Effects::UNKNOWN.union(Effects::FUNCTION),
            Self::Locks => Effects::LOCKS,
            Self::File => Effects::FILE,
            Self::Volatile => Effects::VOLATILE,
            Self::Waits => Effects::WAITS.union(Effects::WAITS_FOR_POSITION),
            Self::ReadsSession => Effects::READS_SESSION,
            Self::UserVariable => Effects::USER_VARIABLES,
            Self::SystemVariable => Effects::READS_SYSTEM_VARIABLES,
            Self::ReadsLast => Effects::READS_LAST.union(Effects::LAST_INSERT_ID),
            Self::CountsRows => Effects::COUNTS_ROWS,
            Self::NamedLocks => Effects::NAMED_LOCKS,
            Self::Sequence => Effects::SEQUENCE,
            Self::AboutServer => Effects::ABOUT_SERVER,
            // What is left of all effects, known ones and those to come.
            Self::NotARead => Effects::all(),
            _ => Effects::empty(),
        }
    }

    /// The first reason that holds for a statement of this shape; nothing if its answer may be
    /// stored as far as its text says.
    #[must_use]
    pub fn of(sql: &[u8], modes: Modes, shape: &Shape) -> Option<Self> {
        let is_plain = shape.kind.is_select();
        Self::ALL.into_iter().find(|reason| match reason {
            Self::CountsRows if is_plain && FoundRows::of(sql, modes) == FoundRows::Unknown => true,
            Self::NoTable => shape.reads.is_empty(),
            reason => reason.holds_for(sql, modes, shape),
        })
    }

    /// The same for the query of a view, or for the expression of a column in a query.
    pub(crate) fn of_definition(sql: &[u8], modes: Modes, shape: &Shape) -> Option<Self> {
        let refusal = Self::ALL.into_iter().find(|reason| reason.holds_for(sql, modes, shape));
        refusal.or(depends_on_values(sql).then_some(Self::Volatile))
    }

    /// Whether a reason holds wherever the text stands.
    fn holds_for(self, sql: &[u8], modes: Modes, shape: &Shape) -> bool {
        let by_effects = shape.effects.intersects(self.effects());
        by_effects
            || match self {
                Self::Several => shape.several,
                Self::NotARead => !shape.kind.is_select() || !shape.effects.is_empty(),
                Self::NoCache => has_word(sql, modes, &["sql_no_cache"]),
                Self::Word => has_word(sql, modes, WORDS) || has_own_word(sql, modes),
                Self::Volatile => Clock::default().takes_today(sql, modes),
                _ => false,
            }
    }
}

/// Words without an effect on the session whose meaning depends on more than tables and key.
/// `DES_DECRYPT` reads a file of keys; `SYSTEM_TIME AS OF TRANSACTION` reads the log.
const WORDS: &[&str] = &[
    "des_decrypt",
    "des_encrypt",
    "examined",
    "procedure",
    "rownum",
    "transaction",
    "validate_password_strength",
];

/// Functions of MariaDB's mode `ORACLE` that have no parentheses.
const WITHOUT_PARENTHESES: [&str; 3] = ["sqlcode", "sqlerrm", "sysdate"];

/// Whether a text has a function that is told from a column by what stands beside it:
/// `DEFAULT(column)`, which calls what the column's default calls; `SQL%ROWCOUNT`, `SYSDATE`.
fn has_own_word(sql: &[u8], modes: Modes) -> bool {
    let tokens: Vec<_> = Lexer::new(sql, modes).collect();
    let is_sign = |at: usize, sign| tokens.get(at).is_some_and(|token| token.kind == Kind::Sign(sign));
    (0..tokens.len()).any(|at| {
        let word = tokens.get(at).filter(|token| token.kind == Kind::Word);
        let word = word.and_then(|token| sql.get(token.start..token.end)).unwrap_or_default();
        let is = |one: &str| one.as_bytes().eq_ignore_ascii_case(word);
        let before = |sign| at > 0 && is_sign(at - 1, sign);
        is("default") && is_sign(at + 1, b'(')
            || is("rowcount") && before(b'%')
            || WITHOUT_PARENTHESES.into_iter().any(is) && !before(b'.') && !is_sign(at + 1, b'.')
    })
}

/// Whether what a digest does not tell makes the answer another one each time. A hint may set
/// `sql_auto_is_null`. `STR_TO_DATE` with a format without a year may return a `TIME`, which
/// becomes one of today.
#[must_use]
pub fn depends_on_values(sql: &[u8]) -> bool {
    let count =
        |bytes: &[u8]| sql.windows(bytes.len()).filter(|part| part.eq_ignore_ascii_case(bytes)).count();
    let formats = count(b"str_to_date");
    formats > 0 && formats > count(b"%y") || count(b"sql_auto_is_null") > 0
}

fn has_word(sql: &[u8], modes: Modes, words: &[&str]) -> bool {
    let mut tokens = Lexer::new(sql, modes).filter(|token| token.kind == Kind::Word);
    tokens.any(|token| {
        let text = sql.get(token.start..token.end).unwrap_or_default();
        words.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Option<Refusal> {
        Refusal::of(sql.as_bytes(), Modes::default(), &Shape::of(sql.as_bytes(), Modes::default()))
    }

    #[test]
    fn statements_are_refused_with_the_first_reason() {
        let cases = [
            ("SELECT a FROM t WHERE b = 1", None),
            ("SELECT count(*), CONCAT(a, 'x') FROM s.t JOIN u USING (id) GROUP BY 2", None),
            ("(SELECT a FROM t) UNION (SELECT b FROM u)", None),
            ("WITH x AS (SELECT a FROM t) SELECT * FROM x", None),
            ("SELECT a FROM t FOR UPDATE", Some(Refusal::Locks)),
            ("SELECT a FROM t LOCK IN SHARE MODE", Some(Refusal::Locks)),
            ("SELECT a INTO @x FROM t", Some(Refusal::UserVariable)),
            ("SELECT a INTO OUTFILE 'f' FROM t", Some(Refusal::File)),
            ("SELECT NOW(), a FROM t", Some(Refusal::Volatile)),
            ("SELECT a FROM t WHERE d < CURRENT_DATE", Some(Refusal::Volatile)),
            ("SELECT RAND(1) FROM t", Some(Refusal::Volatile)),
            ("SELECT SLEEP(1) FROM t", Some(Refusal::Waits)),
            ("SELECT a FROM t WHERE u = CURRENT_USER()", Some(Refusal::ReadsSession)),
            ("SELECT a FROM t WHERE b = @x", Some(Refusal::UserVariable)),
            ("SELECT @@sql_mode, a FROM t", Some(Refusal::SystemVariable)),
            ("SELECT FOUND_ROWS()", Some(Refusal::ReadsLast)),
            ("SELECT a FROM t WHERE id = LAST_INSERT_ID()", Some(Refusal::ReadsLast)),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1", Some(Refusal::CountsRows)),
            ("SELECT GET_LOCK('a', 0) FROM t", Some(Refusal::NamedLocks)),
            ("SELECT NEXTVAL(s)", Some(Refusal::Sequence)),
            ("SELECT SQL_NO_CACHE a FROM t", Some(Refusal::NoCache)),
            ("SELECT a FROM t PROCEDURE ANALYSE()", Some(Refusal::UnknownFunction)),
            ("SELECT a FROM t LIMIT ROWS EXAMINED 10", Some(Refusal::Word)),
            ("SELECT a FROM t FOR SYSTEM_TIME AS OF TRANSACTION 7", Some(Refusal::Word)),
            ("SELECT a FROM t WHERE ROWNUM() < 3", Some(Refusal::Word)),
            ("SELECT my_function(a) FROM t", Some(Refusal::UnknownFunction)),
            ("SELECT a, DEFAULT(a) FROM t", Some(Refusal::Sequence)),
            ("SELECT a, SYSDATE FROM t", Some(Refusal::Word)),
            ("SELECT a, SQL%ROWCOUNT FROM t", Some(Refusal::Word)),
            ("SELECT t.sysdate, `sqlcode`, rowcount FROM t", None),
            ("SELECT a FROM t UNION SELECT b FROM u LIMIT 3", Some(Refusal::CountsRows)),
            ("SELECT a FROM t LIMIT 3 OFFSET 5", None),
            ("SELECT CAST(TIME'10:00:00' AS DATETIME), a FROM t", Some(Refusal::Volatile)),
            ("SELECT 1", Some(Refusal::NoTable)),
            ("SELECT user FROM mysql.user", Some(Refusal::AboutServer)),
            ("SHOW TABLES", Some(Refusal::AboutServer)),
            ("INSERT INTO t VALUES (1)", Some(Refusal::NotARead)),
            ("UPDATE t SET a = 1", Some(Refusal::NotARead)),
            ("SELECT a FROM t; SELECT b FROM u", Some(Refusal::Several)),
            ("CALL p()", Some(Refusal::UnknownFunction)),
        ];
        for (sql, expected) in cases {
            assert_eq!(of(sql), expected, "{sql}");
        }
    }

    #[test]
    fn hints_and_formats_are_no_matter_of_the_digest() {
        for sql in [
            "SELECT /*+ SET_VAR(Sql_Auto_Is_Null=1) */ a FROM t WHERE a IS NULL",
            "SELECT a FROM t WHERE d > Str_To_Date('10:00', '%H:%i')",
            "SELECT STR_TO_DATE(a, '%Y'), STR_TO_DATE(b, '%T') FROM t",
        ] {
            assert!(depends_on_values(sql.as_bytes()), "{sql}");
        }
        for sql in ["SELECT STR_TO_DATE(a, '%d.%m.%y') FROM t", "SELECT s FROM t WHERE a IS NULL"] {
            assert!(!depends_on_values(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn each_reason_has_its_own_text_and_is_looked_for() {
        let texts: std::collections::HashSet<_> = Refusal::ALL.iter().map(|reason| reason.text()).collect();
        assert_eq!(texts.len(), Refusal::ALL.len());
        let refused = |effect: Effects| Refusal::ALL.iter().any(|reason| reason.effects().intersects(effect));
        assert!(Effects::all().iter().all(refused));
    }
}

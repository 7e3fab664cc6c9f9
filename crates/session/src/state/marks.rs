//! What a statement's words say that it leaves at its server, or takes away from there: temporary
//! tables, locks by name, open handlers, statements prepared by name.
//!
//! It is asked of the few statements that are known to do such things. Where names cannot be told
//! for certain, a pin has none and lasts.

use sql::StatementKind;
use sql::lexer::Kind;
use sql::shape::Effects;

use super::words::{Words, tokens, whole_tokens};
use super::{Mark, Pin};

/// What a single statement leaves or takes away, besides what is a setting. `schema` is the
/// session's; `tables` says whether it reads any, so that its functions may be called more than
/// once.
pub fn marks(effects: Effects, kind: StatementKind, text: &[u8], schema: &[u8], tables: bool) -> Vec<Mark> {
    let mut marks = Vec::new();
    if effects.intersects(Effects::SETS_USER_VARIABLES) && kind != StatementKind::Set {
        marks.push(Mark::begin(Pin::UserVariable));
    }
    if effects.intersects(Effects::NAMED_LOCKS) {
        named_locks(&Words::new(text, &tokens(text)), tables, &mut marks);
    }
    if effects.intersects(Effects::COUNTS_ROWS) {
        marks.push(Mark::begin(Pin::FoundRows));
    }
    if effects.intersects(Effects::FUNCTION) {
        marks.push(Mark::begin(Pin::Function));
    }
    if effects.intersects(Effects::SEQUENCE) && draws(&Words::new(text, &tokens(text))) {
        marks.push(Mark::begin(Pin::Sequence));
    }
    if effects.intersects(Effects::WAITS_FOR_POSITION) {
        marks.push(Mark::begin(Pin::Waited));
    }
    // What is in a text that is not understood, its kind tells.
    if effects.intersects(Effects::TEMPORARY_TABLE)
        || matches!(kind, StatementKind::CreateTemporary | StatementKind::DropTable)
    {
        temporary_tables(&Words::new(text, &tokens(text)), schema, &mut marks);
    }
    if kind == StatementKind::Update && is_of_threads(text, schema) {
        marks.push(Mark::begin(Pin::Setting));
    }
    if effects.intersects(Effects::SERVER) && has(text, "pseudo_thread_id") {
        marks.push(Mark::begin(Pin::ConnectionId));
    }
    marks
}

/// What a `HANDLER`, `PREPARE` or `DEALLOCATE PREPARE` leaves or takes away; nothing if it is none.
pub fn by_name(text: &[u8]) -> Option<Mark> {
    let tokens = tokens(text);
    let words = Words::new(text, &tokens);
    match words.lower(0).as_str() {
        "handler" => {
            // `db.t OPEN AS a`, `t CLOSE`, `t READ ...`
            let verb = words.position(|word| matches!(word, "open" | "close" | "read"))?;
            match words.lower(verb).as_str() {
                "open" => {
                    let alias = usize::from(words.is(verb + 1, "as"));
                    let name = name(&words, verb + 1 + alias).or_else(|| name(&words, verb - 1));
                    Some(
                        name.map_or_else(
                            || Mark::begin(Pin::Handler),
                            |name| Mark::Begin(Pin::Handler, name),
                        ),
                    )
                }
                "close" => Some(Mark::End(Pin::Handler, name(&words, verb - 1)?)),
                _ => None,
            }
        }
        "prepare" => {
            let name = name(&words, 1).map(|name| name.to_ascii_lowercase().into())?;
            Some(Mark::Begin(Pin::Prepare, name))
        }
        "deallocate" | "drop" if words.is(1, "prepare") => {
            Some(Mark::End(Pin::Prepare, name(&words, 2)?.to_ascii_lowercase().into()))
        }
        _ => None,
    }
}

/// What a `PREPARE` prepares, if that is one literal which is the same in all modes of a session.
pub fn prepared_text(text: &[u8]) -> Option<Box<[u8]>> {
    let tokens = whole_tokens(text)?;
    let words = Words::new(text, &tokens);
    let is_all = words.len() == 4 || words.len() == 5 && words.is_sign(4, b';');
    let is_it = is_all && words.is(0, "prepare") && words.is(2, "from") && words.kind(3) == Some(Kind::Text);
    let (&quote, inner) = words.bytes(3).split_first().filter(|_| is_it)?;
    let inner = inner.strip_suffix(&[quote]).filter(|inner| !inner.contains(&b'\\'))?;
    let mut prepared = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        prepared.push(byte);
        if byte == quote {
            // It stands there twice.
            bytes.next();
        }
    }
    Some(prepared.into())
}

/// Whether an `EXECUTE` does nothing but execute what was prepared by name.
pub fn executes_prepared(text: &[u8]) -> bool {
    let tokens = tokens(text);
    let words = Words::new(text, &tokens);
    let is_value = |at| {
        matches!(
            words.kind(at),
            Some(Kind::UserVariable | Kind::Number | Kind::Text | Kind::Sign(b',' | b';'))
        )
    };
    let is_plain = !tokens.iter().any(|token| token.conditional);
    let uses = words.len() == 2 || words.is_sign(2, b';') || words.is(2, "using");
    is_plain
        && words.is(0, "execute")
        && matches!(words.kind(1), Some(Kind::Word | Kind::Name))
        && !words.is(1, "immediate")
        && uses
        && (3..words.len()).all(is_value)
}

/// Whether it is about an open handler.
pub fn is_handler(text: &[u8]) -> bool {
    Words::new(text, &tokens(text)).is(0, "handler")
}

/// Whether it is a `DROP DATABASE` of this schema. Who is in it is in none then.
pub fn drops_schema(text: &[u8], schema: &[u8]) -> bool {
    let tokens = tokens(text);
    let words = Words::new(text, &tokens);
    let at = if words.is(2, "if") { 4 } else { 2 };
    let is_it = |name: Box<[u8]>| name.eq_ignore_ascii_case(schema);
    words.is(0, "drop")
        && (words.is(1, "database") || words.is(1, "schema"))
        && name(&words, at).is_some_and(is_it)
}

/// Whether it takes a value of a sequence, of which the server tells the session later which one
/// that was.
fn draws(words: &Words<'_>) -> bool {
    (0..words.len()).any(|at| words.is(at, "nextval") || words.is(at, "next") && words.is(at + 1, "value"))
}

/// Whether a `FLUSH` sets the counters of the connection to 0.
pub fn flushes_status(text: &[u8]) -> bool {
    Words::new(text, &tokens(text)).position(|word| word == "status").is_some()
}

/// Whether a statement in this schema may write into `performance_schema`. An `UPDATE` may change
/// there what MySQL notes of the thread that runs it, and that stays with the connection.
pub fn is_of_threads(text: &[u8], schema: &[u8]) -> bool {
    const SCHEMA: &str = "performance_schema";
    schema.eq_ignore_ascii_case(SCHEMA.as_bytes()) || has(text, SCHEMA)
}

/// Whether this word is anywhere in it, or a part of another one.
pub fn has(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
}

/// The name that is here, without quotes; nothing if there is none, or one with quotes in it.
fn name(words: &Words<'_>, at: usize) -> Option<Box<[u8]>> {
    let bytes = words.bytes(at);
    match words.kind(at)? {
        Kind::Word => Some(bytes.into()),
        Kind::Name => {
            let inner = bytes.get(1..bytes.len().checked_sub(1)?)?;
            (!inner.contains(&b'`')).then(|| inner.into())
        }
        _ => None,
    }
}

/// The string that is here, if it means what is written there.
fn literal(words: &Words<'_>, at: usize) -> Option<Box<[u8]>> {
    let bytes = words.bytes(at);
    let is_text = words.kind(at) == Some(Kind::Text);
    let inner = bytes.get(1..bytes.len().checked_sub(1)?)?;
    let is_plain = !inner.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\'));
    (is_text && is_plain && !inner.is_empty()).then(|| inner.to_ascii_lowercase().into())
}

fn named_locks(words: &Words<'_>, tables: bool, marks: &mut Vec<Mark>) {
    for at in (0..words.len()).filter(|at| words.is_sign(at + 1, b'(')) {
        let of_one = || literal(words, at + 2).filter(|_| !tables);
        match words.lower(at).as_str() {
            "get_lock" => marks.push(Mark::Begin(Pin::NamedLock, of_one().unwrap_or_default())),
            "release_lock" => marks.extend(of_one().map(|name| Mark::End(Pin::NamedLock, name))),
            "release_all_locks" => marks.push(Mark::EndAll(Pin::NamedLock)),
            _ => {}
        }
    }
}

/// `CREATE [OR REPLACE] TEMPORARY TABLE [IF NOT EXISTS] name`,
/// `DROP [TEMPORARY] TABLE[S] [IF EXISTS] name, ...`
fn temporary_tables(words: &Words<'_>, schema: &[u8], marks: &mut Vec<Mark>) {
    let drops = words.is(0, "drop");
    let keyword = (0..words.len()).find(|at| words.is(*at, "table") || words.is(*at, "tables"));
    let mut at = keyword.map_or(0, |keyword| keyword + 1);
    if words.is(at, "if") {
        at += if drops { 2 } else { 3 };
    }
    let known = keyword.is_some() && (drops || words.is(0, "create"));
    while let Some((name, behind)) = table(words, at, schema).filter(|_| known) {
        if !drops {
            return marks.push(Mark::Begin(Pin::TemporaryTable, name));
        }
        marks.push(Mark::End(Pin::TemporaryTable, name));
        if !words.is_sign(behind, b',') {
            return;
        }
        at = behind + 1;
    }
    if !drops {
        marks.push(Mark::begin(Pin::TemporaryTable));
    }
}

/// A table's name with its schema, and what comes behind it.
fn table(words: &Words<'_>, at: usize, schema: &[u8]) -> Option<(Box<[u8]>, usize)> {
    let first = name(words, at)?;
    if words.is_sign(at + 1, b'.') {
        let second = name(words, at + 2)?;
        return Some(([&first[..], b".", &second[..]].concat().into(), at + 3));
    }
    Some(([schema, b".", &first[..]].concat().into(), at + 1))
}

#[cfg(test)]
mod tests {
    use route::reader::{Reading, plan};

    use super::*;

    fn of(text: &str) -> Vec<Mark> {
        let plan = plan::of(text.as_bytes(), true, Reading::default());
        marks(plan.effects, plan.kind, text.as_bytes(), b"db", plan.tables)
    }

    fn begin(pin: Pin, name: &str) -> Vec<Mark> {
        vec![Mark::Begin(pin, name.as_bytes().into())]
    }

    fn end(pin: Pin, name: &str) -> Vec<Mark> {
        vec![Mark::End(pin, name.as_bytes().into())]
    }

    #[test]
    fn temporary_tables_have_names() {
        use Pin::TemporaryTable as T;
        assert_eq!(of("CREATE TEMPORARY TABLE a (b INT)"), begin(T, "db.a"));
        assert_eq!(
            of("create or replace temporary table if not exists `x`.`a b` (b int)"),
            begin(T, "x.a b")
        );
        assert_eq!(of("CREATE TEMPORARY TABLE a SELECT 1 AS c"), begin(T, "db.a"));
        assert_eq!(of("DROP TEMPORARY TABLE IF EXISTS a"), end(T, "db.a"));
        assert_eq!(of("DROP TABLE a, x.b"), [end(T, "db.a"), end(T, "x.b")].concat());
        assert_eq!(of("CREATE TABLE a (b INT)"), []);
    }

    #[test]
    fn locks_by_name_are_counted_where_they_are_certain() {
        use Pin::NamedLock as L;
        assert_eq!(of("SELECT GET_LOCK('a', 1)"), begin(L, "a"));
        assert_eq!(of("DO release_lock('A')"), end(L, "a"));
        assert_eq!(of("SELECT GET_LOCK('a', 1) FROM t"), begin(L, ""), "once for each row");
        assert_eq!(of("SELECT RELEASE_LOCK('a') FROM t"), [], "nobody knows whether there is a row");
        assert_eq!(of("SELECT GET_LOCK(CONCAT('a', 'b'), 1)"), begin(L, ""));
        assert_eq!(of("SELECT RELEASE_ALL_LOCKS()"), [Mark::EndAll(L)]);
        assert_eq!(of("SELECT IS_FREE_LOCK('a')"), []);
    }

    #[test]
    fn other_traces() {
        assert_eq!(of("SELECT @a := 1"), begin(Pin::UserVariable, ""));
        assert_eq!(of("SELECT 1 INTO @a"), begin(Pin::UserVariable, ""));
        assert_eq!(of("SELECT @a"), []);
        assert_eq!(of("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1"), begin(Pin::FoundRows, ""));
        for text in
            ["SELECT f(1)", "SELECT max (1)", "SELECT count/**/(1)", "SELECT now\n()", "SELECT path(1)"]
        {
            assert_eq!(of(text), begin(Pin::Function, ""), "{text}");
        }
        assert_eq!(of("SELECT max(1), abs (1), `a`.max(2) IS NULL"), begin(Pin::Function, ""));
        assert_eq!(of("SELECT max(1), abs (1), ifnull/**/(1, 2)"), []);
        assert_eq!(of("SELECT DEFAULT(a) FROM t"), []);
        assert_eq!(of("INSERT INTO t VALUES (DEFAULT)"), []);
        assert_eq!(of("SELECT @@pseudo_thread_id"), begin(Pin::ConnectionId, ""));
        assert!(flushes_status(b"FLUSH LOCAL STATUS") && !flushes_status(b"FLUSH PRIVILEGES"));
        assert!(
            drops_schema(b"DROP DATABASE db", b"db") && drops_schema(b"drop schema if exists `a b`", b"a b")
        );
        assert!(!drops_schema(b"DROP DATABASE db2", b"db") && !drops_schema(b"DROP TABLE db", b"db"));
        let threads = "UPDATE performance_schema.threads SET history = 'NO'";
        assert_eq!(of(threads), begin(Pin::Setting, ""));
        assert!(is_of_threads(b"UPDATE threads SET history = 'NO'", b"Performance_Schema"));
        assert_eq!(of("UPDATE threads SET history = 'NO'"), []);
        assert_eq!(of("SELECT DATABASE()"), []);
        assert_eq!(of("SELECT a FROM t WHERE b = 1"), []);
        assert_eq!(of("INSERT INTO t VALUES (1)"), []);
    }

    #[test]
    fn what_has_a_name_of_its_own() {
        let of = |text: &str| by_name(text.as_bytes());
        let one = |mut marks: Vec<Mark>| marks.pop();
        assert_eq!(of("HANDLER t OPEN"), one(begin(Pin::Handler, "t")));
        assert_eq!(of("handler db.t open as `h`"), one(begin(Pin::Handler, "h")));
        assert_eq!(of("HANDLER h READ FIRST"), None);
        assert_eq!(of("HANDLER h CLOSE"), one(end(Pin::Handler, "h")));
        assert_eq!(of("PREPARE S FROM 'SELECT 1'"), one(begin(Pin::Prepare, "s")));
        assert_eq!(of("DEALLOCATE PREPARE s"), one(end(Pin::Prepare, "s")));
        assert_eq!(of("DROP PREPARE s"), one(end(Pin::Prepare, "s")));
        assert_eq!(of("DROP TABLE s"), None);
    }

    #[test]
    fn what_is_prepared_is_one_literal() {
        let of =
            |text: &str| prepared_text(text.as_bytes()).map(|text| String::from_utf8(text.into()).unwrap());
        assert_eq!(of("PREPARE p FROM 'SELECT ''a'', ?';").as_deref(), Some("SELECT 'a', ?"));
        assert_eq!(of("prepare `p` from \"SELECT 1\"").as_deref(), Some("SELECT 1"));
        for text in ["@a", "'a\\'b'", "CONCAT('a')", "_utf8 'a'", "'a", "'a' 'b'"] {
            assert_eq!(of(&format!("PREPARE p FROM {text}")), None, "{text}");
        }
    }

    #[test]
    fn an_execution_does_nothing_besides() {
        for text in ["EXECUTE P", "execute `p` using @a, 1;", "EXECUTE p USING 'x'", "EXECUTE p;"] {
            assert!(executes_prepared(text.as_bytes()), "{text}");
        }
        for text in [
            "EXECUTE p USING f(1)",
            "EXECUTE p USING @a, -f(1)",
            "EXECUTE p USING NEXT VALUE FOR s",
            "EXECUTE p /*!40101 USING @a */",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "EXECUTE immediate",
            "EXECUTE",
        ] {
            assert!(!executes_prepared(text.as_bytes()), "{text}");
        }
    }
}

//! What a `SET` does to the session, from its text.
//!
//! Only what means the same on every server is a [setting](super::settings): literals, names of
//! character sets, `DEFAULT`, the global value, which is the same, and an SQL mode that is what it
//! was and more (`sql_mode.rs`). What a single variable is else, its server can be asked for.
//! Everything else is [`Change::Unknown`].

use sql::lexer::Kind;

use super::setting::Setting;
use super::settings::key_of_null;
use super::words::{Words, whole_tokens};
use super::{of_global, sql_mode, switches};

/// What a `SET` does to the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It sets these.
    Settings(Vec<Setting>),
    /// It sets these, and user variables to what is not written there.
    WithUserVariables(Vec<Setting>),
    /// It is for the next transaction only.
    NextTransaction,
    /// Nothing that another server would have to know: it is about the server, or an account.
    Nothing,
    /// It sets this variable of the session, and nothing else, to what the server knows.
    Told(Box<str>),
    /// Something that cannot be said again elsewhere.
    Unknown,
}

/// Session variables that mean something for one statement or for one server only, or that make a
/// server answer with what the session did there before.
const NOT_SETTINGS: &[&str] = &[
    "character_set_database",
    "collation_database",
    "gtid_next",
    "gtid_seq_no",
    "identity",
    "insert_id",
    "last_insert_id",
    "optimizer_trace",
    "profiling",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "server_id",
    "gtid_domain_id",
];

/// The variable that makes servers answer with what the session did there before, unless it is off.
const ASKS_FOR_LAST_ID: &str = "sql_auto_is_null";

/// Variables that are not what was set, that change others with them, or that are another thing
/// than their value: the server is not asked for these. So are [lists of switches](switches), of
/// which an older server may lack some, and those of [transactions](OF_TRANSACTIONS).
const NOT_ASKED: [&str; 4] = ["max_join_size", "sql_max_join_size", "session_track_gtids", "timestamp"];

/// Variables that with `@@` and without a scope are about the next transaction alone. Source: *SET
/// TRANSACTION* of MySQL's manual.
const OF_TRANSACTIONS: [&str; 4] =
    ["transaction_isolation", "transaction_read_only", "tx_isolation", "tx_read_only"];

/// What this `SET` does to the session.
pub fn change(text: &[u8]) -> Change {
    let Some(tokens) = whole_tokens(text) else { return Change::Unknown };
    if tokens.iter().any(|token| token.conditional) {
        return Change::Unknown;
    }
    let words = Words::new(text, &tokens);
    let end = tokens.iter().position(|token| token.kind == Kind::Sign(b';')).unwrap_or(tokens.len());
    if !words.is(0, "set") || tokens.get(end + 1).is_some() {
        return Change::Unknown;
    }
    let words = words.part(1..end);
    whole(&words).unwrap_or_else(|| assignments(&words))
}

/// Whether one of several statements in one text is a `USE`.
pub fn has_use(text: &[u8]) -> bool {
    let Some(tokens) = whole_tokens(text) else { return true };
    let mut statements = tokens.split(|token| token.kind == Kind::Sign(b';'));
    statements.any(|tokens| Words::new(text, tokens).is(0, "use"))
}

/// Whether a variable, as it is written, is that of the next transaction.
fn is_of_next_transaction(name: &str) -> bool {
    name.strip_prefix("@@").is_some_and(|name| OF_TRANSACTIONS.contains(&name))
}

/// What the forms do that are no list of assignments.
fn whole(words: &Words<'_>) -> Option<Change> {
    match words.lower(0).as_str() {
        "transaction" => Some(Change::NextTransaction),
        name if is_of_next_transaction(name) && words.split_at_commas().count() == 1 => {
            Some(Change::NextTransaction)
        }
        "session" | "local" if words.is(1, "transaction") => Some(characteristics(words)),
        "global" | "persist" | "persist_only" if words.is(1, "transaction") => Some(Change::Nothing),
        "statement" => Some(if is_for_rows(words) { Change::Nothing } else { Change::Unknown }),
        "password" | "default" => Some(Change::Nothing),
        "role" | "resource" => Some(Change::Unknown),
        _ => None,
    }
}

/// Whether a `SET STATEMENT ... FOR` is for a statement that reads or writes rows, which leaves
/// nothing that its effects do not tell.
fn is_for_rows(words: &Words<'_>) -> bool {
    const OF_ROWS: [&str; 6] = ["select", "insert", "update", "delete", "replace", "with"];
    let at = words.position(|word| word == "for");
    at.is_some_and(|at| OF_ROWS.iter().any(|word| words.is(at + 1, word)))
}

/// `SESSION TRANSACTION`, and an isolation level, an access mode, or both: each is a setting of its
/// own.
fn characteristics(words: &Words<'_>) -> Change {
    let of_one = |part: Words<'_>| {
        let key = if part.is(0, "isolation") { "transaction_isolation" } else { "transaction_access" };
        Setting { key: key.into(), text: [&b"SET SESSION TRANSACTION "[..], part.source()].concat().into() }
    };
    Change::Settings(words.part(2..).split_at_commas().map(of_one).collect())
}

fn assignments(words: &Words<'_>) -> Change {
    let mut settings = Vec::new();
    let (mut global, mut unknown_value) = (false, false);
    for part in words.split_at_commas() {
        match assignment(&part) {
            // Servers differ in what a scope means for the assignments behind it.
            Some(Assignment::Session(_)) if global => return Change::Unknown,
            Some(Assignment::Session(setting)) => settings.push(setting),
            Some(Assignment::Global) => global = true,
            Some(Assignment::UserVariable) => unknown_value = true,
            None => return told(words).map_or(Change::Unknown, Change::Told),
        }
    }
    match (unknown_value, settings.is_empty()) {
        (true, _) => Change::WithUserVariables(settings),
        (false, true) => Change::Nothing,
        (false, false) => Change::Settings(settings),
    }
}

enum Assignment {
    Session(Setting),
    Global,
    /// To a value that is not written there.
    UserVariable,
}

/// One assignment; `None` if it cannot be said again elsewhere.
fn assignment(words: &Words<'_>) -> Option<Assignment> {
    if words.kind(0)? == Kind::UserVariable {
        return Some(user_variable(words).map_or(Assignment::UserVariable, Assignment::Session));
    }
    let said = |key: &str, text: &[u8]| {
        let text = [&b"SET "[..], text].concat().into();
        Some(Assignment::Session(Setting { key: key.into(), text }))
    };
    let charset = match words.lower(0).as_str() {
        "names" | "charset" => 1,
        "character" if words.is(1, "set") => 2,
        _ => 0,
    };
    if charset > 0 {
        let value = is_literal(words, charset);
        let ends =
            words.len() == charset + 1 || words.is(charset + 1, "collate") && words.len() == charset + 3;
        return if value && ends { said("names", words.source()) } else { None };
    }
    match target(words)? {
        Target::Global => Some(Assignment::Global),
        Target::Session { name, at } => to_value(words, &name, at).map(Assignment::Session),
    }
}

/// A system variable that is set.
enum Target {
    Global,
    /// That of the session, in lower case, and the place behind it.
    Session {
        name: String,
        at: usize,
    },
}

/// Which variable is set; `None` if it is none of which the session keeps what was set.
fn target(words: &Words<'_>) -> Option<Target> {
    let (mut name, mut at) = (words.lower(0), 1);
    match name.as_str() {
        "global" | "persist" | "persist_only" => return Some(Target::Global),
        "session" | "local" => {
            name = words.lower(1);
            at = 2;
        }
        _ => {}
    }
    if is_of_next_transaction(&name) {
        return None;
    }
    if let Some(variable) = name.strip_prefix("@@") {
        let (scope, variable) = variable.split_once('.').unwrap_or(("session", variable));
        name = match scope {
            "global" | "persist" | "persist_only" => return Some(Target::Global),
            "session" | "local" => variable.to_owned(),
            _ => return None,
        };
    }
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_kept = !name.is_empty() && is_name && !NOT_SETTINGS.contains(&name.as_str());
    is_kept.then_some(Target::Session { name, at })
}

/// The only variable that is set, if its server can be asked what it is then.
fn told(words: &Words<'_>) -> Option<Box<str>> {
    let Target::Session { name, at } = target(words)? else { return None };
    let at = at + usize::from(words.is_sign(at, b':'));
    let value = words.part(at + 1..);
    // Within a value, `:=` sets a user variable.
    let is_value = words.is_sign(at, b'=') && value.len() > 0 && !value.has_sign(b':');
    let is_alone = words.split_at_commas().count() == 1;
    let is_not = NOT_ASKED.contains(&name.as_str())
        || OF_TRANSACTIONS.contains(&name.as_str())
        || switches::is_list(&name);
    (is_value && is_alone && !is_not).then(|| name.into())
}

/// The setting of a variable that a server has told to be this. `is_number` says whether that is
/// one; nothing stands for `NULL`.
pub fn of_told(name: &str, value: Option<&[u8]>, is_number: bool) -> Option<Setting> {
    let value = match value {
        None => "NULL".to_owned(),
        Some(value) => {
            let text = std::str::from_utf8(value).ok()?;
            let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b'\'' | b'\\');
            if !text.bytes().all(is_plain) || is_number && text.is_empty() {
                return None;
            }
            if is_number { text.to_owned() } else { format!("'{text}'") }
        }
    };
    if name == ASKS_FOR_LAST_ID && value != "0" {
        return None;
    }
    let text = format!("SET SESSION {name} = {value}").into_bytes();
    Some(Setting { key: name.into(), text: text.into() })
}

/// What stands behind the name of a session variable: `=` or `:=`, and a value that means the same
/// wherever it is said.
fn to_value(words: &Words<'_>, name: &str, at: usize) -> Option<Setting> {
    let at = at + usize::from(words.is_sign(at, b':'));
    let value = words.is_sign(at, b'=').then_some(at + 1)?;
    let source = words.part(value..).source();
    let setting = |key: String| {
        let text = [format!("SET SESSION {name} = ").as_bytes(), source].concat();
        Setting { key: key.into(), text: text.into() }
    };
    if name == sql_mode::NAME
        && let Some(key) = sql_mode::key(&words.part(value..))
    {
        return Some(setting(key));
    }
    if name != ASKS_FOR_LAST_ID && of_global::is_concatenation(&words.part(value..), name) {
        return Some(setting(name.to_owned()));
    }
    let signed = usize::from(words.is_sign(value, b'-') || words.is_sign(value, b'+'));
    let is_value = is_literal(words, value + signed) || words.lower(value) == format!("@@global.{name}");
    if !is_value || words.len() != value + signed + 1 {
        return None;
    }
    if name == ASKS_FOR_LAST_ID && !["0", "off", "false"].contains(&words.lower(value).as_str()) {
        return None;
    }
    switches::key(name, words.bytes(value + signed)).map(setting)
}

fn is_literal(words: &Words<'_>, at: usize) -> bool {
    matches!(words.kind(at), Some(Kind::Word | Kind::Text | Kind::Number))
}

/// A user variable that gets a literal, which means the same wherever it is said.
fn user_variable(words: &Words<'_>) -> Option<Setting> {
    let name = words.lower(0);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'_' | b'.' | b'$');
    let at = 1 + usize::from(words.is_sign(1, b':'));
    let value = words.is_sign(at, b'=').then_some(at + 1)?;
    let signed = usize::from(words.is_sign(value, b'-') || words.is_sign(value, b'+'));
    let text = words.bytes(value + signed);
    let is_literal = match words.kind(value + signed)? {
        Kind::Number => true,
        // What is in double quotes may be a name, and a backslash a letter.
        Kind::Text => {
            signed == 0 && text.first() == Some(&b'\'') && text.is_ascii() && !text.contains(&b'\\')
        }
        Kind::Word => ["null", "true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes())),
        _ => false,
    };
    let is_all = words.len() == value + signed + 1;
    let is_name = name.bytes().all(is_name);
    let key = if text.eq_ignore_ascii_case(b"null") { key_of_null(&name) } else { name };
    (is_literal && is_all && is_name)
        .then(|| Setting { key: key.into(), text: [&b"SET "[..], words.source()].concat().into() })
}

#[cfg(test)]
mod tests;

//! What a `SET` does to the session, from its text.
//!
//! Only what means the same on every server at any time is a [setting](super::settings): literals
//! and names of character sets. What a variable is else, its server can be asked for: `DEFAULT`,
//! what depends on global values or on other variables. Everything else is [`Change::Unknown`].

use sql::lexer::Kind;

use super::gtids::TRACK_GTIDS;
use super::setting::Setting;
use super::settings::key_of_null;
use super::words::{Words, whole_tokens};
use super::{of_global, switches};

/// What a `SET` does to the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It makes assignments.
    Sets(Sets),
    /// It is for the next transaction only.
    NextTransaction,
    /// Nothing that another server would have to know: it is about the server, or an account.
    Nothing,
    /// Something that cannot be said again elsewhere.
    Unknown,
}

/// What assignments of one `SET` set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sets {
    /// What means the same elsewhere, or stands for what the server is asked for.
    pub settings: Vec<Setting>,
    /// Variables of the session whose value only the server knows, and [`NAMES`].
    pub asked: Vec<Box<str>>,
    /// User variables are set to what is not written there.
    pub user_variables: bool,
}

/// The key of what `SET NAMES` and `SET CHARACTER SET` set: three variables.
pub const NAMES: &str = "names";

/// Tells what a session has by [`NAMES`] in one column.
const OF_NAMES: &str = "CONCAT_WS(' ', @@session.character_set_client, \
    IFNULL(@@session.character_set_results, 'NULL'), @@session.collation_connection)";

/// Variables that decide which collation a character set means, or which character set a name.
const OF_COLLATIONS: [&str; 3] = ["character_set_collations", "default_collation_for_utf8mb4", "old_mode"];

/// Words that are functions without parentheses.
const NOT_LITERALS: [&str; 11] = [
    "default",
    "current_user",
    "current_role",
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// Session variables that mean something for one statement or for one server only, that make a
/// server answer with what the session did there before, or that leave something behind a reset.
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
    "tcp_nodelay",
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
        "session" | "local" if words.is(1, "authorization") => Some(Change::Unknown),
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
    let settings = words.part(2..).split_at_commas().map(of_one).collect();
    Change::Sets(Sets { settings, ..Sets::default() })
}

fn assignments(words: &Words<'_>) -> Change {
    let (mut sets, mut global) = (Sets::default(), false);
    for part in words.split_at_commas() {
        match assignment(&part) {
            Some(Assignment::Global) => global = true,
            // Servers differ in what a scope means for the assignments behind it.
            Some(Assignment::Session(_) | Assignment::Asked(..)) if global => return Change::Unknown,
            Some(Assignment::Session(setting)) => {
                if OF_COLLATIONS.contains(&&*setting.key) {
                    sets.asked.push(NAMES.into());
                }
                sets.settings.push(setting);
            }
            Some(Assignment::Asked(name, setting)) => {
                sets.asked.push(name);
                sets.settings.extend(setting);
            }
            Some(Assignment::UserVariable) => sets.user_variables = true,
            None => return Change::Unknown,
        }
    }
    if sets == Sets::default() { Change::Nothing } else { Change::Sets(sets) }
}

enum Assignment {
    Session(Setting),
    Global,
    /// Of what the server is asked for, with what stands for it until then.
    Asked(Box<str>, Option<Setting>),
    /// To a value that is not written there.
    UserVariable,
}

/// One assignment; `None` if it cannot be said again elsewhere.
fn assignment(words: &Words<'_>) -> Option<Assignment> {
    if words.kind(0)? == Kind::UserVariable {
        return Some(user_variable(words).map_or(Assignment::UserVariable, Assignment::Session));
    }
    let charset = match words.lower(0).as_str() {
        "names" | "charset" => 1,
        "character" if words.is(1, "set") => 2,
        _ => 0,
    };
    if charset > 0 {
        return names(words, charset);
    }
    match target(words)? {
        Target::Global => Some(Assignment::Global),
        Target::Session { name, at } => {
            let setting = to_value(words, &name, at).map(Assignment::Session);
            setting.or_else(|| Some(Assignment::Asked(asked(words, &name, at)?, None)))
        }
    }
}

/// `NAMES`, `CHARACTER SET` and their values, of which the first is at `at`. Only names that are
/// written there mean the same everywhere: `CHARACTER SET` goes by the schema, `DEFAULT` by global
/// variables.
fn names(words: &Words<'_>, at: usize) -> Option<Assignment> {
    let is_name = |at| matches!(words.kind(at), Some(Kind::Word | Kind::Text | Kind::Number));
    let has_collation = words.is(at + 1, "collate") && is_name(at + 2) && words.len() == at + 3;
    if !is_name(at) || !has_collation && words.len() != at + 1 {
        return None;
    }
    let text = [&b"SET "[..], words.source()].concat().into();
    let setting = Setting { key: NAMES.into(), text };
    let is_literal = words.is(0, "names") && !words.is(at, "default") && !words.is(at + 2, "default");
    Some(if is_literal {
        Assignment::Session(setting)
    } else {
        Assignment::Asked(NAMES.into(), Some(setting))
    })
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

/// The variable `name` that is set by what is at `at`, if its server can be asked what it is then.
fn asked(words: &Words<'_>, name: &str, at: usize) -> Option<Box<str>> {
    let at = at + usize::from(words.is_sign(at, b':'));
    let value = words.part(at + 1..);
    // Within a value, `:=` sets a user variable.
    let is_value = words.is_sign(at, b'=') && value.len() > 0 && !value.has_sign(b':');
    let is_not = NOT_ASKED.contains(&name) || OF_TRANSACTIONS.contains(&name) || switches::is_list(name);
    (is_value && !is_not).then(|| name.into())
}

/// What a server is asked for what a session has by `name`.
pub fn question(name: &str) -> String {
    if name == NAMES { OF_NAMES.to_owned() } else { format!("@@session.{name}") }
}

/// The setting of a variable that a server has told to be this. `is_number` says whether that is
/// one; nothing stands for `NULL`.
pub fn of_told(name: &str, value: Option<&[u8]>, is_number: bool) -> Option<Setting> {
    if name == NAMES {
        return told_names(std::str::from_utf8(value?).ok()?);
    }
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

/// The setting of [`NAMES`] that a server has told to be this.
fn told_names(told: &str) -> Option<Setting> {
    let mut names = told.split(' ');
    let (client, results, collation) = (names.next()?, names.next()?, names.next()?);
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if names.next().is_some() || ![client, results, collation].into_iter().all(is_name) {
        return None;
    }
    let text = format!(
        "SET character_set_client = {client}, character_set_results = {results}, collation_connection = {collation}"
    );
    Some(Setting { key: NAMES.into(), text: text.into_bytes().into() })
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
    if of_global::is_kept(&words.part(value..), name) {
        return Some(setting(name.to_owned()));
    }
    let signed = usize::from(words.is_sign(value, b'-') || words.is_sign(value, b'+'));
    // Time goes on behind it, as before, trackers are the proxy's, and no answer depends on how it
    // was found.
    let is_unset =
        ["timestamp", TRACK_GTIDS, "optimizer_switch"].contains(&name) && words.is(value, "default");
    let is_value = is_unset || is_literal(words, value + signed);
    if !is_value || words.len() != value + signed + 1 {
        return None;
    }
    if name == ASKS_FOR_LAST_ID && !["0", "off", "false"].contains(&words.lower(value).as_str()) {
        return None;
    }
    switches::key(name, words.bytes(value + signed)).map(setting)
}

fn is_literal(words: &Words<'_>, at: usize) -> bool {
    let is_function = || NOT_LITERALS.iter().any(|word| words.is(at, word));
    match words.kind(at) {
        Some(Kind::Text | Kind::Number) => true,
        Some(Kind::Word) => !is_function(),
        _ => false,
    }
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

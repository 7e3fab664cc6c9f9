//! The statements that the model knows.

use upstream::Defaults;

use super::pinned::{self, Pinned};
use super::replication::{self, Question};
use super::sharded::{self, Sharded};

/// A statement, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Begin,
    Commit,
    Rollback,
    Use(String),
    /// Names and values, as they are written.
    Set(Vec<(String, String)>),
    /// Expressions without a table, as they are written, and with the values of parameters.
    Select {
        columns: Vec<String>,
        expressions: Vec<String>,
    },
    /// The rows of this owner.
    Rows(u64),
    Insert(u64),
    Sharded(Sharded),
    Pinned(Pinned),
    /// A user variable gets a value in a query.
    Assign {
        name: String,
        value: String,
    },
    Kill {
        thread: u32,
        only_query: bool,
    },
    /// An error that the proxy has kept, told to the server again.
    Signal {
        code: u16,
        message: String,
    },
    /// What the last statement has left to say.
    Warnings,
    /// What causal reads ask.
    Replication(Question),
    /// What a query cache asks of the table.
    Definition,
    /// What the proxy asks of the sharded table.
    ShardDefinition,
    /// A question of the proxy that has no row as its answer.
    Nothing,
}

/// What this text says, if the model knows it.
pub(super) fn parse(text: &str) -> Option<Statement> {
    let text = text.trim();
    if let Some(pinned) = pinned::parse(text) {
        return Some(Statement::Pinned(pinned));
    }
    if let Some(sharded) = sharded::parse(text) {
        return Some(Statement::Sharded(sharded));
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    match first.to_ascii_uppercase().as_str() {
        "BEGIN" => Some(Statement::Begin),
        "COMMIT" => Some(Statement::Commit),
        "ROLLBACK" => Some(Statement::Rollback),
        "USE" => Some(Statement::Use(rest.trim_matches('`').to_owned())),
        "SET" => assignments(rest).map(Statement::Set),
        "INSERT" => number(rest.strip_prefix("INTO t VALUES (")?.strip_suffix(')')?).map(Statement::Insert),
        "KILL" => kill(rest),
        "SIGNAL" => signal(rest),
        "SHOW" if rest.starts_with("WARNINGS") => Some(Statement::Warnings),
        "SELECT" => select(rest),
        _ => None,
    }
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn kill(rest: &str) -> Option<Statement> {
    let (only_query, id) = match rest.split_once(' ') {
        Some((kind, id)) => (kind.eq_ignore_ascii_case("QUERY"), id),
        None => (false, rest),
    };
    Some(Statement::Kill { thread: id.trim().parse().ok()?, only_query })
}

fn signal(rest: &str) -> Option<Statement> {
    let (_, rest) = rest.split_once("MYSQL_ERRNO = ")?;
    let (code, rest) = rest.split_once(',')?;
    let hex = rest.split_once("X'")?.1.strip_suffix('\'')?;
    let digits: Vec<char> = hex.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    Some(Statement::Signal { code: code.parse().ok()?, message: String::from_utf8(bytes?).ok()? })
}

fn select(rest: &str) -> Option<Statement> {
    if rest.starts_with("'table', TABLE_TYPE, ENGINE FROM information_schema") {
        return Some(Statement::Definition);
    }
    if rest.starts_with("CAST(0 AS BINARY), CAST(TABLE_TYPE AS BINARY)") {
        return Some(Statement::ShardDefinition);
    }
    if [true, false]
        .map(Defaults::question)
        .iter()
        .any(|question| question.strip_prefix("SELECT ") == Some(rest))
    {
        return Some(columns(vec!["1".to_owned()]));
    }
    if let Some(question) = replication::parse(rest) {
        return Some(Statement::Replication(question));
    }
    let asks_behind = rest.starts_with("'view', HEX(VIEW_DEFINITION)") || rest.starts_with("CAST(IF(");
    if asks_behind || rest.starts_with("CAST(2 AS BINARY)") || rest.contains(" FROM DUAL WHERE ") {
        return Some(Statement::Nothing);
    }
    if rest == "1 FROM (SELECT 1) AS pointsman" {
        return Some(columns(vec!["'1'".to_owned()]));
    }
    if let Some(owner) = rest.strip_prefix("id FROM t WHERE owner = ") {
        return number(owner).map(Statement::Rows);
    }
    if let Some((name, value)) = rest.split_once(" := ") {
        return Some(Statement::Assign { name: name.to_owned(), value: value.to_owned() });
    }
    Some(columns(parts(rest)))
}

/// Names of columns are the expressions, or what stands behind `AS`.
fn columns(all: Vec<String>) -> Statement {
    let named = all.into_iter().map(|one| match one.rsplit_once(" AS `") {
        Some((expression, name)) => (name.trim_end_matches('`').to_owned(), expression.to_owned()),
        None => (one.clone(), one),
    });
    let (columns, expressions) = named.unzip();
    Statement::Select { columns, expressions }
}

/// What a prepared text says with these values of its parameters, each written as a literal.
pub(super) fn bind(text: &str, values: &[String]) -> Option<Statement> {
    let mut values = values.iter();
    let bound: String = text
        .split_inclusive('?')
        .map(|part| match part.strip_suffix('?') {
            Some(before) => format!("{before}{}", values.next().map_or("?", String::as_str)),
            None => part.to_owned(),
        })
        .collect();
    match (parse(text), parse(&bound)?) {
        (Some(Statement::Select { columns, .. }), Statement::Select { expressions, .. }) => {
            Some(Statement::Select { columns, expressions })
        }
        (_, statement) => Some(statement),
    }
}

fn assignments(rest: &str) -> Option<Vec<(String, String)>> {
    let all = parts(rest).into_iter().map(|part| {
        if let Some(charset) = part.strip_prefix("NAMES ") {
            return Some(("names".to_owned(), charset.trim_matches('\'').to_owned()));
        }
        let (name, value) = part.split_once('=')?;
        let name = name.trim().trim_end_matches(':').to_ascii_lowercase();
        let name = name.trim_start_matches("session ").trim_start_matches("@@session.").to_owned();
        let name = if name.starts_with("@@") { name.trim_start_matches("@@").to_owned() } else { name };
        Some((name, value.trim().trim_matches('\'').to_owned()))
    });
    all.collect()
}

/// What commas separate outside of quotes and parentheses.
fn parts(text: &str) -> Vec<String> {
    let (mut all, mut part, mut depth, mut quoted) = (Vec::new(), String::new(), 0, false);
    for char in text.chars() {
        match char {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                all.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            _ => {}
        }
        part.push(char);
    }
    all.push(part.trim().to_owned());
    all
}

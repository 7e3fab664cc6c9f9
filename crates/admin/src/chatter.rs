//! What drivers and programs say by themselves, when they connect or before they do what they are
//! for.
//!
//! Nearly all of it is answered with constants. Source: what ProxySQL 2.7's admin interface
//! answers; the lists of `@@` variables are longer here, so that drivers that are newer can log in.

mod dumps;
mod variables;

use crate::answer::{Answer, Cell};
use crate::command::Statement;
use crate::show;
use crate::who::{Rights, Who};

/// What is known about the one who asks, besides the statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) who: &'a Who,
    /// The version of the program, as in `admin-version`.
    pub(crate) version: &'a str,
    /// `admin-read_only`.
    pub(crate) read_only: bool,
}

/// What a statement of a driver comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chatter {
    /// This.
    Answer(Answer),
    /// What this SQL gives.
    Sql(String),
}

/// Beginnings of statements that do nothing here and are OK.
const IGNORED: [&str; 42] = [
    "USE ",
    "BEGIN",
    "START TRANSACTION",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT ",
    "RELEASE SAVEPOINT ",
    "SET NAMES ",
    "SET AUTOCOMMIT",
    "SET @@AUTOCOMMIT",
    "SET SESSION AUTOCOMMIT",
    "SET CHARACTER SET",
    "SET CHARACTER_SET_RESULTS",
    "SET SESSION CHARACTER_SET_RESULTS",
    "SET SQL_AUTO_IS_NULL",
    "SET SQL_SAFE_UPDATES=1",
    "SET SQL_QUOTE_SHOW_CREATE=1",
    "SET SQL_MODE",
    "SET SESSION SQL_MODE",
    "SET SESSION NET_READ_TIMEOUT",
    "LOCK TABLES",
    "LOCK TABLE ",
    "UNLOCK TABLES",
    "/*!40000 ALTER TABLE",
    "/*!40014 SET ",
    "/*!40100 SET @@SQL_MODE='' */",
    "/*!40101 SET ",
    "/*!40103 SET ",
    "/*!40111 SET ",
    "/*!80000 SET ",
    "/*!50503 SET ",
    "/*!50717 SET ",
    "/*!50717 SELECT ",
    "/*!50717 PREPARE ",
    "/*!50717 EXECUTE ",
    "/*!50717 DEALLOCATE ",
    "/*!50112 SET ",
    "/*!50112 PREPARE ",
    "/*!50112 EXECUTE ",
    "/*!50112 DEALLOCATE ",
    "/*M!100100 SET ",
    "/*M!100200 SET ",
];

/// Questions of dump programs whose answer has no rows: how they begin, and the columns.
const NOTHING: [(&str, &[&str]); 9] = [
    ("SHOW STATUS LIKE 'BINLOG_SNAPSHOT_GTID_EXECUTED'", &["Variable_name", "Value"]),
    ("SHOW VARIABLES LIKE 'GTID\\_MODE'", &["Variable_name", "Value"]),
    ("SHOW VARIABLES LIKE 'NDBINFO\\_VERSION'", &["Variable_name", "Value"]),
    (
        "SELECT COLUMN_NAME, JSON_EXTRACT(HISTOGRAM, '$.\"NUMBER-OF-BUCKETS-SPECIFIED\"')",
        &["COLUMN_NAME", "buckets"],
    ),
    ("SELECT LOGFILE_GROUP_NAME, FILE_NAME, TOTAL_EXTENTS, INITIAL_SIZE", &["LOGFILE_GROUP_NAME"]),
    ("SELECT DISTINCT TABLESPACE_NAME, FILE_NAME, LOGFILE_GROUP_NAME", &["TABLESPACE_NAME"]),
    ("SHOW TRIGGERS LIKE ", &["Trigger"]),
    ("SELECT TRIGGER_NAME FROM INFORMATION_SCHEMA.TRIGGERS WHERE ", &["TRIGGER_NAME"]),
    ("SELECT ENGINE FROM INFORMATION_SCHEMA.TABLES WHERE ", &["ENGINE"]),
];

/// MySQL's answer to the client that asks whether there are dollar-quoted texts: that there are
/// none.
const NO_DOLLARS: &str = "Unknown column '$$' in 'field list'";

/// Connector/J of the times of MySQL 5, and what it wants to know.
const CONNECTOR_J: &str = "SHOW VARIABLES WHERE VARIABLE_NAME IN (";

const TIMEDIFF: &str = "SELECT printf('%s%02d:%02d:%02d', CASE WHEN d<0 THEN '-' ELSE '' END, abs(d)/3600, abs(d)/60%60, abs(d)%60) \
                        AS \"TIMEDIFF(NOW(), UTC_TIMESTAMP())\" \
                        FROM (SELECT strftime('%s','now','localtime')-strftime('%s','now') AS d)";

/// What a statement comes to, if it is one that drivers send.
pub(crate) fn answer(statement: &Statement<'_>, facts: Facts<'_>) -> Option<Chatter> {
    let words = statement.upper.as_str();
    if IGNORED.iter().any(|start| words.starts_with(start) && ends_word(words, start)) {
        return Some(Chatter::Answer(Answer::done()));
    }
    if let Some((_, columns)) = NOTHING.iter().find(|(start, _)| words.starts_with(start)) {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        return Some(Chatter::Answer(Answer::Rows { columns, rows: Vec::new() }));
    }
    if words.starts_with(CONNECTOR_J) {
        return variables::listed(words).map(Chatter::Answer);
    }
    about_us(statement, facts)
        .or_else(|| about_tables(words, facts).map(Chatter::Answer))
        .or_else(|| dumps::rewrite(statement).map(Chatter::Sql))
        .or_else(|| about_variables(statement, facts))
}

/// What a function or a variable about the connection says, in lists of such and under any alias.
fn fact(item: &str, facts: Facts<'_>) -> Option<String> {
    let Facts { who, version, .. } = facts;
    match item.to_ascii_uppercase().as_str() {
        "VERSION()" | "@@VERSION" | "@@GLOBAL.VERSION" => Some(version.to_owned()),
        "@@VERSION_COMMENT" | "@@GLOBAL.VERSION_COMMENT" => Some("(ProxySQL Admin Module)".to_owned()),
        "DATABASE()" | "SCHEMA()" => Some(database(who).to_owned()),
        "USER()" | "CURRENT_USER()" | "CURRENT_USER" | "SESSION_USER()" | "SYSTEM_USER()" => {
            Some(user_at_host(who))
        }
        "CONNECTION_ID()" => Some("0".to_owned()),
        _ => None,
    }
}

/// What is called the current schema.
const fn database(who: &Who) -> &'static str {
    match who.rights {
        Rights::Admin => "admin",
        Rights::Stats => "stats",
    }
}

fn user_at_host(who: &Who) -> String {
    let host = who.address.map_or_else(|| "localhost".to_owned(), |address| address.to_string());
    format!("{}@{host}", who.user)
}

/// Whether `start` ends where a word does: `BEGINNING` does not begin with `BEGIN`.
fn ends_word(words: &str, start: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !start.ends_with(is_letter) || !words.get(start.len()..).is_some_and(|rest| rest.starts_with(is_letter))
}

/// Who and what is there.
fn about_us(statement: &Statement<'_>, facts: Facts<'_>) -> Option<Chatter> {
    let Facts { who, version, .. } = facts;
    let (database, user_at_host) = (database(who), user_at_host(who));
    let named = |column: &str, value: &str| Some(Chatter::Answer(one(column, value)));
    match statement.upper.as_str() {
        "SELECT @@VERSION_COMMENT LIMIT 1" => named("'(ProxySQL Admin Module)'", "(ProxySQL Admin Module)"),
        "SELECT CONCAT(@@VERSION, ' ', @@VERSION_COMMENT)" => {
            named("concat(@@version, ' ', @@version_comment)", &format!("{version} Admin Module"))
        }
        "SELECT @@VERSION_COMMENT" | "SELECT @@VERSION" => named("@@version", version),
        "SELECT VERSION()" => named("version()", version),
        "SELECT DATABASE(), USER() LIMIT 1" => {
            Some(Chatter::Answer(row(&[("DATABASE()", database), ("USER()", &who.user)])))
        }
        "SELECT CURRENT_USER()" => named("current_user()", &user_at_host),
        "SELECT USER()" => named("user()", &user_at_host),
        "SELECT CONNECTION_ID()" => named("connection_id()", "0"),
        "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())" => Some(Chatter::Sql(TIMEDIFF.to_owned())),
        "SELECT $$" => Some(Chatter::Answer(Answer::Error(crate::answer::AdminError {
            code: 1054,
            state: *b"42S22",
            message: NO_DOLLARS.to_owned(),
        }))),
        "SELECT DATABASE()" => named("DATABASE()", database),
        _ => {
            let name = statement.after("SELECT DATABASE() AS")?;
            named(crate::command::unquoted(name), database)
        }
    }
}

/// Whether there is a table of MySQL.
fn about_tables(words: &str, facts: Facts<'_>) -> Option<Answer> {
    let read_only = facts.read_only;
    let variable = |name: &str, value: &str| Some(row(&[("Variable_name", name), ("Value", value)]));
    match words {
        "SHOW GLOBAL VARIABLES LIKE 'READ_ONLY'" => {
            variable("read_only", if read_only { "ON" } else { "OFF" })
        }
        "SELECT @@GLOBAL.READ_ONLY" => Some(one("@@global.read_only", if read_only { "1" } else { "0" })),
        "SHOW GLOBAL VARIABLES LIKE 'VERSION'" => variable("version", facts.version),
        "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'PERFORMANCE_SCHEMA' AND TABLE_NAME = \
         'SESSION_VARIABLES'" => Some(one("COUNT(*)", "0")),
        _ => None,
    }
}

/// `SELECT @@name` and lists of such.
fn about_variables(statement: &Statement<'_>, facts: Facts<'_>) -> Option<Chatter> {
    if let Some(answer) = variables::selected(&statement.plain, |item| fact(item, facts)) {
        return Some(Chatter::Answer(answer));
    }
    let name = statement.plain.get("SELECT @@".len()..).filter(|_| statement.starts_with("SELECT @@"))?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return None;
    }
    let full =
        if name.eq_ignore_ascii_case("max_allowed_packet") { "mysql-max_allowed_packet" } else { name };
    let (column, name) = (show::identifier(&format!("@@{name}")), show::text(full));
    Some(Chatter::Sql(format!(
        "SELECT value AS {column} FROM (SELECT 1 AS place, variable_value AS value FROM global_variables \
         WHERE variable_name={name} COLLATE NOCASE UNION ALL \
         SELECT 2, Variable_Value FROM stats_mysql_global WHERE Variable_Name={name} COLLATE NOCASE) \
         ORDER BY place LIMIT 1"
    )))
}

/// A result of one column and one row.
fn one(column: &str, value: &str) -> Answer {
    row(&[(column, value)])
}

/// A result of one row.
fn row(cells: &[(&str, &str)]) -> Answer {
    Answer::Rows {
        columns: cells.iter().map(|(column, _)| (*column).to_owned()).collect(),
        rows: vec![cells.iter().map(|(_, value)| Cell::Some(value.as_bytes().to_vec())).collect()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<Chatter> {
        let who = Who { user: "radmin".to_owned(), rights: Rights::Admin, address: None };
        answer(&Statement::new(text), Facts { who: &who, version: "2.7.2", read_only: true })
    }

    fn is(column: &str, value: &str) -> Chatter {
        Chatter::Answer(one(column, value))
    }

    #[test]
    fn what_drivers_set_is_ignored() {
        for text in [
            "SET NAMES utf8mb4",
            "set autocommit=0",
            "SET AUTOCOMMIT = 1",
            "BEGIN",
            "begin work",
            "commit",
            "ROLLBACK;",
            "SAVEPOINT sp",
            "ROLLBACK TO SAVEPOINT sp",
            "RELEASE SAVEPOINT sp",
            "USE main",
            "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
            "/*!40100 SET @@SQL_MODE='' */",
            "LOCK TABLES `mysql_users` READ",
            "UNLOCK TABLES",
        ] {
            assert_eq!(said(text), Some(Chatter::Answer(Answer::done())), "{text}");
        }
        for text in ["BEGINNING", "USER", "commit_log", "SET mysql-threads=1", "/*!99999 SET x */"] {
            assert_eq!(said(text), None, "{text}");
        }
    }

    #[test]
    fn questions_about_the_server_have_canned_answers() {
        assert_eq!(
            said("select @@version_comment limit 1"),
            Some(is("'(ProxySQL Admin Module)'", "(ProxySQL Admin Module)"))
        );
        assert_eq!(said("SELECT VERSION()"), Some(is("version()", "2.7.2")));
        assert_eq!(said("SELECT DATABASE()"), Some(is("DATABASE()", "admin")));
        assert_eq!(said("SELECT DATABASE() AS `name`"), Some(is("name", "admin")));
        assert_eq!(said("select user()"), Some(is("user()", "radmin@localhost")));
        assert_eq!(said("SELECT version() AS v"), Some(is("v", "2.7.2")));
        assert_eq!(said("SELECT CONNECTION_ID() id LIMIT 1"), Some(is("id", "0")));
        let Some(Chatter::Answer(Answer::Rows { columns, rows })) =
            said("select @@version, @@version_comment, database() as db, @@sql_mode limit 1")
        else {
            panic!("no rows")
        };
        assert_eq!(columns, ["@@version", "@@version_comment", "db", "@@sql_mode"]);
        assert_eq!(rows[0][1].as_deref(), Some(&b"(ProxySQL Admin Module)"[..]));
        assert_eq!(said("SELECT @@global.read_only"), Some(is("@@global.read_only", "1")));
        assert!(matches!(said("select $$"), Some(Chatter::Answer(Answer::Error(_)))));
    }

    #[test]
    fn one_variable_is_looked_up() {
        let Some(Chatter::Sql(sql)) = said("SELECT @@mysql-threads") else { panic!("not looked up") };
        assert!(
            sql.contains("variable_name='mysql-threads'") && sql.contains("AS \"@@mysql-threads\""),
            "{sql}"
        );
        assert_eq!(said("SELECT @@a.b"), None);
        assert_eq!(said("SELECT @@a'b"), None);
    }

    /// Parts of statements that a function here understands, and some that break code which cuts at
    /// the wrong byte.
    const PARTS: [&str; 32] = [
        "SELECT ",
        "select",
        "@@",
        "@@session.",
        "é",
        "ß",
        "'",
        "\"",
        "`",
        "(",
        ")",
        ",",
        " AS ",
        " LIMIT 1",
        "SHOW ",
        "TABLES ",
        "LIKE ",
        "VARIABLES WHERE Variable_name in (",
        "CREATE TABLE ",
        ".",
        "LOAD MYSQL USER ",
        "TO RUNTIME",
        "SET ",
        "=",
        ":=",
        "/*",
        "*/",
        "KILL CONNECTION ",
        "PULL VERSION MYSQL SERVERS ",
        "DATABASE() AS ",
        "\0",
        "\u{a0}",
    ];

    #[test]
    fn no_statement_is_too_odd_to_be_looked_at() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..50_000 {
            let mut text = String::new();
            for _ in 0..8 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                text.push_str(PARTS[usize::try_from(state >> 32).unwrap() % PARTS.len()]);
            }
            let statement = Statement::new(&text);
            let _ = said(&text);
            let _ = crate::command::Command::allowed(&statement, Rights::Admin);
            for rights in [Rights::Admin, Rights::Stats] {
                let _ = show::rewrite(&statement, rights);
            }
        }
    }
}

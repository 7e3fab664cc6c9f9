//! The other commands: checksums, KILL, SET, configuration files.

use super::text::unquoted;
use super::{Command, Statement};
use crate::events::Sink;

/// What CHECKSUM can be asked for: the words, the table, and whether the one on disk has a checksum
/// too.
const CHECKSUMS: [(&str, &str, bool); 10] = [
    ("MYSQL SERVERS", "mysql_servers", true),
    ("MYSQL USERS", "mysql_users", true),
    ("MYSQL QUERY RULES", "mysql_query_rules", true),
    ("MYSQL VARIABLES", "global_variables", true),
    ("MYSQL REPLICATION HOSTGROUPS", "mysql_replication_hostgroups", true),
    ("MYSQL GROUP REPLICATION HOSTGROUPS", "mysql_group_replication_hostgroups", false),
    ("MYSQL GALERA HOSTGROUPS", "mysql_galera_hostgroups", false),
    ("MYSQL AURORA HOSTGROUPS", "mysql_aws_aurora_hostgroups", false),
    ("MYSQL HOSTGROUP ATTRIBUTES", "mysql_hostgroup_attributes", false),
    ("MYSQL SERVERS SSL PARAMS", "mysql_servers_ssl_params", false),
];

/// Spellings of what TRUNCATE takes.
const DIGESTS: [&str; 4] = [
    "STATS_MYSQL_QUERY_DIGEST",
    "STATS_MYSQL_QUERY_DIGEST_RESET",
    "STATS.STATS_MYSQL_QUERY_DIGEST",
    "STATS.STATS_MYSQL_QUERY_DIGEST_RESET",
];

/// Commands that are always the same.
const FIXED: [(&str, Command); 8] = [
    ("FLUSH CACHE", Command::FlushCache(Ok(cache::Flush::All))),
    ("SAVE MYSQL DIGEST TO DISK", Command::SaveDigests),
    ("DUMP EVENTSLOG FROM BUFFER TO MEMORY", Command::DumpEvents(Sink::Memory)),
    ("DUMP EVENTSLOG FROM BUFFER TO DISK", Command::DumpEvents(Sink::Disk)),
    ("DUMP EVENTSLOG FROM BUFFER TO BOTH", Command::DumpEvents(Sink::Both)),
    ("SELECT CONFIG FILE", Command::ShowConfig),
    ("SELECT GLOBAL_CHECKSUM()", Command::GlobalChecksum),
    ("SIGNAL MYSQL THREADS", Command::SignalThreads),
];

/// The commands without a value.
pub(super) fn spellings() -> Vec<String> {
    let fixed = FIXED.iter().map(|(words, _)| (*words).to_owned());
    let checksums = CHECKSUMS.iter().map(|(words, ..)| format!("CHECKSUM {words}"));
    let truncates = DIGESTS.iter().map(|table| format!("TRUNCATE TABLE {table}"));
    fixed.chain(checksums).chain(truncates).collect()
}

/// Commands without a value.
pub(super) fn parse_fixed(statement: &Statement<'_>) -> Option<Command> {
    let words = statement.upper.as_str();
    if let Some(rest) = words.strip_prefix("TRUNCATE ") {
        let table = rest.strip_prefix("TABLE ").unwrap_or(rest);
        return DIGESTS.contains(&table).then_some(Command::TruncateDigests);
    }
    if let Some(table) = words.strip_prefix("DELETE FROM ") {
        return DIGESTS.contains(&table).then_some(Command::TruncateDigests);
    }
    if let Some(what) = words.strip_prefix("CHECKSUM ") {
        return checksum(what);
    }
    FIXED.iter().find(|(fixed, _)| *fixed == words).map(|(_, command)| command.clone())
}

fn checksum(words: &str) -> Option<Command> {
    let (schema, words) = match words.split_once(' ') {
        Some(("DISK", rest)) => ("disk", rest),
        Some(("MEMORY" | "MEM", rest)) => ("main", rest),
        _ => ("main", words),
    };
    let (title, table, _) =
        CHECKSUMS.iter().find(|(name, _, on_disk)| *name == words && (*on_disk || schema == "main"))?;
    Some(Command::Checksum { schema, table, title })
}

/// Commands that end with a value.
pub(super) fn parse_with_values(statement: &Statement<'_>) -> Option<Command> {
    for start in ["SAVE CONFIG TO FILE", "SELECT CONFIG INTO OUTFILE"] {
        if let Some(path) = statement.after(start) {
            return Some(Command::SaveConfig(unquoted(path).to_owned()));
        }
    }
    if let Some(id) = statement.after("KILL CONNECTION").or_else(|| number_after(statement, "KILL")) {
        return Some(Command::Kill(id.to_owned()));
    }
    if let Some(text) = statement.after("LOGENTRY") {
        return Some(Command::LogEntry(text.to_owned()));
    }
    if let Some(numbers) = statement.after("PULL VERSION MYSQL SERVERS") {
        let (version, wait_ms) = numbers.split_once(' ')?;
        return Some(Command::PullVersion { version: version.parse().ok()?, wait_ms: wait_ms.parse().ok()? });
    }
    statement.starts_with("SET ").then(|| set(&statement.text))
}

/// What follows these words, if it is a number.
fn number_after<'a>(statement: &'a Statement<'_>, words: &str) -> Option<&'a str> {
    statement.after(words).filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `SET name = value`. Taken from the text as it came: blanks in values count.
fn set(text: &str) -> Command {
    let assignment = text.get("SET".len()..).unwrap_or_default().trim();
    // `SET SESSION TRANSACTION READ ONLY` and the like: no variable has such a name, and drivers
    // want to hear OK.
    let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let (name, value) = (name.trim_end().trim_end_matches(':').trim(), value.trim());
    let quoted = unquoted(value) != value;
    if name.is_empty() || (!quoted && value.contains(',')) {
        return Command::BadSet;
    }
    let (scope, name) = scope_of(name);
    if scope == Scope::Session {
        return Command::Refused(NO_SESSION);
    }
    Command::Set { name: unquoted(name).to_owned(), value: unquoted(value).to_owned() }
}

/// What a variable of the program has no value of its own for.
const NO_SESSION: &str = "variables of the program are global: the syntax is SET name=value, SET GLOBAL name=value or SET @@name=value";

/// Whose variable a `SET` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Global,
    Session,
}

/// The scope and the name of a variable of the program. What names none is left as it is: a
/// variable of MySQL's, which drivers set.
fn scope_of(name: &str) -> (Scope, &str) {
    const SCOPES: [(&str, Scope); 8] = [
        ("GLOBAL ", Scope::Global),
        ("SESSION ", Scope::Session),
        ("LOCAL ", Scope::Session),
        ("@@GLOBAL.", Scope::Global),
        ("@@SESSION.", Scope::Session),
        ("@@LOCAL.", Scope::Session),
        ("GLOBAL @@", Scope::Global),
        ("@@", Scope::Global),
    ];
    let found = SCOPES.iter().find_map(|(begin, scope)| {
        let rest = name.get(begin.len()..)?;
        let begins = name.get(..begin.len())?.eq_ignore_ascii_case(begin);
        (begins && is_own(rest.trim_start())).then(|| (*scope, rest.trim_start()))
    });
    found.unwrap_or((Scope::Global, name))
}

/// Whether a name is one of a variable of the program: those have the name of their module in
/// front.
fn is_own(name: &str) -> bool {
    let name = unquoted(name);
    ["mysql-", "admin-", "pointsman-", "sqliteserver-", "clickhouse-", "ldap-", "restapi-", "pgsql-"]
        .iter()
        .any(|module| name.get(..module.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(module)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Command> {
        Command::of(&Statement::new(text))
    }

    #[test]
    fn checksums_of_all_tables() {
        for (words, table, on_disk) in CHECKSUMS {
            let expected = |schema| Some(Command::Checksum { schema, table, title: words });
            assert_eq!(of(&format!("checksum {words}")), expected("main"));
            assert_eq!(of(&format!("checksum mem {words}")), expected("main"));
            assert_eq!(of(&format!("checksum memory {words}")), expected("main"));
            assert_eq!(of(&format!("checksum disk {words}")), expected("disk").filter(|_| on_disk));
        }
        assert_eq!(of("checksum mysql nothing"), None);
    }

    #[test]
    fn set_takes_one_assignment() {
        let set =
            |name: &str, value: &str| Some(Command::Set { name: name.to_owned(), value: value.to_owned() });
        assert_eq!(of("SET mysql-max_connections = 5 ;"), set("mysql-max_connections", "5"));
        assert_eq!(of("set mysql-init_connect='SET a=1,  b=2'"), set("mysql-init_connect", "SET a=1,  b=2"));
        assert_eq!(of("SET @a := 1"), set("@a", "1"));
        assert_eq!(of("SET GLOBAL x=1"), set("GLOBAL x", "1"));
        assert_eq!(of("SET `mysql-threads`=\"\""), set("mysql-threads", ""));
        for text in
            ["GLOBAL mysql-threads", "global  mysql-threads", "@@mysql-threads", "@@GLOBAL.mysql-threads"]
        {
            assert_eq!(of(&format!("SET {text} = 5")), set("mysql-threads", "5"), "{text}");
        }
        for text in ["SESSION mysql-threads", "LOCAL mysql-threads", "@@session.mysql-threads"] {
            assert_eq!(of(&format!("SET {text} = 5")), Some(Command::Refused(NO_SESSION)), "{text}");
        }
        assert_eq!(of("SET @@session.sql_mode=''"), set("@@session.sql_mode", ""));
        assert_eq!(of("SET a=1, b=2"), Some(Command::BadSet));
        assert_eq!(of("SET SESSION TRANSACTION READ ONLY"), set("SESSION TRANSACTION READ ONLY", ""));
        assert_eq!(of("SET"), None);
    }

    #[test]
    fn commands_with_values() {
        assert_eq!(of("save config to file /tmp/A b"), Some(Command::SaveConfig("/tmp/A b".to_owned())));
        assert_eq!(of("SELECT CONFIG INTO OUTFILE '/x'"), Some(Command::SaveConfig("/x".to_owned())));
        assert_eq!(of("kill connection 12"), Some(Command::Kill("12".to_owned())));
        assert_eq!(of("kill 12"), Some(Command::Kill("12".to_owned())));
        assert_eq!(of("kill query 12"), None);
        assert_eq!(of("LogEntry Hello World"), Some(Command::LogEntry("Hello World".to_owned())));
        let pull = Some(Command::PullVersion { version: 3, wait_ms: 500 });
        assert_eq!(of("pull version mysql servers 3 500"), pull);
        assert!(matches!(of("pull version mysql servers 3"), Some(Command::Refused(_))));
        assert_eq!(of("truncate table stats.stats_mysql_query_digest"), Some(Command::TruncateDigests));
        assert_eq!(of("truncate mysql_users"), None);
        assert_eq!(of("DELETE FROM stats_mysql_query_digest"), Some(Command::TruncateDigests));
        assert_eq!(of("DELETE FROM stats_mysql_query_digest WHERE hostgroup=1"), None);
    }
}

//! Commands of ProxySQL that are about something that this program does not have: known, and
//! refused with the reason.

use super::{Command, Statement};

/// How they begin, and why they are refused. What begins with another one's words comes before it.
const REFUSED: [(&str, &str); 17] = [
    ("LOAD LDAP VARIABLES ", NO_LDAP),
    ("SAVE LDAP VARIABLES ", NO_LDAP),
    ("LOAD DEBUG ", NO_DEBUG),
    ("SAVE DEBUG ", NO_DEBUG),
    ("LOAD SQLITESERVER VARIABLES FROM CONFIG", NOT_IN_FILES),
    ("LOAD CLICKHOUSE USERS FROM CONFIG", NOT_IN_FILES),
    ("LOAD CLICKHOUSE VARIABLES FROM CONFIG", NOT_IN_FILES),
    ("PROXY_SELECT ", "there is no cluster: PROXY_SELECT is what its members ask each other"),
    ("PROXYSQL CLUSTER_NODE_UUID", "there is no cluster that a node could announce itself to"),
    (
        "PROXYSQL INTERNAL SESSION",
        "PROXYSQL INTERNAL SESSION shows the session that says it, and is answered where clients connect, not here",
    ),
    (
        "PROXYSQL INTERNAL ",
        "there is no such command; where clients connect there is PROXYSQL INTERNAL SESSION",
    ),
    (
        "SHOW POINTSMAN TRACE",
        "SHOW POINTSMAN TRACE is about the session that says it, and is answered where clients connect; here there is \
         POINTSMAN EXPLAIN ROUTE",
    ),
    ("PROXYSQL GCOV ", "this is no build that measures coverage"),
    ("PROXYSQL_SIMULATOR", NO_DEBUG),
    ("PROXYSQLTEST", "ProxySQL's tests of itself are no part of this program"),
    ("PULL VERSION ", "the syntax is: PULL VERSION MYSQL SERVERS version milliseconds"),
    (
        "PROXYSQL",
        "there is no such order; known are START, STOP, PAUSE, RESUME, RESTART, SHUTDOWN [SLOW], KILL, FLUSH LOGS, \
         FLUSH QUERY CACHE, FLUSH MYSQL CLIENT HOSTS, FLUSH CONFIGDB, READONLY, READWRITE, RELOAD TLS",
    ),
];

const NO_LDAP: &str = "there is no LDAP plugin, and nothing of it to load or save";
const NO_DEBUG: &str = "this is no debug build";
const NOT_IN_FILES: &str = "configuration files have no section for that";

/// What `LOAD PGSQL ...` and `SAVE PGSQL ...` say.
const NO_PGSQL: &str =
    "there is no PostgreSQL protocol: the tables pgsql_... are there, and nothing comes of their rows";

/// Asked last: what is a command is none of these.
pub(super) fn parse(statement: &Statement<'_>) -> Option<Command> {
    if statement.starts_with("LOAD PGSQL ") || statement.starts_with("SAVE PGSQL ") {
        return Some(Command::Ignored(NO_PGSQL));
    }
    let begins = |start: &str| {
        statement.upper.strip_prefix(start).is_some_and(|rest| {
            // Whole words.
            start.ends_with(' ') || rest.is_empty() || rest.starts_with(' ')
        })
    };
    REFUSED.iter().find(|(start, _)| begins(start)).map(|(_, why)| Command::Refused(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_here_is_refused_with_its_own_reason() {
        for (text, why) in [
            ("load ldap variables to runtime", "LDAP"),
            ("SAVE DEBUG TO DISK", "debug build"),
            ("LOAD CLICKHOUSE USERS FROM CONFIG", "no section"),
            ("PROXY_SELECT hostname FROM runtime_mysql_servers", "no cluster"),
            ("PROXYSQL CLUSTER_NODE_UUID 00000000 127.0.0.1:6032", "no cluster"),
            ("proxysql internal session", "where clients connect"),
            ("show pointsman trace", "where clients connect"),
            ("PROXYSQL GCOV DUMP", "coverage"),
            ("PROXYSQL_SIMULATOR mysql_error 1 127.0.0.1:3306 1045", "debug build"),
            ("PROXYSQLTEST 1 1000", "tests of itself"),
            ("PULL VERSION MYSQL SERVERS x y", "milliseconds"),
            ("PROXYSQL FLUSH NOTHING", "RELOAD TLS"),
            ("PROXYSQL", "RELOAD TLS"),
        ] {
            let Some(Command::Refused(reason)) = Command::of(&Statement::new(text)) else { panic!("{text}") };
            assert!(reason.contains(why), "{text}: {reason}");
        }
        for text in ["LOAD PGSQL SERVERS TO RUNTIME", "save pgsql query rules to disk"] {
            assert!(matches!(Command::of(&Statement::new(text)), Some(Command::Ignored(_))), "{text}");
        }
        for text in ["PROXYSQLTESTS", "PROXY_SELECTED", "SELECT 1"] {
            assert_eq!(Command::of(&Statement::new(text)), None, "{text}");
        }
    }
}

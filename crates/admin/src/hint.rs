//! What an error of SQLite leaves open: what a statement may have been meant to be.
//!
//! To SQLite a misspelt command is a syntax error near its first word. Programs know that text, so
//! that it stays, and what helps a reader stands behind it.

use config::{mistakes, suggestion};

use crate::answer::Answer;
use crate::command::{Statement, known_commands};
use crate::show;
use crate::tables::Schema;
use crate::who::Rights;

/// How commands are built of which one word alone says little, by the first word.
const SYNTAX: [(&str, &str); 5] = [
    ("LOAD", "the syntax is: LOAD module TO RUNTIME | TO MEMORY | FROM MEMORY | FROM DISK | FROM CONFIG"),
    ("SAVE", "the syntax is: SAVE module TO DISK | TO MEMORY | FROM MEMORY | FROM RUNTIME"),
    ("KILL", "the syntax is: KILL [CONNECTION] id"),
    ("DUMP", "the syntax is: DUMP EVENTSLOG FROM BUFFER TO MEMORY | TO DISK | TO BOTH"),
    (
        "POINTSMAN",
        "there are POINTSMAN CHECK CONFIG, CACHE ADVISE, DIFF module, ROLLBACK module [TO version], RESUME DDL id, FORGET DDL id and EXPLAIN ROUTE statement",
    ),
];

/// Why SQLite was not allowed to do something.
const FORBIDDEN: &str = "; tables that are there cannot be dropped or altered, nor get triggers and indexes, and PRAGMAs set \
                         nothing; ATTACH and VACUUM INTO take the path of a file that is there; a dump that is to be read back is made with --no-create-info --replace";

/// What SQLite says of a table that is not there, before its name.
const NO_TABLE: &str = "no such table: ";

/// `answer` to a statement that was SQLite's, with a hint if it is an error.
pub(crate) fn with_hint(answer: Answer, statement: &Statement<'_>, rights: Rights) -> Answer {
    match answer {
        Answer::Error(mut error) => {
            let hint = behind(&error.message, statement, rights);
            error.message.push_str(&hint);
            error.into()
        }
        answer => answer,
    }
}

/// What goes behind `error`, SQLite's for a statement of a session with `rights`; mostly nothing.
fn behind(error: &str, statement: &Statement<'_>, rights: Rights) -> String {
    if let Some((_, name)) = error.split_once(NO_TABLE) {
        return like_table(name, rights);
    }
    // For those who may not give commands there are none.
    match rights {
        Rights::Admin if error.ends_with(": syntax error") => like_command(&statement.upper),
        Rights::Admin if error.ends_with(": not authorized") || error.ends_with("authorization denied") => {
            FORBIDDEN.to_owned()
        }
        _ => String::new(),
    }
}

fn like_table(name: &str, rights: Rights) -> String {
    let schemas: &[Schema] = match rights {
        Rights::Admin => &Schema::ALL,
        Rights::Stats => &[Schema::Stats, Schema::Monitor, Schema::StatsHistory],
    };
    let name = name.rsplit_once('.').map_or(name, |(_, table)| table);
    let tables: Vec<(String, String)> = schemas.iter().flat_map(|schema| schema.tables()).collect();
    // A table that is there and cannot be read is no mistake in its name.
    if tables.iter().any(|(table, _)| table.eq_ignore_ascii_case(name)) {
        return String::new();
    }
    suggestion(name, tables.iter().map(|(table, _)| table.as_str()))
}

/// The command that is nearest to `words` (upper case) word by word, or the syntax of those that
/// begin as they do.
fn like_command(words: &str) -> String {
    let first = words.split(' ').next().unwrap_or_default();
    let known = known_commands().into_iter().chain(show::names().map(str::to_owned));
    let nearest = known
        .filter_map(|command| Some((mistakes_of_words(words, &command)?, command)))
        .min_by_key(|(mistakes, _)| *mistakes);
    if let Some((_, command)) = nearest {
        return format!("; did you mean `{command}`?");
    }
    let syntax = SYNTAX.iter().find(|(verb, _)| *verb == first);
    syntax.map_or_else(String::new, |(_, syntax)| format!("; {syntax}"))
}

/// The mistakes in `words` if each of them is near the word at its place in `command`, and there
/// are as many.
fn mistakes_of_words(words: &str, command: &str) -> Option<usize> {
    let (mut words, mut command) = (words.split(' '), command.split(' '));
    let mut sum = 0;
    loop {
        match (words.next(), command.next()) {
            (None, None) => return Some(sum),
            (Some(word), Some(meant)) => sum += mistakes(word, meant)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(text: &str) -> String {
        behind("near \"X\": syntax error", &Statement::new(text), Rights::Admin)
    }

    #[test]
    fn a_misspelt_command_is_told_the_right_one() {
        for (text, meant) in [
            ("load mysql servrs to runtime", "LOAD MYSQL SERVERS TO RUNTIME"),
            ("SAVE MYSQL SERVER TO DISC", "SAVE MYSQL SERVERS TO DISK"),
            ("LOAD MSQL QUERY RULE TO RUN", "LOAD MYSQL QUERY RULES TO RUN"),
            ("SHOW PROCESLIST", "SHOW PROCESSLIST"),
            ("POINTSMAN CHEK CONFIG", "POINTSMAN CHECK CONFIG"),
            ("POINTMAN DIFF MYSQL USER", "POINTSMAN DIFF MYSQL USERS"),
            ("CHECKSUM MYSQL SERVER", "CHECKSUM MYSQL SERVERS"),
        ] {
            assert_eq!(hint(text), format!("; did you mean `{meant}`?"), "{text}");
        }
    }

    #[test]
    fn a_command_that_lacks_something_is_told_the_syntax() {
        for (text, syntax) in [
            ("LOAD MYSQL SERVERS", "LOAD module TO RUNTIME"),
            ("LOAD MYSQL USERS TO DISK", "LOAD module TO RUNTIME"),
            ("SAVE", "SAVE module TO DISK"),
            ("KILL QUERY 5", "KILL [CONNECTION] id"),
            ("DUMP EVENTSLOG FROM BUFFER", "TO MEMORY | TO DISK | TO BOTH"),
            ("POINTSMAN", "POINTSMAN CHECK CONFIG"),
            ("POINTSMAN CACHE", "CACHE ADVISE"),
            ("POINTSMAN DIFF", "DIFF module"),
        ] {
            assert!(hint(text).contains(syntax), "{text}: {}", hint(text));
        }
    }

    #[test]
    fn sql_gets_no_hint_nor_does_who_may_give_no_commands() {
        for text in ["SELEC 1", "SELECT * FROM", "INSERT INTO mysql_users VALUES (", "SHOW ENGINES", ""] {
            assert_eq!(hint(text), "", "{text}");
        }
        let statement = Statement::new("LOAD MYSQL SERVRS TO RUNTIME");
        assert_eq!(behind("near \"LOAD\": syntax error", &statement, Rights::Stats), "");
    }

    #[test]
    fn a_misspelt_table_is_told_the_right_one() {
        let of = |name: &str, rights| behind(&format!("no such table: {name}"), &Statement::new(""), rights);
        assert_eq!(of("mysql_server", Rights::Admin), "; did you mean `mysql_servers`?");
        assert_eq!(of("disk.mysql_user", Rights::Admin), "; did you mean `mysql_users`?");
        assert_eq!(
            of("stats_mysql_conection_pool", Rights::Stats),
            "; did you mean `stats_mysql_connection_pool`?"
        );
        assert_eq!(of("mysql_server", Rights::Stats), "");
        assert_eq!(of("orders", Rights::Admin), "");
        assert_eq!(of("stats_history.mysql_connections", Rights::Stats), "");
    }
}

//! `POINTSMAN EXPLAIN ROUTE`: where a statement would go, and why. `EXPLAIN ROUTE`, as it is on the
//! ports of clients, is the same.

use std::net::IpAddr;

use observe::plane::Question;

use super::{Command, Statement};

/// What may stand in front of the statement.
const USAGE: &str = "the syntax is: POINTSMAN EXPLAIN ROUTE [USER name] [SCHEMA name] [CLIENT address] [PORT number] [FORMAT=JSON] statement";

/// The command, if `statement` is one. The statement inside of it is taken as it came, blanks and
/// all.
pub(super) fn parse(statement: &Statement<'_>) -> Option<Command> {
    let behind = |text, word: &str| {
        let (first, rest) = word_of(text);
        first.eq_ignore_ascii_case(word).then_some(rest)
    };
    let text = behind(&statement.text, "POINTSMAN").unwrap_or(&statement.text);
    let (before, rest) = format_before(behind(text, "EXPLAIN")?)?;
    let rest = behind(rest, "ROUTE")?;
    Some(question(rest).map_or(Command::BadExplain(USAGE), |(question, json)| {
        Command::ExplainRoute(Box::new(question), json || before)
    }))
}

/// The question, and whether JSON is wanted; `None` if an option has no value that fits, or nothing
/// follows.
fn question(mut text: &str) -> Option<(Question, bool)> {
    let mut question = Question::default();
    let mut json = false;
    loop {
        let (word, rest) = word_of(text);
        let upper = word.to_ascii_uppercase();
        if let Some(format) = upper.strip_prefix("FORMAT") {
            let (wanted, rest) = format_of(format, rest)?;
            json = wanted;
            text = rest;
            continue;
        }
        let place = match upper.as_str() {
            "" => return None,
            "USER" => &mut question.user,
            "SCHEMA" => &mut question.schema,
            "CLIENT" => &mut question.client,
            "PORT" => {
                let (port, rest) = value_of(rest)?;
                question.port = Some(port.parse().ok()?);
                text = rest;
                continue;
            }
            _ => break,
        };
        let (value, rest) = value_of(rest)?;
        *place = Some(value);
        text = rest;
    }
    // Clients of Unix sockets have none.
    let is_address = |client: &String| client.is_empty() || client.parse::<IpAddr>().is_ok();
    question.client.as_ref().is_none_or(is_address).then_some(())?;
    text.trim_ascii_start().clone_into(&mut question.statement);
    Some((question, json))
}

/// Whether JSON is wanted in front of `ROUTE`, and what follows.
fn format_before(text: &str) -> Option<(bool, &str)> {
    let (word, rest) = word_of(text);
    match word.to_ascii_uppercase().strip_prefix("FORMAT") {
        Some(format) => format_of(format, rest),
        None => Some((false, text)),
    }
}

/// Whether JSON is wanted, and what follows: `=JSON`, in one word with `FORMAT` or behind it, with
/// or without blanks.
fn format_of<'a>(format: &str, rest: &'a str) -> Option<(bool, &'a str)> {
    let mut name = format.to_owned();
    let mut rest = rest;
    while name.strip_prefix('=').is_none_or(str::is_empty) {
        let (word, behind) = word_of(rest);
        let fits = name.is_empty() && word.starts_with('=') || name == "=" && !word.is_empty();
        fits.then_some(())?;
        name.push_str(&word.to_ascii_uppercase());
        rest = behind;
    }
    match name.trim_start_matches('=') {
        "JSON" => Some((true, rest)),
        "TRADITIONAL" => Some((false, rest)),
        _ => None,
    }
}

/// The first word of `text`, and what follows it.
fn word_of(text: &str) -> (&str, &str) {
    let text = text.trim_ascii_start();
    text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()))
}

/// The first word of `text`, or what is in quotes there, and what follows. Of two quotes in a row
/// within them one is meant.
fn value_of(text: &str) -> Option<(String, &str)> {
    let text = text.trim_ascii_start();
    let quote = text.chars().next()?;
    if !['\'', '"', '`'].contains(&quote) {
        let (word, rest) = word_of(text);
        return Some((word.to_owned(), rest));
    }
    let mut value = String::new();
    let mut rest = text.get(1..)?;
    loop {
        let (part, behind) = rest.split_once(quote)?;
        value.push_str(part);
        rest = behind;
        match rest.strip_prefix(quote) {
            Some(behind) => rest = behind,
            None => return Some((value, rest)),
        }
        value.push(quote);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Command> {
        Command::of(&Statement::new(text))
    }

    #[test]
    fn the_statement_is_what_follows_the_options() {
        let asked = |question: Question, json| Some(Command::ExplainRoute(Box::new(question), json));
        let plain = Question { statement: "SELECT  'a\n b'".to_owned(), ..Question::default() };
        assert_eq!(of("pointsman  explain\nroute SELECT  'a\n b' ;"), asked(plain.clone(), false));
        for format in ["FORMAT=JSON", "format = json", "Format =json", "FORMAT= JSON"] {
            assert_eq!(
                of(&format!("POINTSMAN EXPLAIN ROUTE {format} SELECT  'a\n b'")),
                asked(plain.clone(), true)
            );
        }
        for text in ["EXPLAIN FORMAT=JSON ROUTE", "pointsman explain format = json route"] {
            assert_eq!(of(&format!("{text} SELECT  'a\n b'")), asked(plain.clone(), true), "{text}");
        }
        let (before, behind) = ("EXPLAIN FORMAT=JSON ROUTE", "FORMAT=TRADITIONAL SELECT  'a\n b'");
        assert_eq!(
            of(&format!("{before} {behind}")),
            asked(plain.clone(), true),
            "as on the ports of clients"
        );
        assert_eq!(of("explain route SELECT  'a\n b'"), asked(plain.clone(), false));
        let full = Question {
            user: Some("an app".to_owned()),
            schema: Some(String::new()),
            client: Some("10.0.0.7".to_owned()),
            port: Some(6033),
            ..plain
        };
        let text =
            "POINTSMAN EXPLAIN ROUTE PORT 6033 user 'an app' SCHEMA \"\" CLIENT 10.0.0.7 SELECT  'a\n b'";
        assert_eq!(of(text), asked(full, false));
        let quoted = Question {
            user: Some("o'hara".to_owned()),
            client: Some("::1".to_owned()),
            statement: "x".repeat(100_000),
            ..Question::default()
        };
        let text = format!("EXPLAIN ROUTE USER 'o''hara' CLIENT '::1' {}", quoted.statement);
        assert_eq!(of(&text), asked(quoted, false), "it may be as long as any statement");
        let statement = Question { statement: "USERS".to_owned(), ..Question::default() };
        assert_eq!(of("POINTSMAN EXPLAIN ROUTE USERS"), asked(statement, false));
    }

    #[test]
    fn what_is_missing_is_said() {
        for text in [
            "",
            "USER",
            "USER app",
            "PORT x SELECT 1",
            "PORT 70000 SELECT 1",
            "FORMAT SELECT 1",
            "FORMAT=XML SELECT 1",
            "FORMAT =",
            "USER 'app SELECT 1",
            "USER 'app'' SELECT 1",
            "CLIENT nonsense SELECT 1",
            "FORMATS SELECT",
        ] {
            assert_eq!(
                of(&format!("POINTSMAN EXPLAIN ROUTE {text}")),
                Some(Command::BadExplain(USAGE)),
                "{text}"
            );
        }
        assert_eq!(of("EXPLAIN ROUTE"), Some(Command::BadExplain(USAGE)));
        assert_eq!(of("EXPLAIN SELECT 1"), None);
        assert_eq!(of("EXPLAIN FORMAT=JSON SELECT 1"), None);
        assert_eq!(of("POINTSMAN EXPLAIN"), None);
        assert_eq!(of("POINTSMAN EXPLAIN ROUTES SELECT 1"), None);
    }
}

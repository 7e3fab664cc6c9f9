//! Statements that ask the proxy itself: where statements go (`EXPLAIN ROUTE`), the trace of the
//! last one, and what it knows of the session (`PROXYSQL INTERNAL SESSION`).

use super::words::Words;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// `EXPLAIN [FORMAT=JSON] ROUTE <statement>`, or with the format behind `ROUTE`, where it
    /// stands on the admin port.
    Route {
        /// Whether the answer is JSON.
        json: bool,
        /// Where in the text the statement begins.
        from: usize,
    },
    /// `SHOW POINTSMAN TRACE [JSON]`.
    Trace {
        /// Whether the answer is JSON.
        json: bool,
    },
    /// `SET pointsman_trace = 1`, or 0.
    Tracing(bool),
    /// `PROXYSQL INTERNAL SESSION`.
    Internals,
    /// `PROXYSQL INTERNAL` of something else.
    UnknownInternal,
}

/// What `text` asks, if it is such a statement.
pub fn parse(text: &[u8]) -> Option<Ask> {
    let mut words = Words::new(text);
    if words.keyword("EXPLAIN") {
        return route(words, text.len());
    }
    if words.keyword("PROXYSQL") {
        return words.keyword("INTERNAL").then(|| {
            let known = words.keyword("SESSION") && words.ends();
            if known { Ask::Internals } else { Ask::UnknownInternal }
        });
    }
    if words.keyword("SHOW") {
        let known = words.keyword("POINTSMAN") && words.keyword("TRACE");
        let json = words.keyword("JSON");
        return (known && words.ends()).then_some(Ask::Trace { json });
    }
    let known = words.keyword("SET") && {
        while words.sign(b'@') {}
        if words.keyword("SESSION") {
            words.sign(b'.');
        }
        words.keyword("pointsman_trace")
    };
    if !known {
        return None;
    }
    words.sign(b':');
    let on = words.sign(b'=').then(|| switch(&mut words)).flatten()?;
    words.ends().then_some(Ask::Tracing(on))
}

/// What follows EXPLAIN, in a text of `len` bytes.
fn route(mut words: Words<'_>, len: usize) -> Option<Ask> {
    let before = format(&mut words)?;
    if !words.keyword("ROUTE") {
        return None;
    }
    let json = format(&mut words)? || before;
    // Patterns of rules often begin with `^`: the blanks are not the statement's.
    Some(Ask::Route { json, from: len - words.rest().trim_ascii_start().len() })
}

/// Whether `FORMAT=JSON` comes next; nothing if it is another format.
fn format(words: &mut Words<'_>) -> Option<bool> {
    if !words.keyword("FORMAT") {
        return Some(false);
    }
    (words.sign(b'=') && words.keyword("JSON")).then_some(true)
}

fn switch(words: &mut Words<'_>) -> Option<bool> {
    if let Some(number) = words.number() {
        return (number < 2).then_some(number == 1);
    }
    if words.keyword("ON") || words.keyword("TRUE") {
        return Some(true);
    }
    (words.keyword("OFF") || words.keyword("FALSE")).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_explained_is_the_rest_of_the_text() {
        for (text, json, rest) in [
            ("EXPLAIN ROUTE SELECT 1", false, "SELECT 1"),
            ("explain\nroute\tselect '\n'; ", false, "select '\n'; "),
            (
                "/* a */ EXPLAIN FORMAT = json ROUTE /* hostgroup=1 */ UPDATE t",
                true,
                "/* hostgroup=1 */ UPDATE t",
            ),
            ("EXPLAIN ROUTE FORMAT=JSON SELECT 1", true, "SELECT 1"),
            ("EXPLAIN ROUTE", false, ""),
            ("EXPLAIN ROUTE(SELECT 1)", false, "(SELECT 1)"),
        ] {
            let Some(Ask::Route { json: found, from }) = parse(text.as_bytes()) else { panic!("{text}") };
            assert_eq!((found, &text[from..]), (json, rest), "{text}");
        }
        for text in [
            "EXPLAIN SELECT 1",
            "EXPLAIN FORMAT=JSON SELECT 1",
            "EXPLAIN FORMAT=TREE ROUTE SELECT 1",
            "EXPLAIN ROUTE FORMAT=TREE SELECT 1",
            "EXPLAIN routes",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_trace_is_switched_and_shown() {
        for (text, expected) in [
            ("SET pointsman_trace = 1", Some(Ask::Tracing(true))),
            ("set @@session.pointsman_trace=1", Some(Ask::Tracing(true))),
            ("set session pointsman_trace := off;", Some(Ask::Tracing(false))),
            ("SET @@pointsman_trace=ON", Some(Ask::Tracing(true))),
            ("SET pointsman_trace = 2", None),
            ("SET pointsman_trace = 1, autocommit = 0", None),
            ("SET pointsman_trace", None),
            ("SET autocommit = 1", None),
            ("SHOW POINTSMAN TRACE", Some(Ask::Trace { json: false })),
            ("show pointsman trace json ;", Some(Ask::Trace { json: true })),
            ("SHOW POINTSMAN TRACE LIKE 'a'", None),
            ("SHOW POINTSMAN", None),
            ("SHOW TABLES", None),
            ("PROXYSQL INTERNAL SESSION", Some(Ask::Internals)),
            ("/* a */ proxysql  internal\tsession ;", Some(Ask::Internals)),
            ("PROXYSQL INTERNAL SESSIONS", Some(Ask::UnknownInternal)),
            ("PROXYSQL INTERNAL SESSION 1", Some(Ask::UnknownInternal)),
            ("PROXYSQL INTERNAL", Some(Ask::UnknownInternal)),
            ("PROXYSQL PAUSE", None),
            ("PREPARE s FROM 'x'", None),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }
}

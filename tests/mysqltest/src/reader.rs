//! What came to the reader when the proxy splits reads from writes, and whether it belonged there.
//!
//! The reader is the same server by another way: TCP in place of its Unix socket. So there is no lag that would change what
//! tests see, and the server's own log tells which statements came which way.

use std::collections::HashSet;
use std::path::Path;

/// Words that no statement at a reader has, in lower case. Here a text is judged by words alone, to be independent of how the
/// proxy judges it.
const FORBIDDEN: [&str; 18] = [
    "for update",
    "lock in share mode",
    "for share",
    "into outfile",
    "into dumpfile",
    "into @",
    ":=",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "nextval",
    "next value for",
    "setval",
    "lastval",
    "previous value for",
    "last_insert_id",
    "sql_calc_found_rows",
    "load_file",
];

/// What statements at a reader begin with, in lower case: reads, questions about them, and what the proxy itself says there.
const ALLOWED: [&str; 16] = [
    "select",
    "with",
    "values",
    "table",
    "(",
    "show warnings",
    "show errors",
    "show count(*)",
    "get diagnostics",
    "set ",
    "commit",
    "rollback",
    "start transaction read only",
    "start transaction with consistent snapshot, read only",
    // The proxy's own, where what it is about runs.
    "kill query",
    "kill connection",
];

/// What came to the reader.
#[derive(Debug, Default)]
pub struct ReaderLog {
    /// Statements.
    pub statements: usize,
    /// Those that do not belong there, each with its test.
    pub strangers: Vec<String>,
}

impl ReaderLog {
    /// Adds what another one has.
    pub fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.strangers.extend(other.strangers);
    }

    /// Adds what the log of a server says about a test, from `start` on, in bytes.
    pub(crate) fn read(&mut self, test: &str, log: &Path, start: u64) {
        let bytes = std::fs::read(log).unwrap_or_default();
        let text = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
        self.scan(test, &String::from_utf8_lossy(text));
    }

    fn scan(&mut self, test: &str, log: &str) {
        let mut readers = HashSet::new();
        let mut open: Option<String> = None;
        for line in log.lines() {
            let Some((thread, command, text)) = entry(line) else {
                // A statement of several lines goes on.
                if let Some(text) = &mut open {
                    text.push('\n');
                    text.push_str(line);
                }
                continue;
            };
            self.judge(test, open.take());
            match command {
                "Connect" if text.ends_with("using TCP/IP") => drop(readers.insert(thread)),
                "Connect" => drop(readers.remove(&thread)),
                "Query" | "Execute" if readers.contains(&thread) => open = Some(text.to_owned()),
                _ => {}
            }
        }
        self.judge(test, open);
    }

    fn judge(&mut self, test: &str, text: Option<String>) {
        let Some(text) = text else { return };
        self.statements += 1;
        let lower = without_comments(&text).to_lowercase();
        let begins = ALLOWED.iter().any(|word| lower.trim_start().starts_with(word));
        if !begins || FORBIDDEN.iter().any(|word| lower.contains(word)) {
            self.strangers.push(format!("{test}: {text}"));
        }
    }
}

/// Thread, command and argument of a line of the log: `260101  1:02:03\t     5 Query\tSELECT 1`, mostly without the time.
fn entry(line: &str) -> Option<(u64, &str, &str)> {
    let (time, rest) = line.split_once('\t')?;
    if !time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b':')) {
        return None;
    }
    let (head, text) =
        rest.trim_start_matches('\t').split_once('\t').unwrap_or((rest.trim_start_matches('\t'), ""));
    let (thread, command) = head.trim_start().split_once(' ')?;
    let command = command.trim();
    let known = ["Connect", "Query", "Execute", "Prepare", "Quit", "Init DB", "Close stmt", "Reset stmt"];
    let known = known.contains(&command)
        || ["Long Data", "Fetch", "Field List", "Statistics", "Ping"].contains(&command);
    known.then_some(())?;
    Some((thread.parse().ok()?, command, text))
}

/// The text without comments, which may hold any words, and without the marks around those that servers execute.
fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    // Executed comments that are open here.
    let mut open = 0;
    loop {
        let begins = rest.find("/*");
        let ends = rest.find("*/").filter(|&end| open > 0 && begins.is_none_or(|at| end < at));
        let Some(at) = ends.or(begins) else { break };
        let (before, mark) = rest.split_at(at);
        kept.push_str(before);
        // A comment parts words.
        kept.push(' ');
        let executed = mark.strip_prefix("/*!").or_else(|| mark.strip_prefix("/*M!"));
        rest = if ends.is_some() {
            open -= 1;
            &mark[2..]
        } else if let Some(inner) = executed {
            open += 1;
            inner.trim_start_matches(|version: char| version.is_ascii_digit())
        } else {
            mark[2..].split_once("*/").map_or("", |(_, behind)| behind)
        };
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "260101  1:02:03\t     5 Connect\troot@localhost on test using TCP/IP\n\
        \t\t     6 Connect\troot@localhost on test using Socket\n\
        \t\t     6 Query\tINSERT INTO t VALUES (1)\n\
        \t\t     5 Query\tselect a\nfrom t /* for update */\n\
        260101  1:02:04\t     5 Query\tSELECT a FROM t\nFOR UPDATE\n\
        \t\t     5 Execute\tDELETE FROM t\n\
        \t\t     5 Quit\t\n\
        \t\t     7 Query\tDELETE FROM t\n";

    #[test]
    fn strangers_are_found() {
        let mut log = ReaderLog::default();
        log.scan("x", LOG);
        assert_eq!(log.statements, 3);
        assert_eq!(log.strangers, ["x: SELECT a FROM t\nFOR UPDATE", "x: DELETE FROM t"]);
    }

    #[test]
    fn executed_comments_count() {
        for (text, kept) in [
            ("a /* b */ c /*! d */ e", "a c d e"),
            ("/*!50001 a*//*M!100100 b /* c */ d */", "a b d"),
            ("2*/*a*/3", "2* 3"),
            ("a /*/ b */ c", "a c"),
            ("a /*! b", "a b"),
            ("a /* b", "a"),
        ] {
            let words: Vec<_> = without_comments(text).split_whitespace().map(str::to_owned).collect();
            assert_eq!(words.join(" "), kept, "{text}");
        }
    }

    #[test]
    fn statements_are_judged_without_the_marks_of_executed_comments() {
        let strangers = |text: &str| {
            let mut log = ReaderLog::default();
            log.judge("x", Some(text.to_owned()));
            log.strangers.len()
        };
        for text in ["/*! */ select 1", "/*! select 1 */", "/*!50001 select*/ 1", "/* delete */ select 1"] {
            assert_eq!(strangers(text), 0, "{text}");
        }
        for text in ["/*! delete from t */", "/*! */ delete from t", "select 1 /*! for update */"] {
            assert_eq!(strangers(text), 1, "{text}");
        }
    }
}

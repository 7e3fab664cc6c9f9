//! What came to the reader when the proxy splits reads from writes, and whether it belonged there.
//!
//! The reader is the same server by another way: TCP in place of its Unix socket. So there is no
//! lag that would change what tests see, and the server's own logs tell which statements came which
//! way, and which of them it has refused. A [refusing](Reader::Refusing) reader takes no writes:
//! the server is read-only, and accounts may write there all the same when they come by the Unix
//! socket, and may not when they come by TCP.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Words that no statement at a reader has, in lower case. Here a text is judged by words alone, to
/// be independent of how the proxy judges it.
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

/// What statements at a reader begin with, in lower case: reads, questions about them, and what the
/// proxy itself says there.
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

/// How the server's log of errors shows one that is about an option, and how that one is called.
const REFUSAL: (&str, &str) = (" ERROR 1290: ", " --read-only ");
/// How it shows a client that has come by TCP.
const BY_TCP: &str = "[127.0.0.1]";

/// Whether the proxy has a reader, and what that does with writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reader {
    /// There is none: nothing is split.
    #[default]
    Absent,
    /// It does them.
    Lenient,
    /// It refuses them, as a replica does that is read-only.
    Refusing,
}

/// What came to the reader.
#[derive(Debug, Default)]
pub struct ReaderLog {
    /// Statements.
    pub statements: usize,
    /// Those whose words do not belong there, each with its test.
    pub strangers: Vec<String>,
    /// Those that it has refused with error 1290, each with its test, as the log of errors shows
    /// them.
    pub refused: Vec<String>,
    /// Those that the writer has refused so, each with its test: of accounts that tests make, which
    /// may not write here at all.
    pub refused_by_writer: Vec<String>,
}

/// Sizes of a server's logs, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// That of statements.
    pub(crate) general: u64,
    /// That of errors.
    pub(crate) errors: u64,
}

impl ReaderLog {
    /// Adds what another one has.
    pub fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.strangers.extend(other.strangers);
        self.refused.extend(other.refused);
        self.refused_by_writer.extend(other.refused_by_writer);
    }

    /// Adds what the logs of a server, of statements and of errors, say about a test since they had
    /// these sizes.
    pub(crate) fn read(&mut self, test: &str, general: &Path, errors: &Path, since: Sizes) {
        self.scan(test, &behind(general, since.general));
        self.scan_errors(test, &behind(errors, since.errors));
    }

    /// Adds what a log of errors says: a line each,
    /// `TIME USER[USER] @ HOST [ADDRESS] ERROR NUMBER: TEXT : STATEMENT`.
    fn scan_errors(&mut self, test: &str, log: &str) {
        for line in log.lines() {
            let Some((who, what)) = line.split_once(REFUSAL.0) else { continue };
            if !what.contains(REFUSAL.1) {
                continue;
            }
            let by_tcp = who.ends_with(BY_TCP);
            let list = if by_tcp { &mut self.refused } else { &mut self.refused_by_writer };
            list.push(format!("{test}: {line}"));
        }
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
        let lower = lower.trim_start();
        let begins = ALLOWED.iter().any(|word| lower.starts_with(word));
        // A variable that the proxy says again is no read that assigns one.
        let is_said_again = |word: &str| word == ":=" && lower.starts_with("set @");
        if !begins || FORBIDDEN.iter().any(|word| lower.contains(word) && !is_said_again(word)) {
            self.strangers.push(format!("{test}: {text}"));
        }
    }
}

/// What a file has from here on, in bytes; nothing if it cannot be read.
fn behind(path: &Path, start: u64) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(start))?;
        file.read_to_end(&mut bytes)
    });
    if read.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() }
}

/// Thread, command and argument of a line of the log: `260101  1:02:03\t     5 Query\tSELECT 1`,
/// mostly without the time.
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

/// The text without comments, which may hold any words, and without the marks around those that
/// servers execute.
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
    fn refusals_are_told_by_the_way_that_they_came() {
        let mut log = ReaderLog::default();
        let errors = "2026-01-01  1:02:03 root[root] @  [127.0.0.1] ERROR 1290: It is running with the --read-only option : DELETE FROM t\n\
            2026-01-01  1:02:03 u[u] @ localhost [] ERROR 1290: It is running with the --read-only option : SELECT 1\n\
            2026-01-01  1:02:04 root[root] @  [127.0.0.1] ERROR 1290: It is running with the --secure-file-priv option : y\n\
            2026-01-01  1:02:04 root[root] @  [127.0.0.1] ERROR 1064: You have : x\n";
        log.scan_errors("x", errors);
        assert_eq!((log.refused.len(), log.refused_by_writer.len()), (1, 1));
        assert!(log.refused[0].starts_with("x: ") && log.refused[0].ends_with("DELETE FROM t"));
        assert!(log.refused_by_writer[0].ends_with("SELECT 1"));
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
        for text in ["select 1", "SET @a := 1"] {
            assert_eq!(strangers(text), 0, "{text}");
        }
        for text in [
            "select @a := 1",
            "set @a = get_lock('a', 1)",
            "/*! delete from t */",
            "/*! */ delete from t",
            "select 1 /*! for update */",
        ] {
            assert_eq!(strangers(text), 1, "{text}");
        }
    }
}

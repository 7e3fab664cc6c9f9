//! Statements that stand as a whole in one comment that some servers execute:
//! `/*!40101 SET NAMES utf8 */`, as every dump has them.
//!
//! A server executes the inside if its version is at least the number. MariaDB has comments of its
//! own, `/*M! */`, and leaves out those of MySQL 5.7 and later, which has gone another way since.
//! To a server that does not execute it, such a statement is nothing.
//!
//! Sources: *Comments* of MySQL's manual and *Comment Syntax* of MariaDB's, and the lexers of both.

use crate::bytes::{DIGIT, SPACE, is};
use crate::lexer::{Kind, Lexer, Modes, Token};

/// Versions that every server of today has; it executes what asks for less. From here on MariaDB
/// and MySQL differ.
const COMMON_BELOW: u32 = 50_700;

/// From here on numbers are MariaDB's own versions, in its eyes.
const MARIADB_FROM: u32 = 100_000;

/// From here on no server has the version. Dumps of MariaDB have such a comment in front of their
/// first statement, which stops clients of other makes.
const NEVER_FROM: u32 = 990_000;

/// What proxies call themselves, and servers that read such comments in ways of their own.
const OTHERS: [&str; 8] =
    ["maxscale", "oceanbase", "proxysql", "singlestore", "memsql", "starrocks", "tidb", "vitess"];

/// Versions that proxies tell unless they are told otherwise: nothing is known of the servers
/// behind them.
const OF_PROXIES: [&str; 2] = ["5.5.30", "8.0.11"];

/// What decides which of these comments a server executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    is_mariadb: bool,
    /// 80036 for 8.0.36.
    version: u32,
}

impl Dialect {
    /// That of a server that greets with this version; nothing if that does not tell it.
    pub fn of(version: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(version).ok()?.to_ascii_lowercase();
        let is_mariadb = text.contains("mariadb");
        // MariaDB had this in front for replicas that knew no version of two digits.
        let text = text.strip_prefix("5.5.5-").filter(|_| is_mariadb).unwrap_or(&text);
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, behind) = text.split_at_checked(end)?;
        if OTHERS.iter().any(|name| behind.contains(name)) || OF_PROXIES.contains(&text) {
            return None;
        }
        let mut parts = number.split('.').map(|part| part.parse::<u32>().ok().filter(|part| *part < 100));
        let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
        Some(Self { is_mariadb, version: major * 10_000 + minor * 100 + patch })
    }

    /// Whether that is MariaDB's, and not MySQL's.
    pub const fn is_mariadb(self) -> bool {
        self.is_mariadb
    }

    /// Whether MySQL 9 or later reserves more words than MySQL 8 does.
    pub(crate) const fn reserves_more(self) -> bool {
        !self.is_mariadb && self.version >= 9_00_00
    }

    /// Whether every statement clears the diagnostics area, unless it reads that. MariaDB, and
    /// MySQL before 5.7.2, clear it for statements with tables only.
    pub const fn clears_diagnostics(self) -> bool {
        !self.is_mariadb && self.version >= 5_07_02
    }

    /// Whether `COM_RESET_CONNECTION` gives back the character set that the login got. MySQL gives
    /// the global one; so did MariaDB until a release of 10.2 to 10.4 (MDEV-18281).
    pub const fn resets_to_charset_of_login(self) -> bool {
        self.is_mariadb && self.version >= 10_05_00
    }
}

/// Which servers execute a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    for_mariadb: bool,
    version: Option<u32>,
}

impl Condition {
    /// The inside of a text that is nothing but one such comment, and which servers execute it;
    /// nothing if it is anything else, or if servers may see it otherwise. A `;` may stand behind
    /// it.
    pub fn of(sql: &[u8]) -> Option<(&[u8], Self)> {
        let all = sql.trim_ascii_start();
        if !all.starts_with(b"/*") {
            return None;
        }
        let sql = behind_what_is_never_executed(all).unwrap_or(all);
        let mut lexer = Lexer::new(sql, Modes::default());
        let mut tokens: Vec<Token> = lexer.by_ref().collect();
        if lexer.broken() {
            return None;
        }
        tokens.pop_if(|last| last.kind == Kind::Sign(b';') && !last.conditional);
        let (first, last) = (tokens.first()?, tokens.last()?);
        let ends = |token: &Token| !token.conditional || token.kind == Kind::Sign(b';');
        // Where one ends, another one may begin.
        let is_one = tokens.windows(2).all(|two| match two {
            [one, next] => sql.get(one.end..next.start).is_some_and(is_blank),
            _ => true,
        });
        if tokens.iter().any(ends) || !is_one {
            return None;
        }
        let condition = Self::at_end_of(sql.get(..first.start)?)?;
        Some((sql.get(first.start..last.end)?, condition))
    }

    /// What `head` ends with: the mark, a version perhaps, and blanks.
    pub(crate) fn at_end_of(head: &[u8]) -> Option<Self> {
        let at = head.windows(2).rposition(|two| two == b"/*")?;
        let behind = head.get(at + 2..)?;
        let (for_mariadb, behind) = match behind {
            [b'M', b'!', behind @ ..] => (true, behind),
            [b'!', behind @ ..] => (false, behind),
            _ => return None,
        };
        let digits = behind.iter().take_while(|byte| is(**byte, DIGIT)).count();
        let (digits, blanks) = behind.split_at_checked(digits)?;
        if !is_blank(blanks) {
            return None;
        }
        let version = match digits.len() {
            0 => None,
            5 | 6 => Some(std::str::from_utf8(digits).ok()?.parse().ok()?),
            // They would be the beginning of the statement.
            _ => return None,
        };
        Some(Self { for_mariadb, version })
    }

    /// Whether every server executes it.
    pub fn holds_everywhere(self) -> bool {
        self.holds_at(None) == Some(true)
    }

    /// Whether a server of this dialect executes it; nothing if that is not certain.
    pub fn holds_at(self, dialect: Option<Dialect>) -> Option<bool> {
        let version = self.version.unwrap_or(0);
        if !self.for_mariadb && version < COMMON_BELOW {
            return Some(true);
        }
        let server = dialect?;
        let is_meant =
            if server.is_mariadb { self.for_mariadb || version >= MARIADB_FROM } else { !self.for_mariadb };
        Some(is_meant && version <= server.version)
    }
}

/// What comes behind a comment at the beginning that no server executes.
fn behind_what_is_never_executed(sql: &[u8]) -> Option<&[u8]> {
    let end = sql.windows(2).position(|two| two == b"*/")?;
    let (comment, behind) = sql.split_at_checked(end)?;
    let digits = comment.iter().take_while(|byte| !is(**byte, DIGIT)).count() + 6;
    let condition = Condition::at_end_of(comment.get(..digits)?)?;
    // One within it would end before.
    let is_one = !comment.get(2..)?.windows(2).any(|two| two == b"/*");
    let behind = behind.get(2..).filter(|_| is_one && condition.version >= Some(NEVER_FROM))?;
    (!is_blank(behind)).then_some(behind)
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is(*byte, SPACE) || matches!(byte, 0x0B | 0x0C))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(sql: &str) -> Option<&str> {
        Condition::of(sql.as_bytes()).map(|(inside, _)| std::str::from_utf8(inside).unwrap())
    }

    #[test]
    fn one_comment_is_the_whole_statement() {
        for (sql, expected) in [
            ("/*!40101 SET NAMES utf8 */", "SET NAMES utf8"),
            ("/*!40101 SET NAMES utf8 */;", "SET NAMES utf8"),
            (" /* a */\n/*!40101\tSET @a = 'x',\n b=1*/ /* /*! */ ; -- c", "SET @a = 'x',\n b=1"),
            ("/*!40101SET a=1*/", "SET a=1"),
            ("/*!080013 SET a=1*/", "SET a=1"),
            ("/*! SET a=1*/", "SET a=1"),
            ("/*M!100203 SET a=1*/", "SET a=1"),
            ("/*M! SET a=1*/", "SET a=1"),
            ("/*!*//*!50503 SET a=1*/", "SET a=1"),
            ("/*M!999999 enable the sandbox mode */ \n/*!40101 SET a=1 */", "SET a=1"),
            ("/*M!999999\\- it */", "\\- it"),
            ("/*!999999 SET a=1 */", "SET a=1"),
        ] {
            assert_eq!(inside(sql), Some(expected), "{sql}");
        }
        for sql in [
            "",
            "SET a=1",
            "/* SET a=1 */",
            "SET /*!40101 NAMES utf8 */",
            "/*!40101 SET */ NAMES utf8",
            "/*!40101 SET NAMES utf8 */ COLLATE utf8_bin",
            "/*!40101 SET NAMES utf8 *//*!50503 COLLATE utf8_bin */",
            "/*!40101 SET a=1; */",
            "/*!40101 SET a=1 */; SET b=1",
            "/*!40101 SET a=1 */;;",
            "/*!40101 SET a=1",
            "/*!40101 SET a='*/' */",
            "/*!40101 SET /* b */ a=1 */",
            "/*!401 SET a=1 */",
            "/*!40101 */",
            "/*M!110400 SET */ /*!40101 a=1 */",
            "/*M!999999 /* enable */ */ /*!40101 SET a=1 */",
            "/*M!999999 enable */ SET a=1",
            "/*!40101 */ /* SET a=1 */",
        ] {
            assert_eq!(inside(sql), None, "{sql}");
        }
    }

    #[test]
    fn versions_are_read() {
        for (text, expected) in [
            ("8.0.36", Some((false, 80_036))),
            ("9.7.0-cloud", Some((false, 90_700))),
            ("8.4.0-0ubuntu0.24.04.1", Some((false, 80_400))),
            ("5.7.44-48-log", Some((false, 50_744))),
            ("5.5.5-10.11.19-MariaDB-0+deb12u1", Some((true, 101_119))),
            ("11.8.2-MariaDB-ubu2404-log", Some((true, 110_802))),
            ("8.0.11", None),
            ("8.0.11-TiDB-v8.5.0", None),
            ("5.5.5-10.4.32 24.02.1-maxscale", None),
            ("8.0", None),
            ("", None),
            ("mysql", None),
            ("8.0.100", None),
        ] {
            let dialect = Dialect::of(text.as_bytes());
            assert_eq!(dialect.map(|one| (one.is_mariadb, one.version)), expected, "{text}");
        }
    }

    #[test]
    fn servers_execute_what_is_meant_for_them() {
        let [mysql, older, mariadb] =
            ["8.0.36", "5.7.44", "10.11.19-MariaDB"].map(|version| Dialect::of(version.as_bytes()).unwrap());
        for (head, in_mysql, in_older, in_mariadb, in_others) in [
            ("/*!", true, true, true, Some(true)),
            ("/*!40101", true, true, true, Some(true)),
            ("/*!50503", true, true, true, Some(true)),
            ("/*!50700", true, true, false, None),
            ("/*!80000", true, false, false, None),
            ("/*!080013", true, false, false, None),
            ("/*!80037", false, false, false, None),
            ("/*!99999", false, false, false, None),
            ("/*!100100", false, false, true, None),
            ("/*!110000", false, false, false, None),
            ("/*M!", false, false, true, None),
            ("/*M!50700", false, false, true, None),
            ("/*M!101119", false, false, true, None),
            ("/*M!101120", false, false, false, None),
        ] {
            let sql = format!("{head} SET a=1 */");
            let (_, condition) = Condition::of(sql.as_bytes()).unwrap();
            assert_eq!(condition.holds_at(Some(mysql)), Some(in_mysql), "{sql}");
            assert_eq!(condition.holds_at(Some(older)), Some(in_older), "{sql}");
            assert_eq!(condition.holds_at(Some(mariadb)), Some(in_mariadb), "{sql}");
            assert_eq!(condition.holds_at(None), in_others, "{sql}");
        }
    }
}

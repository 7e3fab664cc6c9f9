//! The savepoints of a transaction, for shards that come into it later.

use sql::lexer::{Kind, Token};
use sql::{Lexer, Modes, StatementKind};

/// Savepoints that a transaction may have at once.
const SAVEPOINTS_MAX: usize = 256;

/// The savepoints that the open transaction has, in the order in which they were set.
#[derive(Debug, Default)]
pub struct Savepoints(Vec<Savepoint>);

#[derive(Debug)]
struct Savepoint {
    name: Vec<u8>,
    /// The statement that has set it.
    text: Box<[u8]>,
}

impl Savepoints {
    /// Whether there are as many as there may be.
    pub const fn is_full(&self) -> bool {
        self.0.len() >= SAVEPOINTS_MAX
    }

    /// The statements that set them.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|savepoint| &*savepoint.text)
    }

    /// A statement of this kind has set, released or gone back to a savepoint.
    pub fn note(&mut self, kind: StatementKind, text: &[u8]) {
        let name = last_name(text);
        let at = self.0.iter().position(|savepoint| savepoint.name == name);
        match kind {
            StatementKind::Savepoint => {
                // One of this name is there no more.
                if let Some(at) = at {
                    self.0.remove(at);
                }
                self.0.push(Savepoint { name, text: text.into() });
            }
            StatementKind::ReleaseSavepoint => self.0.truncate(at.unwrap_or(self.0.len())),
            StatementKind::RollbackSavepoint => self.0.truncate(at.map_or(self.0.len(), |at| at + 1)),
            _ => {}
        }
    }
}

/// The name with which a statement ends, in lower case and without quotes. In `ANSI_QUOTES` a text
/// is a name.
fn last_name(text: &[u8]) -> Vec<u8> {
    let is_name = |token: &Token| matches!(token.kind, Kind::Word | Kind::Name | Kind::Text);
    let last = Lexer::new(text, Modes::default()).filter(is_name).last();
    let name = last.and_then(|token| text.get(token.start..token.end)).unwrap_or_default();
    let inner = |quote: &[u8]| name.strip_prefix(quote)?.strip_suffix(quote);
    inner(b"`").or_else(|| inner(b"\"")).unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a shard gets after these statements.
    fn replayed(statements: &[&'static str]) -> Vec<String> {
        let mut savepoints = Savepoints::default();
        for text in statements {
            let kind = match text.split(' ').next() {
                Some("SAVEPOINT") => StatementKind::Savepoint,
                Some("RELEASE") => StatementKind::ReleaseSavepoint,
                _ => StatementKind::RollbackSavepoint,
            };
            savepoints.note(kind, text.as_bytes());
        }
        savepoints.texts().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    #[test]
    fn those_behind_go_with_one() {
        let three = ["SAVEPOINT a", "SAVEPOINT `b`", "SAVEPOINT c"];
        let after = |last| replayed(&[&three[..], &[last]].concat());
        assert_eq!(after("ROLLBACK TO B"), ["SAVEPOINT a", "SAVEPOINT `b`"]);
        assert_eq!(after("ROLLBACK WORK TO SAVEPOINT `a` /* end */;"), ["SAVEPOINT a"]);
        assert_eq!(after("RELEASE SAVEPOINT b"), ["SAVEPOINT a"]);
        assert_eq!(after("RELEASE SAVEPOINT other"), three);
    }

    #[test]
    fn a_name_is_there_once() {
        let set = ["SAVEPOINT a", "SAVEPOINT b", "SAVEPOINT A"];
        assert_eq!(replayed(&set), ["SAVEPOINT b", "SAVEPOINT A"]);
        assert_eq!(replayed(&[&set[..], &["ROLLBACK TO \"b\""]].concat()), ["SAVEPOINT b"]);
    }

    #[test]
    fn there_is_a_limit_to_those_at_once() {
        let mut savepoints = Savepoints::default();
        for number in 0..2 * SAVEPOINTS_MAX {
            savepoints.note(StatementKind::Savepoint, format!("SAVEPOINT s{number}").as_bytes());
            savepoints
                .note(StatementKind::ReleaseSavepoint, format!("RELEASE SAVEPOINT s{number}").as_bytes());
        }
        assert!(!savepoints.is_full());
        for number in 0..SAVEPOINTS_MAX {
            savepoints.note(StatementKind::Savepoint, format!("SAVEPOINT s{number}").as_bytes());
        }
        assert!(savepoints.is_full());
    }
}

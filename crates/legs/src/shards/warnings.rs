//! Warnings of a statement over several shards. Each server keeps its own, and forgets them when
//! the statement is committed: they are read before, and told to a client that asks for them.

use scatter::{row_of, with_rows};
use wire::frame::put_message;
use wire::packet::{Column, TextRow};
use wire::rows::{Rows, cells};
use wire::{Capabilities, Codec as _, StatusFlags, packet};

/// `MYSQL_TYPE_LONGLONG`, of counts.
const LONGLONG: u8 = 8;

/// The longest count, in digits.
const COUNT_LEN: u32 = 21;

/// The collation of numbers.
const BINARY: u16 = 63;

/// Flags of a count: unsigned, binary.
const COUNT_FLAGS: u16 = 32 | 128;

/// What a statement asks about the warnings before it.
#[derive(Debug, PartialEq, Eq)]
pub enum Question {
    /// The rows of `SHOW WARNINGS` or `SHOW ERRORS`, of which so many are left out, and so many
    /// follow.
    Rows {
        /// Warnings that are no errors are left out.
        only_errors: bool,
        /// Rows that are left out.
        offset: usize,
        /// The most rows that follow.
        limit: usize,
    },
    /// Numbers, and the names of their columns; whether each counts errors only.
    Counts(Vec<(String, bool)>),
}

impl Question {
    /// What a text asks; none if it is more than a question about warnings.
    pub fn of(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim().trim_end_matches(';').trim_end();
        let (verb, rest) = text.split_once(char::is_whitespace)?;
        if verb.eq_ignore_ascii_case("select") {
            return rest.split(',').map(count).collect::<Option<_>>().map(Self::Counts);
        }
        if !verb.eq_ignore_ascii_case("show") {
            return None;
        }
        let rest = rest.trim().to_ascii_lowercase();
        let dense: String = rest.split_whitespace().collect();
        match dense.as_str() {
            "count(*)warnings" => return Some(Self::Counts(vec![("@@session.warning_count".into(), false)])),
            "count(*)errors" => return Some(Self::Counts(vec![("@@session.error_count".into(), true)])),
            _ => {}
        }
        let (what, limits) = rest.split_once(char::is_whitespace).unwrap_or((&rest, ""));
        let only_errors = match what {
            "warnings" => false,
            "errors" => true,
            _ => return None,
        };
        let (offset, limit) = match limits.trim() {
            "" => (0, usize::MAX),
            limits => {
                let numbers = limits.strip_prefix("limit")?.strip_prefix(char::is_whitespace)?;
                let (offset, limit) = numbers.split_once(',').unwrap_or(("0", numbers));
                (offset.trim().parse().ok()?, limit.trim().parse().ok()?)
            }
        };
        Some(Self::Rows { only_errors, offset, limit })
    }
}

/// A system variable that counts: its name as the column's, and whether it counts errors only.
pub(crate) fn count(item: &str) -> Option<(String, bool)> {
    let item = item.trim();
    let name = item.to_ascii_lowercase();
    let name = name.strip_prefix("@@")?;
    let name = name.strip_prefix("session.").or_else(|| name.strip_prefix("local.")).unwrap_or(name);
    match name {
        "warning_count" => Some((item.to_owned(), false)),
        "error_count" => Some((item.to_owned(), true)),
        _ => None,
    }
}

impl Warnings {
    /// Takes the warnings of a branch, whose rows have these numbers for the client. They are
    /// behind `before` rows if they have none. The highest number of a row.
    pub fn add(
        &mut self,
        reply: &[u8],
        numbers: &[u32],
        before: u32,
        logical: impl Fn(&[u8]) -> Vec<u8>,
    ) -> u32 {
        let Some((rows, told)) = Rows::of(reply).zip(cells(reply)) else { return before };
        if self.columns.is_empty() {
            self.columns = rows.definitions().map(<[u8]>::to_vec).collect();
        }
        let mut last = before;
        for row in told {
            let [Some(level), Some(code), Some(text)] = row[..] else { continue };
            let text = with_rows(&logical(text), numbers).into_owned();
            let text = match row_of(&text).filter(|_| numbers.is_empty()) {
                Some((head, number)) => {
                    last = last.max(before.saturating_add(number));
                    [head, before.saturating_add(number).to_string().as_bytes()].concat()
                }
                None => text,
            };
            self.all.push(Warning { level: level.to_vec(), code: code.to_vec(), text });
        }
        last
    }

    /// Whether there are none that a client could see.
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn count(&self, only_errors: bool) -> u64 {
        let errors = || self.all.iter().filter(|one| one.is_error()).count() as u64;
        if only_errors { errors() } else { self.count.max(self.all.len() as u64) }
    }

    /// The packets of the answer to a question, the first one with sequence id `seq`. Columns were
    /// sent by a server with `theirs`.
    pub fn answer(
        &self,
        question: &Question,
        seq: u8,
        status: StatusFlags,
        [theirs, caps]: [Capabilities; 2],
    ) -> Vec<u8> {
        let (mut columns, mut cells) = (Vec::new(), Vec::new());
        match question {
            Question::Rows { only_errors, offset, limit } => {
                columns.extend(self.columns.iter().filter_map(|column| Column::decode(column, theirs).ok()));
                let all = self.all.iter().filter(|one| !only_errors || one.is_error());
                cells.extend(all.skip(*offset).take(*limit).map(|one| {
                    let Warning { level, code, text } = one;
                    vec![level.clone(), code.clone(), text.clone()]
                }));
            }
            Question::Counts(counts) => {
                for (name, _) in counts {
                    columns.push(Column {
                        kind: LONGLONG,
                        max_len: COUNT_LEN,
                        flags: COUNT_FLAGS,
                        ..Column::text(name.as_bytes(), BINARY)
                    });
                }
                let number =
                    |(_, only_errors): &(String, bool)| self.count(*only_errors).to_string().into_bytes();
                cells.push(counts.iter().map(number).collect());
            }
        }
        let mut out = Vec::new();
        let mut seq = packet::put_head(&mut out, seq, &columns, status, caps);
        for row in cells {
            let mut payload = Vec::new();
            TextRow::put(&mut payload, row.into_iter().map(Some));
            seq = put_message(&mut out, seq, &payload);
        }
        packet::put_end(&mut out, seq, status, caps);
        out
    }
}

impl Warning {
    fn is_error(&self) -> bool {
        self.level.eq_ignore_ascii_case(b"error")
    }

    /// The number of the row that it names, from 1; 0 if it names none.
    pub fn row(&self) -> u32 {
        row_of(&self.text).map_or(0, |(_, number)| number)
    }
}

/// Whether a server tells an error with this code.
pub fn has_error(reply: &[u8], code: u16) -> bool {
    let code = code.to_string();
    let is_it =
        |row: &Vec<Option<&[u8]>>| matches!(row[..], [Some(b"Error"), Some(of), _] if of == code.as_bytes());
    cells(reply).is_some_and(|rows| rows.iter().any(is_it))
}

/// The warnings of a statement.
#[derive(Debug, Default)]
pub struct Warnings {
    /// Definitions of the columns, as a server sends them.
    pub(crate) columns: Vec<Vec<u8>>,
    /// The warnings.
    pub all: Vec<Warning>,
    /// How many there were. Servers keep the first ones.
    pub count: u64,
}

/// A warning, as servers tell it.
#[derive(Debug, PartialEq, Eq)]
pub struct Warning {
    pub(crate) level: Vec<u8>,
    pub(crate) code: Vec<u8>,
    pub(crate) text: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_about_warnings_are_answered() {
        let rows = |only_errors, offset, limit| Some(Question::Rows { only_errors, offset, limit });
        for (text, asked) in [
            ("SHOW WARNINGS", rows(false, 0, usize::MAX)),
            ("show  errors ;", rows(true, 0, usize::MAX)),
            ("SHOW WARNINGS LIMIT 8", rows(false, 0, 8)),
            ("SHOW WARNINGS LIMIT 2, 8", rows(false, 2, 8)),
            ("SHOW WARNINGS LIMIT x", None),
            ("SHOW WARNINGS; DO 1", None),
            ("SHOW TABLES", None),
            ("SELECT @@warning_count + 1", None),
            ("SELECT ROW_COUNT()", None),
        ] {
            assert_eq!(Question::of(text.as_bytes()), asked, "{text}");
        }
        let counts = [("@@Session.warning_count".to_owned(), false), ("@@error_count".to_owned(), true)];
        let asked = Question::of(b"SELECT @@Session.warning_count, @@error_count");
        assert_eq!(asked, Some(Question::Counts(counts.into())));
    }

    #[test]
    fn rows_have_the_numbers_of_the_client() {
        let reply = |texts: &[&str]| {
            let mut reply = Vec::new();
            let mut row = Vec::new();
            let columns: [&[u8]; 5] = [b"\x03", b"a", b"b", b"c", b"\xfe\0\0\x02\0"];
            for payload in columns {
                put_message(&mut reply, 0, payload);
            }
            for text in texts {
                row.clear();
                TextRow::put(&mut row, ["Warning", "1265", text].into_iter().map(Some));
                put_message(&mut reply, 0, &row);
            }
            put_message(&mut reply, 0, b"\xfe\0\0\x02\0");
            reply
        };
        let mut warnings = Warnings::default();
        let plain = |text: &[u8]| text.to_vec();
        assert_eq!(warnings.add(&reply(&["x at row 2", "y"]), &[4, 7], 0, plain), 0);
        assert_eq!(warnings.add(&reply(&["x at row 2"]), &[], 0, plain), 2);
        assert_eq!(warnings.add(&reply(&["x at row 1"]), &[], 2, plain), 3);
        let texts: Vec<_> = warnings.all.iter().map(|one| String::from_utf8_lossy(&one.text)).collect();
        assert_eq!(texts, ["x at row 7", "y", "x at row 2", "x at row 3"]);
        assert_eq!((warnings.count(false), warnings.count(true)), (4, 0));
    }
}

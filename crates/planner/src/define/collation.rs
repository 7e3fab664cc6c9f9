//! What is known of collations: whether texts merge by their weights.
//!
//! The manual calls `WEIGHT_STRING()` a debugging function, and some collations neither sort nor
//! compare by its bytes. So each server is asked for each collation that its tables have.

use std::collections::HashMap;
use std::fmt::Write as _;

use shard::sequence::store::literal;

use super::answer::Unreadable;
use super::table::TableDefinition;
use crate::limits::COLLATIONS_MAX;

/// A collation and its character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collation {
    /// Name: `utf8mb4_general_ci`.
    pub name: String,
    /// Name of the character set: `utf8mb4`.
    pub charset: String,
}

/// What a server says of a collation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollationFacts {
    /// Whether texts sort and compare as their weights do.
    pub sorts: bool,
    /// The weight of a space that shorter texts are padded with; none if they are not.
    pub pad: Option<Box<[u8]>>,
    /// Checksum of the weights of all probes: equal for servers with equal weights.
    pub weights: u64,
}

/// Facts of collations, by the versions of servers.
#[derive(Debug, Clone, Default)]
pub struct Collations {
    known: HashMap<String, HashMap<String, CollationFacts>>,
}

/// Texts that are sorted: letters with and without case and accents, expansions and contractions,
/// signs that some collations ignore, spaces at the end, scripts, and letters that are known to be
/// sorted wrongly (a dotless `i` in `gb18030_chinese_ci`).
const PROBES: &[&str] = &[
    "", " ", "a", "A", "b", "B", "a ", "a\t", "a!", "ab", "aB", "Ab", "abc", "a b", "á", "ä", "áb", "äa",
    "ac", "ß", "ss", "Z", "z", "0", "9", "-", "a-b", "ab-", "中", "文", "ř", "č", "ch", "cz", "h", "æ", "ae",
    "af", "œ", "я", "Ж", "한", "あ", "ア", "😀", "ł", "l", "\u{301}", "ij", "y", "ü", "ue", "ñ", "n", "ll",
    "lz", "ı", "İ", "i", "I", "ıa", "aı", "€", "ﷺ",
];

/// Bytes to which weights of probes are padded: more than any of them has.
const PADDED_BYTES: usize = 400;

/// The statement that asks for collations: a row for each, with its number. Its text means the same
/// in all modes and character sets.
pub fn collation_statement(collations: &[Collation]) -> String {
    let mut statement = String::from("WITH pointsman_probe (n, s) AS (");
    for (number, probe) in (1..).zip(PROBES) {
        let union = if number == 1 { "" } else { " UNION ALL " };
        let _ = write!(statement, "{union}SELECT {number}, {}", literal(probe));
    }
    statement.push(')');
    for (number, Collation { name, charset }) in collations.iter().enumerate() {
        let of = |text: &str| format!("CONVERT({text} USING {charset}) COLLATE {name}");
        let (space, letter, padded) = (of(&literal(" ")), of(&literal("a")), of(&literal("a ")));
        let (probe, zero) = (of("s"), PADDED_BYTES);
        let _ = write!(
            statement,
            ", pointsman_{number} AS (SELECT n, {probe} AS s, IF({letter} = {padded}, \
             RPAD(WEIGHT_STRING({probe}), {zero}, WEIGHT_STRING({space})), WEIGHT_STRING({probe})) AS w \
             FROM pointsman_probe)"
        );
    }
    for (number, Collation { name, charset }) in collations.iter().enumerate() {
        let of = |text: &str| format!("CONVERT({} USING {charset}) COLLATE {name}", literal(text));
        let union = if number == 0 { " " } else { " UNION ALL " };
        let weights = format!("pointsman_{number}");
        let _ = write!(
            statement,
            "{union}SELECT {number}, {} = {}, WEIGHT_STRING({}), \
             (SELECT COUNT(*) FROM {weights} x JOIN {weights} y \
             ON (x.s < y.s) <> (x.w < y.w) OR (x.s = y.s) <> (x.w = y.w)), \
             (SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY s) AS r, RANK() OVER (ORDER BY w) AS q \
             FROM {weights}) z WHERE r <> q), \
             (SELECT SUM(n * CRC32(w)) FROM {weights})",
            of("a"),
            of("a "),
            of(" "),
        );
    }
    statement.push_str(" LIMIT 18446744073709551615");
    statement
}

impl Collations {
    /// What the server of a version says of a collation, if it has been asked.
    pub fn get(&self, version: &str, collation: &Collation) -> Option<&CollationFacts> {
        self.known.get(version)?.get(&collation.name)
    }

    /// Collations of a table that its server has not been asked for, at most [`COLLATIONS_MAX`].
    /// Each statement makes them fewer.
    pub fn unknown(&self, table: &TableDefinition) -> Vec<Collation> {
        let mut unknown: Vec<Collation> = Vec::new();
        for collation in table.columns.iter().filter_map(|column| column.collation.as_ref()) {
            let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let is_new = self.get(&table.version, collation).is_none() && !unknown.contains(collation);
            let can_be_asked = is_word(&collation.name) && is_word(&collation.charset);
            if is_new && can_be_asked && unknown.len() < COLLATIONS_MAX {
                unknown.push(collation.clone());
            }
        }
        unknown
    }

    /// Adds what is known to others, of other servers or of the same.
    pub fn merge(&mut self, other: Self) {
        for (version, facts) in other.known {
            self.known.entry(version).or_default().extend(facts);
        }
    }

    /// Takes a row of the answer of a server of this version to a question for `asked`.
    pub fn read(
        &mut self,
        version: &str,
        asked: &[Collation],
        row: &[Option<&[u8]>],
    ) -> Result<(), Unreadable> {
        let unreadable = Unreadable::Value("the weights of a collation");
        let cell = |at: usize| row.get(at).copied().flatten();
        let number = |at: usize| -> Result<u64, Unreadable> {
            let text = cell(at).and_then(|cell| std::str::from_utf8(cell).ok());
            text.and_then(|text| text.parse().ok()).ok_or(unreadable)
        };
        let at = usize::try_from(number(0)?).map_err(|_| unreadable)?;
        let collation = asked.get(at).ok_or(unreadable)?;
        let is_padded = number(1)? == 1;
        let facts = CollationFacts {
            sorts: number(3)? == 0 && number(4)? == 0,
            pad: cell(2).filter(|_| is_padded).map(Box::from),
            weights: number(5)?,
        };
        self.known.entry(version.to_owned()).or_default().insert(collation.name.clone(), facts);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{MYSQL, column, head, read};
    use super::*;

    #[test]
    fn each_collation_is_asked_for_once() {
        let text = |number, name| column(number, name, "varchar(9)", "", Some(("latin1_swedish_ci", "9")));
        let odd = column("3", "c", "varchar(9)", "", Some(("latin1_'; --", "9")));
        let table = read(&[&head(MYSQL), &text("1", "a"), &text("2", "b"), &odd]);
        let asked = Collations::default().unknown(&table);
        assert_eq!(
            asked.iter().map(|collation| collation.name.as_str()).collect::<Vec<_>>(),
            ["latin1_swedish_ci"]
        );
        let statement = collation_statement(&asked);
        assert!(!statement.contains("--") && statement.contains("USING latin1) COLLATE latin1_swedish_ci"));
    }

    #[test]
    fn a_row_that_is_none_is_refused() {
        let asked = [Collation { name: "a_ci".to_owned(), charset: "a".to_owned() }];
        let mut collations = Collations::default();
        for row in [["1", "1", " ", "0", "0", "7"], ["0", "1", " ", "0", "0", "x"]] {
            assert!(collations.read(MYSQL, &asked, &row.map(|cell| Some(cell.as_bytes()))).is_err());
        }
        assert!(collations.read(MYSQL, &asked, &[]).is_err());
        assert_eq!(collations.get(MYSQL, &asked[0]), None);
    }
}

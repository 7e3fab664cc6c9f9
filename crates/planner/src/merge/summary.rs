//! One OK packet out of those of all shards.

use wire::StatusFlags;
use wire::packet::Ok;

/// What the OK packets of several shards say together.
///
/// Numbers are added up, those in the text for people too. The status is that of any shard: bits
/// that one of them has set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    affected_rows: u64,
    last_insert_id: u64,
    warnings: u16,
    status: StatusFlags,
    info: Vec<u8>,
    /// For rows that a statement inserts with those of other shards: whether it has IGNORE.
    inserts: Option<bool>,
    /// The number of the last row that the packets so far are about.
    last_row: Option<u32>,
}

impl Summary {
    /// The sum for an INSERT or REPLACE of several rows, with IGNORE or without. A server that
    /// inserts one row has no text for people, but one that inserts all rows has one.
    pub fn of_rows(ignores: bool) -> Self {
        Self { inserts: Some(ignores), ..Self::default() }
    }

    /// Adds the OK packet of one shard. The shards come in the order of the rows of the statement:
    /// the first generated id is the first one that is not 0.
    pub fn add(&mut self, ok: &Ok<'_>) {
        self.affected_rows = self.affected_rows.saturating_add(ok.affected_rows);
        if self.last_insert_id == 0 {
            self.last_insert_id = ok.last_insert_id;
        }
        self.warnings = self.warnings.saturating_add(ok.warnings);
        self.status = self.status.union(ok.status);
        let one_row = self.inserts.filter(|_| ok.info.is_empty()).map(|ignores| info_of_row(ok, ignores));
        let info = one_row.as_deref().unwrap_or(ok.info);
        self.info = if self.info.is_empty() { info.to_vec() } else { add_numbers(&self.info, info) };
    }

    /// The same if the shard has inserted rows with ids of their own, the last of which has this
    /// number in the statement: servers tell the id of the last row.
    pub fn add_rows(&mut self, ok: &Ok<'_>, last_row: Option<u32>) {
        let id = if last_row > self.last_row { ok.last_insert_id } else { self.last_insert_id };
        self.last_row = self.last_row.max(last_row);
        self.add(ok);
        self.last_insert_id = id;
    }

    /// The packet for the client.
    pub fn ok(&self) -> Ok<'_> {
        Ok {
            affected_rows: self.affected_rows,
            last_insert_id: self.last_insert_id,
            warnings: self.warnings,
            info: &self.info,
            ..Ok::plain(self.status)
        }
    }
}

/// The text for a row that was inserted alone. A row that took the place of others, or changed
/// another one, is counted with these; IGNORE counts rows that were left out.
fn info_of_row(ok: &Ok<'_>, ignores: bool) -> Vec<u8> {
    let duplicates =
        if ignores { u64::from(ok.affected_rows == 0) } else { ok.affected_rows.saturating_sub(1) };
    format!("Records: 1  Duplicates: {duplicates}  Warnings: {}", ok.warnings).into_bytes()
}

/// Adds the numbers in two texts that are alike but for these: `Rows matched: 1  Changed: 1
/// Warnings: 0`. Texts that differ otherwise stay the first one.
fn add_numbers(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(one.len() + 1);
    let (mut left, mut right) = (one, other);
    loop {
        let (text, number, rest) = next_number(left);
        let (other_text, other_number, other_rest) = next_number(right);
        if text != other_text || number.is_some() != other_number.is_some() {
            return one.to_vec();
        }
        sum.extend_from_slice(text);
        let Some((number, other_number)) = number.zip(other_number) else { return sum };
        sum.extend_from_slice(number.saturating_add(other_number).to_string().as_bytes());
        (left, right) = (rest, other_rest);
    }
}

/// The text in front of the first number, the number, and the rest.
fn next_number(text: &[u8]) -> (&[u8], Option<u64>, &[u8]) {
    let begin = text.iter().position(u8::is_ascii_digit).unwrap_or(text.len());
    let (ahead, digits) = text.split_at_checked(begin).unwrap_or((text, &[]));
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end).unwrap_or((digits, &[]));
    (ahead, std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(affected_rows: u64, last_insert_id: u64, info: &[u8]) -> Ok<'_> {
        Ok { affected_rows, last_insert_id, warnings: 1, info, ..Ok::plain(StatusFlags::AUTOCOMMIT) }
    }

    #[test]
    fn numbers_are_added_up_and_the_first_id_counts() {
        let mut sum = Summary::default();
        sum.add(&ok(2, 0, b"Records: 2  Duplicates: 0  Warnings: 1"));
        sum.add(&ok(3, 17, b"Records: 3  Duplicates: 12  Warnings: 1"));
        sum.add(&ok(1, 4, b"Records: 8  Duplicates: 0  Warnings: 1"));
        let ok = sum.ok();
        assert_eq!((ok.affected_rows, ok.last_insert_id, ok.warnings), (6, 17, 3));
        assert_eq!(ok.info, b"Records: 13  Duplicates: 12  Warnings: 3");
        assert_eq!(ok.status, StatusFlags::AUTOCOMMIT);
    }

    #[test]
    fn the_id_of_the_last_row_counts_if_rows_have_their_own() {
        let id_after = |all: &[(u64, Option<u32>)]| {
            let mut sum = Summary::of_rows(false);
            for (id, last_row) in all {
                sum.add_rows(&ok(1, *id, b""), *last_row);
            }
            sum.ok().last_insert_id
        };
        assert_eq!(id_after(&[(30, Some(3)), (20, Some(2))]), 30);
        assert_eq!(id_after(&[(10, Some(1)), (30, Some(3)), (20, Some(2))]), 30);
        assert_eq!(id_after(&[(10, Some(1)), (0, Some(2))]), 0, "the last row has none");
    }

    #[test]
    fn a_row_alone_counts_in_the_text_for_all() {
        let sum = |ignores, all: &[(u64, &[u8])]| {
            let mut sum = Summary::of_rows(ignores);
            for (rows, info) in all {
                sum.add(&Ok { warnings: 0, ..ok(*rows, 0, info) });
            }
            String::from_utf8(sum.ok().info.to_vec()).unwrap()
        };
        let two = &b"Records: 2  Duplicates: 1  Warnings: 0"[..];
        assert_eq!(sum(false, &[(3, two), (1, b"")]), "Records: 3  Duplicates: 1  Warnings: 0");
        assert_eq!(sum(false, &[(2, b""), (3, two)]), "Records: 3  Duplicates: 2  Warnings: 0");
        assert_eq!(sum(false, &[(1, b""), (1, b"")]), "Records: 2  Duplicates: 0  Warnings: 0");
        assert_eq!(sum(true, &[(1, b""), (0, b"")]), "Records: 2  Duplicates: 1  Warnings: 0");
    }

    #[test]
    fn texts_that_differ_otherwise_are_not_added() {
        for (one, other) in [("Records: 2", "Rows matched: 1"), ("Records: 2", "Records"), ("x", "")] {
            assert_eq!(add_numbers(one.as_bytes(), other.as_bytes()), one.as_bytes());
        }
        assert_eq!(add_numbers(b"18446744073709551615", b"1"), b"18446744073709551615");
    }
}

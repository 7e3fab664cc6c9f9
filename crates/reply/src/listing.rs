//! Puts the ids that clients know into an answer: into columns that are ids of threads, as the
//! statement or their definitions say, where such a number stands for another.
//!
//! Rows pass as they come. Held back are only the first bytes of each, until its last id is
//! complete; what is behind it is copied on. The server's ids stay in rows of 2^24-1 bytes and
//! more, which have several packets, and behind the first `REACH_MAX` bytes of a row.

mod absent;
mod row;

use std::ops::Range;

use session::state::ids::Ids;
use wire::codec::Reader;
use wire::frame::{Header, MAX_PAYLOAD, Pieces};
use wire::packet::{self, Column, ColumnCount};
use wire::reply::{Answer, Phase, Step};
use wire::{Capabilities, Codec as _};

pub use absent::Absent;
use absent::{HEAD_BYTES_MAX, is_last_end};
use row::{COLUMNS_MAX, Columns, Look};

/// Bytes of a row that are looked at first: a length, and the 20 digits that 64 bits may have.
const ID_BYTES_MAX: usize = 21;

/// Bytes of a row that are held back at most.
const REACH_MAX: usize = 64 * 1024;

/// Bytes of the longest definition of a column that is looked at.
const DEFINITION_BYTES_MAX: usize = 4096;

/// Bytes of the packet with the number of columns: a length-encoded integer and a flag.
const COUNT_BYTES_MAX: usize = 10;

/// Bytes by which the ids of a row may grow.
const GROWTH_MAX: usize = COLUMNS_MAX * ID_BYTES_MAX;

/// Tables of servers with a column of ids of threads, and that column, in lower case.
const TABLES: [(&[u8], &[u8]); 5] = [
    (b"processlist", b"id"),
    (b"processlist", b"conn_id"),
    (b"session", b"conn_id"),
    (b"threads", b"processlist_id"),
    (b"innodb_trx", b"trx_mysql_thread_id"),
];

/// The schemas that they are in.
const SCHEMAS: [&[u8]; 3] = [b"information_schema", b"performance_schema", b"sys"];

/// One answer to a statement that shows connection ids.
#[derive(Debug)]
pub struct Listing {
    capabilities: Capabilities,
    columns: Columns,
    /// Definitions may say of columns that they are ids.
    by_definition: bool,
    /// What the next message is.
    phase: Phase,
    /// Bytes of the current row that have to be seen.
    reach: usize,
    pieces: Pieces,
    /// The beginning of a payload that is not complete enough to be judged.
    held: Vec<u8>,
    /// Whether the next packet continues the message of the one before it.
    continued: bool,
    /// The sessions of the proxy, if those without a row get one behind the server's.
    absent: Option<Absent>,
}

impl Listing {
    /// An answer before its first byte, of a connection with these capabilities.
    pub const fn new(capabilities: Capabilities, ids: Ids, is_binary: bool) -> Self {
        Self {
            capabilities,
            columns: Columns::new(ids.columns, is_binary),
            by_definition: ids.by_definition,
            phase: Phase::first(Answer::Result),
            reach: ID_BYTES_MAX,
            pieces: Pieces::new(),
            held: Vec::new(),
            continued: false,
            absent: None,
        }
    }

    /// An answer in text, behind whose rows those of these sessions come that have none.
    #[must_use]
    pub fn with(mut self, absent: Absent) -> Self {
        self.absent = Some(absent);
        self.reach = self.first_reach();
        self
    }

    /// Bytes of each row that are looked at first.
    const fn first_reach(&self) -> usize {
        if self.absent.is_some() { HEAD_BYTES_MAX } else { ID_BYTES_MAX }
    }

    /// The bytes for the client, in place of these, the next ones of the server. `translate` says
    /// which id stands for one of the server's.
    pub(crate) fn rewrite(&mut self, mut input: &[u8], translate: impl Fn(u64) -> Option<u32>) -> Vec<u8> {
        let mut out = Vec::with_capacity(input.len() + self.held.len());
        while self.phase != Phase::Over
            && let Some(piece) = self.pieces.take(&mut input)
        {
            if piece.at > self.held.len() {
                out.extend_from_slice(piece.bytes);
                continue;
            }
            self.held.extend_from_slice(piece.bytes);
            if self.held.len() >= self.needed().min(piece.header.len as usize) {
                let payload = std::mem::take(&mut self.held);
                self.judge(piece.header, &payload, &translate, &mut out);
            }
        }
        out.extend_from_slice(input);
        out
    }

    /// Bytes of the current payload that have to be seen before the packet can be judged.
    const fn needed(&self) -> usize {
        match self.phase {
            Phase::First => COUNT_BYTES_MAX,
            Phase::Columns { .. } if !self.continued => DEFINITION_BYTES_MAX,
            Phase::Rows | Phase::OutParams if !self.continued => self.reach,
            _ => packet::Eof::BYTES_END,
        }
    }

    /// Passes on the beginning of a packet, as far as it was wanted, and decides about the rest.
    fn judge(
        &mut self,
        header: Header,
        payload: &[u8],
        translate: &impl Fn(u64) -> Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let (len, continues) = (header.len as usize, header.continues());
        let is_plain = !continues && !self.continued;
        let is_in_rows = matches!(self.phase, Phase::Rows | Phase::OutParams);
        let is_row = is_plain && is_in_rows && !self.is_end(payload, len);
        let look = if is_row { self.columns.look(payload, len) } else { Look::default() };
        if let Some(reach) = look.needed.filter(|reach| *reach <= REACH_MAX) {
            self.reach = reach;
            return self.held.extend_from_slice(payload);
        }
        self.reach = self.first_reach();
        if std::mem::replace(&mut self.continued, continues) {
            return pass(header, payload, out);
        }
        if is_row && len + GROWTH_MAX < MAX_PAYLOAD {
            if let Some(absent) = &mut self.absent {
                absent.see(payload, translate);
            }
            return self.row(header, payload, &look.ids, translate, out);
        }
        if is_row || is_in_rows && !is_plain {
            return pass(header, payload, out);
        }
        let before = self.phase;
        self.phase = match before.next(payload, header.len, self.capabilities, false) {
            Ok(Step::Next(phase)) => phase,
            // Nothing that matters comes behind a result, or behind what makes no sense.
            _ => Phase::Over,
        };
        match before {
            Phase::First => self.count(payload),
            Phase::Columns { .. } => self.define(payload, len),
            _ if is_in_rows && self.phase == Phase::Over => return self.end(header, payload, out),
            _ => {}
        }
        pass(header, payload, out);
    }

    /// Passes on the beginning of a row, with other ids at these places where they stand for
    /// others.
    fn row(
        &self,
        header: Header,
        payload: &[u8],
        ids: &[Range<usize>],
        translate: &impl Fn(u64) -> Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let (mut told, mut done) = (Vec::with_capacity(payload.len() + ID_BYTES_MAX), 0);
        for place in ids {
            let value = payload.get(place.clone()).unwrap_or_default();
            let Some(id) = self.columns.id_in(value).and_then(translate) else { continue };
            told.extend_from_slice(payload.get(done..place.start).unwrap_or_default());
            self.columns.put_id(id, &mut told);
            done = place.end;
        }
        told.extend_from_slice(payload.get(done..).unwrap_or_default());
        // Fits: the row is shorter than a full packet by more than its ids have.
        let len = u32::try_from(header.len as usize + told.len() - payload.len()).unwrap_or(header.len);
        pass(Header { len, seq: header.seq }, &told, out);
    }

    /// Passes on the beginning of the packet behind the rows, and in front of it rows that the
    /// server does not have.
    fn end(&mut self, header: Header, payload: &[u8], out: &mut Vec<u8>) {
        let absent = self.absent.take().filter(|_| is_last_end(payload, self.capabilities));
        let seq = absent.map_or(header.seq, |absent| absent.put(self.columns.count(), header.seq, out));
        pass(Header { seq, ..header }, payload, out);
    }

    /// Takes note of the number of columns.
    fn count(&mut self, payload: &[u8]) {
        if let Ok(ColumnCount { count, .. }) = ColumnCount::decode(payload, self.capabilities) {
            self.columns.set_count(count);
        }
    }

    /// Takes note of the next column.
    fn define(&mut self, payload: &[u8], len: usize) {
        let column = Column::read(&mut Reader::new(payload), self.capabilities).ok();
        let column = column.filter(|_| payload.len() == len);
        let is_id = self.by_definition && column.as_ref().is_some_and(is_id);
        self.columns.define(column.map(|column| column.kind), is_id);
    }

    /// Whether a packet is behind the rows: an error, or the end of the result.
    fn is_end(&self, payload: &[u8], len: usize) -> bool {
        match payload.first() {
            Some(&packet::Err::HEADER) => true,
            Some(&packet::Eof::HEADER) => packet::Eof::ends_rows(len, self.capabilities),
            _ => false,
        }
    }
}

/// Passes on a header and the beginning of its payload.
fn pass(header: Header, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(payload);
}

/// Whether the column of a result is that of a table with ids of threads.
fn is_id(column: &Column<'_>) -> bool {
    let is = |name: &[u8], one: &[u8]| name.eq_ignore_ascii_case(one);
    SCHEMAS.iter().any(|schema| is(schema, column.schema))
        && TABLES.iter().any(|(table, name)| is(table, column.org_table) && is(name, column.org_name))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use wire::frame::{HEADER_LEN, put_message};
    use wire::packet::TextRow;

    use super::*;

    const CLASSIC: Capabilities = Capabilities::PROTOCOL_41;
    const MODERN: Capabilities = CLASSIC.union(Capabilities::DEPRECATE_EOF);
    const MARIADB: Capabilities = MODERN.union(Capabilities::MARIADB_CACHE_METADATA);

    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
    const OK: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

    /// 5 stands for 1073741829, and so on.
    fn translate(id: u64) -> Option<u32> {
        (5..10).contains(&id).then(|| (1 << 30) + u32::try_from(id).unwrap())
    }

    fn text_row(values: &[Option<&str>]) -> Vec<u8> {
        let mut payload = Vec::new();
        TextRow::put(&mut payload, values.iter().copied());
        payload
    }

    /// The definition of a column of this table, of type `LONG`.
    fn definition(schema: &str, table: &str, name: &str) -> Vec<u8> {
        let (schema, org_table, org_name) = (schema.as_bytes(), table.as_bytes(), name.as_bytes());
        Column { schema, org_table, org_name, kind: 3, ..Column::text(b"a", 63) }.encode(CLASSIC)
    }

    /// A result with these columns and rows, as it is on the wire.
    fn result_of(caps: Capabilities, columns: &[Vec<u8>], rows: &[Vec<u8>]) -> Vec<u8> {
        let count = u8::try_from(columns.len()).unwrap();
        let count = if caps == MARIADB { vec![count, 1] } else { vec![count] };
        let mut payloads = [&[count], columns].concat();
        if caps == CLASSIC {
            payloads.push(EOF.to_vec());
        }
        payloads.extend_from_slice(rows);
        payloads.push(if caps == CLASSIC { EOF } else { OK }.to_vec());
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    /// The same with two columns of no table.
    fn result(caps: Capabilities, rows: &[Vec<u8>]) -> Vec<u8> {
        result_of(caps, &[definition("", "", ""), vec![b'5'; 5000]], rows)
    }

    /// What becomes of `bytes` when they come in pieces of these lengths.
    fn rewritten(caps: Capabilities, bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
        rewritten_by(Listing::new(caps, Ids::FIRST, false), bytes, cuts)
    }

    fn rewritten_by(mut listing: Listing, mut bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        for &cut in cuts.iter().chain(&[usize::MAX]) {
            let (now, later) = bytes.split_at(cut.min(bytes.len()));
            out.extend(listing.rewrite(now, translate));
            bytes = later;
        }
        assert!(listing.held.is_empty(), "nothing is kept");
        out
    }

    /// Rows in which 5 to 9 come first or not, and what becomes of them.
    fn rows() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let before = [
            text_row(&[Some("5"), Some("app")]),
            text_row(&[Some("4"), Some("5")]),
            text_row(&[None, Some("5")]),
            text_row(&[Some("9")]),
            text_row(&[Some(""), None]),
            text_row(&[Some("five"), None]),
            text_row(&[Some("12345678901234567890123"), None]),
            text_row(&[Some("6"), Some(&"x".repeat(70_000))]),
        ];
        let mut after = before.to_vec();
        after[0] = text_row(&[Some("1073741829"), Some("app")]);
        after[3] = text_row(&[Some("1073741833")]);
        after[7] = text_row(&[Some("1073741830"), Some(&"x".repeat(70_000))]);
        (before.to_vec(), after)
    }

    proptest! {
        #[test]
        fn ids_in_the_first_column_are_replaced_at_any_cut(
            caps in prop_oneof![Just(CLASSIC), Just(MODERN), Just(MARIADB)],
            cuts in vec(0usize..40, 0..60),
        ) {
            let (before, after) = rows();
            prop_assert!(rewritten(caps, &result(caps, &before), &cuts) == result(caps, &after));
        }

        #[test]
        fn anything_else_passes(bytes: Vec<u8>, cuts in vec(0usize..9, 0..30)) {
            // With no id known the bytes are the same, whatever they are, up to what is not
            // complete.
            let mut listing = Listing::new(MODERN, Ids::FIRST, false);
            let out = listing.rewrite(&bytes, |_| None);
            prop_assert!(bytes.starts_with(&out));
            let kept = &bytes[out.len()..];
            prop_assert!(kept.ends_with(&listing.held) && kept.len() <= HEADER_LEN + listing.held.len());
            let mut listing = Listing::new(MODERN, Ids::FIRST, false);
            let mut rest = &bytes[..];
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                listing.rewrite(now, translate);
                rest = later;
            }
        }
    }

    #[test]
    fn ids_may_be_in_any_columns() {
        let before = [Some("x"), Some("5"), None, Some("5"), Some("7"), Some("5")];
        let after = [Some("x"), Some("1073741829"), None, Some("5"), Some("1073741831"), Some("5")];
        let columns = vec![definition("", "", ""); 6];
        let ids = Ids { columns: 0b1_0110, by_definition: false };
        for caps in [CLASSIC, MODERN, MARIADB] {
            let [before, after] = [before, after].map(|row| result_of(caps, &columns, &[text_row(&row)]));
            for cut in 0..before.len() {
                assert!(rewritten_by(Listing::new(caps, ids, false), &before, &[cut]) == after, "{cut}");
            }
        }
    }

    #[test]
    fn definitions_tell_which_columns_are_ids() {
        let columns = [
            definition("app", "processlist", "id"),
            definition("information_schema", "PROCESSLIST", "ID"),
            definition("performance_schema", "threads", "THREAD_ID"),
            definition("performance_schema", "threads", "PROCESSLIST_ID"),
        ];
        let ids = Ids { columns: 0, by_definition: true };
        let before = result_of(MODERN, &columns, &[text_row(&[Some("5"); 4])]);
        let after = [Some("5"), Some("1073741829"), Some("5"), Some("1073741829")];
        let after = result_of(MODERN, &columns, &[text_row(&after)]);
        assert!(rewritten_by(Listing::new(MODERN, ids, false), &before, &[]) == after);
    }

    #[test]
    fn ids_in_binary_rows_keep_their_length() {
        let kinds = [253, 3, 12, 8, 3, 3];
        let columns: Vec<_> =
            kinds.iter().map(|&kind| Column { kind, ..Column::text(b"a", 63) }.encode(CLASSIC)).collect();
        let ids = Ids { columns: 0b11_1010, by_definition: false };
        // The fifth is NULL: bit 6 behind the first byte.
        let row = |ids: [u32; 3]| {
            let [a, b, c] = ids.map(u32::to_le_bytes);
            let time = b"\x04\xe9\x07\x01\x05";
            [b"\0\x40\x04five", &a[..], time, &b, &[0; 4], &c].concat()
        };
        for caps in [CLASSIC, MODERN] {
            let [before, after] = [[5, 6, 7], [5, 6, 7].map(|id| (1 << 30) + id)]
                .map(|ids| result_of(caps, &columns, &[row(ids)]));
            for cut in 0..before.len() {
                let told = rewritten_by(Listing::new(caps, ids, true), &before, &[cut]);
                assert_eq!(told, after, "{cut}");
            }
        }
    }

    #[test]
    fn without_definitions_the_first_column_is_an_id() {
        let row = |id: u32| [&[0, 0][..], &id.to_le_bytes(), b"\x01x"].concat();
        let all = |row| {
            let mut bytes = Vec::new();
            [vec![2, 0], row, OK.to_vec()]
                .iter()
                .fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
            bytes
        };
        let told = rewritten_by(Listing::new(MARIADB, Ids::FIRST, true), &all(row(5)), &[3, 1, 7]);
        assert_eq!(told, all(row((1 << 30) + 5)));
    }

    #[test]
    fn an_id_far_behind_stays() {
        let columns = vec![definition("", "", ""); 3];
        let ids = Ids { columns: 0b101, by_definition: false };
        for (len, last) in [(REACH_MAX - 100, "1073741830"), (REACH_MAX, "6")] {
            let long = "x".repeat(len);
            let before = result_of(MODERN, &columns, &[text_row(&[Some("5"), Some(&long), Some("6")])]);
            let after = text_row(&[Some("1073741829"), Some(&long), Some(last)]);
            let told = rewritten_by(Listing::new(MODERN, ids, false), &before, &[100, 5000]);
            assert!(told == result_of(MODERN, &columns, &[after]), "{len}");
        }
    }

    #[test]
    fn answers_without_rows_pass() {
        for payload in [&b"\x00\x05\x05\x02\x00\x00\x00"[..], b"\xff\x15\x04#28000no", b"\xfbfile", b""] {
            let mut bytes = Vec::new();
            put_message(&mut bytes, 1, payload);
            assert_eq!(rewritten(MODERN, &bytes, &[]), bytes);
            assert_eq!(rewritten(MODERN, &bytes, &[1, 2, 3]), bytes);
        }
    }

    #[test]
    fn rows_of_several_packets_pass_and_the_next_is_changed() {
        for len in [MAX_PAYLOAD - 7, MAX_PAYLOAD - 6, MAX_PAYLOAD - 5, MAX_PAYLOAD + 100] {
            let long = text_row(&[Some("5"), Some(&"5".repeat(len))]);
            let before = result(CLASSIC, &[long.clone(), text_row(&[Some("5"), None])]);
            let after = result(CLASSIC, &[long, text_row(&[Some("1073741829"), None])]);
            assert!(rewritten(CLASSIC, &before, &[]) == after, "{len}");
        }
    }
}

//! Puts the ids that clients know into an answer: the first column of every row, where it is a
//! number that stands for another.
//!
//! Rows pass as they come. Held back are only the first bytes of each, until its id is complete;
//! what is behind it is copied on. Rows of 2^24-1 bytes and more, which have several packets, keep
//! their ids.

use wire::codec::{Reader, put_lenenc_bytes};
use wire::frame::{HEADER_LEN, Header, MAX_PAYLOAD};
use wire::packet::{self, ColumnCount};
use wire::{Capabilities, Codec as _};

/// Bytes of a row that its id is in: a length, and the 20 digits that 64 bits may have.
const ID_BYTES_MAX: usize = 21;

/// Bytes of the packet with the number of columns: a length-encoded integer and a flag.
const COUNT_BYTES_MAX: usize = 10;

/// Bytes by which an id may grow.
const GROWTH_MAX: usize = ID_BYTES_MAX;

/// What the next packet of the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The first one.
    Count,
    /// This many definitions of columns.
    Columns(u64),
    /// The EOF packet behind them.
    EndOfColumns,
    /// A row, or the end.
    Row,
    /// Nothing that matters.
    Anything,
}

/// One answer to a statement that shows connection ids.
#[derive(Debug)]
pub(crate) struct Listing {
    capabilities: Capabilities,
    next: Next,
    /// The beginning of a packet that is not complete enough to be judged.
    held: Vec<u8>,
    /// Bytes of the current packet that go on as they are.
    pass: usize,
    /// Whether the next packet continues the message of the one before it.
    continued: bool,
}

impl Listing {
    /// An answer before its first byte, of a connection with these capabilities.
    pub(crate) const fn new(capabilities: Capabilities) -> Self {
        Self { capabilities, next: Next::Count, held: Vec::new(), pass: 0, continued: false }
    }

    /// The bytes for the client, in place of these, the next ones of the server. `translate` says
    /// which id stands for one of the server's.
    pub(crate) fn rewrite(&mut self, mut input: &[u8], translate: impl Fn(u64) -> Option<u32>) -> Vec<u8> {
        let mut out = Vec::with_capacity(input.len() + self.held.len());
        while !input.is_empty() {
            if self.next == Next::Anything || self.pass > 0 {
                let len = if self.next == Next::Anything { input.len() } else { self.pass.min(input.len()) };
                let (now, later) = input.split_at_checked(len).unwrap_or((input, &[]));
                out.extend_from_slice(now);
                input = later;
                self.pass = self.pass.saturating_sub(len);
                continue;
            }
            let wanted = self.wanted();
            let missing = wanted.saturating_sub(self.held.len()).min(input.len());
            let (now, later) = input.split_at_checked(missing).unwrap_or((input, &[]));
            self.held.extend_from_slice(now);
            input = later;
            // A header may ask for more behind it.
            if self.held.len() == self.wanted() {
                let head = std::mem::take(&mut self.held);
                self.judge(&head, &translate, &mut out);
            }
        }
        out
    }

    /// Bytes of the current packet, header included, that have to be seen before it can be judged.
    fn wanted(&self) -> usize {
        let Some(header) = self.header() else { return HEADER_LEN };
        let needed = match self.next {
            Next::Count => COUNT_BYTES_MAX,
            Next::Row if !self.continued => ID_BYTES_MAX,
            _ => 0,
        };
        HEADER_LEN + needed.min(header.len as usize)
    }

    fn header(&self) -> Option<Header> {
        self.held.first_chunk().map(|bytes| Header::parse(*bytes))
    }

    /// Passes on the beginning of a packet, as far as it was wanted, and decides about the rest.
    fn judge(&mut self, head: &[u8], translate: &impl Fn(u64) -> Option<u32>, out: &mut Vec<u8>) {
        let Some((bytes, payload)) = head.split_first_chunk::<HEADER_LEN>() else { return };
        let header = Header::parse(*bytes);
        let (len, continues) = (header.len as usize, header.continues());
        self.pass = len.saturating_sub(payload.len());
        let continued = std::mem::replace(&mut self.continued, continues);
        if continued {
            out.extend_from_slice(head);
            return;
        }
        match self.next {
            Next::Row if !continues && len + GROWTH_MAX < MAX_PAYLOAD && !self.is_end(payload, len) => {
                return row(header, payload, translate, out);
            }
            Next::Row if !continues && self.is_end(payload, len) => self.next = Next::Anything,
            Next::Count => self.next = self.after_count(payload, len),
            Next::Columns(n) if n > 1 => self.next = Next::Columns(n - 1),
            Next::Columns(_) => self.next = self.after_columns(),
            Next::EndOfColumns => self.next = Next::Row,
            Next::Row | Next::Anything => {}
        }
        out.extend_from_slice(head);
    }

    /// Whether a packet is behind the rows: an error, or the end of the result.
    fn is_end(&self, payload: &[u8], len: usize) -> bool {
        match payload.first() {
            Some(&packet::Err::HEADER) => true,
            Some(&packet::Eof::HEADER) => {
                len < packet::Eof::BYTES_END || self.capabilities.contains(Capabilities::DEPRECATE_EOF)
            }
            _ => false,
        }
    }

    fn after_count(&self, payload: &[u8], len: usize) -> Next {
        match ColumnCount::decode(payload, self.capabilities) {
            // OK packets begin like a count of zero; errors and requests for a file are no numbers.
            Ok(ColumnCount { count: 1.., .. }) if payload.len() < len => Next::Anything,
            Ok(ColumnCount { count: 1.., metadata_follows: Some(false) }) => self.after_columns(),
            Ok(ColumnCount { count: count @ 1.., .. }) => Next::Columns(count),
            _ => Next::Anything,
        }
    }

    const fn after_columns(&self) -> Next {
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) { Next::Row } else { Next::EndOfColumns }
    }
}

/// Passes on the beginning of a row, with the id that stands for its first column.
fn row(header: Header, payload: &[u8], translate: &impl Fn(u64) -> Option<u32>, out: &mut Vec<u8>) {
    let mut reader = Reader::new(payload);
    let id = reader.lenenc_bytes("id").ok().and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
    let Some(id) = id.and_then(translate) else {
        out.extend_from_slice(&header.to_bytes());
        return out.extend_from_slice(payload);
    };
    let mut column = Vec::new();
    put_lenenc_bytes(&mut column, id.to_string().as_bytes());
    let behind = reader.rest();
    let grown = header.len as usize + column.len() + behind.len() - payload.len();
    // Fits: the row is shorter than a full packet by more than an id has.
    let len = u32::try_from(grown).unwrap_or(header.len);
    out.extend_from_slice(&Header { len, seq: header.seq }.to_bytes());
    out.extend_from_slice(&column);
    out.extend_from_slice(behind);
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use wire::frame::put_message;
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

    /// A result with these rows, as it is on the wire.
    fn result(caps: Capabilities, rows: &[Vec<u8>]) -> Vec<u8> {
        let count = if caps == MARIADB { &[2, 1][..] } else { &[2] };
        let mut payloads = vec![count.to_vec(), b"\x03def a column".to_vec(), vec![b'5'; 300]];
        if caps == CLASSIC {
            payloads.push(EOF.to_vec());
        }
        payloads.extend_from_slice(rows);
        payloads.push(if caps == CLASSIC { EOF } else { OK }.to_vec());
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    /// What becomes of `bytes` when they come in pieces of these lengths.
    fn rewritten(caps: Capabilities, mut bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
        let mut listing = Listing::new(caps);
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
            let mut listing = Listing::new(MODERN);
            let mut out = listing.rewrite(&bytes, |_| None);
            out.extend_from_slice(&listing.held);
            prop_assert!(out == bytes);
            let mut listing = Listing::new(MODERN);
            let mut rest = &bytes[..];
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                listing.rewrite(now, translate);
                rest = later;
            }
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

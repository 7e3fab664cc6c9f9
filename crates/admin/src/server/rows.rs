//! Answers as packets: how results look on the admin port.

use wire::frame::put_packet;
use wire::packet::{self, TextRow};
use wire::{Capabilities, StatusFlags};

use super::connection::error_packet;
use crate::answer::{Answer, Cell};
use crate::limits::WRITE_BYTES;

/// The status of every answer: text in statements follows SQLite's rules, which know no
/// backslashes.
pub(super) const STATUS: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::NO_BACKSLASH_ESCAPES);

/// `utf8_general_ci`, the collation of all results.
pub(super) const COLLATION: u8 = 33;

/// An answer as packets, in pieces of about [`WRITE_BYTES`].
#[derive(Debug)]
pub(super) struct Packets {
    capabilities: Capabilities,
    seq: u8,
    rows: std::vec::IntoIter<Vec<Cell>>,
    /// What is to be sent before the rows; the whole answer if it has none.
    head: Option<Vec<u8>>,
    /// Whether the end of a result is still to come.
    open: bool,
}

impl Packets {
    /// The packets of `answer`, beginning with sequence id `seq`.
    pub(super) fn new(answer: Answer, seq: u8, capabilities: Capabilities) -> Self {
        let mut packets = Self { capabilities, seq, rows: Vec::new().into_iter(), head: None, open: false };
        match answer {
            Answer::Ok { affected, info } => packets.head = Some(packets.ok(affected, &info)),
            Answer::Error(error) => packets.head = Some(error_packet(&error, seq, capabilities)),
            Answer::Rows { columns, rows } => {
                packets.head = Some(packets.columns(&columns));
                packets.rows = rows.into_iter();
                packets.open = true;
            }
            Answer::Close => {}
        }
        packets
    }

    fn ok(&mut self, affected: u64, info: &str) -> Vec<u8> {
        let packet =
            packet::Ok { affected_rows: affected, info: info.as_bytes(), ..packet::Ok::plain(STATUS) };
        let mut out = Vec::new();
        self.seq = put_packet(&mut out, self.seq, &packet, self.capabilities);
        out
    }

    fn columns(&mut self, names: &[String]) -> Vec<u8> {
        let mut out = Vec::new();
        let columns: Vec<_> =
            names.iter().map(|name| packet::Column::text(name.as_bytes(), COLLATION.into())).collect();
        self.seq = packet::put_head(&mut out, self.seq, &columns, STATUS, self.capabilities);
        out
    }

    /// The end of columns or rows.
    fn put_end(&mut self, out: &mut Vec<u8>) {
        self.seq = packet::put_end(out, self.seq, STATUS, self.capabilities);
    }
}

impl Iterator for Packets {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut out = self.head.take().unwrap_or_default();
        if self.open {
            let mut row = Vec::new();
            while out.len() < WRITE_BYTES && self.open {
                if let Some(cells) = self.rows.next() {
                    row.clear();
                    TextRow::put(&mut row, cells);
                    self.seq = wire::frame::put_message(&mut out, self.seq, &row);
                } else {
                    self.put_end(&mut out);
                    self.open = false;
                }
            }
        }
        (!out.is_empty()).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use wire::reply::{Answer as Kind, End, Event, ReplyScanner};

    use super::*;
    use crate::answer::AdminError;

    fn bytes(answer: Answer, capabilities: Capabilities) -> Vec<u8> {
        Packets::new(answer, 1, capabilities).flatten().collect()
    }

    fn rows(count: usize, cell: &Cell) -> Answer {
        Answer::Rows { columns: vec!["a".to_owned()], rows: vec![vec![cell.clone()]; count] }
    }

    #[test]
    fn a_reader_of_answers_finds_all_rows_and_the_end() {
        for capabilities in
            [Capabilities::PROTOCOL_41, Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF]
        {
            for count in [0, 1, 300, 5_000] {
                let bytes = bytes(rows(count, &Some(vec![b'x'; 40])), capabilities);
                let mut scanner = ReplyScanner::new(Kind::Result, capabilities);
                let scan = scanner.scan(&bytes).unwrap();
                assert_eq!(scan.len, bytes.len());
                let Event::Done(outcome) = scan.event else { panic!("the answer has no end") };
                assert_eq!(outcome.rows, count as u64);
                assert_eq!(outcome.status(), Some(STATUS));
            }
        }
    }

    #[test]
    fn an_answer_comes_in_pieces_of_bounded_length() {
        let cell = Some(vec![b'x'; 1_000]);
        let pieces: Vec<usize> =
            Packets::new(rows(1_000, &cell), 1, Capabilities::PROTOCOL_41).map(|piece| piece.len()).collect();
        assert!(pieces.len() > 10 && pieces.iter().all(|len| *len < WRITE_BYTES + 2_000), "{pieces:?}");
    }

    #[test]
    fn ok_says_what_changed_and_that_backslashes_are_letters() {
        let answer = Answer::Ok { affected: 3, info: "done".to_owned() };
        let bytes = bytes(answer, Capabilities::PROTOCOL_41);
        assert_eq!(bytes, b"\x0c\0\0\x01\0\x03\0\x02\x02\0\0\x04done");
    }

    #[test]
    fn errors_carry_code_and_state() {
        let bytes = bytes(AdminError::new("no").into(), Capabilities::PROTOCOL_41);
        let scan = ReplyScanner::new(Kind::Result, Capabilities::PROTOCOL_41).scan(&bytes).unwrap();
        let Event::Done(outcome) = scan.event else { panic!("the answer has no end") };
        assert_eq!(outcome.end, End::Err { code: 1045 });
        assert!(bytes.ends_with(b"#28000ProxySQL Admin Error: no"));
    }

    #[test]
    fn null_is_no_text() {
        let bytes = bytes(rows(1, &None), Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF);
        assert!(bytes.windows(5).any(|packet| packet == [1, 0, 0, 3, 0xfb]));
    }
}

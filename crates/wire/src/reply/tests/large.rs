//! Rows of one packet and more.

use super::script::{Script, column_count};
use super::*;
use crate::frame::MAX_PAYLOAD;

/// Scans in pieces of `piece` bytes.
fn scan(caps: Capabilities, script: &Script, piece: usize) -> (usize, Event) {
    scan_pieces(&mut ReplyScanner::new(Answer::Result, caps), script.bytes.chunks(piece)).unwrap()
}

/// A row of one text value. Its bytes look like an error, a terminator or a header wherever they
/// are mistaken for one.
fn row(len: usize) -> Vec<u8> {
    let mut row = vec![0xff; len];
    // The first byte of a length of 3 or of 8 bytes.
    row[0] = if len > 0x100_0000 + 8 { 0xfe } else { 0xfd };
    row
}

#[test]
fn c17_rows_of_every_size_around_a_packet() {
    for caps in BOTH {
        for len in [
            MAX_PAYLOAD - 1,
            MAX_PAYLOAD,
            MAX_PAYLOAD + 1,
            MAX_PAYLOAD + 10,
            2 * MAX_PAYLOAD - 1,
            2 * MAX_PAYLOAD,
            2 * MAX_PAYLOAD + 1,
        ] {
            let script = Script::new(caps).columns(1).rows(1).message(&row(len)).rows(1);
            let script = script.end(StatusFlags::AUTOCOMMIT);
            for piece in [65_536, MAX_PAYLOAD, MAX_PAYLOAD + 4, usize::MAX] {
                let (end, event) = scan(caps, &script, piece);
                assert_eq!(end, script.bytes.len(), "{len} {piece}");
                let Event::Done(outcome) = event else { panic!("{event:?}") };
                assert_eq!(outcome.rows, 3, "{len} {piece}");
                assert_eq!(outcome.status(), Some(StatusFlags::AUTOCOMMIT));
            }
        }
    }
}

#[test]
fn c17_results_have_more_columns_than_two_bytes_count() {
    for caps in BOTH {
        // 70,000 in three bytes, and that definitions follow, where there is such a flag.
        let mut count = vec![0xfd, 0x70, 0x11, 0x01];
        if column_count(1, caps, true).len() > 1 {
            count.push(1);
        }
        let script = Script::new(caps).message(&count).definitions(35_000).definitions(35_000);
        let script = script.classic_eof(StatusFlags::AUTOCOMMIT).rows(1).end(StatusFlags::AUTOCOMMIT);
        let (end, event) = scan(caps, &script, 65_536);
        assert_eq!(end, script.bytes.len());
        assert!(matches!(event, Event::Done(outcome) if outcome.rows == 1), "{event:?}");
    }
}

#[test]
fn a_row_with_an_eight_byte_length_is_no_terminator() {
    let row = row(MAX_PAYLOAD + 100);
    assert_eq!(row[0], 0xfe);
    for caps in BOTH {
        let script = Script::new(caps).columns(1).message(&row).end(StatusFlags::AUTOCOMMIT);
        let start = script.bytes.len() - row.len() - 40;
        let near = |end: usize| end.saturating_sub(20)..=end.min(script.bytes.len());
        // Cut around the row's start, around its second packet, and around the terminator.
        for cut in near(start + 40).chain(near(script.bytes.len() - 80)).chain(near(script.bytes.len())) {
            let (front, back) = script.bytes.split_at(cut);
            let mut scanner = ReplyScanner::new(Answer::Result, caps);
            let (len, event) = scan_pieces(&mut scanner, [front, back]).unwrap();
            assert_eq!(len, script.bytes.len(), "cut at {cut}");
            assert!(matches!(event, Event::Done(Outcome { rows: 1, .. })), "cut at {cut}: {event:?}");
        }
    }
}

#[test]
fn a_last_packet_of_several_is_judged_by_its_start() {
    // Session state can be longer than a packet.
    let mut payload = vec![0, 1, 2, 2, 0, 3, 0];
    payload.resize(MAX_PAYLOAD + 50, b's');
    let script = Script::new(DEPRECATE).message(&payload);
    let (len, event) = scan(DEPRECATE, &script, 70_000);
    assert_eq!(len, script.bytes.len());
    let end = End::Ok { affected_rows: 1, last_insert_id: 2, status: StatusFlags::AUTOCOMMIT, warnings: 3 };
    assert_eq!(event, Event::Done(Outcome { end, rows: 0, ends_rows: false }));
}

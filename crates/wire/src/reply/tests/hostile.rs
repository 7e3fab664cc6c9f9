//! Bytes that no server sends.

use super::script::Script;
use super::*;

#[test]
fn an_empty_packet_is_an_error_wherever_a_message_starts() {
    let empty = WireError::Truncated { field: "packet", needed: 1, left: 0 };
    for caps in BOTH {
        for (answer, script) in [
            (Answer::Result, Script::new(caps)),
            (Answer::Result, Script::new(caps).columns(1)),
            (Answer::Result, Script::new(caps).columns(1).rows(3)),
            (Answer::Prepare, Script::new(caps)),
            (Answer::Prepare, Script::new(caps).prepare_ok(1, 1, true)),
            (Answer::FieldList, Script::new(caps)),
            (Answer::Fetch, Script::new(caps)),
            (Answer::Statistics, Script::new(caps)),
            (Answer::Single, Script::new(caps)),
            (Answer::Auth, Script::new(caps)),
            (Answer::Endless, Script::new(caps)),
        ] {
            let script = script.message(&[]).ok(StatusFlags::AUTOCOMMIT);
            assert_eq!(scan_all_splits(answer, caps, &script.bytes), Err(empty), "{answer:?}");
        }
    }
}

#[test]
fn c01_a_wrong_sequence_id_is_found_in_every_packet() {
    for caps in BOTH {
        let script = Script::new(caps).columns(2).rows(4).end(StatusFlags::AUTOCOMMIT);
        let (mut at, mut expected) = (0, 1);
        while at < script.bytes.len() {
            let mut bytes = script.bytes.clone();
            bytes[at + 3] ^= 0x81;
            let error = WireError::OutOfOrder { expected, got: expected ^ 0x81 };
            assert_eq!(scan_all_splits(Answer::Result, caps, &bytes), Err(error), "packet {expected}");
            at += 4 + usize::from(script.bytes[at]) + 256 * usize::from(script.bytes[at + 1]);
            expected += 1;
        }
        assert_eq!(expected, script.seq());
    }
}

#[test]
fn the_first_sequence_id_is_one_or_the_one_given() {
    let script = Script::new(CLASSIC).skip_to(5).ok(StatusFlags::AUTOCOMMIT);
    let error = WireError::OutOfOrder { expected: 1, got: 5 };
    assert_eq!(ReplyScanner::new(Answer::Result, CLASSIC).scan(&script.bytes), Err(error));
    assert!(ReplyScanner::new(Answer::Result, CLASSIC).starting_at(5).scan(&script.bytes).is_ok());
}

#[test]
fn c27_truncated_packets_are_errors() {
    for (answer, payload) in [
        (Answer::Result, &[0x00, 1][..]),
        (Answer::Result, &[0x00, 1, 1, 0, 0, 0]),
        (Answer::Result, &[0xfc, 1]),
        (Answer::Result, &[0xff, 1]),
        (Answer::Result, &[0x00, 0xff, 0, 0, 0, 0, 0]),
        (Answer::Prepare, &[0x00, 1, 0, 0, 0, 1, 0, 1]),
        (Answer::Single, &[0xfe, 0, 0, 0]),
        (Answer::Fetch, &[0xfe]),
    ] {
        let script = Script::new(CLASSIC).message(payload);
        let got = scan_all_splits(answer, CLASSIC, &script.bytes);
        assert!(got.is_err(), "{answer:?} {payload:?} {got:?}");
    }
}

#[test]
fn counts_that_no_result_can_have_are_refused() {
    for (payload, value) in [
        (&[0xfc, 0, 0][..], 0),
        (&[0xfe, 1, 0, 0, 0x20, 0, 0, 0, 0], (1 << 29) + 1),
        (&[0xfe, 0, 0, 0, 0, 0, 0, 0, 1], 1 << 56),
    ] {
        let script = Script::new(CLASSIC).message(payload);
        let error = WireError::Invalid { field: "column count", value };
        assert_eq!(scan_all_splits(Answer::Result, CLASSIC, &script.bytes), Err(error));
    }
}

#[test]
fn other_packets_than_eof_after_the_columns_are_refused() {
    let script = Script::new(CLASSIC).message(&[1]).definitions(1).rows(1);
    let got = scan_all_splits(Answer::Result, CLASSIC, &script.bytes);
    assert!(matches!(got, Err(WireError::Unexpected { .. })), "{got:?}");
    let script = Script::new(CLASSIC).prepare_ok(1, 0, true).definitions(2);
    let got = scan_all_splits(Answer::Prepare, CLASSIC, &script.bytes);
    assert!(matches!(got, Err(WireError::Unexpected { .. })), "{got:?}");
}

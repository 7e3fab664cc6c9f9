use zstd::zstd_safe::{CCtx, CParameter};

use super::*;
use crate::header::HEADER_LEN;

/// Bytes of rows in an event.
const ROWS_LEN: usize = 64 * 1024;

/// An event of a type, with this body.
fn event(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(HEADER_LEN + body.len()).unwrap().to_le_bytes();
    [&[0, 0, 0, 0, kind, 7, 0, 0, 0][..], &len, &[0; 6], body].concat()
}

/// A payload of these events in one frame.
fn payload(plain: &[u8], window_log: u32) -> Vec<u8> {
    let mut context = CCtx::create();
    context.set_parameter(CParameter::WindowLog(window_log)).unwrap();
    // A frame that does not say how long it is needs the whole window.
    context.set_parameter(CParameter::ContentSizeFlag(false)).unwrap();
    let mut compressed = Vec::with_capacity(zstd::zstd_safe::compress_bound(plain.len()));
    context.compress2(&mut compressed, plain).unwrap();
    let len = u64::try_from(plain.len()).unwrap().to_le_bytes();
    [&[2, 1, 0, 3, 9, 0xfe][..], &len, &[0], &compressed].concat()
}

/// What comes out of a payload in pieces, and whether it is whole.
fn expanded(payload: &[u8], piece: usize) -> (Vec<String>, bool) {
    let (mut all, mut expander) = (Vec::new(), Payload::default());
    for bytes in payload.chunks(piece) {
        expander.feed(bytes, &mut |logged| all.push(format!("{:?}", logged.event)));
    }
    (all, expander.is_whole())
}

#[test]
fn events_come_out() {
    let plain = [event(16, &[0; 8]), event(3, &[]), event(16, &[1; 8])].concat();
    let expected = vec!["Commit".to_owned(), "Commit".to_owned()];
    for bytes in [payload(&plain, 10), [&[2, 3, 0xfc, 255, 0, 0][..], &plain].concat()] {
        for piece in 1..bytes.len() {
            assert_eq!(expanded(&bytes, piece), (expected.clone(), true));
        }
    }
}

#[test]
fn what_is_not_understood_is_not_whole() {
    let right = payload(&event(16, &[0; 8]), 10);
    assert!(expanded(&right, 9).1);
    for len in 0..right.len() {
        assert!(!expanded(&right[..len], 9).1);
    }
    let changed = |at: usize, byte: u8| {
        let mut wrong = right.clone();
        wrong[at] = byte;
        assert_ne!(wrong, right);
        assert!(!expanded(&wrong, 9).1, "{at}");
    };
    // The compression, the length, and the frame's first byte.
    changed(2, 7);
    changed(6, 1);
    changed(15, 0);
    assert!(!expanded(&[1; 200], 50).1, "fields without an end");
    let unknown = expanded(&payload(&event(200, &[]), 10), 9);
    assert_eq!(unknown, (vec!["Unknown { kind: 200 }".to_owned()], true));
    // A rotation, a heartbeat, a format, begins of transactions, another payload.
    for kind in [4, 15, 26, 27, 33, 34, 40, 41, 42, 162] {
        let nested = [event(kind, &[2, 1, 0, 0]), event(16, &[0; 8])].concat();
        assert_eq!(expanded(&payload(&nested, 10), 9), (Vec::new(), false), "{kind}");
    }
}

#[test]
fn windows_are_bounded() {
    let plain = event(30, &vec![7; 1 << (WINDOW_MAX_LOG + 1)]);
    assert!(expanded(&payload(&plain, WINDOW_MAX_LOG), ROWS_LEN).1);
    assert!(!expanded(&payload(&plain, WINDOW_MAX_LOG + 1), ROWS_LEN).1);
}

#[test]
fn rows_take_no_memory() {
    let mut body: Vec<u8> = (0..ROWS_LEN).map(|at| u8::try_from(at * at % 251).unwrap()).collect();
    let mut plain = Vec::new();
    for number in 0..400_u32 {
        body[..4].copy_from_slice(&number.to_le_bytes());
        plain.extend(event(30, &body));
    }
    let (bytes, mut expander, mut rows) = (payload(&plain, 21), Payload::default(), 0);
    for piece in bytes.chunks(ROWS_LEN) {
        expander.feed(piece, &mut |_| rows += 1);
        let State::Zstd(context, _) = &expander.state else { continue };
        assert!(context.sizeof() < 3 << 20, "{} bytes", context.sizeof());
    }
    assert_eq!((rows, expander.is_whole()), (400, true));
}

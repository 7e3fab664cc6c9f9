//! Tests of the reply queue: whose bytes these are, wherever the input is cut.

use proptest::prelude::*;
use wire::reply::Outcome;

use super::*;

const CAPS: Capabilities = Capabilities::PROTOCOL_41;

const OK: &[u8] = b"\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00";
const ERR: &[u8] = b"\x09\x00\x00\x01\xff\x19\x04#42000";
const ROW: &[u8] = b"\x01\x00\x00\x01\x01\x17\x00\x00\x02\x03def\x00\x00\x00\x01x\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00\
    \x05\x00\x00\x03\xfe\x00\x00\x02\x00\x03\x00\x00\x04\x0242\x05\x00\x00\x05\xfe\x00\x00\x02\x00";

/// A few owners, which differ.
const OWNERS: [Owner; 3] = [Owner::Setup(Purpose::Setting), Owner::Client, Owner::Internal];

fn owing(owners: &[Owner]) -> Pipeline {
    let mut pipeline = Pipeline::default();
    for owner in owners {
        pipeline.expect(Expected::new(Answer::Result, *owner), CAPS);
    }
    pipeline
}

const fn ends(event: Event) -> Option<Outcome> {
    if let Event::Done(outcome) = event { Some(outcome) } else { None }
}

#[test]
fn a_command_without_a_reply_owes_none() {
    let mut pipeline = Pipeline::default();
    pipeline.expect(Expected::new(Answer::None, OWNERS[0]), CAPS);
    assert_eq!(pipeline.owner(), None);
}

#[test]
fn one_command_at_a_time_needs_no_memory() {
    let mut pipeline = Pipeline::default();
    for _ in 0..3 {
        pipeline.expect(Expected::new(Answer::Result, OWNERS[0]), CAPS);
        assert!(ends(pipeline.cut(OK).unwrap().event).is_some());
    }
    assert_eq!(pipeline.rest.capacity(), 0);
}

#[test]
fn c01_bytes_that_no_command_asked_for_have_no_owner() {
    assert_eq!(Pipeline::default().cut(OK), Err(Crossed::Unasked(OK.len())));
    let mut pipeline = owing(&OWNERS[..1]);
    let input = [OK, OK].concat();
    let segment = pipeline.cut(&input).unwrap();
    assert_eq!((segment.owner, segment.bytes), (OWNERS[0], OK));
    assert_eq!(pipeline.cut(OK), Err(Crossed::Unasked(OK.len())));
}

#[test]
fn c01_what_is_no_reply_has_no_owner() {
    let nonsense = owing(&OWNERS[..1]).cut(b"\x01\x00\x00\x07\x00");
    assert_eq!(nonsense, Err(Crossed::Nonsense(WireError::OutOfOrder { expected: 1, got: 7 })));
}

proptest! {
    /// Whatever is owed, and wherever reads cut it: each byte goes to the command that it answers.
    #[test]
    fn c01_every_byte_has_its_owner(
        replies in proptest::collection::vec((0..3usize, 0..3usize), 0..12),
        cuts in proptest::collection::vec(1..60usize, 1..40),
    ) {
        let replies: Vec<_> =
            replies.iter().map(|(reply, owner)| ([OK, ERR, ROW][*reply], OWNERS[*owner])).collect();
        let input = replies.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>().concat();
        let mut pipeline = owing(&replies.iter().map(|(_, owner)| *owner).collect::<Vec<_>>());
        let (mut read, mut got, mut bytes) = (&input[..], Vec::new(), Vec::new());
        for cut in cuts.iter().cycle() {
            let (mut now, later) = read.split_at(read.len().min(*cut));
            read = later;
            while !now.is_empty() {
                let Segment { owner, bytes: mine, event } = pipeline.cut(now).unwrap();
                bytes.extend_from_slice(mine);
                now = &now[mine.len()..];
                if ends(event).is_some() {
                    got.push((std::mem::take(&mut bytes), owner));
                }
            }
            if read.is_empty() {
                break;
            }
        }
        let expected: Vec<_> = replies.iter().map(|(bytes, owner)| (bytes.to_vec(), *owner)).collect();
        prop_assert_eq!(got, expected);
        prop_assert_eq!(pipeline.owner(), None);
    }
}

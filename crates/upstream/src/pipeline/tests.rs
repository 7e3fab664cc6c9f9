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

/// What a session and two members of its batch are owed, the first one of which is gone or not.
fn batch() -> Pipeline {
    let member = |id| Expected::new(Answer::Result, Owner::Member { statement: Some(id) });
    let mut pipeline = owing(&[Owner::Client]);
    pipeline.expect(member(1), CAPS);
    pipeline.expect(member(2), CAPS);
    pipeline.check_invariants(0);
    pipeline
}

#[test]
fn c02_a_connection_with_a_reply_to_its_session_is_not_free() {
    for owner in OWNERS {
        let mut pipeline = owing(&[owner]);
        assert!(!pipeline.is_free(), "{owner:?}");
        pipeline.cut(&OK[..5]).unwrap();
        assert!(!pipeline.is_free(), "{owner:?}");
        pipeline.cut(&OK[5..]).unwrap();
        assert!(pipeline.is_free(), "{owner:?}");
    }
}

#[test]
fn c02_members_of_a_batch_get_their_own_replies() {
    let mut pipeline = batch();
    assert!(!pipeline.hand_over(false) && !pipeline.promote(), "the holder's reply comes first");
    assert_eq!(pipeline.cut(OK).unwrap().owner, Owner::Client);
    assert!(pipeline.is_free() && pipeline.has_members());
    for (id, is_last) in [(1, false), (2, true)] {
        assert!(pipeline.hand_over(false));
        assert_eq!(pipeline.owner(), Some(Owner::Sent { statement: Some(id) }));
        assert!(pipeline.is_free());
        pipeline.check_invariants(OK.len());
        assert!(pipeline.promote() && !pipeline.promote());
        assert!(!pipeline.is_free());
        assert_eq!(pipeline.has_members(), !is_last);
        assert_eq!(pipeline.cut(OK).unwrap().owner, Owner::Client);
    }
    assert!(!pipeline.hand_over(false));
    assert_eq!(pipeline.owner(), None);
}

#[test]
fn c02_the_reply_to_a_session_that_is_gone_has_no_reader() {
    let mut pipeline = batch();
    pipeline.cut(OK).unwrap();
    assert!(pipeline.hand_over(true));
    assert!(pipeline.is_free());
    assert_eq!(pipeline.cut(OK).unwrap().owner, Owner::Unowned);
    assert!(pipeline.hand_over(false));
    pipeline.disown();
    assert!(!pipeline.promote(), "it was disowned");
    assert_eq!(pipeline.cut(OK).unwrap().owner, Owner::Unowned);
    assert_eq!(pipeline.owner(), None);
}

#[test]
#[should_panic(expected = "c01: 3 bytes without an owner")]
fn c01_bytes_that_were_read_ahead_have_an_owner() {
    Pipeline::default().check_invariants(3);
}

#[test]
#[should_panic(expected = "c02: a reply of another session is in front")]
fn c02_no_reply_stands_behind_one_of_another_session() {
    let mut pipeline = batch();
    pipeline.expect(Expected::new(Answer::Result, Owner::Client), CAPS);
    pipeline.check_invariants(0);
}

#[test]
fn the_reply_to_a_command_of_several_packets_begins_with_a_later_id() {
    let late = b"\x07\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00";
    for owners in [&[Owner::Client][..], &[Owner::Setup(Purpose::Setting), Owner::Client]] {
        let mut pipeline = owing(owners);
        pipeline.start_at(3);
        let before = Progress { is_begun: false, is_between_packets: true, next_seq: 3 };
        assert_eq!(pipeline.progress(), before);
        if owners.len() > 1 {
            pipeline.cut(OK).unwrap();
        }
        assert_eq!(pipeline.progress(), before);
        pipeline.cut(&late[..6]).unwrap();
        assert!(pipeline.progress().is_begun && !pipeline.progress().is_between_packets);
        assert!(ends(pipeline.cut(&late[6..]).unwrap().event).is_some());
    }
}

#[test]
fn a_long_pipeline_leaves_no_memory_behind() {
    let mut pipeline = owing(&[Owner::Client; 100]);
    for _ in 0..100 {
        pipeline.cut(OK).unwrap();
    }
    assert!(pipeline.rest.capacity() <= KEPT);
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

#![expect(clippy::cast_possible_truncation, reason = "ids and patterns wrap")]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::frame::{MAX_PAYLOAD, put_message};

/// The frames that `bytes` are sent in: their ids and lengths.
fn send(numbering: &mut Numbering, mut bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (len, seq) = numbering.send(bytes);
        frames.push((seq, len));
        bytes = &bytes[len..];
    }
    frames
}

/// What comes out of a received frame with this id that holds messages whose packets all have the
/// id 77.
fn receive(numbering: &mut Numbering, seq: u8, messages: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        put_message(&mut bytes, 77, message);
    }
    numbering.receive_frame(seq).unwrap();
    numbering.receive(&mut bytes);
    ids(&bytes)
}

/// The ids of the packets in `bytes`.
fn ids(mut bytes: &[u8]) -> Vec<u8> {
    let mut ids = Vec::new();
    while let Some(header) = bytes.first_chunk() {
        let header = Header::parse(*header);
        ids.push(header.seq);
        bytes = &bytes[HEADER_LEN + header.len as usize..];
    }
    ids
}

fn message(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_message(&mut out, seq, payload);
    out
}

#[test]
fn a_server_is_sent_commands_and_its_packets_get_their_ids_back() {
    let mut numbering = Numbering::new(Peer::Server);
    for _ in 0..3 {
        assert_eq!(send(&mut numbering, &message(0, b"\x03SELECT 1")), [(0, 13)]);
        assert_eq!(receive(&mut numbering, 1, &[b"1", b"column", b"row"]), [1, 2, 3]);
        assert_eq!(receive(&mut numbering, 2, &[b"row", b"\xfe"]), [4, 5]);
    }
}

#[test]
fn the_rest_of_a_packet_may_have_a_frame_that_is_begun_before_all_of_it_is_there() {
    let mut numbering = Numbering::new(Peer::Client);
    assert_eq!(receive(&mut numbering, 0, &[b"\x03SELECT 1"]), [0]);
    let bytes = [message(1, &[b'x'; 100]), message(2, b"row")].concat();
    assert_eq!(numbering.send(&bytes[..50]), (50, 1));
    assert_eq!((numbering.unsent(), numbering.begin_rest()), (54, 2));
    assert_eq!(numbering.send_rest(&bytes[50..70]), 20);
    assert_eq!(numbering.unsent(), 34);
    assert_eq!(numbering.send_rest(&bytes[70..]), 34, "the next packet is not among it");
    assert_eq!(numbering.unsent(), 0);
    assert_eq!(send(&mut numbering, &bytes[104..]), [(3, 7)]);
    assert_eq!(receive(&mut numbering, 0, &[b"\x03SELECT 2"]), [0], "and the next exchange begins anew");
    assert_eq!(send(&mut numbering, &message(1, b"row")), [(1, 7)]);
}

#[test]
fn a_command_has_a_frame_of_its_own() {
    let mut numbering = Numbering::new(Peer::Server);
    let both = [message(0, b"\x19close"), message(0, b"\x17execute")].concat();
    assert_eq!(send(&mut numbering, &both), [(0, 10), (0, 12)]);
    // The header of the next command is cut: it waits for the rest.
    let cut = [message(0, b"\x19close"), vec![8, 0]].concat();
    assert_eq!(numbering.send(&cut), (10, 0));
}

#[test]
fn a_file_goes_on_counting_past_zero() {
    let rows: Vec<&[u8]> = vec![b"row"; 253];
    let mut server = Numbering::new(Peer::Server);
    send(&mut server, &message(0, b"\x03LOAD"));
    for (i, row) in rows.iter().enumerate() {
        receive(&mut server, 1 + i as u8, &[row]);
    }
    assert_eq!(receive(&mut server, 254, &[b"\xfbfile"]), [254]);
    for (seq, data) in [(255, &b"first"[..]), (0, b"second"), (1, b"")] {
        assert_eq!(send(&mut server, &message(seq, data)), [(seq, data.len() + HEADER_LEN)]);
    }
    assert_eq!(receive(&mut server, 2, &[b"\0OK"]), [2]);

    let mut client = Numbering::new(Peer::Client);
    assert_eq!(receive(&mut client, 0, &[b"\x03LOAD"]), [0]);
    for (i, row) in rows.iter().enumerate() {
        send(&mut client, &message(1 + i as u8, row));
    }
    send(&mut client, &message(254, b"\xfbfile"));
    assert_eq!(receive(&mut client, 255, &[b"first"]), [255]);
    assert!(!client.begins_command(0));
    assert_eq!(receive(&mut client, 0, &[b"second", b""]), [0, 1]);
    assert_eq!(send(&mut client, &message(2, b"\0OK")), [(1, 7)]);
}

#[test]
fn a_command_may_come_where_the_count_is_at_zero_anyway() {
    let mut client = Numbering::new(Peer::Client);
    let mut server = Numbering::new(Peer::Server);
    receive(&mut client, 0, &[b"\x03SELECT"]);
    send(&mut server, &message(0, b"\x03SELECT"));
    let mut answer = Vec::new();
    for seq in 1..=255 {
        answer.extend(message(seq, b"row"));
    }
    let frames = send(&mut client, &answer);
    assert_eq!(frames, [(1, answer.len())]);
    for seq in 1..=255 {
        receive(&mut server, seq, &[b"row"]);
    }
    assert!(client.begins_command(0));
    assert_eq!(receive(&mut client, 0, &[b"\x0e"]), [0]);
    assert_eq!(send(&mut client, &message(1, b"\0OK")), [(1, 7)]);
    assert_eq!(send(&mut server, &message(0, b"\x0e")), [(0, 5)]);
    assert_eq!(receive(&mut server, 1, &[b"\0OK"]), [1]);
}

#[test]
fn an_answer_to_a_question_goes_on_and_a_second_command_does_not() {
    let mut client = Numbering::new(Peer::Client);
    assert_eq!(receive(&mut client, 0, &[b"\x11change user"]), [0]);
    send(&mut client, &message(1, b"\xfeswitch"));
    assert_eq!(receive(&mut client, 2, &[b"proof"]), [2]);
    assert_eq!(send(&mut client, &message(3, b"\0OK")), [(3, 7)]);
    assert_eq!(receive(&mut client, 0, &[b"\x19close", b"\x03SELECT"]), [0, 0]);
    assert_eq!(send(&mut client, &message(1, b"\0OK")), [(1, 7)]);
}

#[test]
fn a_reply_without_a_command_begins_anew() {
    let mut client = Numbering::new(Peer::Client);
    receive(&mut client, 0, &[b"\x03SELECT"]);
    send(&mut client, &[message(1, b"column"), message(2, b"row"), message(3, b"\xfe")].concat());
    assert_eq!(send(&mut client, &message(1, b"\xffshutdown")), [(1, 13)]);
    let mut server = Numbering::new(Peer::Server);
    send(&mut server, &message(0, b"\x03SELECT"));
    receive(&mut server, 1, &[b"\0OK"]);
    assert_eq!(receive(&mut server, 0, &[b"\xffkilled"]), [0]);
    assert_eq!(server.receive_frame(7), Err(WireError::OutOfOrder { expected: 1, got: 7 }));
}

#[test]
fn frames_of_a_client_are_in_order() {
    let mut client = Numbering::new(Peer::Client);
    let mut start = message(0, b"\x03SELECT");
    start.truncate(6);
    client.receive_frame(0).unwrap();
    client.receive(&mut start);
    assert_eq!(client.clone().receive_frame(0), Err(WireError::OutOfOrder { expected: 1, got: 0 }));
    assert_eq!(client.receive_frame(2), Err(WireError::OutOfOrder { expected: 1, got: 2 }));
    assert_eq!(send(&mut client, &message(1, b"\xff")), [(3, 5)]);
}

#[test]
fn long_messages_keep_their_ids() {
    let mut bytes = message(0, &vec![b'x'; MAX_PAYLOAD + 5]);
    let mut server = Numbering::new(Peer::Server);
    assert_eq!(send(&mut server, &bytes), [(0, bytes.len())]);
    assert_eq!(receive(&mut server, 1, &[b"\0OK"]), [2]);
    let mut client = Numbering::new(Peer::Client);
    // The id of the second packet is lost on the way.
    bytes[HEADER_LEN + MAX_PAYLOAD + 3] = 0;
    let (first, second) = bytes.split_at_mut(MAX_PAYLOAD);
    client.receive_frame(0).unwrap();
    client.receive(first);
    assert!(!client.begins_command(0));
    client.receive_frame(1).unwrap();
    client.receive(second);
    assert_eq!(ids(&bytes), [0, 1]);
    assert_eq!(send(&mut client, &message(2, b"\0OK")), [(2, 7)]);
}

proptest! {
    #[test]
    fn ids_do_not_depend_on_the_split(
        answer in vec(vec(any::<u8>(), 0..20), 1..300),
        cuts in vec(1usize..30, 1..50),
    ) {
        let mut bytes = Vec::new();
        for payload in &answer {
            put_message(&mut bytes, 9, payload);
        }
        let mut server = Numbering::new(Peer::Server);
        send(&mut server, &message(0, b"\x03SELECT"));
        let (mut rest, mut seq, mut cuts) = (&mut bytes[..], 1u8, cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at_mut(rest.len().min(*cuts.next().unwrap()));
            server.receive_frame(seq).unwrap();
            server.receive(piece);
            seq = seq.wrapping_add(1);
            rest = after;
        }
        let expected: Vec<u8> = (0..answer.len()).map(|i| (i + 1) as u8).collect();
        prop_assert_eq!(ids(&bytes), expected);
    }
}

//! Large replies, bounds and broken bytes.

use planner::merge::Order;
use proptest::prelude::*;
use wire::frame::{MAX_PAYLOAD, put_message};
use wire::packet::TextRow;

use super::super::{Kind, Progress, What};
use super::script::*;
use crate::limits::{SCATTER_OUT_BYTES_MAX, SCATTER_SHARD_BYTES_MAX};

const LONG: u8 = 0x03;

fn definitions(shard: usize) -> Vec<Vec<u8>> {
    vec![column(shard, "n", LONG), column(shard, "pointsman_key_0", LONG)]
}

fn row(number: u32) -> Vec<u8> {
    let mut row = Vec::new();
    let text = number.to_string();
    TextRow::put(&mut row, [Some(&text), Some(&text)]);
    row
}

/// The reply of a shard whose rows are these numbers.
fn numbers(shard: usize, numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    reply(1, &result(MODERN, &definitions(shard), &numbers.map(row).collect::<Vec<_>>()))
}

/// Shards have 100,000 rows each, in runs of random length. The client gets them as a sort of all
/// rows would give them, byte by byte.
#[test]
fn four_shards_with_100_000_rows_are_one_sorted_reply() {
    let mut shards = vec![Vec::new(); 4];
    let mut state = 7_u32;
    for number in 0..400_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut at = (state >> 24) as usize % 4;
        while shards[at].len() == 100_000 {
            at = (at + 1) % 4;
        }
        shards[at].push(number);
    }
    let replies: Vec<_> =
        shards.iter().enumerate().map(|(at, rows)| numbers(at, rows.iter().copied())).collect();
    let mut scatter = scatter(What { order: ascending(), ..what(MODERN) }, 4);
    let sent = run(&mut scatter, &replies, 16 * 1024);

    let mut whole = vec![vec![1], logical_column("n", LONG)];
    whole.extend((0..400_000_u32).map(|number| text_row(&[Some(&number.to_string())])));
    whole.push(end(MODERN, 4, wire::StatusFlags::AUTOCOMMIT));
    assert!(sent == reply(1, &whole));
    assert_eq!(scatter.over().unwrap().outcome.rows, 400_000);
}

#[test]
fn a_shard_that_is_far_ahead_is_read_up_to_its_bound() {
    let ahead = numbers(0, 0..100_000);
    let mut scatter = scatter(What { order: ascending(), ..what(MODERN) }, 2);
    let mut fed = 0;
    let mut out = Vec::new();
    loop {
        let room = scatter.room(0);
        if room == 0 {
            break;
        }
        scatter.feed(0, &ahead[fed..fed + room]);
        fed += room;
        assert_eq!(scatter.drain(&mut out), Progress::Wait);
    }
    assert!(out.is_empty(), "the other shard has said nothing");
    // The definitions are taken out of the buffer.
    assert!(fed <= SCATTER_SHARD_BYTES_MAX + 256, "{fed} bytes were read");
    assert_eq!(scatter.room(1), SCATTER_SHARD_BYTES_MAX, "the other one is read");
}

#[test]
fn a_client_that_takes_nothing_stops_the_rows() {
    let mut scatter = scatter(what(MODERN), 1);
    let bytes = numbers(0, 0..100_000);
    let (mut fed, mut out) = (0, Vec::new());
    while scatter.room(0) > 0 {
        let room = scatter.room(0);
        scatter.feed(0, &bytes[fed..fed + room]);
        fed += room;
        scatter.drain(&mut out);
    }
    assert_eq!(scatter.drain(&mut out), Progress::Full);
    assert!(out.len() < SCATTER_OUT_BYTES_MAX + 100);
    assert!(fed <= 2 * SCATTER_SHARD_BYTES_MAX + 256, "{fed} bytes were read");
}

#[test]
fn a_row_of_several_packets_is_one_row() {
    for caps in ALL {
        for len in [MAX_PAYLOAD - 9, MAX_PAYLOAD, MAX_PAYLOAD + 5] {
            let cell: String = "x".repeat(len);
            let big = |key: &str| text_row(&[Some(&cell), Some(key)]);
            let reply_of = |at, row| reply(1, &result(caps, &definitions(at), &[row]));
            let replies = [reply_of(0, big("2")), reply_of(1, text_row(&[Some("y"), Some("1")]))];
            let mut scatter = scatter(What { order: ascending(), ..what(caps) }, 2);
            let sent = run(&mut scatter, &replies, 1 << 20);
            let rows = [text_row(&[Some("y")]), text_row(&[Some(&cell)])];
            let mut whole = result(caps, &[logical_column("n", LONG)], &rows);
            *whole.last_mut().unwrap() = end(caps, 2, wire::StatusFlags::AUTOCOMMIT);
            assert!(sent == reply(1, &whole), "{len} bytes");
        }
    }
}

/// The packets of these bytes follow one another from 1 on, and none is cut.
fn assert_whole(bytes: &[u8]) {
    let (mut rest, mut seq) = (bytes, 1_u8);
    while let Some((&[a, b, c, got], behind)) = rest.split_first_chunk::<4>() {
        assert_eq!(got, seq);
        seq = seq.wrapping_add(1);
        rest = &behind[u32::from_le_bytes([a, b, c, 0]) as usize..];
    }
    assert!(rest.is_empty());
}

proptest! {
    /// Broken bytes are an error, or other values, and the client's packets stay whole.
    #[test]
    fn flipped_bits_never_panic(
        flips in proptest::collection::vec((0_usize..2, any::<prop::sample::Index>(), 0_u8..8), 1..4),
        piece in 1_usize..50,
        is_modern: bool,
        is_ordered: bool,
    ) {
        let caps = if is_modern { MODERN } else { CLASSIC };
        let mut replies = [0, 1].map(|at| {
            reply(1, &result(caps, &definitions(at), &(0..5).map(|n| row(2 * n)).collect::<Vec<_>>()))
        });
        for (shard, at, bit) in flips {
            let at = at.index(replies[shard].len());
            replies[shard][at] ^= 1 << bit;
        }
        let order = if is_ordered { ascending() } else { Order::default() };
        let mut scatter = scatter(What { order, message_bytes_max: 4096, ..what(caps) }, 2);
        let mut sent = run(&mut scatter, &replies, piece);
        (0..2).for_each(|at| scatter.close(at));
        sent.extend(run(&mut scatter, &[], 1));
        prop_assert!(scatter.over().is_some() && scatter.is_quiet());
        assert_whole(&sent);
    }

    #[test]
    fn any_bytes_end(bytes: [Vec<u8>; 2], piece in 1_usize..50, is_prepared: bool) {
        let kind = if is_prepared { Kind::Prepared { id: 1 } } else { Kind::Result };
        let mut scatter = scatter(What { kind, message_bytes_max: 4096, ..what(CLASSIC) }, 2);
        let framed = bytes.map(|payload| {
            let mut framed = Vec::new();
            put_message(&mut framed, 1, &payload);
            framed
        });
        let mut sent = run(&mut scatter, &framed, piece);
        (0..2).for_each(|at| scatter.close(at));
        sent.extend(run(&mut scatter, &[], 1));
        prop_assert!(scatter.over().is_some() && scatter.is_quiet());
        assert_whole(&sent);
    }
}

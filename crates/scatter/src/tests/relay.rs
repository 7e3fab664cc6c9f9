//! Shards and relay in one task; the client is a socket of memory.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};

use net::sock::Sock;
use net::sock::memory::pair;

use super::super::{Branch, Relay, What};
use super::script::*;
use crate::limits::{SCATTER_OUT_BYTES_MAX, SCATTER_SHARD_BYTES_MAX};

/// Bytes that the client's pipe holds: many times less than a reply has.
const PIPE: usize = 100;

fn socks(capacity: usize) -> (Sock, Sock) {
    let (one, other) = pair(capacity);
    (one.into(), other.into())
}

/// All bytes until the end of the stream.
async fn read_all(mut sock: Sock) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 64]);
    loop {
        match poll_fn(|cx| sock.poll_read(cx, &mut buffer)).await.unwrap() {
            0 => return all,
            bytes => all.extend_from_slice(&buffer[..bytes]),
        }
    }
}

/// A leg says all of this.
async fn say(mut branch: Branch, reply: &[u8]) -> io::Result<()> {
    let mut rest = reply;
    while !rest.is_empty() {
        let taken = poll_fn(|_| branch.poll_write(rest)).await?;
        rest = &rest[taken..];
    }
    Ok(())
}

/// The reply of a shard with these numbers, which are its keys as well.
fn numbers(shard: usize, numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let row = |number: u32| {
        let text = number.to_string();
        text_row(&[Some(&text), Some(&text)])
    };
    let definitions = [column(shard, "n", 3), column(shard, "pointsman_key_0", 3)];
    reply(1, &result(MODERN, &definitions, &numbers.map(row).collect::<Vec<_>>()))
}

#[tokio::test]
async fn a_reply_passes_a_pipe_that_is_smaller_than_it() {
    let replies = [numbers(0, (0..20_000).step_by(2)), numbers(1, (1..20_000).step_by(2))];
    assert!(replies[0].len() > 2 * SCATTER_SHARD_BYTES_MAX, "there is no room for all of it");
    let expected = run(&mut scatter(What { order: ascending(), ..what(MODERN) }, 2), &replies, 4096);
    let mut relay = Relay::new(scatter(What { order: ascending(), ..what(MODERN) }, 2));
    let (first, second) = (relay.branches().client(0), relay.branches().client(1));
    let (mut client, reader) = socks(PIPE);
    let pass = async {
        poll_fn(|cx| relay.poll_reply(cx, &mut client)).await.unwrap();
        drop(client);
    };
    let (sent, one, other, ()) =
        tokio::join!(biased; read_all(reader), say(first, &replies[0]), say(second, &replies[1]), pass);
    assert!(one.and(other).is_ok() && sent == expected, "the client has the reply that the engine makes");
    assert!(relay.scatter().is_quiet());
}

#[tokio::test]
async fn the_rest_of_the_shards_is_dropped_behind_an_error() {
    let replies = [numbers(0, 0..20_000), reply(1, &[error(1146, "Table 'shop_1.orders_1' doesn't exist")])];
    let mut relay = Relay::new(scatter(what(MODERN), 2));
    let first = relay.branches().client(0);
    let (mut client, reader) = socks(PIPE);
    say(relay.branches().client(1), &replies[1]).await.unwrap();
    poll_fn(|cx| relay.poll_reply(cx, &mut client)).await.unwrap();
    drop(client);
    assert_eq!(read_all(reader).await, reply(1, &[error(1146, "Table 'shop.orders' doesn't exist")]));
    assert!(relay.scatter().is_rest());
    let rest = poll_fn(|cx| relay.poll_rest(cx));
    let (said, ()) = tokio::join!(biased; say(first, &replies[0]), rest);
    said.unwrap();
    assert!(relay.scatter().is_quiet());
}

#[tokio::test]
async fn a_shard_that_hangs_up_ends_the_reply() {
    let mut relay = Relay::new(scatter(what(MODERN), 2));
    let _second = relay.branches().client(1);
    let (mut client, reader) = socks(1024);
    drop(relay.branches().client(0));
    poll_fn(|cx| relay.poll_reply(cx, &mut client)).await.unwrap();
    drop(client);
    let sent = read_all(reader).await;
    assert!(String::from_utf8_lossy(&sent).contains("hostgroup 1"), "{sent:?}");
}

#[tokio::test]
async fn a_branch_hears_that_its_reply_is_not_taken() {
    let relay = Relay::new(scatter(what(MODERN), 1));
    let mut branch = relay.branches().client(0);
    assert!(branch.poll_read(&mut [0; 8]).is_pending() && !branch.has_left());
    relay.leave();
    assert!(branch.has_left());
    assert!(matches!(branch.poll_read(&mut [0; 8]), Poll::Ready(0)));
    let said = poll_fn(|_| branch.poll_write(&reply(1, &[ok(1, 0, "")]))).await;
    assert_eq!(said.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_reply_that_is_held_waits_for_its_commit() {
    let replies = [reply(1, &[ok(1, 0, "")]), reply(1, &[ok(2, 0, "")])];
    let mut relay = Relay::holding(scatter(what(MODERN), 2));
    let (client, reader) = pair(1024);
    let mut client = Sock::from(client);
    say(relay.branches().client(0), &replies[0]).await.unwrap();
    say(relay.branches().client(1), &replies[1]).await.unwrap();
    poll_fn(|cx| relay.poll_reply(cx, &mut client)).await.unwrap();
    assert_eq!((reader.unread(), relay.is_held()), (0, true), "the servers have not committed");
    poll_fn(|cx| relay.poll_write(cx, &mut client)).await.unwrap();
    drop(client);
    let expected = run(&mut scatter(what(MODERN), 2), &replies, 4096);
    assert_eq!(read_all(reader.into()).await, expected);
}

#[tokio::test]
async fn rows_are_not_held() {
    let replies = [numbers(0, 0..90_000), numbers(1, 0..0)];
    let mut relay = Relay::holding(scatter(what(MODERN), 2));
    let first = relay.branches().client(0);
    let (mut client, reader) = socks(PIPE);
    say(relay.branches().client(1), &replies[1]).await.unwrap();
    let pass = async {
        poll_fn(|cx| relay.poll_reply(cx, &mut client)).await.unwrap();
        drop(client);
    };
    let (sent, said, ()) = tokio::join!(read_all(reader), say(first, &replies[0]), pass);
    assert!(said.is_ok() && sent.len() > SCATTER_OUT_BYTES_MAX && !relay.is_held());
}

/// Counts how often a task would have been polled again.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Legs are polled before the relay, in the same task: only one that waits for room wakes it.
#[test]
fn a_shard_that_waits_for_room_goes_on_when_there_is_some() {
    let mut relay = Relay::new(scatter(what(MODERN), 1));
    let (mut branch, (mut client, _reader)) = (relay.branches().client(0), socks(1 << 22));
    let wakes = Arc::new(Wakes::default());
    let waker = Arc::clone(&wakes).into();
    let cx = &mut Context::from_waker(&waker);
    assert!(relay.poll_reply(cx, &mut client).is_pending());
    let all = numbers(0, 0..20_000);
    let Poll::Ready(Ok(taken)) = branch.poll_write(&all) else { panic!("there is room") };
    assert_eq!((taken, wakes.0.load(Ordering::Relaxed)), (SCATTER_SHARD_BYTES_MAX, 0));
    assert!(branch.poll_write(&all[taken..]).is_pending());
    assert!(relay.poll_reply(cx, &mut client).is_pending());
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(branch.poll_write(&all[taken..]).is_ready());
    assert!(relay.poll_reply(cx, &mut client).is_pending());
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "it does not wait");
}

#[tokio::test]
async fn a_reply_for_the_proxy_is_kept_within_its_limit() {
    let replies = [numbers(0, (0..20_000).step_by(2)), numbers(1, (1..20_000).step_by(2))];
    let expected = run(&mut scatter(What { order: ascending(), ..what(MODERN) }, 2), &replies, 4096);
    assert!(expected.len() > 2 * SCATTER_OUT_BYTES_MAX, "several turns");
    for (bytes_max, kept) in [(expected.len(), Some(expected.clone())), (expected.len() - 1, None)] {
        let scatter = scatter(What { order: ascending(), ..what(MODERN) }, 2);
        let mut relay = Relay::keeping(scatter, bytes_max);
        let (first, second) = (relay.branches().client(0), relay.branches().client(1));
        let (mut client, reader) = socks(PIPE);
        let pass = async {
            poll_fn(|cx| relay.poll_reply(cx, &mut client)).await.unwrap();
            drop(client);
        };
        let (sent, one, other, ()) =
            tokio::join!(biased; read_all(reader), say(first, &replies[0]), say(second, &replies[1]), pass);
        assert!(one.and(other).is_ok() && sent.is_empty(), "the client gets nothing");
        assert!(relay.take_kept() == kept, "{bytes_max}");
    }
}

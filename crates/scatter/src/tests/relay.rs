//! Shards, relay and client in one task, with sockets of memory.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake};

use net::sock::Sock;
use net::sock::memory::pair;

use super::super::{Relay, What};
use super::script::*;
use crate::limits::SCATTER_OUT_BYTES_MAX;

/// Bytes that a pipe holds: many times less than a reply has.
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
async fn a_reply_passes_pipes_that_are_smaller_than_it() {
    let replies = [numbers(0, (0..900).step_by(2)), numbers(1, (1..900).step_by(2))];
    let expected = run(&mut scatter(What { order: ascending(), ..what(MODERN) }, 2), &replies, 4096);
    let mut relay = Relay::new(scatter(What { order: ascending(), ..what(MODERN) }, 2));
    let ((mut first, one), (mut second, other)) = (socks(PIPE), socks(PIPE));
    let (mut client, reader) = socks(PIPE);
    let mut shards = [one, other];
    let pass = async {
        let mut scratch = [0; 256];
        poll_fn(|cx| relay.poll_reply(cx, &mut shards, &mut client, &mut scratch)).await.unwrap();
        drop(client);
    };
    let (sent, _, _, ()) = tokio::join!(biased; read_all(reader), first.write_all(&replies[0]), second.write_all(&replies[1]), pass);
    assert!(sent == expected, "the client has the reply that the engine makes");
    assert!(relay.scatter().is_quiet());
}

#[tokio::test]
async fn the_rest_of_the_shards_is_dropped_behind_an_error() {
    let replies = [numbers(0, 0..900), reply(1, &[error(1146, "Table 'shop_1.orders_1' doesn't exist")])];
    let mut relay = Relay::new(scatter(what(MODERN), 2));
    let ((mut first, one), (mut second, other)) = (socks(PIPE), socks(PIPE));
    let (mut client, reader) = socks(PIPE);
    let (mut shards, mut scratch) = ([one, other], [0; 256]);
    second.write_all(&replies[1]).await.unwrap();
    poll_fn(|cx| relay.poll_reply(cx, &mut shards, &mut client, &mut scratch)).await.unwrap();
    drop(client);
    assert_eq!(read_all(reader).await, reply(1, &[error(1146, "Table 'shop.orders' doesn't exist")]));
    assert!(relay.scatter().is_rest());
    let rest = poll_fn(|_| relay.poll_rest(&mut shards, &mut scratch));
    let (written, ()) = tokio::join!(biased; first.write_all(&replies[0]), rest);
    written.unwrap();
    assert!(relay.scatter().is_quiet());
}

#[tokio::test]
async fn a_shard_that_hangs_up_ends_the_reply() {
    let mut relay = Relay::new(scatter(what(MODERN), 2));
    let ((first, one), (_second, other)) = (socks(PIPE), socks(PIPE));
    let (mut client, reader) = socks(1024);
    drop(first);
    let (mut shards, mut scratch) = ([one, other], [0; 256]);
    poll_fn(|cx| relay.poll_reply(cx, &mut shards, &mut client, &mut scratch)).await.unwrap();
    drop(client);
    let sent = read_all(reader).await;
    assert!(String::from_utf8_lossy(&sent).contains("hostgroup 1"), "{sent:?}");
}

#[tokio::test]
async fn a_reply_that_is_held_waits_for_its_commit() {
    let replies = [reply(1, &[ok(1, 0, "")]), reply(1, &[ok(2, 0, "")])];
    let mut relay = Relay::holding(scatter(what(MODERN), 2));
    let ((mut first, one), (mut second, other)) = (socks(1024), socks(1024));
    let (client, reader) = pair(1024);
    let (mut client, mut shards, mut scratch) = (Sock::from(client), [one, other], [0; 256]);
    first.write_all(&replies[0]).await.unwrap();
    second.write_all(&replies[1]).await.unwrap();
    poll_fn(|cx| relay.poll_reply(cx, &mut shards, &mut client, &mut scratch)).await.unwrap();
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
    let ((mut first, one), (mut second, other)) = (socks(1 << 22), socks(1024));
    let (mut client, reader) = socks(PIPE);
    let (mut shards, mut scratch) = ([one, other], vec![0; 1 << 16]);
    first.write_all(&replies[0]).await.unwrap();
    second.write_all(&replies[1]).await.unwrap();
    let pass = async {
        poll_fn(|cx| relay.poll_reply(cx, &mut shards, &mut client, &mut scratch)).await.unwrap();
        drop(client);
    };
    let (sent, ()) = tokio::join!(read_all(reader), pass);
    assert!(sent.len() > SCATTER_OUT_BYTES_MAX && !relay.is_held());
}

/// Counts how often a task would have been polled again.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The session of a shard is polled before the relay, in the same task.
#[test]
fn a_shard_that_writes_wakes_nothing() {
    let mut relay = Relay::new(scatter(what(MODERN), 1));
    let ((mut first, one), (mut client, _reader)) = (socks(1024), socks(1024));
    let (mut shards, mut scratch) = ([one], [0; 256]);
    let wakes = Arc::new(Wakes::default());
    let waker = Arc::clone(&wakes).into();
    let cx = &mut Context::from_waker(&waker);
    assert!(relay.poll_reply(cx, &mut shards, &mut client, &mut scratch).is_pending());
    assert!(first.poll_write(cx, &reply(1, &[ok(1, 0, "")])).is_ready());
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
    assert!(relay.poll_reply(cx, &mut shards, &mut client, &mut scratch).is_ready());
}

#[tokio::test]
async fn a_reply_for_the_proxy_is_kept_within_its_limit() {
    let replies = [numbers(0, (0..20_000).step_by(2)), numbers(1, (1..20_000).step_by(2))];
    let expected = run(&mut scatter(What { order: ascending(), ..what(MODERN) }, 2), &replies, 4096);
    assert!(expected.len() > 2 * SCATTER_OUT_BYTES_MAX, "several turns");
    for (bytes_max, kept) in [(expected.len(), Some(expected.clone())), (expected.len() - 1, None)] {
        let scatter = scatter(What { order: ascending(), ..what(MODERN) }, 2);
        let mut relay = Relay::keeping(scatter, bytes_max);
        let ((mut first, one), (mut second, other)) = (socks(PIPE), socks(PIPE));
        let (mut client, reader) = socks(PIPE);
        let mut shards = [one, other];
        let pass = async {
            let mut scratch = [0; 256];
            poll_fn(|cx| relay.poll_reply(cx, &mut shards, &mut client, &mut scratch)).await.unwrap();
            drop(client);
        };
        let (sent, _, _, ()) = tokio::join!(biased; read_all(reader), first.write_all(&replies[0]), second.write_all(&replies[1]), pass);
        assert!(sent.is_empty(), "the client gets nothing");
        assert!(relay.take_kept() == kept, "{bytes_max}");
    }
}

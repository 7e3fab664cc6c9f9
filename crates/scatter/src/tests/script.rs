//! What scripted shards say, and how a test feeds it.

use std::sync::Arc;

use ::shard::{Draft, Layout, Node, Table, TableKind};
use planner::merge::{Direction, Order, Part, Protocol, Window};
use planner::plan::Counts;
use planner::seen::{Cells, Names};
use wire::frame::put_message;
use wire::packet::{Column, Eof, Err, Ok as OkPacket, OkHeader, TextRow};
use wire::{Capabilities, Codec as _, StatusFlags};

use super::super::{Errors, Kind, Progress, Scatter, Source, What};
use crate::limits::{SCATTER_OUT_BYTES_MAX, SCATTER_SHARD_BYTES_MAX};

pub(super) const CLASSIC: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::TRANSACTIONS);
pub(super) const MODERN: Capabilities = CLASSIC.union(Capabilities::DEPRECATE_EOF);
pub(super) const ALL: [Capabilities; 2] = [CLASSIC, MODERN];

/// Bytes of a packet: the payloads in their order, from this sequence id on.
pub(super) fn reply(seq: u8, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    payloads.iter().fold(seq, |seq, payload| put_message(&mut bytes, seq, payload));
    bytes
}

/// A column of the table that shard `n` calls `shop_n.orders_n`.
pub(super) fn column(shard: usize, name: &str, kind: u8) -> Vec<u8> {
    let (schema, table) = (format!("shop_{shard}"), format!("orders_{shard}"));
    Column {
        schema: schema.as_bytes(),
        table: b"o",
        org_table: table.as_bytes(),
        kind,
        ..Column::text(name.as_bytes(), 63)
    }
    .encode(CLASSIC)
}

/// The same as clients know it.
pub(super) fn logical_column(name: &str, kind: u8) -> Vec<u8> {
    Column { schema: b"shop", table: b"o", org_table: b"orders", kind, ..Column::text(name.as_bytes(), 63) }
        .encode(CLASSIC)
}

pub(super) fn text_row(cells: &[Option<&str>]) -> Vec<u8> {
    let mut row = Vec::new();
    TextRow::put(&mut row, cells.iter().copied());
    row
}

/// The end of rows, or of columns.
pub(super) fn end(caps: Capabilities, warnings: u16, status: StatusFlags) -> Vec<u8> {
    if caps.contains(Capabilities::DEPRECATE_EOF) {
        OkPacket { header: OkHeader::Eof, warnings, ..OkPacket::plain(status) }.encode(caps)
    } else {
        Eof { warnings, status }.encode(caps)
    }
}

pub(super) fn ok(affected_rows: u64, last_insert_id: u64, info: &str) -> Vec<u8> {
    let ok = OkPacket {
        affected_rows,
        last_insert_id,
        warnings: 1,
        info: info.as_bytes(),
        ..OkPacket::plain(StatusFlags::AUTOCOMMIT)
    };
    ok.encode(CLASSIC)
}

pub(super) fn error(code: u16, message: &str) -> Vec<u8> {
    Err { code, sql_state: Some(*b"42S02"), message: message.as_bytes() }.encode(CLASSIC)
}

/// A result with these definitions and rows.
pub(super) fn result(caps: Capabilities, definitions: &[Vec<u8>], rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let count = u8::try_from(definitions.len()).unwrap();
    let mut payloads = vec![vec![count]];
    payloads.extend_from_slice(definitions);
    if caps == CLASSIC {
        payloads.push(end(caps, 0, StatusFlags::AUTOCOMMIT));
    }
    payloads.extend_from_slice(rows);
    payloads.push(end(caps, 1, StatusFlags::AUTOCOMMIT));
    payloads
}

/// The servers of shard `n`, whose table `shop_n.orders_n` is `shop.orders` to clients.
fn source(n: usize) -> Source {
    let hostgroup = u32::try_from(n).unwrap() + 1;
    let node = Node { hostgroup, schema: format!("shop_{n}"), table: format!("orders_{n}") };
    let table =
        Table { schema: "shop".to_owned(), name: "orders".to_owned(), kind: TableKind::Single { node } };
    let layout = Layout::new(Draft { hostgroups: vec![hostgroup], tables: vec![table], ..Draft::default() });
    Source {
        hostgroup,
        session: n,
        names: Arc::new(Names::at(&layout.unwrap(), hostgroup)),
        rows: Vec::new(),
    }
}

pub(super) fn what(caps: Capabilities) -> What {
    What {
        kind: Kind::Result,
        protocol: Protocol::Text,
        order: Order::default(),
        window: Window::ALL,
        shard_caps: caps,
        client_caps: caps,
        seq: 1,
        status: StatusFlags::AUTOCOMMIT,
        message_bytes_max: 64 * 1024 * 1024,
        errors: Errors::AtOnce,
        counts: Counts::Sum,
        last_insert_id: None,
        cells: Cells::Plain,
    }
}

pub(super) fn ascending() -> Order {
    Order::new(vec![Part { direction: Direction::Ascending, pad: None }])
}

pub(super) fn scatter(what: What, shards: usize) -> Scatter {
    Scatter::new(what, (0..shards).map(source).collect())
}

/// The same, whose statements one session runs, one after the other.
pub(super) fn scatter_of_one_session(what: What, shards: usize) -> Scatter {
    Scatter::new(what, (0..shards).map(|n| Source { session: 7, ..source(n) }).collect())
}

/// Feeds a shard when all in front of it have nothing left to say, until nothing moves any more.
/// What the client gets, and how much of it behind each shard.
pub(super) fn run_one_by_one(scatter: &mut Scatter, replies: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let (mut sent, mut lens) = (Vec::new(), Vec::new());
    for (at, reply) in replies.iter().enumerate() {
        let mut rest = &reply[..];
        loop {
            let mut out = Vec::new();
            while scatter.drain(&mut out) == Progress::Full {
                sent.append(&mut out);
            }
            sent.append(&mut out);
            let (now, later) = rest.split_at(scatter.room(at).min(rest.len()));
            if now.is_empty() {
                break;
            }
            scatter.feed(at, now);
            rest = later;
        }
        lens.push(sent.len());
    }
    (sent, lens)
}

/// Feeds shards in turns, at most `piece` bytes at a time, until nothing moves any more; returns
/// what the client gets. Bounds of buffers are checked on the way.
pub(super) fn run(scatter: &mut Scatter, replies: &[Vec<u8>], piece: usize) -> Vec<u8> {
    let mut left: Vec<_> = replies.iter().map(Vec::as_slice).collect();
    let (mut all, mut out) = (Vec::new(), Vec::new());
    loop {
        let progress = scatter.drain(&mut out);
        assert!(progress != Progress::Full || out.len() >= SCATTER_OUT_BYTES_MAX);
        let mut moved = !out.is_empty();
        all.append(&mut out);
        for (at, left) in left.iter_mut().enumerate() {
            let room = scatter.room(at);
            assert!(room <= SCATTER_SHARD_BYTES_MAX);
            let (now, later) = left.split_at(room.min(piece).min(left.len()));
            scatter.feed(at, now);
            moved |= !now.is_empty();
            *left = later;
        }
        if !moved {
            return all;
        }
    }
}

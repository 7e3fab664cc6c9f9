//! What a statement over shards needs to know of its session.

use std::sync::Arc;

use config::ShardTransactions;
use legs::entry::BookEntry;
use legs::facts::orders::killed_here;
use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::role::Place;
use legs::state::SessionState;
use planner::merge::{Order, Protocol, Window};
use planner::plan::{Branch, Counts};
use planner::seen::{Cells, Names};
use route::StatementPlan;
use runtime::control::{Control, Signal};
use runtime::gates::TableName;
use runtime::scattered::{Scattered, has_several_servers};
use runtime::templates::Holds;
use runtime::worker::Worker;
use scatter::{Errors, Kind as Replied, Scatter as Replies, Source, What, capabilities_at_shards};
use sql::parse::Settings;
use sql::shape::Effects;
use wire::StatusFlags;
use wire::command::Kind;
use wire::frame::HEADER_LEN;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::reading::select_limit;
use crate::state::Pin;

/// An error as a payload for the client.
pub(crate) fn payload_of(state: &SessionState, error: &ClientError) -> Vec<u8> {
    error.to_packet(0, state.identity.capabilities).split_off(HEADER_LEN)
}

/// An error if a command does not run at several shards in the state that the session is in.
pub(crate) fn refused_scatter(
    worker: &Worker,
    leg: &mut Leg,
    command: &Command<'_>,
    branches: &[Branch],
) -> Result<(), ClientError> {
    if !command.writes() {
        return Ok(());
    }
    if !command.defines() && has_one_writer_per_transaction(worker) && has_several_servers(branches) {
        return Err(several_servers("a statement that writes at several servers"));
    }
    let mut places = branches.iter().map(|branch| Place::Shard(branch.hostgroup));
    places.try_for_each(|place| may_write(worker, leg, place))
}

pub(crate) fn what(
    worker: &Worker,
    state: &SessionState,
    command: &Command<'_>,
    scattered: Scattered,
    seq: u8,
) -> What {
    let Scattered { order, window, counts, ids, cells, .. } = scattered;
    What {
        errors: if command.writes() { Errors::Last } else { Errors::AtOnce },
        counts,
        cells,
        last_insert_id: ids.and_then(|ids| ids.first),
        protocol: if command.kind == Kind::Query { Protocol::Text } else { Protocol::Binary },
        order,
        window,
        ..plain_reply(worker, state, Replied::Result, seq)
    }
}

/// A reply of this kind whose rows, if any, come as shards send them.
pub(crate) fn plain_reply(worker: &Worker, state: &SessionState, kind: Replied, seq: u8) -> What {
    What {
        kind,
        errors: Errors::AtOnce,
        counts: Counts::Sum,
        cells: Cells::Plain,
        last_insert_id: None,
        protocol: Protocol::Text,
        order: Order::default(),
        window: Window::ALL,
        shard_caps: capabilities_at_shards(state.identity.capabilities),
        client_caps: state.identity.capabilities,
        seq,
        status: state.status,
        message_bytes_max: worker.settings().variables.max_allowed_packet as usize,
    }
}

/// The whole reply of a shard to a `COM_STMT_PREPARE` as the client gets it: with logical names
/// and the client's number.
pub(crate) fn as_prepared(
    worker: &Worker,
    state: &SessionState,
    reply: &[u8],
    hostgroup: u32,
    id: u32,
) -> Vec<u8> {
    let source = source_of_branch(worker, hostgroup, 0);
    let what = plain_reply(worker, state, Replied::Prepared { id }, 1);
    let mut replies = Replies::new(what, vec![source]);
    replies.feed(0, reply);
    replies.close(0);
    let mut packets = Vec::new();
    replies.drain(&mut packets);
    packets
}

/// Whether all that a server gets goes over one connection: a transaction is open, or begins.
pub(crate) fn has_one_connection(state: &SessionState) -> bool {
    state.in_transaction() || !state.status.contains(StatusFlags::AUTOCOMMIT)
}

/// Whether a change of these tables may depend on the time, and the client has set none.
pub(crate) fn depends_on_time(
    worker: &Worker,
    state: &SessionState,
    what: StatementPlan,
    tables: &[TableName],
) -> bool {
    let known = worker.shards.tables();
    let may_ask = what.effects.intersects(Effects::VOLATILE.union(Effects::UNKNOWN))
        || tables.iter().any(|(schema, table)| known.depends_on_time(schema, table));
    may_ask && !state.settings().any(|(key, _)| key == "timestamp")
}

/// Why the session is to end now, whatever its shards do.
pub(crate) fn poll_ended(control: &Control, state: &SessionState) -> Option<Ending> {
    match killed_here(control, state.identity.capabilities, true) {
        Err(ending) => Some(ending),
        Ok(_) => (control.signal() >= Signal::Stop).then_some(Ending::Silent),
    }
}

/// Whether a statement may write at this place: not if the open transaction has written at
/// another one, unless that is allowed.
pub(crate) fn may_write(worker: &Worker, leg: &mut Leg, place: Place) -> Result<(), ClientError> {
    if !has_one_writer_per_transaction(worker) {
        return Ok(());
    }
    let is_open = has_one_connection(&leg.state);
    let shards = leg.links.away.role.shards();
    let mut others = shards.inner.iter().filter(|inner| inner.wrote && inner.place() != place);
    let is_elsewhere = others.next().is_some() || shards.transaction.wrote_at_home && place != Place::Home;
    if !is_open || !is_elsewhere {
        return Ok(());
    }
    Err(several_servers("a transaction that writes at several servers"))
}

/// An error if the open transaction is one that shards cannot be in.
pub(crate) fn keeps_home(leg: &mut Leg) -> Result<(), ClientError> {
    let is_special = leg.links.away.role.shards().transaction.is_special
        && (leg.state.in_transaction() || leg.state.begins_later());
    let (part, reason) = if is_special {
        (
            "a transaction that SET TRANSACTION has set up",
            "its level is known to the home only; SET SESSION TRANSACTION works",
        )
    } else if leg.links.has_pins(&[Pin::Xa]) {
        ("an XA transaction", "it is known to the home only")
    } else {
        return Ok(());
    };
    Err(ClientError::not_sharded(part, reason))
}

/// The refusal of what may write at one server only.
pub(crate) fn several_servers(part: &str) -> ClientError {
    ClientError::not_sharded(
        part,
        "pointsman-shard_transactions is 'single'; with 'best_effort' each server commits its own part",
    )
}

/// What a remembered plan holds for, if texts are read like this.
pub(crate) fn holds<'a>(entry: &BookEntry, state: &'a SessionState, read: Settings) -> Holds<'a> {
    let (schema, now) = (state.caller.schema(), entry.worker.shared.uptime());
    Holds { schema, read, select_limit: select_limit(state), now }
}

/// The refusal of a command that is too long to be looked at.
pub(super) fn too_long() -> ClientError {
    ClientError::not_sharded("a statement", "it is longer than one packet (16 MB)")
}

/// What the physical names at a hostgroup are to clients.
pub(super) fn names_at(worker: &Worker, hostgroup: u32) -> Arc<Names> {
    let settings = worker.settings();
    let names = |layout| worker.shards.names(layout, hostgroup);
    settings.shards.as_deref().map(names).unwrap_or_default()
}

/// Where the reply to a branch at a hostgroup comes from, which the session with this number
/// runs.
pub(crate) fn source_of_branch(worker: &Worker, hostgroup: u32, session: usize) -> Source {
    Source { hostgroup, session, names: names_at(worker, hostgroup), rows: Vec::new() }
}

/// Whether a transaction may write at one server only.
pub(super) fn has_one_writer_per_transaction(worker: &Worker) -> bool {
    worker.settings().config().pointsman.shard_transactions == ShardTransactions::Single
}

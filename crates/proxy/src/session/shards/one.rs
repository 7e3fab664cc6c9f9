//! Statements that run at one shard with the client's own socket: what runs them is the path of all
//! statements.

use legs::entry::BookEntry;
use legs::io::Io;
use legs::leg::Leg;
use legs::reply::answer_here;
use legs::shards::command::Command;
use legs::shards::role::{Inner, Place};
use legs::state::{Past, SessionState};
use planner::plan::Branch;
use wire::frame::{HEADER_LEN, Header};

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{has_one_connection, may_write};
use crate::session::shards::gathered::tell_warnings;
use crate::session::shards::inner::{run_inner, take_inner};
use crate::session::shards::last_id::{give_last_id, learn_last_id_for, note_last_id};
use crate::session::shards::sites::packets_for;
use crate::session::shards::transaction::{enter, lose_transaction};

/// Runs a command, which the backlog begins with, at one shard that has the client's names.
/// `is_single` says whether its server may make an id.
pub(super) async fn run_one(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    branch: &Branch,
    is_single: bool,
) -> Result<Done, Halt> {
    let place = Place::Shard(branch.hostgroup);
    let may_set_id = is_single || command.asks_last_id();
    if command.writes() {
        may_write(&entry.worker, leg, place)?;
    }
    if may_set_id {
        learn_last_id_for(entry, leg, place).await?;
    }
    let mut inner = enter(entry, leg, branch.hostgroup, 0).await?;
    inner.wrote |= command.writes() && has_one_connection(&leg.state);
    if may_set_id {
        give_last_id(leg, &mut inner);
    }
    let was_open = inner.is_in_transaction();
    let is_as_it_came = command.execution.is_none() && branch.text.is_none();
    let packets = if is_as_it_came {
        Ok(None)
    } else {
        packets_for(&entry.worker, leg, &mut inner, command, branch).await.map(Some)
    };
    let outcome = match packets {
        Ok(packets) => {
            leg.links.note_cursor(command, branch, inner.serial);
            lend(io, &mut leg.state, &mut inner, packets).await.map_err(Halt::from)
        }
        Err(halt) => Err(halt),
    };
    let is_lost = was_open && !inner.is_in_transaction();
    if may_set_id {
        note_last_id(leg, &mut inner);
    }
    leg.links.put_inner(inner);
    if let Err(halt) = outcome {
        let error = halt.into_error(&leg.state)?;
        answer_here(entry, io, leg, command.kind, &error).await?;
    }
    leg.links.away.role.shards().last = place;
    if is_lost {
        lose_transaction(entry, leg, ClientError::PartFailed).await?;
    }
    Ok(Done::Over)
}

/// Runs the command in the backlog, which asks about another one, where that has run.
pub(super) async fn run_where(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    place: Place,
    command: &Command<'_>,
) -> Result<Done, Halt> {
    let hostgroup = match place {
        Place::Home => return Ok(Done::Home),
        Place::Shards => return Ok(tell_warnings(leg, command)),
        Place::Shard(hostgroup) | Place::Behind(hostgroup) => hostgroup,
    };
    if command.asks_last_id() {
        learn_last_id_for(entry, leg, place).await?;
    }
    let mut inner = take_inner(entry, leg, hostgroup);
    give_last_id(leg, &mut inner);
    lend(io, &mut leg.state, &mut inner, Some(command.with_text(None))).await?;
    leg.links.put_inner(inner);
    Ok(Done::Over)
}

/// Leaves only the command in the backlog that it begins with. What stands behind it.
fn split_front(io: &mut Io) -> Vec<u8> {
    let backlog = &mut io.backlog;
    let len = backlog.first_chunk().map_or(0, |header| Header::parse(*header).len as usize);
    backlog.split_off(backlog.len().min(HEADER_LEN + len))
}

/// Lends the client to an inner session, which gets the command that the backlog begins with,
/// or these packets in its place.
pub(super) async fn lend(
    io: &mut Io,
    state: &mut SessionState,
    inner: &mut Inner,
    packets: Option<Vec<u8>>,
) -> Result<(), Ending> {
    let mut behind = split_front(io);
    io.is_behind_file = false;
    if let Some(packets) = packets {
        io.backlog = packets;
    }
    inner.leg.state.past.remove(Past::ROLLED_BACK);
    io.is_for_once = true;
    let ended = run_inner(io, inner).await;
    io.is_for_once = false;
    state.past |= inner.leg.state.past & Past::ROLLED_BACK;
    behind.append(&mut io.backlog);
    io.backlog = behind;
    ended
}

//! `UPDATE` and `DELETE` with `LIMIT` over several shards: one change of all servers, in their
//! transaction or in one of its own.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use legs::backlog::skip_command;
use legs::entry::BookEntry;
use legs::io::Io;
use legs::leg::Leg;
use legs::shards::command::Command;
use observe::running::Measured;
use planner::limits::CHANGED_ROWS_MAX;
use planner::merge::Protocol;
use planner::plan::{Branch, KeysFirst, Limited};
use runtime::gates::TableName;
use runtime::limits::KEYS_BYTES_MAX;
use runtime::scattered::Scattered;
use scatter::{Relay, Scatter as Replies, Source, capabilities_at_shards};
use wire::frame::{Packet, front};
use wire::packet::{Cells, Ok as OkPacket};
use wire::reply::End;
use wire::rows::Rows;
use wire::{Capabilities, Codec as _};

use crate::error::ClientError;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{
    depends_on_time, has_one_connection, refused_scatter, source_of_branch, what,
};
use crate::session::shards::gated::pass_gates;
use crate::session::shards::inner::ask_packet;
use crate::session::shards::many::{Ended, add_branches, conclude, give_up, run_added, take_runner};
use crate::session::shards::moment::Moment;
use crate::session::shards::relaying::relay_scatter;
use crate::session::shards::runners::{Runners, Unit};
use crate::session::shards::sites::{close_sites, packets_for};

/// Changes the first rows of several shards, as the command does which the backlog begins with.
pub(super) async fn run_limited(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    limited: &Limited,
    tables: Vec<TableName>,
) -> Result<Done, Halt> {
    let branches: Vec<_> = limited.changes.iter().map(|change| change.filled(b"")).collect();
    refused_scatter(&entry.worker, leg, command, &branches)?;
    let moment = depends_on_time(&entry.worker, &leg.state, command.what, &tables).then(Moment::now);
    let shared = Arc::clone(&entry.worker.shared);
    let _pass = pass_gates(entry, io, leg, &shared.gates, tables, false).await?;
    let unit = if has_one_connection(&leg.state) { Unit::Savepoint } else { Unit::Transaction };
    let mut runners = Runners { unit, moment, ..Runners::default() };
    let Some(keys) = &limited.keys else {
        return change_in_turn(entry, io, leg, command, limited, runners).await;
    };
    let rows = read_keys(entry, io, leg, command, keys, &mut runners).await;
    let write =
        rows.and_then(|rows| limited.changes_of(&rows).ok_or_else(|| refusal("its keys are not understood")));
    let write = match write {
        Ok(write) => write,
        Err(halt) => return give_up(entry, io, leg, command, runners, halt).await,
    };
    let scattered = Scattered::from(write);
    let branches = scattered.branches.clone();
    let done = match add_branches(entry, leg, &mut runners, command, &scattered).await {
        Ok(()) => run_added(entry, io, leg, command, scattered, runners).await?,
        Err(halt) => give_up(entry, io, leg, command, runners, halt).await?,
    };
    close_sites(leg, command, &branches).await?;
    Ok(done)
}

/// Has the shards change rows one after the other, each as many as are left.
async fn change_in_turn(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    limited: &Limited,
    mut runners: Runners,
) -> Result<Done, Halt> {
    let (mut sources, mut replies, mut branches) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = limited.limit;
    while let Some(branch) = limited.turn(branches.len(), left) {
        let turn = take_turn(entry, leg, command, &branch, &mut runners, branches.len()).await;
        branches.push(branch);
        let reply = match turn {
            Ok((source, reply)) => {
                sources.push(source);
                reply
            }
            Err(halt) => {
                let done = give_up(entry, io, leg, command, runners, halt).await?;
                close_sites(leg, command, &branches).await?;
                return Ok(done);
            }
        };
        let changed = changed_rows(&reply, capabilities_at_shards(leg.state.identity.capabilities));
        left = left.saturating_sub(changed.unwrap_or(left));
        replies.push(reply);
        if left == 0 {
            break;
        }
    }
    let seq = skip_command(entry, io, leg).await?;
    entry.begin_running(Measured::plain(command.kind), &command.text);
    let what = what(&entry.worker, &leg.state, command, branches.clone().into(), seq);
    let mut merged = Replies::new(what, sources);
    for (number, reply) in replies.iter().enumerate() {
        merged.feed(number, reply);
        merged.close(number);
    }
    runners.unit.hide_from(&mut merged);
    let mut relay = Relay::holding(merged);
    poll_fn(|cx| relay.poll_reply(cx, &mut io.client)).await?;
    let ended = Ended::new(seq, &branches);
    let done = conclude(entry, io, leg, runners, relay, ended).await?;
    close_sites(leg, command, &branches).await?;
    Ok(done)
}

/// The keys of the rows that are to be changed, which their servers have locked.
async fn read_keys(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    keys: &KeysFirst,
    runners: &mut Runners,
) -> Result<Vec<Vec<u8>>, Halt> {
    let scattered = Scattered::from(keys.reads.clone());
    add_branches(entry, leg, runners, command, &scattered).await?;
    let what = what(&entry.worker, &leg.state, command, scattered, 0);
    let protocol = what.protocol;
    let mut relay = Relay::keeping(Replies::new(what, std::mem::take(&mut runners.sources)), KEYS_BYTES_MAX);
    entry.begin_running(Measured::plain(command.kind), &command.text);
    entry.control.turns.begin();
    relay_scatter(entry, io, &leg.state, &mut relay, runners, true).await?;
    entry.control.end_statement();
    entry.end_running(&leg.links);
    let warnings = match relay.scatter().over().map(|over| over.outcome.end) {
        Some(End::Ok { warnings, .. }) => Some(warnings),
        _ => None,
    };
    let Some(reply) = relay.take_kept() else {
        return Err(refusal("the keys of its rows have too many bytes"));
    };
    let Some(warnings) = warnings else {
        return Err(Halt::Answered(
            Packet::last(&reply).map(|last| last.payload.to_vec()).unwrap_or_default(),
        ));
    };
    if warnings > 0 {
        // A change may fail where a query warns.
        return Err(refusal("its conditions yield warnings"));
    }
    let rows = texts(&reply, protocol).unwrap_or_default();
    if rows.len() as u64 > CHANGED_ROWS_MAX {
        return Err(refusal(&format!("it would change more than {CHANGED_ROWS_MAX} rows")));
    }
    Ok(rows)
}

/// Has a shard change rows. Its reply, and where that comes from.
async fn take_turn(
    entry: &BookEntry,
    leg: &mut Leg,
    command: &Command<'_>,
    branch: &Branch,
    runners: &mut Runners,
    number: usize,
) -> Result<(Source, Vec<u8>), Halt> {
    let mut runner = take_runner(entry, leg, runners, command, branch.hostgroup).await?;
    // A KILL of this session is one of the turn that it waits for.
    runner.inner.entry.control = Rc::clone(&entry.control);
    let reply: Result<_, Halt> = async {
        runner.open().await?;
        let packets = packets_for(&entry.worker, leg, &mut runner.inner, command, branch).await?;
        Ok(ask_packet(&mut runner.inner, packets).await?)
    }
    .await;
    // All end at the same time, each with a statement of its own.
    runner.inner.entry.control = entry.control.control_of_part();
    runners.all.push(runner);
    Ok((source_of_branch(&entry.worker, branch.hostgroup, number), reply?))
}

fn refusal(reason: &str) -> Halt {
    ClientError::not_sharded("LIMIT of a change on several servers", reason).into()
}

/// The texts of a reply with one column; none if it is another reply.
fn texts(reply: &[u8], protocol: Protocol) -> Option<Vec<Vec<u8>>> {
    // In binary they stand behind the header and the bits of NULLs.
    let begin = if protocol == Protocol::Binary { 2 } else { 0 };
    Rows::of(reply)?.map(|row| Some(Cells::of(row.get(begin..)?).next()??.to_vec())).collect()
}

/// How many rows a change has found, by its reply; none if it has failed.
fn changed_rows(reply: &[u8], caps: Capabilities) -> Option<u64> {
    let payload = front(reply);
    let ok = (payload.first() == Some(&0)).then(|| OkPacket::decode(payload, caps).ok()).flatten()?;
    // UPDATE tells the rows that it has found and left as they were: `Rows matched: 3`.
    let matched = ok.info.strip_prefix(b"Rows matched: ").map(|rest| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
    });
    matched.unwrap_or(Some(ok.affected_rows))
}

//! Statements that several shards run, or one with other names than those of the client: the
//! client's reply is put together of theirs.
//!
//! Tables on one server are asked at the same time, over connections of their own. In a transaction
//! there is one connection to a server: its tables are asked one after the other.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use legs::backlog::skip_command;
use legs::entry::BookEntry;
use legs::facts::replies::{reply, reply_error};
use legs::io::Io;
use legs::leg::Leg;
use legs::reply::answer_here;
use legs::shards::command::Command;
use legs::shards::role::Place;
use legs::state::SessionState;
use observe::running::Measured;
use planner::plan::{Branch, Counts};
use runtime::scattered::Scattered;
use scatter::{Relay, Scatter as Replies, Source};
use wire::reply::End;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::defining::run_definition;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{has_one_connection, refused_scatter, source_of_branch, what};
use crate::session::shards::gated::pass_gates;
use crate::session::shards::gathered::warnings_of;
use crate::session::shards::last_id::{give_last_id, learn_last_id_for, note_last_id, set_last_id};
use crate::session::shards::moment::Moment;
use crate::session::shards::relaying::{relay_scatter, wait_for_parts};
use crate::session::shards::runners::{Opening, Runner, Runners, Unit};
use crate::session::shards::sites::packets_for;
use crate::session::shards::transaction::{commit_everywhere, enter, lose_transaction};

/// How a statement over several shards has ended.
pub(super) struct Ended {
    /// The sequence id of the reply.
    pub(super) seq: u8,
    /// The hostgroup of the first branch.
    pub(super) first: u32,
    /// How many branches there were.
    pub(super) branches: usize,
    /// A server may have made an id.
    pub(super) may_set_id: bool,
    /// The first id of a sequence that the statement got.
    pub(super) made: Option<u64>,
    pub(super) is_killed: bool,
    /// The client's numbers of the rows of each branch; empty if they are the same.
    pub(super) rows: Vec<Vec<u32>>,
    /// How the numbers of rows have become one.
    pub(super) counts: Counts,
}

impl Ended {
    /// The end of a statement that has made no id and was not killed. Its reply has the sequence
    /// id `seq`.
    pub(super) fn new(seq: u8, branches: &[Branch]) -> Self {
        let first = branches.first().map_or(0, |branch| branch.hostgroup);
        let (may_set_id, made, is_killed) = (false, None, false);
        let (rows, counts, branches) = (Vec::new(), Counts::Sum, branches.len());
        Self { seq, first, branches, may_set_id, made, is_killed, rows, counts }
    }
}

/// Runs the branches of a command, which the backlog begins with. The client gets one reply.
pub(super) async fn run_many(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    mut scattered: Scattered,
) -> Result<Done, Halt> {
    if command.defines() {
        commit_everywhere(entry, leg).await?;
    }
    let shared = Arc::clone(&entry.worker.shared);
    let tables = std::mem::take(&mut scattered.tables);
    if scattered.branches.len() == 1 && !command.defines() {
        return run_branches(entry, io, leg, command, scattered).await;
    }
    let defined = scattered.is_definition.then(|| tables.clone()).filter(|_| scattered.branches.len() > 1);
    let _pass = pass_gates(entry, io, leg, &shared.gates, tables, command.defines()).await?;
    let phase = match defined {
        Some(tables) => Box::pin(run_definition(entry, io, leg, command, scattered, tables)).await,
        None => run_branches(entry, io, leg, command, scattered).await,
    };
    if command.defines() {
        shared.definitions_of_shards.fetch_add(1, Ordering::Relaxed);
    }
    phase
}

/// Runs branches, which nothing stands in the way of.
async fn run_branches(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    scattered: Scattered,
) -> Result<Done, Halt> {
    refused_scatter(&entry.worker, leg, command, &scattered.branches)?;
    if may_set_id(command, &scattered) {
        let first = scattered.branches.first().map_or(0, |branch| branch.hostgroup);
        learn_last_id_for(entry, leg, Place::Shard(first)).await?;
    }
    let moment = (scattered.has_time && scattered.branches.len() > 1).then(Moment::now);
    let unit = unit_of(&leg.state, command, &scattered.branches, moment.is_some());
    let lead = (unit != Unit::None && scattered.counts == Counts::Same).then(Rc::default);
    let mut runners = Runners { unit, moment, lead, ..Runners::default() };
    if let Err(halt) = add_branches(entry, leg, &mut runners, command, &scattered).await {
        return give_up(entry, io, leg, command, runners, halt).await;
    }
    run_added(entry, io, leg, command, scattered, runners).await
}

/// Takes back what a command has changed, which the backlog begins with, and answers it with an
/// error.
pub(super) async fn give_up(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    mut runners: Runners,
    halt: Halt,
) -> Result<Done, Halt> {
    let error = halt.into_error(&leg.state)?;
    let controls = runners.controls();
    let of_session = (&*entry.control, &*leg.state);
    wait_for_parts(of_session, &controls, pin!(runners.end_unit(false))).await??;
    answer_here(entry, io, leg, command.kind, &error).await?;
    put_runners(entry, leg, runners).await?;
    Ok(Done::Over)
}

/// Runs the branches that were added.
pub(super) async fn run_added(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    mut scattered: Scattered,
    mut runners: Runners,
) -> Result<Done, Halt> {
    let may_set_id = may_set_id(command, &scattered);
    for runner in runners.all.iter_mut().filter(|_| may_set_id) {
        give_last_id(leg, &mut runner.inner);
    }
    let is_open = runners.all.iter().any(|runner| runner.inner.is_in_transaction());
    let seq = skip_command(entry, io, leg).await?;
    entry.begin_running(Measured::plain(command.kind), &command.text);
    let ended = Ended {
        made: scattered.ids.as_ref().and_then(|ids| ids.first),
        may_set_id,
        rows: std::mem::take(&mut scattered.rows),
        counts: scattered.counts,
        ..Ended::new(seq, &scattered.branches)
    };
    let what = what(&entry.worker, &leg.state, command, scattered, seq);
    let mut replies = Replies::new(what, std::mem::take(&mut runners.sources));
    runners.unit.hide_from(&mut replies);
    let holds = runners.unit != Unit::None;
    let mut relay = if holds { Relay::holding(replies) } else { Relay::new(replies) };
    entry.control.turns.begin();
    relay_scatter(entry, io, &leg.state, &mut relay, &mut runners, is_open).await?;
    entry.control.end_statement();
    conclude(entry, io, leg, runners, relay, ended).await
}

/// Keeps what a statement has changed, or takes it back, and gives the client the reply.
pub(super) async fn conclude(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    mut runners: Runners,
    mut relay: Relay,
    ended: Ended,
) -> Result<Done, Halt> {
    let Ended { seq, first, is_killed, .. } = ended;
    let is_done = relay.scatter().over().is_some_and(|over| !over.is_error()) && !is_killed;
    let warnings = warnings_of(&entry.worker, &mut runners, &ended, relay.scatter().over());
    let (controls, of_session) = (runners.controls(), (&*entry.control, &*leg.state));
    let refused = wait_for_parts(of_session, &controls, pin!(runners.end_unit(is_done))).await;
    let begun = |ending: Ending| if relay.has_begun() { ending.within_reply() } else { ending };
    let refused = refused.map_err(begun)??.filter(|_| is_done);
    if let Some(id) = ended.made.filter(|_| is_done && refused.is_none()) {
        // No server has made it: the next that is asked hears of it before.
        set_last_id(leg, id);
    }
    match refused {
        // All that the client hears is why it was not committed.
        Some(error) => reply(entry, io, &mut leg.state, seq, &error).await?,
        None => poll_fn(|cx| relay.poll_write(cx, &mut io.client)).await?,
    }
    if let Some(End::Err { code }) = relay.scatter().over().map(|over| over.outcome.end) {
        leg.state.note_error_code(Some(code));
    }
    entry.end_running(&leg.links);
    for runner in runners.all.iter_mut().filter(|_| ended.may_set_id) {
        note_last_id(leg, &mut runner.inner);
    }
    put_runners(entry, leg, runners).await?;
    leg.links.note_scattered(&mut leg.state, &relay, first, ended.branches);
    if ended.branches > 1 && !warnings.is_empty() {
        leg.links.away.role.shards().keep_warnings(warnings);
    }
    if is_killed {
        reply_error(entry, io, &mut leg.state, seq, &ClientError::Interrupted).await?;
    }
    Ok(Done::Over)
}

/// Puts inner sessions back. If one of them has lost the transaction of the client, so do all
/// others.
pub(super) async fn put_runners(entry: &BookEntry, leg: &mut Leg, runners: Runners) -> Result<(), Ending> {
    let is_lost = runners.all.iter().any(Runner::is_lost);
    for Runner { mut inner, is_over, .. } in runners.all {
        if !is_over {
            inner.entry.control = Rc::clone(&entry.control);
            leg.links.put_inner(inner);
        }
    }
    if is_lost { lose_transaction(entry, leg, ClientError::PartFailed).await } else { Ok(()) }
}

/// Adds branches to what inner sessions run.
pub(super) async fn add_branches(
    entry: &BookEntry,
    leg: &mut Leg,
    runners: &mut Runners,
    command: &Command<'_>,
    scattered: &Scattered,
) -> Result<(), Halt> {
    for (number, branch) in scattered.branches.iter().enumerate() {
        let rows = scattered.rows.get(number).cloned().unwrap_or_default();
        add_branch(entry, leg, runners, command, branch, rows).await?;
    }
    Ok(())
}

/// Adds a branch to what an inner session runs.
async fn add_branch(
    entry: &BookEntry,
    leg: &mut Leg,
    runners: &mut Runners,
    command: &Command<'_>,
    branch: &Branch,
    rows: Vec<u32>,
) -> Result<(), Halt> {
    let mut runner = take_runner(entry, leg, runners, command, branch.hostgroup).await?;
    let packets = packets_for(&entry.worker, leg, &mut runner.inner, command, branch).await;
    let added = packets.map(|packets| {
        runner.queue.push((runners.sources.len(), packets));
        // Killing it is for who reads its reply.
        runner.inner.entry.control = entry.control.control_of_part();
        let source = source_of_branch(&entry.worker, branch.hostgroup, runner.number);
        runners.sources.push(Source { rows, ..source });
    });
    runners.all.push(runner);
    added
}

/// What runs the next branch of a command at a hostgroup, within the transaction if one is
/// open.
pub(super) async fn take_runner(
    entry: &BookEntry,
    leg: &mut Leg,
    runners: &mut Runners,
    command: &Command<'_>,
    hostgroup: u32,
) -> Result<Runner, Halt> {
    let is_same = |runner: &Runner| runner.inner.hostgroup == hostgroup;
    let twins = runners.all.iter().filter(|runner| is_same(runner)).count();
    let is_shared =
        !runners.is_apart && (runners.unit == Unit::Transaction || has_one_connection(&leg.state));
    if let Some(at) = runners.all.iter().position(is_same).filter(|_| is_shared) {
        return Ok(runners.all.swap_remove(at));
    }
    let mut inner = enter(entry, leg, hostgroup, twins).await?;
    inner.wrote |= command.writes() && has_one_connection(&leg.state);
    Ok(Runner {
        was_open: inner.is_in_transaction(),
        inner,
        queue: Vec::new(),
        told: Vec::new(),
        number: runners.sources.len(),
        is_over: false,
        opening: Opening {
            unit: runners.unit,
            moment: runners.moment,
            lead: runners.lead.clone().filter(|_| !runners.sources.is_empty()),
            is_done: false,
        },
    })
}

/// What makes the branches of a command one change.
fn unit_of(state: &SessionState, command: &Command<'_>, branches: &[Branch], has_moment: bool) -> Unit {
    match (command.writes(), has_one_connection(state)) {
        (true, true) if branches.len() > 1 && !command.defines() => Unit::Savepoint,
        (true, false) if !command.defines() && (branches.len() > 1 || has_moment) => Unit::Transaction,
        _ => Unit::None,
    }
}

/// Whether a server of a command's branches may make an id, or be told one by the client.
fn may_set_id(command: &Command<'_>, scattered: &Scattered) -> bool {
    scattered.is_single || scattered.branches.len() == 1 && command.asks_last_id()
}

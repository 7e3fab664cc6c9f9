//! `LOAD DATA LOCAL` into a table of several nodes: the client's file is split as it streams.
//!
//! Each shard executes the statement and asks its client, the outer session, for the file. When all
//! have asked, the client is asked. Its lines go on to their shards, as far as these take them.
//!
//! - [`file`](mod@file): the packets of the client;
//! - [`splitting`]: which lines shards have.

mod file;

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use legs::backlog::skip_command;
use legs::entry::BookEntry;
use legs::facts::endings::{interrupted, unreadable};
use legs::facts::replies::reply_error;
use legs::io::Io;
use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::splitting::Splitting;
use legs::state::SessionState;
use net::relay::Output as _;
use observe::running::Measured;
use planner::load::Format;
use planner::plan::{Counts, Load};
use runtime::control::Control;
use runtime::gates::TableName;
use runtime::scattered::{Scattered, has_twins};
use runtime::worker::Worker;
use scatter::{Feeds, Relay, Scatter as Replies};
use upstream::limits::FILLS_PER_TURN;
use wire::command::Kind;
use wire::rows::first_cell;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::definitions::ask_at;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{depends_on_time, has_one_connection, refused_scatter, what};
use crate::session::shards::gated::pass_gates;
use crate::session::shards::ids::raise_ids;
use crate::session::shards::load::file::File;
use crate::session::shards::many::{Ended, add_branches, conclude, give_up, put_runners};
use crate::session::shards::moment::Moment;
use crate::session::shards::relaying::{pass_recall, poll_stop, relay_runs, run_out, wait_for_parts};
use crate::session::shards::runners::{Run, Runners, Unit, poll_all};

/// Asks for the character set of files whose statement names none.
const CHARSET: &[u8] = b"SELECT @@character_set_database";

/// Loads a file of the client, as the command says which the backlog begins with.
pub(super) async fn run_load(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    load: &Load,
    tables: Vec<TableName>,
) -> Result<Done, Halt> {
    refused_load(&entry.worker, leg, command, load)?;
    let moment = depends_on_time(&entry.worker, &leg.state, command.what, &tables).then(Moment::now);
    let shared = Arc::clone(&entry.worker.shared);
    // A file streams to all copies at once. What else changes them in this process waits: it
    // would come to them in another order.
    let is_alone = load.counts == Counts::Same;
    let _pass = pass_gates(entry, io, leg, &shared.gates, tables, is_alone).await?;
    refused_charset(entry, leg, load).await?;
    // A counter that is not there yet is made while no row is locked.
    raise_ids_of(entry, leg, load, Some(0)).await?;
    let unit = if has_one_connection(&leg.state) { Unit::Savepoint } else { Unit::Transaction };
    let mut runners = Runners { unit, moment, is_apart: true, ..Runners::default() };
    let scattered = Scattered { counts: load.counts, ..load.branches.clone().into() };
    if let Err(halt) = add_branches(entry, leg, &mut runners, command, &scattered).await {
        return give_up(entry, io, leg, command, runners, halt).await;
    }
    load_added(entry, io, leg, command, load, scattered, runners).await
}

/// Has the shards load what they get of the client's file.
async fn load_added(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &Command<'_>,
    load: &Load,
    scattered: Scattered,
    mut runners: Runners,
) -> Result<Done, Halt> {
    let seq = skip_command(entry, io, leg).await?;
    entry.begin_running(Measured::plain(command.kind), &command.text);
    let (sources, controls) = (std::mem::take(&mut runners.sources), runners.controls());
    let mut loading = Loading::new(seq, load, sources.len());
    let what = what(&entry.worker, &leg.state, command, scattered, seq);
    let mut replies = Replies::new(what, sources);
    runners.unit.hide_from(&mut replies);
    let mut relay = Relay::holding(replies);
    entry.control.turns.begin();
    let mut runs = runners.run(&relay.branches_with(&loading.feeds));
    let split = split_file(entry, io, &leg.state, &mut loading, &mut runs, &controls);
    let uploaded = split.await;
    relay.begin_at(loading.file.next_seq());
    if !matches!(loading.step, Step::Asking) {
        relay.note_begun();
    }
    if matches!(uploaded, Ok(false)) {
        let runs = (&mut runs[..], &controls[..]);
        relay_runs(entry, io, &leg.state, &mut relay, runs, None, true).await?;
    } else {
        relay.leave();
        run_out(&entry.control, &controls, &mut runs).await;
    }
    drop(runs);
    let is_killed = uploaded?;
    entry.control.end_statement();
    let seq = loading.file.next_seq();
    let is_done = relay.scatter().over().is_some_and(|over| !over.is_error()) && !is_killed;
    let refused = match loading.splitting.refused() {
        None if is_done => match raise_ids_of(entry, leg, load, loading.splitting.largest_id()).await {
            Err(Halt::Refused(error)) => Some(error),
            raised => raised.map(|()| None)?,
        },
        refused => refused,
    };
    let Some(error) = refused.filter(|_| !is_killed) else {
        let ended = Ended { is_killed, ..Ended::new(seq, &load.branches) };
        return conclude(entry, io, leg, runners, relay, ended).await;
    };
    let of_session = (&*entry.control, &*leg.state);
    wait_for_parts(of_session, &controls, pin!(runners.end_unit(false))).await??;
    reply_error(entry, io, &mut leg.state, seq, &error).await?;
    entry.answered_here(&leg.links, error.code());
    put_runners(entry, leg, runners).await?;
    Ok(Done::Over)
}

/// An error if separators may not be found in the character set of the file.
async fn refused_charset(entry: &BookEntry, leg: &mut Leg, load: &Load) -> Result<(), Halt> {
    let mut charsets: Vec<String> = load.charset.iter().cloned().collect();
    if charsets.is_empty() {
        let mut hostgroups: Vec<_> = load.branches.iter().map(|branch| branch.hostgroup).collect();
        hostgroups.dedup();
        for hostgroup in hostgroups {
            let reply = ask_at(entry, leg, hostgroup, CHARSET).await?;
            let name = first_cell(&reply).unwrap_or_default();
            charsets.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    let ambiguous = charsets.iter().find(|charset| !Format::is_found_in(charset));
    let Some(charset) = ambiguous else { return Ok(()) };
    let part = format!("a file in the character set '{charset}'");
    Err(ClientError::not_sharded(&part, "a part of a character may look like a separator there").into())
}

/// The sequence of the table gives none of the ids in the file.
async fn raise_ids_of(
    entry: &BookEntry,
    leg: &mut Leg,
    load: &Load,
    largest: Option<u64>,
) -> Result<(), Halt> {
    let settings = entry.worker.settings();
    let Some((layout, ids)) = settings.shards.as_deref().zip(load.ids(largest)) else { return Ok(()) };
    raise_ids(entry, leg, layout, &ids).await
}

/// Moves the client's file to the shards. Whether the statement was killed meanwhile.
async fn split_file(
    entry: &BookEntry,
    io: &mut Io,
    state: &SessionState,
    loading: &mut Loading<'_>,
    runs: &mut [Option<Run<'_>>],
    controls: &[Rc<Control>],
) -> Result<bool, Ending> {
    let uploaded = poll_fn(|cx| {
        pass_recall(&entry.control, controls);
        poll_all(runs, cx);
        let is_asked = !matches!(loading.step, Step::Asking);
        let ended = |ending: Ending| if is_asked { ending.within_reply() } else { ending };
        // A shard that waits takes nothing of the file.
        loading.is_killed |= poll_stop(&entry.control, io, state, cx, controls).map_err(ended)?;
        if loading.is_killed {
            if matches!(loading.step, Step::Asking | Step::Ending) {
                return Poll::Ready(Ok(true));
            }
            // A client that sends a file hears nothing before its end.
            loading.splitting.stop();
        }
        poll_split(entry, io, state, cx, loading).map_ok(|()| loading.is_killed)
    })
    .await;
    entry.control.set_busy();
    uploaded
}

fn poll_split(
    entry: &BookEntry,
    io: &mut Io,
    state: &SessionState,
    cx: &mut Context<'_>,
    loading: &mut Loading<'_>,
) -> Poll<Result<(), Ending>> {
    let worker = Rc::clone(&entry.worker);
    for _ in 0..FILLS_PER_TURN {
        match &mut loading.step {
            Step::Asking => {
                ready!(loading.feeds.poll_asked());
                loading.step = loading.question();
            }
            Step::Question { packet, sent } => {
                while let Some(rest) = packet.get(*sent..).filter(|rest| !rest.is_empty()) {
                    match ready!(io.client.poll_write(cx, rest))? {
                        0 => return Poll::Ready(Err(Ending::ClientLeft)),
                        bytes => *sent += bytes,
                    }
                }
                ready!(io.client.poll_flush(cx))?;
                // While the client sends it has as much time as an idle one.
                entry.set_slow();
                loading.step = Step::Sending;
            }
            Step::Sending => {
                ready!(loading.feeds.poll_room(cx));
                if io.backlog.is_empty() {
                    let seq = loading.file.next_seq();
                    ready!(io.poll_more(cx, &worker.net.scratch))
                        .map_err(|error| unreadable(entry, state, &error, seq))?;
                    entry.set_slow();
                }
                let input = std::mem::take(&mut io.backlog);
                let later = loading.take(&input).map_err(|error| {
                    interrupted(entry, state, &ClientError::malformed(error), loading.file.next_seq())
                })?;
                io.backlog.extend_from_slice(later);
                if loading.file.has_ended() {
                    loading.splitting.end(&loading.feeds);
                    loading.feeds.end();
                    loading.step = Step::Ending;
                }
            }
            Step::Ending => return loading.feeds.poll_sent(cx).map(Ok),
        }
    }
    // There may be more: let others run first, then come back.
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// An error if a file is not loaded in the state that the session is in.
fn refused_load(
    worker: &Worker,
    leg: &mut Leg,
    command: &Command<'_>,
    load: &Load,
) -> Result<(), ClientError> {
    let part = "LOAD DATA over several shards";
    if command.kind != Kind::Query {
        return Err(ClientError::not_sharded(part, "it is prepared"));
    }
    if has_one_connection(&leg.state) && has_twins(&load.branches) {
        let reason = "a transaction has one connection to a server, which loads one table at a time";
        return Err(ClientError::not_sharded(part, reason));
    }
    refused_scatter(worker, leg, command, &load.branches)
}

/// A file on its way from the client to the shards.
struct Loading<'a> {
    file: File,
    feeds: Feeds,
    splitting: Splitting<'a>,
    step: Step,
    is_killed: bool,
}

impl<'a> Loading<'a> {
    /// Nothing is read yet.
    fn new(seq: u8, load: &'a Load, branches: usize) -> Self {
        let (file, feeds) = (File::new(seq), Feeds::new(branches));
        Self { file, feeds, splitting: Splitting::new(load), step: Step::Asking, is_killed: false }
    }
}

/// How far the file has come.
enum Step {
    /// Shards have to ask for it.
    Asking,
    /// The client is asked.
    Question { packet: Vec<u8>, sent: usize },
    /// The client sends it.
    Sending,
    /// Shards have to take the rest.
    Ending,
}

impl Loading<'_> {
    /// What follows when shards have asked for the file, or have refused.
    fn question(&mut self) -> Step {
        let Some(question) = self.feeds.question() else {
            // A shard has refused: no shard gets the file.
            self.feeds.end();
            return Step::Ending;
        };
        Step::Question { packet: self.file.question(&question), sent: 0 }
    }

    /// Takes what the client has sent, up to the end of the file. What stands behind it.
    fn take<'i>(&mut self, mut input: &'i [u8]) -> Result<&'i [u8], wire::WireError> {
        while let Some(part) = self.file.take(&mut input)? {
            self.splitting.add(part, &self.feeds);
        }
        Ok(input)
    }
}

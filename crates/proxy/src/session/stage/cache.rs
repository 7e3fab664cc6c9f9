//! Answers from the query cache, in front of getting a connection.
//!
//! A command whose [`Route`] is `Cached` is looked up when it has come. A hit is written at once. A
//! miss is sent to its target, and the reply is [copied](reply::cache_fill); where another
//! session has sent the same query, this one waits for that answer.

pub(crate) mod known;
pub(crate) mod missed;
pub(crate) mod stale;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use cache::stats::RowKey;
use cache::{Joined, Miss, Moment, Refusal, RowCounts, Waiter};
use command::{Command, Copied};
use legs::backlog::skip_command;
use legs::cache::fresh::{Fresh, arrival_us, freshness, uptime_us};
use legs::entry::BookEntry;
use legs::facts::orders::while_waiting;
use legs::facts::places::shares;
use legs::facts::records::{note_traced_here, place_of_hit};
use legs::facts::replies::write_to_client;
use legs::facts::screened::{note_ruling, note_sighting};
use legs::facts::sharing::take_back;
use legs::facts::shown::show_waiting_since;
use legs::flight::Flight;
use legs::io::Io;
use legs::leg::Leg;
use legs::measure::logs;
use legs::phase::Phase;
use legs::reply::refuse_here;
use legs::state::SessionState;
use observe::running::Measured;
use route::Route;
use runtime::cached::answer::Look;
use runtime::cached::asked::Asked;
use runtime::control::Control;
use runtime::counted::{Ended, note_time};
use runtime::decided::Decided;
use runtime::worker::Worker;
use tokio::time::Instant;
use upstream::Backend;
use wire::command::Kind;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::facts::answers::cache_key;
use crate::session::facts::cache::{await_proof, join, learn_known, missed, send_to_target, style};
use crate::session::stage::cache::missed::send_missed;
use crate::state::substitute::Counted;

impl Cx<'_> {
    /// Answers the command that `input` begins with from the cache, or has it go on to its target.
    /// If it is to wait for another session's query, its route stays as it is.
    pub(crate) fn ask_cache(
        &mut self,
        cx: &mut Context<'_>,
        command: Command<'_>,
        input: &[u8],
    ) -> Result<Option<Phase>, Ending> {
        let Some(mut decided) = self.leg.flight.as_mut().and_then(|flight| flight.decided.take()) else {
            return Ok(None);
        };
        if let Step::Answered(rows, asked) = ask(self.entry, self.leg, command, &mut decided, None, None) {
            end_hit(self.entry, rows);
            if command.kind == Kind::Query {
                learn_known(&self.entry.worker, self.leg, command.payload(), decided, asked);
            }
            let later = input.get(command.packet().len()..).unwrap_or_default();
            self.io.backlog.extend_from_slice(later);
            return self.send_answers(cx).map(Some);
        }
        self.leg.flight.begin().decided = Some(decided);
        Ok(None)
    }

    /// Sends the answers in the worker's buffer.
    pub(crate) fn send_answers(&mut self, cx: &mut Context<'_>) -> Result<Phase, Ending> {
        let sent = self.io.send(cx, &self.entry.worker.cached.written());
        sent.map_err(|_| Ending::ClientLeft)?;
        Ok(if self.io.is_sent() { self.next_phase() } else { Phase::Answered })
    }

    /// Answers the command in the backlog with what is in the worker's buffer, so many rows. The
    /// command is whole: nothing is awaited before the buffer is read. True, always.
    pub(crate) async fn give_answer(&mut self, rows: RowCounts) -> Result<bool, Ending> {
        skip_command(self.entry, self.io, self.leg).await?;
        let answer = self.entry.worker.cached.written().to_vec();
        write_to_client(self.entry, self.io, &mut self.leg.state, &answer).await?;
        end_hit(self.entry, rows);
        Ok(true)
    }

    /// Waits for the answer to another session's query, as long as the policy says. True if the
    /// command in the backlog was answered with it.
    pub(crate) async fn await_answer(&mut self, kind: Kind, decided: &mut Decided) -> Result<bool, Ending> {
        let copied = self.io.command(self.leg.state.identity.capabilities).map(|command| command.copied());
        let Some(command) = copied.as_ref().map(Copied::command) else { return Ok(false) };
        let (begun, since_us) = (Instant::now(), uptime_us(&self.entry.worker));
        let mut known: Option<Asked> = None;
        let asked = loop {
            let before = known.take().filter(|asked| is_known_still(&self.entry.worker, asked));
            let (asked, look) = match ask(self.entry, self.leg, command, decided, before, Some(since_us)) {
                Step::Answered(rows, _) => return self.give_answer(rows).await,
                Step::Sent => return Ok(false),
                Step::Wait(asked, look) => (asked, look),
            };
            let deadline = begun + Duration::from_millis(asked.how.policy.timeout_ms.into());
            self.leg.release_to_wait(self.entry);
            let command = self.io.command(self.leg.state.identity.capabilities);
            show_waiting_since(self.entry, self.leg, command, Instant::now());
            let others = await_others(self.entry, self.io, self.leg, (look, asked.row), since_us, deadline);
            let (landed, miss) = others.await?;
            self.entry.end_running(&self.leg.links);
            take_back(self.entry, self.leg);
            match landed {
                Some(true) => known = (miss == Miss::Behind).then_some(asked),
                // It has taken too long: this session sends it as well.
                Some(false) => {
                    self.entry.worker.counts.cache.borrow_mut().missed(asked.row, miss);
                    break asked;
                }
                None => {
                    refuse_here(self.entry, self.io, self.leg, kind, &ClientError::Interrupted).await?;
                    return Ok(true);
                }
            }
        };
        send_missed(self.entry, self.leg, command, (asked, None), decided);
        Ok(false)
    }
}

/// What becomes of a command that the cache was asked for.
enum Step {
    /// Its answer is in the worker's buffer, with so many rows.
    Answered(RowCounts, Asked),
    /// It goes on to its target, as its route says now.
    Sent,
    /// It waits for what the look has led to.
    Wait(Asked, Look),
}

/// Asks the cache for the answer to a command, which has come at `since_us` or comes now. `known`
/// is what was found out about it before.
fn ask(
    entry: &BookEntry,
    leg: &mut Leg,
    command: Command<'_>,
    decided: &mut Decided,
    known: Option<Asked>,
    since_us: Option<u64>,
) -> Step {
    let asked = match known.map_or_else(|| cache_key(entry, leg, command, decided), Ok) {
        Ok(asked) => asked,
        Err(refusal) => {
            refuse(decided, refusal);
            return Step::Sent;
        }
    };
    let since_us = since_us.unwrap_or_else(|| arrival_us(&entry.worker, &asked));
    match look_up(&entry.worker, &leg.state, &asked, since_us) {
        Look::Hit(rows, bytes) => {
            begin_hit(entry, leg, command, decided, (rows, bytes));
            return Step::Answered(rows, asked);
        }
        Look::Miss(leader) => send_missed(entry, leg, command, (asked, leader), decided),
        Look::Pass => send_to_target(&leg.state, &asked, decided),
        look @ (Look::Wait(_) | Look::Prove(_)) => return Step::Wait(asked, look),
    }
    Step::Sent
}

/// The command is being answered from the cache: counts it, and what it leaves for statements
/// behind it.
pub(crate) fn begin_hit(
    entry: &BookEntry,
    leg: &mut Leg,
    command: Command<'_>,
    decided: &Decided,
    (rows, answered): (RowCounts, usize),
) {
    if let Some(flight) = leg.flight.as_mut() {
        // It may have been sent before, in vain.
        flight.leave_way();
    }
    note_ruling(&entry.worker, &leg.state, command, decided);
    note_sighting(&entry.worker, &leg.state, command, decided);
    if let Some(flag) = decided.verdict().and_then(|verdict| verdict.next_query_flag_in) {
        leg.state.flag_in = flag;
    }
    leg.state.keep_types(command);
    let place = place_of_hit(entry, &mut leg.state, command, decided);
    let measured = entry.measure_as(command, decided.plan.statement());
    let bytes = command.payload_len();
    let measured = Measured { digest: decided.digest(), log: decided.log(), place, bytes, ..measured };
    let text = if logs(&entry.worker) { leg.state.shown(&entry.worker, command) } else { &[] };
    entry.begin_running(measured, text);
    note_traced_here(entry, &leg.state, command, Some(decided));
    entry.control.running.add_answered(answered);
    leg.links.hide_last_result(&mut leg.state);
    leg.state.last.counted = Counted { changed: -1, found: rows.found.into() };
}

/// Whether the session keeps a connection that others may wait for: the one whose answer it would
/// wait for may be one of them.
fn keeps_shared(entry: &BookEntry, leg: &Leg) -> bool {
    let is_shared = |backend: &Backend| shares(entry, &leg.state, backend.server().hostgroup());
    leg.links.in_use.iter().chain(&leg.links.away.others).any(is_shared)
}

/// Waits for what a look has led to, until `deadline`. Whether it has come (`None` if the session
/// was killed), and as what it counts if it has not.
async fn await_others(
    entry: &BookEntry,
    io: &mut Io,
    leg: &Leg,
    (look, row): (Look, RowKey),
    since_us: u64,
    deadline: Instant,
) -> Result<(Option<bool>, Miss), Ending> {
    match look {
        Look::Prove(source) => {
            let proof = await_proof(&entry.control, io, &leg.state, &source, since_us, deadline);
            Ok((proof.await?, Miss::Behind))
        }
        Look::Wait(waiter) if !keeps_shared(entry, leg) => {
            entry.worker.counts.cache.borrow_mut().waited(row);
            Ok((await_leader(&entry.control, io, &leg.state, &waiter, deadline).await?, Miss::Absent))
        }
        _ => Ok((Some(false), Miss::Absent)),
    }
}

/// Waits for the answer to another session's query; false if it has not come in time. Nothing
/// if the session's query is killed meanwhile.
async fn await_leader(
    control: &Control,
    io: &mut Io,
    state: &SessionState,
    waiter: &Waiter,
    deadline: Instant,
) -> Result<Option<bool>, Ending> {
    let waiting = pin!(tokio::time::timeout_at(deadline, poll_fn(|cx| waiter.poll(cx))));
    let caps = state.identity.capabilities;
    let landed = while_waiting(control, &mut io.client, caps, waiting).await?;
    Ok(landed.map(|in_time| in_time.is_ok()))
}

/// Looks for the answer to a query that has come at `since_us`.
fn look_up(worker: &Worker, state: &SessionState, asked: &Asked, since_us: u64) -> Look {
    let now_ms = worker.uptime_ms();
    let cache = &worker.shared.cache;
    let mut stats = worker.counts.cache.borrow_mut();
    if let Some(proof) = asked.said.proof.filter(|_| !asked.is_proven) {
        // Sessions of the same account wait for the one that proves it.
        return join(worker, state, asked, (proof, now_ms), Miss::Unproven, &mut stats);
    }
    let fresh = freshness(worker, asked, since_us);
    if fresh == Fresh::Behind {
        stats.missed(asked.row, Miss::Behind);
        return Look::Miss(None);
    }
    let allows = |moment: Moment| cache.versions.allows(&asked.said.scope, moment);
    if let Some(source) = asked.source.as_ref().filter(|_| fresh == Fresh::Awaited) {
        // The first level is not looked at: it may have what the store has no more.
        return match cache.store.peek(asked.key, now_ms, asked.life, allows) {
            Ok(_) => Look::Prove(Arc::clone(source)),
            Err(miss) => missed(worker, state, asked, now_ms, miss, &mut stats),
        };
    }
    let what = (&**cache, asked.key, now_ms, asked.life);
    match worker.cached.look_up(what, allows, style(state, fresh.exact_us())) {
        Ok(found) => {
            // While one session fetches it anew, the others get what there is.
            let joined = found.refresh.then(|| cache.flights.join(asked.key, now_ms));
            if let Some(Joined::Leader(leader)) = joined {
                stats.missed(asked.row, Miss::Expired);
                return Look::Miss(Some(leader));
            }
            stats.hit(asked.row, found.served);
            Look::Hit(found.rows, found.served.bytes)
        }
        Err(miss) => missed(worker, state, asked, now_ms, miss, &mut stats),
    }
}

/// Whether the command that was decided about is looked up in the cache.
pub(crate) fn asks_cache(flight: &Flight) -> bool {
    flight.decided.as_ref().is_some_and(Decided::is_cached)
}

/// The answer is on its way.
pub(crate) fn end_hit(entry: &BookEntry, rows: RowCounts) {
    note_time(&entry.worker, &entry.control, Ended::FromCache { rows: rows.sent.into() });
    entry.control.running.rest(&entry.worker.shown);
}

/// Whether what was found out about the command holds, although the session has waited: nothing
/// but definitions and proofs has changed meanwhile.
fn is_known_still(worker: &Worker, asked: &Asked) -> bool {
    worker.shared.cache.proven.epoch() == asked.epoch
}

/// The command is sent as if it was not to be cached, because of this.
fn refuse(decided: &mut Decided, refusal: Refusal) {
    if let Some(target) = decided.route.target() {
        decided.route = Route::One(target);
    }
    if let Some(cached) = decided.orders.as_mut().and_then(|orders| orders.cached.as_mut()) {
        cached.refused = Some(refusal);
    }
}

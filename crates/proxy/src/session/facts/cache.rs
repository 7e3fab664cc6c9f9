//! What is known of a statement that may have an answer in the query cache.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use cache::stats::Stats;
use cache::{Cache, Form, Joined, Key, Miss, RowCounts, Source, Writing};
use legs::cache::fresh::Fresh;
use legs::facts::orders::while_waiting;
use legs::flight::Flight;
use legs::io::Io;
use legs::leg::Leg;
use legs::state::{Past, SessionState};
use route::{Route, Tables};
use runtime::cached::Style;
use runtime::cached::answer::{Known, Look, STATUS};
use runtime::cached::asked::Asked;
use runtime::control::Control;
use runtime::decided::Decided;
use runtime::worker::Worker;
use session::tier::Tier;
use tokio::time::Instant;
use wire::{Capabilities, StatusFlags};

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::stage::cache::missed::passes;
use crate::session::stage::cache::stale::{find_stale, has_stale};

/// Writes the answer behind those in the worker's buffer, if the first level has it and it is
/// this fresh. Returns the numbers of its rows and bytes.
pub(crate) fn answer_near(
    worker: &Worker,
    state: &SessionState,
    asked: &Asked,
    fresh: Fresh,
) -> Option<(RowCounts, usize)> {
    let Fresh::Enough(exact_us) = fresh else { return None };
    let now_ms = worker.uptime_ms();
    let allows = |moment| worker.shared.cache.versions.allows(&asked.said.scope, moment);
    let what = (asked.key, now_ms, asked.life);
    let found = worker.cached.look_near(what, allows, style(state, exact_us))?;
    worker.counts.cache.borrow_mut().hit(asked.row, found.served);
    Some((found.rows, found.served.bytes))
}

/// How the client gets answers that are [exact](session::tier::Age::exact_us) as of then.
pub(crate) fn style(state: &SessionState, exact_us: Option<u64>) -> Style {
    Style {
        form: form(state),
        status: (state.status & STATUS).bits(),
        tells_age: state.identity.tier == Tier::Told,
        exact_us,
    }
}

/// The form of replies to the client.
pub(crate) fn form(state: &SessionState) -> Form {
    if state.identity.capabilities.contains(Capabilities::DEPRECATE_EOF) { Form::Ok } else { Form::Eof }
}

/// Waits until all is known that was written before `since_us`; false if that does not become
/// known in time. Nothing if the session's query is killed meanwhile.
pub(crate) async fn await_proof(
    control: &Control,
    io: &mut Io,
    state: &SessionState,
    source: &Source,
    since_us: u64,
    deadline: Instant,
) -> Result<Option<bool>, Ending> {
    let waiting = pin!(tokio::time::timeout_at(deadline, source.wait(since_us)));
    let caps = state.identity.capabilities;
    let ended = while_waiting(control, &mut io.client, caps, waiting).await?;
    Ok(ended.map(Result::unwrap_or_default))
}

/// Remembers what was found out about a text that was answered from the cache.
pub(crate) fn learn_known(worker: &Worker, leg: &Leg, payload: &[u8], decided: Decided, asked: Asked) {
    let routing = worker.routing.borrow();
    let is_always = decided.orders.as_ref().is_some_and(|orders| {
        orders.is_always && orders.text.is_none() && orders.verdict.next_query_flag_in.is_none()
    });
    let is_screened = routing.routes().firewall.is_some() || routing.routes().injections.is_some();
    if !is_always || is_screened || !leg.links.is_unpinned() || !leg.links.away.others.is_empty() {
        return;
    }
    worker.cached.learn(Known {
        payload: payload.into(),
        settings: Rc::clone(leg.state.shared_settings()),
        account: Rc::clone(&leg.state.account),
        caller: Arc::clone(&leg.state.caller),
        capabilities: leg.state.identity.capabilities,
        collation: leg.state.identity.collation,
        was_reset: leg.state.was_reset(),
        client_addr: leg.state.client_addr.clone(),
        flag_in: leg.state.flag_in,
        status: leg.state.status & (STATUS | StatusFlags::IN_TRANSACTION),
        since_ms: worker.uptime_ms(),
        decided,
        asked,
    });
}

/// The answer is not there, because of `miss`: what becomes of the query.
pub(crate) fn missed(
    worker: &Worker,
    state: &SessionState,
    asked: &Asked,
    now_ms: u64,
    miss: Miss,
    stats: &mut Stats,
) -> Look {
    if miss == Miss::Invalidated {
        let cause = worker.shared.cache.versions.last_cause(&asked.said.scope);
        stats.invalidated(asked.row, cause);
    }
    match passes(worker, asked, now_ms, stats) {
        // If no server answers, it is needed.
        Some(reason) if !has_stale(worker, asked, now_ms) => {
            stats.missed(asked.row, miss);
            stats.not_stored(asked.row, reason);
            Look::Pass
        }
        _ => join(worker, state, asked, (asked.key, now_ms), miss, stats),
    }
}

/// The answer is not there, because of `miss`: one session of those that ask by this key
/// fetches it.
pub(crate) fn join(
    worker: &Worker,
    state: &SessionState,
    asked: &Asked,
    (key, now_ms): (Key, u64),
    miss: Miss,
    stats: &mut Stats,
) -> Look {
    match worker.shared.cache.flights.join(key, now_ms) {
        Joined::Waiter(waiter) if asked.how.policy.timeout_ms > 0 => Look::Wait(waiter),
        joined => {
            stats.missed(asked.row, miss);
            let is_unanswered = matches!(joined, Joined::Unanswered);
            if let Some((rows, bytes)) =
                is_unanswered.then(|| look_stale(worker, state, asked, now_ms)).flatten()
            {
                stats.stale(asked.row);
                return Look::Hit(rows, bytes);
            }
            Look::Miss(if let Joined::Leader(leader) = joined { Some(leader) } else { None })
        }
    }
}

/// The command goes to its target.
pub(crate) fn send_to_target(state: &SessionState, asked: &Asked, decided: &mut Decided) {
    let Some(mut target) = decided.route.target() else { return };
    if asked.how.policy.mode.sees_own_writes() && target.is_split {
        // Replicas get own writes later.
        target.hostgroup = state.account.default_hostgroup;
    }
    decided.route = Route::One(target);
}

/// The tables of a statement that comes with this text, unless rules have rewritten it.
pub(crate) fn tables_of(worker: &Worker, text: &[u8], decided: &Decided) -> Arc<Tables> {
    let routing = worker.routing.borrow();
    match decided.orders.as_ref().and_then(|orders| orders.text.as_deref()) {
        Some(rewritten) => Arc::new(Tables::of(rewritten)),
        // What is remembered by the digest is of the text as it came.
        None if decided.is_rewritten => Arc::new(Tables::of(text)),
        None => routing.tables(decided.digest(), decided.screened.clear, text),
    }
}

/// Writes the stale answer for a query that no server has answered lately into the worker's
/// buffer, if there is one. Returns the numbers of its rows and bytes.
pub(crate) fn look_stale(
    worker: &Worker,
    state: &SessionState,
    asked: &Asked,
    now_ms: u64,
) -> Option<(RowCounts, usize)> {
    Some(worker.cached.write(&find_stale(worker, asked, now_ms)?, style(state, None)))
}

/// The same for the command whose reply was to be stored, and ends with this error. Sessions that
/// wait for the reply get the same.
pub(crate) fn take_stale(
    worker: &Worker,
    state: &SessionState,
    flight: &mut Flight,
    error: &ClientError,
) -> Option<(RowCounts, usize)> {
    let now_ms = worker.uptime_ms();
    let taps = &mut flight.as_mut()?.taps;
    let hit = taps.fill()?.stale(now_ms)?;
    taps.take_fill()?.end_stale(now_ms);
    let (connection, error, age_ms) = (state.identity.connection_id, error.logged(), hit.age_ms);
    tracing::warn!(connection, %error, age_ms, "no server answers: the client gets a stale answer");
    Some(worker.cached.write(&hit, style(state, None)))
}

/// A command without a reply is over that may have been a write, and that the cache was not
/// told of.
#[cold]
pub(crate) fn end_unwatched(worker: &Worker, state: &mut SessionState) {
    state.past.remove(Past::UNWATCHED);
    forget_before(&worker.shared.cache);
}

/// A write of which the cache was not told may be done. Answers that were stored while it ran may
/// be from before it.
pub(crate) fn forget_before(cache: &Arc<Cache>) {
    if cache.watches_writes() {
        // It may have changed a definition or a privilege as well.
        Writing::of_privileges(cache).end();
    }
}

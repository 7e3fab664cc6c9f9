//! A query that the cache has no answer to: which session sends it, and whether its answer is
//! stored.

use cache::stats::{RowKey, Stats};
use cache::{Doorkeeper, Leader, NotStored, Outcome, depends_on_values};
use command::Command;
use legs::entry::BookEntry;
use legs::leg::Leg;
use legs::state::SessionState;
use reply::cache_fill::{CacheFill, Filling};
use runtime::cached::asked::Asked;
use runtime::decided::Decided;
use runtime::worker::Worker;
use sql::{FoundRows, Modes, Offset};
use tokio::time::Instant;
use wire::StatusFlags;
use wire::command::Kind;

use crate::session::facts::cache::{form, send_to_target};
use crate::state::Setting;

/// The command goes to its target, and its reply is copied. An `OFFSET` passes so many rows by.
pub(crate) fn send_missed(
    entry: &BookEntry,
    leg: &mut Leg,
    command: Command<'_>,
    (asked, leader): (Asked, Option<Leader>),
    decided: &mut Decided,
) {
    let state = &leg.state;
    send_to_target(state, &asked, decided);
    let Asked { key, life, said, how, source, row, is_proven, epoch, .. } = asked;
    if decided.unseen().is_some() {
        // What is behind its tables is asked for behind this reply, so the next one is kept. An
        // answer that is there is from a session that knew.
        entry.worker.counts.cache.borrow_mut().not_stored(row, NotStored::Unjudged);
        return;
    }
    let cache = &entry.worker.shared.cache;
    cache.watch_writes();
    let Some(moment) = cache.versions.moment(&said.scope) else {
        // Those who wait would meet the same write.
        return keep_nothing(&entry.worker, row, leader, NotStored::Written);
    };
    if cache.proven.epoch() != epoch {
        // It was found out what the answer depends on before a definition was changed.
        return keep_nothing(&entry.worker, row, leader, NotStored::Unjudged);
    }
    // A server behind the same name may answer that the log is not of.
    let stretch = source.as_ref().map(|source| source.stretch());
    if stretch == Some(None) {
        return keep_nothing(&entry.worker, row, leader, NotStored::NotFollowed);
    }
    let sent = Instant::now();
    let sent_us = entry.worker.uptime_us_at(sent);
    if how.policy.mode.sees_own_writes() {
        cache.timeline.note(moment, sent_us);
    }
    let filling = Filling {
        key,
        life,
        scope: said.scope.clone(),
        moment,
        form: form(state),
        has_columns: !(command.kind == Kind::StmtExecute && state.identity.keeps_definitions()),
        max: how.policy.answer_bytes_max,
        stores_empty: how.policy.stores_empty,
        passed: rows_passed(state, command, decided),
        proof: said.proof,
        is_proven,
        epoch,
        mode: how.policy.mode,
        source: source.zip(stretch.flatten()),
        row,
        sent,
        sent_us,
        leader,
    };
    let fill = CacheFill::new(cache, &entry.worker.counts, filling);
    leg.flight.begin().taps.set_fill(fill);
}

/// How many rows in front of the answer to a query `FOUND_ROWS()` counts, or why the answer is
/// not stored, by what no digest tells.
fn rows_passed(state: &SessionState, command: Command<'_>, decided: &Decided) -> Result<u64, NotStored> {
    let modes = Modes {
        no_backslash_escapes: state.reading().no_backslash_escapes,
        ansi_quotes: state.status.contains(StatusFlags::ANSI_QUOTES),
        ..Modes::default()
    };
    let rewritten = decided.orders.as_ref().and_then(|orders| orders.text.as_deref());
    let text = rewritten.unwrap_or_else(|| state.text_of(command));
    if depends_on_values(text) {
        return Err(NotStored::Values);
    }
    let passed = match FoundRows::of(text, modes) {
        FoundRows::Sent => Some(0),
        FoundRows::SentUnlessLimited => {
            let is_limit = |setting: &Setting| *setting.key == *"sql_select_limit";
            (!state.shared_settings().since(0).any(is_limit)).then_some(0)
        }
        FoundRows::Behind(Offset::Number(rows)) => Some(rows),
        FoundRows::Behind(Offset::Parameter(at)) => state.value_of(command, at),
        FoundRows::Unknown => None,
    };
    passed.ok_or(NotStored::FoundRows)
}

/// Why the answer to a missed query is not stored, if it is not worth that: few lookups of its
/// digest hit, and its key was not asked for lately. Then no session waits for it either.
pub(crate) fn passes(worker: &Worker, asked: &Asked, now_ms: u64, stats: &mut Stats) -> Option<NotStored> {
    let cache = &worker.shared.cache;
    let mut rates = worker.cached.rates();
    if !rates.are_rare(asked.row, stats.so_far(asked.row)) || !Doorkeeper::is_within(cache.budget()) {
        return None;
    }
    let Some(moment) = cache.versions.moment(&asked.said.scope) else { return Some(NotStored::Written) };
    let allows = |moment| cache.versions.allows(&asked.said.scope, moment);
    if cache.doorkeeper.has_seen(asked.key, now_ms, asked.life, moment, allows) {
        rates.note_second(asked.row);
        return None;
    }
    Some(NotStored::Rare)
}

/// The reply will not be stored: counts why, and those who wait send theirs.
fn keep_nothing(worker: &Worker, row: RowKey, leader: Option<Leader>, reason: NotStored) {
    worker.counts.cache.borrow_mut().not_stored(row, reason);
    if let Some(leader) = leader {
        leader.end(Outcome::NotStored, worker.uptime_ms());
    }
}

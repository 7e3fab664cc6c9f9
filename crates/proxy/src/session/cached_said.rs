//! What definitions and proofs say about a statement that the query cache is asked for. That is
//! worked out once for a digest, and [remembered](Memo) by the worker.
//!
//! [Memo]: cache::Memo

use std::rc::Rc;

use cache::{About, Name, Reading as Reads, Refusal, Said, Scope, Validity};
use config::{CacheMode, CacheScope};
use route::{Cached, Source, may_quote_names};
use sql::Modes;
use wire::StatusFlags;

use super::Session;
use super::cached_asked::Who;
use super::decided::Decided;
use super::facts::cache::tables_of;
use super::state::SessionState;
use crate::cached::Policy;
use crate::routing::Reading;
use crate::worker::Worker;

impl Session {
    /// What is said about a statement with this text in this epoch of proofs.
    pub(super) fn said(
        &self,
        who: &Who,
        (text, decided): (&[u8], &Decided),
        how: &Cached,
        epoch: u64,
    ) -> Rc<Said> {
        let (worker, cache) = (&*self.entry.worker, &*self.entry.worker.shared.cache);
        let about = self.entry.worker.about(&self.state, who, text, decided, how);
        let now = (epoch, worker.uptime_ms());
        if let Some(about) = &about
            && let Some(said) = worker.cached.memo.borrow().get(about, now, &cache.versions)
        {
            return Rc::clone(said);
        }
        // Before definitions are looked at: one that changes meanwhile makes this too old.
        let moment = cache.versions.moment(&Scope::of_definitions());
        let reading = self.reading(who.account, who.hostgroups[1], text, decided);
        let until_ms = reading.as_ref().map_or(u64::MAX, |reading| reading.until_ms);
        let said = Rc::new(find_out(&self.entry.worker, &self.state, who, text, decided, how, reading));
        let is_certain = said.refusal != Some(Refusal::NotLearnt);
        if let Some((about, moment)) = about.zip(moment).filter(|_| is_certain) {
            let validity = Validity { epoch, moment, until_ms };
            worker.cached.memo.borrow_mut().put(about, validity, Rc::clone(&said));
        }
        said
    }
}

fn find_out(
    worker: &Worker,
    state: &SessionState,
    who: &Who,
    text: &[u8],
    decided: &Decided,
    how: &Cached,
    reading: Option<Reads>,
) -> Said {
    let (cache, policy) = (&*worker.shared.cache, &how.policy);
    if let Err(refusal) = judge(reading.as_ref(), policy.mode) {
        return Said::refused(refusal);
    }
    if reading.as_ref().is_some_and(|reading| state.takes_today(reading, text, decided)) {
        return Said::refused(Refusal::Volatile);
    }
    // A view may depend on the account.
    let may_share = reading.is_some() && policy.scope == CacheScope::Proven && !may_quote_names(text);
    let proof = telling_digest(worker, state, decided).filter(|_| may_share).map(|digest| {
        let proof = cache.keys.builder().key(who.account).key(who.class);
        proof.number(who.hostgroups[0].into()).number(digest).finish()
    });
    let mut scope = scope_of(worker, state, text, decided, how, reading);
    if proof.is_some() {
        // An account that proves the digest after a change may not have read what was before.
        scope.add_definitions();
    }
    Said::new(scope, proof)
}

/// The digest of a statement, if it tells all that privileges are checked for.
fn telling_digest(worker: &Worker, state: &SessionState, decided: &Decided) -> Option<u64> {
    let routing = worker.routing.borrow();
    let digest = routing.routes().sound(decided.digest(), decided.screened.clear);
    digest.filter(|_| worker.digest_tells_names(state, decided))
}

/// What the answer is invalidated by.
fn scope_of(
    worker: &Worker,
    state: &SessionState,
    text: &[u8],
    decided: &Decided,
    how: &Cached,
    reading: Option<Reads>,
) -> Scope {
    let mut scope = Scope::new();
    scope.add(Name::User(state.caller.user()).hash());
    if let Some(Source::Rule(id)) = how.policy.source {
        scope.add(Name::Rule(id).hash());
    }
    if let Some(digest) = decided.digest() {
        scope.add(Name::Digest(digest).hash());
    }
    for table in &tables_of(worker, text, decided).reads {
        let schema = table.schema.as_deref().map_or(state.caller.schema(), str::as_bytes);
        scope.add(Name::Table(schema, table.name.as_bytes()).hash());
    }
    if how.policy.mode.sees_own_writes() {
        match reading {
            Some(reading) if !reading.is_open => scope.add_writes_to(&reading.tables),
            _ => scope.add_any_write(),
        }
    }
    scope
}

impl Worker {
    /// Whether a digest tells names. With `ANSI_QUOTES` it does not.
    pub(super) fn digest_tells_names(&self, state: &SessionState, decided: &Decided) -> bool {
        !decided.is_rewritten
            && !state.status.contains(StatusFlags::ANSI_QUOTES)
            && !self.shared.cache.is_bypassed()
    }

    /// What all depends on that is said about a statement, if its digest tells its tables.
    pub(super) fn about(
        &self,
        state: &SessionState,
        who: &Who,
        text: &[u8],
        decided: &Decided,
        how: &Cached,
    ) -> Option<About<Policy>> {
        let Reading { no_backslash_escapes, two_byte_quotes } = state.reading();
        if no_backslash_escapes || two_byte_quotes || may_quote_names(text) || is_rewritten(decided) {
            return None;
        }
        let Cached { policy, .. } = how;
        let &Who { account, class, hostgroups } = who;
        Some(About {
            digest: self.routing.borrow().routes().sound(decided.digest(), decided.screened.clear)?,
            account,
            class,
            hostgroups,
            policy: Policy { mode: policy.mode, scope: policy.scope, source: policy.source },
            tells_names: self.digest_tells_names(state, decided),
        })
    }
}

impl SessionState {
    /// Whether a `TIME` among what a statement reads may become one of today.
    pub(super) fn takes_today(&self, reading: &Reads, text: &[u8], decided: &Decided) -> bool {
        let rewritten = decided.orders.as_ref().and_then(|orders| orders.text.as_deref());
        let text = rewritten.unwrap_or(text);
        let no_backslash_escapes = self.reading().no_backslash_escapes;
        // Where sessions have `ANSI_QUOTES` is not always told.
        [false, true].into_iter().any(|ansi_quotes| {
            let modes = Modes { ansi_quotes, no_backslash_escapes, ..Modes::default() };
            reading.clock.takes_today(text, modes)
        })
    }
}

/// Whether rules have made another text of a statement.
fn is_rewritten(decided: &Decided) -> bool {
    decided.is_rewritten || decided.orders.as_ref().is_some_and(|orders| orders.text.is_some())
}

/// Why what was learnt of the tables of a statement keeps its answer from being cached.
fn judge(reading: Option<&Reads>, mode: CacheMode) -> Result<(), Refusal> {
    let Some(reading) = reading else { return Ok(()) };
    match reading.refusal {
        Some(refusal) => Err(refusal),
        None if mode.sees_own_writes() && reading.has_other_engines => Err(Refusal::Engine),
        None => Ok(()),
    }
}

//! What a statement has to see, and whether the server in use is known to have it.

use std::time::{Duration, Instant};

use config::CausalReads;
use gtid::{Gtid, Highest};
use observe::counts::Counter;
use route::{Verdict, Writes};
use runtime::causal::is_writer_of;
use runtime::decided::Decided;
use runtime::fresh::{Fresh, named};
use runtime::worker::Worker;
use session::causal::own::{Own, Proof};
use session::causal::question::{self, Reply};
use session::causal::tokens::Scope;
use sql::shape::Effects;
use upstream::{InternalQuery, query};
use wire::command::Kind;
use wire::reply::Answer;

use crate::facts::places::lack;
use crate::leg::Leg;
use crate::state::SessionState;

/// What a read must see at its reader.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) tokens: Highest,
    pub(crate) scope: CausalReads,
    /// The hostgroup of the reader's writers.
    pub(crate) writer: u32,
    /// The version of the scope that has these tokens.
    pub(crate) version: u64,
}

/// What the command in the backlog must see, if that matters for where it goes. If that is nothing
/// that readers of binary logs or lags tell, its server is to be asked for writes.
#[inline]
pub fn must_see(worker: &Worker, leg: &Leg, kind: Kind, decided: &Decided) -> Option<Fresh> {
    if decided.orders.is_none() && leg.state.own().is_none() || !depends_on_writes(kind) {
        return None;
    }
    let asks = || decided.verdict().is_some_and(|verdict| asked_gtid(worker, &leg.state, verdict).is_some());
    let awaits = || lacks_proof(worker, leg, decided) || asks();
    fresh_of(worker, leg, decided).or_else(|| awaits().then(Fresh::default))
}

/// What of it readers of binary logs and lags tell.
pub(crate) fn fresh_of(worker: &Worker, leg: &Leg, decided: &Decided) -> Option<Fresh> {
    fresh_for(worker, &leg.state, decided.verdict()?).filter(|_| !leg.stays(decided))
}

/// What a hint names, or the last transaction of the session where a rule says.
pub fn fresh_for(worker: &Worker, state: &SessionState, verdict: &Verdict) -> Option<Fresh> {
    Fresh::new(verdict, |hostgroup| state.last_gtid(hostgroup), worker.settings().causal.has_readers)
}

/// The transaction that a hint or a rule names, if servers are asked for it: where readers of
/// binary logs tell what servers have, these count, but they do not tell MariaDB's.
fn asked_gtid(worker: &Worker, state: &SessionState, verdict: &Verdict) -> Option<Gtid> {
    let has_readers = worker.settings().causal.has_readers;
    let gtid = named(verdict, |hostgroup| state.last_gtid(hostgroup));
    gtid.filter(|gtid| !has_readers || matches!(gtid, Gtid::MariaDb(_)))
}

/// Whether the connection in use may lack writes that the command must see, so that its server
/// has to be asked first.
fn lacks_proof(worker: &Worker, leg: &Leg, decided: &Decided) -> bool {
    let (verdict, Some(own)) = (decided.verdict(), leg.state.own()) else { return false };
    if verdict.is_some_and(|verdict| verdict.causal_scope.is_some()) || own.names_application() {
        // Its scope, and that of its write, is another one than that of the statement before.
        return true;
    }
    let scope = causal_scope_of(&leg.state, verdict);
    let Some(writer) = writer_for(worker, leg, decided).filter(|_| scope != CausalReads::Off) else {
        return false;
    };
    // Another connection than the one in use has proven nothing.
    let link = leg.links.connection().filter(|_| lack(worker, leg, decided.target()).is_none());
    // What others have found out is enough: the statement need not be set up for that.
    !link.is_some_and(|link| {
        own.is_proven(scope, writer, link.opened().into_std()) || awaited(worker, leg, decided).is_none()
    })
}

/// Whose writes a statement must see.
fn causal_scope_of(state: &SessionState, verdict: Option<&Verdict>) -> CausalReads {
    let said = verdict.and_then(|verdict| verdict.causal_reads);
    said.unwrap_or_else(|| state.identity.causal_reads())
}

/// The hostgroup of the writers that may do a command as well, if it goes to a reader.
pub(crate) fn writer_for(worker: &Worker, leg: &Leg, decided: &Decided) -> Option<u32> {
    let hostgroup = decided.target()?;
    let writer = worker.routing.borrow().routes().pairs.writer(hostgroup);
    writer.filter(|_| !leg.stays(decided) && !worker.settings().is_writer(hostgroup))
}

/// Whether what a command comes to may depend on writes. A cursor is read, and values are kept,
/// where the statement is, whatever is to be seen.
const fn depends_on_writes(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Query
            | Kind::StmtPrepare
            | Kind::StmtExecute
            | Kind::StmtBulkExecute
            | Kind::InitDb
            | Kind::FieldList
    )
}

/// A statement is being sent to a server that has what the statement must see.
#[inline]
pub fn note_causal(worker: &Worker, leg: &mut Leg, decided: &Decided) {
    if leg.state.own().is_some() {
        note_application(worker, leg, decided);
        let scope = causal_scope_of(&leg.state, decided.verdict());
        if scope != CausalReads::Off && writer_for(worker, leg, decided).is_some() {
            worker.counts.note(Counter::CausalReads);
        }
    }
}

/// The statement belongs to the application that a hint names.
pub(crate) fn note_application(worker: &Worker, leg: &mut Leg, decided: &Decided) {
    let goes_on = leg.state.in_transaction() || leg.links.open_elsewhere().is_some();
    let Some(own) = leg.state.gtids.as_mut().and_then(|gtids| gtids.own.as_mut()) else { return };
    let named = decided.verdict().and_then(|verdict| verdict.causal_scope.as_deref());
    let tokens = &worker.shared.causal.tokens;
    let named = named.map(|name| tokens.of(Scope::application(name.as_bytes())));
    own.name_application(named, goes_on);
}

/// What a statement must see at a reader, for EXPLAIN ROUTE.
pub fn explain_writes(
    worker: &Worker,
    state: &SessionState,
    verdict: &Verdict,
    hostgroup: u32,
) -> Option<Writes> {
    let writer = worker.routing.borrow().routes().pairs.writer(hostgroup)?;
    let Awaited { tokens, scope, .. } = awaited_for(worker, state, Some(verdict), writer);
    if tokens.is_empty() {
        return None;
    }
    let shared = &worker.shared;
    let servers = shared.upstream.pool.explain(hostgroup, shared.uptime());
    let servers = servers.into_iter().map(|one| one.server);
    let applied = &shared.causal.applied;
    let known = servers.filter(|server| applied.says(&server.endpoint().endpoint, &tokens));
    Some(Writes {
        gtids: tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        scope: if scope == CausalReads::Off { "statement" } else { scope.word() },
        wait_ms: worker.settings().causal.wait.as_millis(),
        known: known.map(|server| server.endpoint().to_string()).collect(),
    })
}

/// What the command in the backlog must see, if it goes to a reader that is not known to have it.
pub(crate) fn awaited(worker: &Worker, leg: &Leg, decided: &Decided) -> Option<Awaited> {
    let writer = writer_for(worker, leg, decided)?;
    let awaited = awaited_for(worker, &leg.state, decided.verdict(), writer);
    (!has_awaited(worker, leg, &awaited)).then_some(awaited)
}

/// What a statement must see at a reader of these writers.
pub(crate) fn awaited_for(
    worker: &Worker,
    state: &SessionState,
    verdict: Option<&Verdict>,
    writer: u32,
) -> Awaited {
    let named = verdict.and_then(|verdict| asked_gtid(worker, state, verdict));
    let own = state.own();
    let scope = own.map_or(CausalReads::Off, |_| causal_scope_of(state, verdict));
    let version = own.map_or(0, |own| own.version(scope));
    let mut tokens = own.map(|own| own.tokens(scope, writer)).unwrap_or_default();
    tokens.merge(&named.into_iter().collect());
    Awaited { tokens, scope, writer, version }
}

/// Whether the server of the connection in use is known to have it, which is remembered then.
fn has_awaited(worker: &Worker, leg: &Leg, awaited: &Awaited) -> bool {
    let Some((machine, opened)) = leg.links.asked_server() else { return false };
    let shared = &worker.shared;
    let has = awaited.tokens.is_empty()
        || shared.causal.applied.has(&machine, opened, awaited.tokens.iter())
        || is_writer_of(&shared.upstream, &machine.0, awaited.writer);
    if has {
        remember(&leg.state, awaited, opened);
    }
    has
}

/// The connection that was opened then has it.
fn remember(state: &SessionState, awaited: &Awaited, opened: Instant) {
    if let Some(own) = state.own() {
        let Awaited { scope, writer: cluster, version, .. } = *awaited;
        own.prove(Proof { scope, cluster, version, opened });
    }
}

/// The question to the server of the connection in use, which waits as long as this; nothing if
/// no server of its kind has the tokens.
pub(crate) fn question_for(leg: &Leg, awaited: &Awaited, wait: Duration) -> Option<InternalQuery> {
    let text = question::of(&awaited.tokens, leg.links.connection()?.is_mariadb(), wait)?;
    Some((query(leg.state.identity.capabilities, text.as_bytes()), Answer::Result))
}

/// The server of the connection in use has answered a question of `asked`: what it says is
/// remembered.
pub(crate) fn note_answer(
    worker: &Worker,
    leg: &Leg,
    awaited: &Awaited,
    asked: Instant,
    reply: &upstream::Reply,
) -> Reply {
    let Some((machine, opened)) = leg.links.asked_server() else { return Reply::Lacks };
    let applied = &worker.shared.causal.applied;
    let answer = reply.only_row().map_or(Reply::Lacks, question::read);
    applied.note_late(&machine, answer != Reply::Had);
    if answer != Reply::Lacks {
        applied.prove(&machine, opened, asked, &awaited.tokens);
        remember(&leg.state, awaited, opened);
    }
    answer
}

impl Leg {
    /// Whether a command stays wherever it was decided to go: in a transaction it would see nothing
    /// newer, and what asks about the statement before has to ask the server that has executed
    /// that.
    pub(crate) fn stays(&self, decided: &Decided) -> bool {
        let session = self.session();
        let here = Some(decided.hostgroup());
        session.transaction == here
            || session.last_hostgroup == here && decided.plan.effects.intersects(Effects::READS_LAST)
    }
}

impl SessionState {
    /// What reads of the session must see, where they must see writes.
    pub fn own(&self) -> Option<&Own> {
        self.gtids.as_ref()?.own.as_ref()
    }

    /// The last transaction of the session in a hostgroup.
    fn last_gtid(&self, hostgroup: u32) -> Option<Gtid> {
        self.gtids.as_ref()?.last(hostgroup)
    }
}

//! What a statement has to see, and whether the server in use is known to have it.

use std::time::Duration;

use config::CausalReads;
use observe::counts::Counter;
use route::{Verdict, Writes};
use runtime::causal::{is_writer_of, machine};
use runtime::decided::Decided;
use runtime::fresh::Fresh;
use runtime::worker::Worker;
use session::causal::own::Own;
use session::causal::question;
use session::causal::question::Reply;
use session::causal::tokens::Scope;
use tokio::time::Instant;
use upstream::query;
use wire::command::Kind;
use wire::reply::Answer;

use crate::awaited::{Awaited, Known, Question};
use crate::catch_up::fresh_for;
use crate::causal::asked_gtid;
use crate::facts::places::is_at;
use crate::links::Links;
use crate::state::SessionState;

/// What the command in the backlog must see, if that matters for where it goes.
pub fn has_to_see(worker: &Worker, state: &SessionState, links: &Links, decided: &Decided) -> Option<Fresh> {
    let orders = decided.orders.as_ref()?;
    fresh_for(worker, state, &orders.verdict).filter(|_| !links.stays(state, decided))
}

/// Whether the session has left something in this hostgroup that its statements need, so that
/// no other server will do.
pub fn is_bound_to(state: &SessionState, links: &Links, hostgroup: u32) -> bool {
    let session = links.session(state);
    session.locked_on == Some(hostgroup) || session.hold.is_some_and(|(_, at)| at == hostgroup)
}

/// Whether the connection in use may lack writes that the command must see, so that its server
/// has to be asked first.
#[inline]
pub fn may_lack_writes(worker: &Worker, state: &SessionState, links: &Links, decided: &Decided) -> bool {
    state.gtids.as_ref().is_some_and(|gtids| gtids.own.is_some())
        && lacks_proof(worker, state, links, decided)
}

pub(crate) fn lacks_proof(worker: &Worker, state: &SessionState, links: &Links, decided: &Decided) -> bool {
    let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
    let own = state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
    if verdict.is_some_and(|verdict| verdict.causal_scope.is_some())
        || own.is_some_and(Own::names_application)
    {
        // Its scope, and that of its write, is another one than that of the statement before.
        return true;
    }
    let scope = causal_scope_of(state, verdict);
    // Another connection than the one in use has proven nothing.
    let backend = links.in_use.as_ref().filter(|_| is_at(worker, state, links, decided));
    let opened = backend.map(|backend| backend.connection().opened().into_std());
    let Some(writer) = writer_for(worker, state, links, decided).filter(|_| scope != CausalReads::Off) else {
        return false;
    };
    let is_proven = |opened| own.is_none_or(|own| own.is_proven(scope, writer, opened));
    // What others have found out is enough: the statement need not be set up for that.
    let is_known = || known(worker, state, links, &awaited_for(worker, state, verdict, writer)) == Known::Has;
    !opened.is_some_and(|opened| is_proven(opened) || is_known())
}

/// Whose writes a statement must see.
pub(crate) fn causal_scope_of(state: &SessionState, verdict: Option<&Verdict>) -> CausalReads {
    let said = verdict.and_then(|verdict| verdict.causal_reads);
    said.unwrap_or_else(|| state.identity.causal_reads())
}

/// The hostgroup of the writers that may do a command as well, if it goes to a reader.
pub(crate) fn writer_for(
    worker: &Worker,
    state: &SessionState,
    links: &Links,
    decided: &Decided,
) -> Option<u32> {
    let hostgroup = decided.target()?;
    let writer = worker.routing.borrow().routes().pairs.writer(hostgroup);
    writer.filter(|_| !links.stays(state, decided) && !worker.settings().is_writer(hostgroup))
}

/// Whether what a command comes to may depend on writes. A cursor is read, and values are kept,
/// where the statement is, whatever is to be seen.
pub const fn depends_on_writes(kind: Kind) -> bool {
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

/// Whether the command may have to see writes that its server lacks.
pub fn awaits_writes(worker: &Worker, state: &SessionState, links: &Links, decided: &Decided) -> bool {
    let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
    may_lack_writes(worker, state, links, decided)
        || verdict.is_some_and(|verdict| asked_gtid(worker, state, verdict).is_some())
}

/// A statement is being sent to a server that has what the statement must see.
#[inline]
pub fn note_causal(worker: &Worker, state: &mut SessionState, links: &Links, decided: &Decided) {
    if state.gtids.as_ref().is_some_and(|gtids| gtids.own.is_some()) {
        note_application(worker, state, links, decided);
        let scope = causal_scope_of(state, decided.orders.as_ref().map(|orders| &orders.verdict));
        if scope != CausalReads::Off && writer_for(worker, state, links, decided).is_some() {
            worker.counts.note(Counter::CausalReads);
        }
    }
}

/// The statement belongs to the application that a hint names.
pub(crate) fn note_application(worker: &Worker, state: &mut SessionState, links: &Links, decided: &Decided) {
    let goes_on = state.in_transaction() || links.open_elsewhere().is_some();
    let Some(own) = state.gtids.as_mut().and_then(|gtids| gtids.own.as_mut()) else { return };
    let named = decided.orders.as_ref().and_then(|orders| orders.verdict.causal_scope.as_deref());
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

/// What the command in the backlog must see, if it goes to a reader.
pub(crate) fn awaited(
    worker: &Worker,
    state: &SessionState,
    links: &Links,
    decided: &Decided,
) -> Option<Awaited> {
    let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
    Some(awaited_for(worker, state, verdict, writer_for(worker, state, links, decided)?))
}

/// What a statement must see at a reader of these writers.
pub(crate) fn awaited_for(
    worker: &Worker,
    state: &SessionState,
    verdict: Option<&Verdict>,
    writer: u32,
) -> Awaited {
    let named = verdict.and_then(|verdict| asked_gtid(worker, state, verdict));
    let own = state.gtids.as_ref().and_then(|gtids| gtids.own.as_ref());
    let scope = own.map_or(CausalReads::Off, |_| causal_scope_of(state, verdict));
    let version = own.map_or(0, |own| own.version(scope));
    let mut tokens = own.map(|own| own.tokens(scope, writer)).unwrap_or_default();
    tokens.merge(&named.into_iter().collect());
    Awaited { tokens, scope, writer, version }
}

/// What is known of the server of the connection in use. What is found is remembered.
pub(crate) fn known(worker: &Worker, state: &SessionState, links: &Links, awaited: &Awaited) -> Known {
    let Some(backend) = &links.in_use else { return Known::Unsure };
    let (server, link) = (&backend.server().endpoint().endpoint, backend.connection());
    let (shared, opened) = (&worker.shared, link.opened().into_std());
    let applied = &shared.causal.applied;
    let has = awaited.tokens.is_empty()
        || applied.has(&machine(server, link), opened, awaited.tokens.iter())
        || is_writer_of(&shared.upstream, server, awaited.writer);
    if has {
        links.remember(state, awaited);
        Known::Has
    } else {
        Known::Unsure
    }
}

/// The question to the server of the connection in use, which waits as long as this; nothing if
/// no server of its kind has the tokens.
pub(crate) fn question_for(
    state: &SessionState,
    links: &Links,
    awaited: &Awaited,
    wait: Duration,
) -> Option<Question> {
    let (machine, opened, is_mariadb) = links.asked_server()?;
    let text = question::of(&awaited.tokens, is_mariadb, wait)?;
    let query = (query(state.identity.capabilities, text.as_bytes()), Answer::Result);
    Some(Question { query, machine, opened, asked: Instant::now().into_std() })
}

/// The server of the connection in use has answered a question: what it says is remembered.
pub(crate) fn note_answer(
    worker: &Worker,
    state: &SessionState,
    links: &Links,
    awaited: &Awaited,
    question: &Question,
    reply: &upstream::Reply,
) -> Reply {
    let Question { machine, opened, asked, .. } = question;
    let applied = &worker.shared.causal.applied;
    let answer = reply.only_row().map_or(Reply::Lacks, question::read);
    applied.note_late(machine, answer != Reply::Had);
    if answer != Reply::Lacks {
        applied.prove(machine, *opened, *asked, &awaited.tokens);
        links.remember(state, awaited);
    }
    answer
}

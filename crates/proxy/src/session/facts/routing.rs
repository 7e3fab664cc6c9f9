//! What is decided about a command: its orders, its hostgroup, what it needs there.

use command::Command;
use legs::backlog::is_enough;
use legs::entry::BookEntry;
use legs::facts::places::{asked, circumstances, unseen_behind};
use legs::facts::screened::screen_execution;
use legs::leg::Leg;
use legs::state::SessionState;
use route::AccessMode;
use route::limits::JUDGED_BYTES_MAX;
use runtime::decided::Decided;
use runtime::prepared::{Prepared, Preparing};
use session::state::own_connection::told_here;
use session::unjudged::Unseen;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::{Kind, LAST_STATEMENT};
use wire::reply::Answer;

use crate::error::ClientError;
use crate::session::explained::explain_text;

/// Decides where a command for a prepared statement goes.
pub(crate) fn decide_prepared(entry: &BookEntry, leg: &Leg, command: Command<'_>) -> Decided {
    let kind = command.kind;
    let Some(prepared) = leg.state.named(command) else { return decide_unknown(entry, leg, command) };
    let session = leg.session();
    let stays = prepared.is_at_home() || command.opens_cursor();
    // It begins no transaction where it is.
    let leaves = session.transaction.map_or(!session.autocommit, |hostgroup| hostgroup != prepared.home);
    let moves = prepared.what.moves && kind == Kind::StmtExecute && (!stays || leaves);
    // Elsewhere it would be prepared as another statement.
    let means_the_same = prepared.what.modes == leg.state.modes();
    let mut decided = match prepared.what.text.as_deref().filter(|_| moves && means_the_same) {
        Some(text) => {
            let asked = asked(command, prepared.params());
            judge(entry, leg, (text, true), asked, true)
        }
        None if moves => decide_with_meaning(entry, leg, prepared, command),
        // Its answer tells a status: that of the transaction is the client's.
        None if kind == Kind::StmtReset => Decided::plainly_to(session.transaction.unwrap_or(prepared.home)),
        // Without autocommit its execution begins a transaction, which is not a reader's.
        None if kind == Kind::SendLongData && prepared.what.moves && leaves && !stays => {
            Decided::plainly_to(session.transaction.unwrap_or(leg.state.account.hostgroup()))
        }
        None => Decided::plainly_to(prepared.home),
    };
    if let Some(error) = lacks_parameters(command, prepared.params()) {
        decided.refuse(ClientError::malformed(error));
    }
    execute_as(entry, leg, kind, &prepared.what, decided)
}

/// The same decision about a command for a statement that is, or is being, prepared as `what`.
pub(crate) fn execute_as(
    entry: &BookEntry,
    leg: &Leg,
    kind: Kind,
    what: &Preparing,
    decided: Decided,
) -> Decided {
    let decided = screen_execution(&entry.worker, &leg.state, kind, Some(what), decided.prepared_as(what));
    match what.text.as_deref() {
        Some(text) if kind == Kind::StmtExecute || kind == Kind::StmtBulkExecute => {
            look_behind(entry, leg, decided, text, true)
        }
        _ => decided,
    }
}

/// The same for a statement that cannot be prepared elsewhere now as what it was. A transaction
/// is at one server, and so are locked tables: if the statement is not there, the client has to
/// prepare it again. What a rule or a lock answers holds here, too.
pub(crate) fn decide_with_meaning(
    entry: &BookEntry,
    leg: &Leg,
    prepared: &Prepared,
    command: Command<'_>,
) -> Decided {
    let session = leg.session();
    let mut judged = Decided::plainly_to(session.transaction.unwrap_or(prepared.home));
    if let (None, Some(text)) = (session.transaction, prepared.what.text.as_deref()) {
        let asked = asked(command, prepared.params());
        judged = judge(entry, leg, (text, true), asked, true).never_cached();
    }
    let Some(wanted) = judged.target() else { return judged };
    let has_it = || {
        let kept = &entry.worker.upstream.kept;
        leg.links.look_at(kept, wanted, |link| prepared.at(link).is_some())
    };
    let is_there = wanted == prepared.home || has_it();
    let hostgroup = if is_there { wanted } else { prepared.home };
    // What it must see it must see there, too.
    let mut decided = Decided::plainly_to(hostgroup).with_orders_of(&mut judged);
    let is_bound = session.transaction.is_some() || !session.autocommit || session.is_bound_to(wanted);
    if is_bound && !is_there {
        decided.refuse(ClientError::NeedReprepare);
    }
    decided
}

/// The same for a statement that is not known, or not yet. The server says that it does not
/// know it; but what it takes for the one that was prepared last is not that of a client whose
/// last one was refused here, or of a session that has had the connection before.
pub(crate) fn decide_unknown(entry: &BookEntry, leg: &Leg, command: Command<'_>) -> Decided {
    let (kind, named) = (command.kind, command.statement());
    let session = leg.session();
    let anywhere = if leg.links.in_use.is_some() { Some(leg.state.here) } else { None };
    let hostgroup = session.transaction.or(anywhere).unwrap_or(leg.state.account.hostgroup());
    let mut decided = Decided::plainly_to(hostgroup);
    let known = leg.state.prepared.as_ref().zip(named);
    let is_last = named == Some(LAST_STATEMENT);
    let kept = &entry.worker.upstream.kept;
    if let Some((all, id)) = known.filter(|_| !is_last)
        && leg.links.look_at(kept, hostgroup, |link| all.client_id_of(id, link)).is_some()
    {
        // The server calls another statement of the session so.
        decided.refuse(ClientError::UnknownStatement { id });
        return decided;
    }
    // To MySQL it is a number like others.
    let means_last = is_last && kind.answer() != Answer::None;
    if let Some(what) = leg.state.executed(command) {
        return execute_as(entry, leg, kind, what, decided);
    }
    if means_last && entry.worker.shared.upstream.servers.may_be_mariadb() {
        decided.refuse(ClientError::NoLastStatement(kind));
    }
    if matches!(kind, Kind::StmtExecute | Kind::StmtBulkExecute) {
        // It may be one that is being prepared.
        decided.plan = decided.plan.in_doubt();
    }
    screen_execution(&entry.worker, &leg.state, kind, None, decided)
}

/// The same decision about a statement with this text, or about an execution of it, with what
/// may be behind its tables.
pub(crate) fn look_behind(
    entry: &BookEntry,
    leg: &Leg,
    decided: Decided,
    text: &[u8],
    execute: bool,
) -> Decided {
    let Some(unseen) = unseen_behind(entry, &leg.state, &decided, text) else {
        return decided;
    };
    let mut decided = decided;
    if decided.is_split() && matches!(unseen, Unseen::Known) {
        // Not at a reader: it may write.
        let elsewhere = judge(entry, leg, (text, true), Some(AccessMode::ReadWrite), execute);
        decided.redirect(elsewhere.target().unwrap_or(leg.state.here));
    }
    decided.plan.effects = decided.plan.effects.union(Effects::FUNCTION);
    decided.change.get_or_insert_default().unseen = Some(unseen);
    decided
}

/// Decides where a command goes; nothing if more of it has to be there first.
pub(crate) fn decide(entry: &BookEntry, leg: &Leg, command: Command<'_>) -> Option<Decided> {
    if !is_enough(command) {
        return None;
    }
    let (kind, text) = (command.kind, command.text());
    let is_whole = command.is_whole() && command.payload().len() <= JUDGED_BYTES_MAX;
    let decided = match kind {
        Kind::Query => look_behind(
            entry,
            leg,
            judge(entry, leg, (text, is_whole), asked(command, 0), false),
            text,
            false,
        ),
        Kind::StmtPrepare => judge(entry, leg, (text, is_whole), None, false).never_cached(),
        _ if kind.names_statement() => decide_prepared(entry, leg, command),
        _ => {
            // What any server that the session has can answer.
            let is_anyones = matches!(
                kind,
                Kind::Ping
                    | Kind::Statistics
                    | Kind::InitDb
                    | Kind::FieldList
                    | Kind::SetOption
                    | Kind::ResetConnection
                    | Kind::ProcessInfo
            );
            let SessionState { here, account, .. } = &*leg.state;
            let usual = if is_anyones && leg.links.in_use.is_some() { *here } else { account.hostgroup() };
            // Where a transaction is open, the status flags tell the client so.
            Decided::plainly_to(leg.session().transaction.unwrap_or(usual))
        }
    };
    Some(leg.state.with_application(command, decided))
}

/// What is decided about a statement.
pub(crate) fn judge(
    entry: &BookEntry,
    leg: &Leg,
    (text, is_whole): (&[u8], bool),
    asked: Option<AccessMode>,
    execute: bool,
) -> Decided {
    let session = leg.session();
    let at = circumstances(&entry.worker, &leg.state, &session, asked, execute);
    leg.state.trace(|trace| trace.explained(explain_text(entry, leg, text, is_whole, &at)));
    let judged = entry.worker.routing.borrow_mut().judge(text, is_whole, &at);
    let mut decided = leg.state.decide(judged, text, leg.links.lock().is_some());
    if decided.plan.kind == StatementKind::Show && !decided.is_rewritten {
        let (cipher, version) = leg.state.identity.tls.as_deref().copied().unwrap_or_default();
        if let Some(told) = told_here(text, cipher, version) {
            decided.rewrite(told);
        }
    }
    decided
}

/// What an execution of the statement that was prepared last lacks, if its parameters are not
/// there. The server gets such a statement by its own number, under which `MariaDB` would take
/// missing bytes for NULL.
pub(crate) fn lacks_parameters(command: Command<'_>, prepared: u16) -> Option<wire::WireError> {
    if prepared == 0 || command.statement() != Some(LAST_STATEMENT) {
        return None;
    }
    command.wrong_params(prepared)
}

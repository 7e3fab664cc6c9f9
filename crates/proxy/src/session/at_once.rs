//! Commands that go at once: to the backend in use, behind others that were sent there, or to the
//! next one in line. Each stage is asked whether there is something to do first.

use command::Command;
use legs::entry::BookEntry;
use legs::facts::causal::must_see;
use legs::facts::places::{Lack, has_one_way, lack, shares};
use legs::last;
use legs::leg::Leg;
use legs::statement::Due;
use legs::trace::Trace;
use runtime::decided::{Decided, Next};
use runtime::routing::Orders;
use runtime::worker::Worker;
use wire::command::Kind;

use crate::session::facts::routing::decide;
use crate::session::route::len_to_complete;
use crate::session::stage::turn;

/// What is to be done with a command, if that is to send it to the backend in use, whose statement
/// of another session may be this one's from then on. If not, it is kept in
/// [`decided`](legs::flight::InFlight::decided); nothing is if more of the command has to be there
/// first.
pub(super) fn points_here(entry: &BookEntry, leg: &mut Leg, command: Command<'_>) -> Option<Decided> {
    let known = leg.flight.as_mut().and_then(|flight| flight.decided.take());
    let mut decided = if let Some(decided) = known {
        decided
    } else {
        leg.state.trace(Trace::clear);
        decide(entry, leg, command)?
    };
    let kept = &entry.worker.upstream.kept;
    if comes_alone(&entry.worker, leg, command, &decided)
        && let Due::Nothing(patch) = if command.opens_cursor() {
            leg.links.due(kept, &leg.state, command)
        } else {
            leg.links.due_reusing(kept, &leg.state, command)
        }
    {
        decided.patch = patch;
        return Some(decided);
    }
    // It was for the connection that was set up before.
    decided.patch = None;
    leg.flight.begin().decided = Some(decided);
    None
}

/// What is to be done with a command, if it may be sent before the one in front of it is
/// answered.
pub(super) fn decide_along(entry: &BookEntry, leg: &Leg, command: Command<'_>) -> Option<Decided> {
    let (Leg { state, links, .. }, kind) = (leg, command.kind);
    if state.trace.is_some() {
        // One after the other: there is one trace.
        return None;
    }
    let is_judged = matches!(kind, Kind::Query | Kind::StmtPrepare) || kind.names_statement();
    if is_judged && !(has_one_way(&entry.worker, state) && links.away.others.is_empty()) {
        return None;
    }
    let decided = decide(entry, leg, command)?;
    // What changes the session has to be seen to succeed: the answers in front of its own say
    // nothing of that.
    let changes = decided.change.as_ref().is_some_and(|change| !change.is_quiet())
        || matches!(kind, Kind::InitDb | Kind::SetOption | Kind::ProcessInfo | Kind::ResetConnection)
        || state.executed(command).is_some_and(|what| what.change.is_some());
    // What the statement before it was may be known only to the proxy, and `GET DIAGNOSTICS`
    // does not replace it.
    let waits = changes || decided.asks_for_last() && state.last.ran.may_only_look();
    let gets_it_as_it_is = || {
        let due = leg.links.due(&entry.worker.upstream.kept, &leg.state, command);
        matches!(due, Due::Nothing(None))
    };
    (!waits && comes_alone(&entry.worker, leg, command, &decided) && gets_it_as_it_is()).then_some(decided)
}

/// Whether there is nothing to be done for the command that was decided about but to get a
/// connection, which other sessions may have.
pub(super) fn needs_only_a_connection(entry: &BookEntry, leg: &Leg, kind: Kind) -> bool {
    let Some(decided) = leg.flight.decided.as_ref() else { return false };
    matches!(kind, Kind::Query | Kind::StmtExecute)
        && lack(&entry.worker, leg, decided.target()) == Some(Lack::Connection)
        // With a place in line it was here before.
        && leg.flight.in_line.is_none()
        // What was brought to a connection that is gone has to be brought to the next one.
        && decided.patch.is_none()
        && decided.lost == 0
        && leg.flight.paused.is_none()
        && leg.state.trace.is_none()
        && !is_held_back(&entry.worker, leg, kind, decided)
        && !leg.state.identity.account.user.backends().is_limited()
        && shares(entry, &leg.state, decided.hostgroup())
}

/// Whether the query cache is asked first, a rule wants something done, the command has to wait, a
/// transaction is ended or begun in front of it, or it must see what servers may lack.
#[inline]
fn is_held_back(worker: &Worker, leg: &Leg, kind: Kind, decided: &Decided) -> bool {
    let orders = decided.orders.as_deref();
    decided.is_cached()
        || orders.is_some_and(Orders::come_first)
        || turn::is_due(worker, &leg.state, kind, orders)
        || decided.next == Next::Commit
        || leg.state.begins_later()
        || must_see(worker, leg, kind, decided).is_some()
}

/// Whether a command goes over the connection in use, and nothing is to be done there first, but
/// for what is [due](legs::statement) for its prepared statement.
#[inline]
fn comes_alone(worker: &Worker, leg: &Leg, command: Command<'_>, decided: &Decided) -> bool {
    let Leg { state, links, .. } = leg;
    let is_here = lack(worker, leg, decided.target()).is_none() && !links.has_setup();
    is_here
        && (command.kind != Kind::StmtPrepare || len_to_complete(worker, command).is_none())
        && !(is_held_back(worker, leg, command.kind, decided)
            || last::is_due(leg, decided)
            || !links.due_before(&worker.upstream.kept, state, command, decided).is_empty())
}

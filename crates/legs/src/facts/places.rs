//! Where a session is, and whether a statement may be sent there.

use command::Command;
use pool::Off;
use route::AccessMode;
use runtime::control::Control;
use runtime::decided::Decided;
use runtime::routing::Circumstances;
use runtime::worker::Worker;
use session::link::Loss;
use session::tier::Tier;
use session::unjudged::Unseen;
use session::users::Options;
use sql::StatementKind;
use upstream::{Backend, Found};
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::facts::behind::behind_tables;
use crate::facts::screened::is_watched;
use crate::followed::is_any;
use crate::leg::Leg;
use crate::links::Links;
use crate::pipelined::work_at;
use crate::state::SessionState;

/// The attribute of a statement that says which side of a replication pair it wants.
const ACCESS_MODE: &[u8] = b"access_mode";

/// The server works at the next command that was sent, if there is one.
pub fn go_on(control: &Control, leg: &mut Leg) -> bool {
    let next = leg.links.pipelined.pop();
    if let Some(next) = &next {
        work_at(control, &mut leg.state, next);
    }
    next.is_some()
}

/// Whether this is such a session. It is not if the firewall watches its statements: the proxy
/// has to look at those.
pub fn is_fast_forward(worker: &Worker, state: &SessionState) -> bool {
    state.identity.account.user.has(Options::FAST_FORWARD) && !is_watched(worker, state)
}

/// Whether new sessions of a followed hostgroup are at other servers than this one, and a
/// caching proxy is in front.
pub(crate) fn is_left_behind(worker: &Worker, state: &SessionState, backend: &Backend) -> bool {
    state.identity.tier != Tier::Client
        && worker.shared.is_followed(backend.server().hostgroup())
        && is_any(worker, backend, true) == Some(false)
}

/// Whether sessions share the connections to this hostgroup.
pub fn shares(entry: &BookEntry, state: &SessionState, hostgroup: u32) -> bool {
    let settings = entry.worker.settings();
    settings.variables.multiplexing
        && settings.upstream.shares(hostgroup)
        && !entry.worker.upstream.is_draining()
        // A KILL that is on its way must not hit another session.
        && !entry.control.turns.is_held()
        && !entry.control.turns.is_aimed_at()
        && !entry.control.mail.is_there()
        && !is_fast_forward(&entry.worker, state)
}

/// This is the backend in use from now on. Whether it was opened for that.
pub fn take_found(
    control: &Control,
    state: &mut SessionState,
    links: &mut Links,
    Found { backend, is_lent }: Found,
) -> bool {
    control.about.set_backend(Some(&backend));
    state.begin_at(backend.connection());
    links.in_use = Some(backend);
    links.away.is_admitted = true;
    if is_lent {
        state.last.was_used_by_others();
    }
    !is_lent
}

/// What is behind the tables of a statement, if that is not nothing, and matters.
pub fn unseen_behind(
    entry: &BookEntry,
    state: &SessionState,
    decided: &Decided,
    text: &[u8],
) -> Option<Unseen> {
    // Of what is prepared by name an execution does not tell its tables.
    let has_tables = decided.plan.tables || decided.plan.kind == StatementKind::Prepare;
    let matters = has_tables
        && decided.target().is_some()
        && !decided.is_believed()
        && entry.worker.settings().judge_tables
        && shares(entry, state, decided.hostgroup());
    if matters { behind_tables(&entry.worker, state, decided, text) } else { None }
}

/// What a session needs first, before a command can go to a hostgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// To be in that hostgroup.
    Hostgroup,
    /// A connection.
    Connection,
    /// Another connection: the server of the one in use is off.
    Server(Off),
    /// The same: the server lags, or others are at another one.
    OtherServer,
    /// To say there what the client has set.
    Settings,
}

/// What is missing for a command to this hostgroup; nothing if the connection in use is for it.
/// What goes out in front of the command may not be answered yet.
#[inline]
pub fn lack(worker: &Worker, leg: &Leg, target: Option<u32>) -> Option<Lack> {
    if target != Some(leg.state.here) {
        return Some(Lack::Hostgroup);
    }
    let Some(backend) = &leg.links.in_use else { return Some(Lack::Connection) };
    match backend.server().off() {
        Some(off) => Some(Lack::Server(off)),
        None if leaves(worker, leg, backend) => Some(Lack::OtherServer),
        None => (leg.links.applied() != leg.state.version()).then_some(Lack::Settings),
    }
}

/// Whether the session leaves a server because it lags more than it may, or because others are
/// at another one.
fn leaves(worker: &Worker, leg: &Leg, backend: &Backend) -> bool {
    (backend.server().is_late() || is_left_behind(worker, &leg.state, backend))
        && leg.links.loss(&leg.state) == Loss::Nothing
}

/// What a decision depends on besides the statement.
pub fn circumstances<'a>(
    worker: &'a Worker,
    state: &'a SessionState,
    session: &'a route::Session,
    asked: Option<AccessMode>,
    execute: bool,
) -> Circumstances<'a> {
    Circumstances {
        caller: &state.caller,
        client_addr: &state.client_addr,
        account: *state.account,
        hints: state.identity.account.user.has(Options::HINTS),
        session,
        flag_in: state.flag_in,
        reading: state.reading(),
        asked,
        execute,
        mirror: None,
        is_traced: worker.is_tracing.get(),
        random: worker.dice.roll(),
    }
}

/// Whether a transaction is open, at home or at a shard.
pub fn has_transaction(leg: &Leg) -> bool {
    leg.state.in_transaction() || leg.links.away.role.has_transaction()
}

/// The side that an attribute of a command asks for; of an execution of a statement with so many
/// parameters, none of which was sent as long data.
pub fn asked(command: Command<'_>, params: u16) -> Option<AccessMode> {
    match command.attribute(ACCESS_MODE, params)? {
        b"read_write" => Some(AccessMode::ReadWrite),
        b"read_only" => Some(AccessMode::ReadOnly),
        _ => None,
    }
}

/// Whether a command runs a statement.
pub const fn runs(kind: Kind) -> bool {
    matches!(kind, Kind::Query | Kind::StmtExecute | Kind::StmtBulkExecute)
}

/// Whether all statements of the session go to one hostgroup, but for hints.
pub fn has_one_way(worker: &Worker, state: &SessionState) -> bool {
    let hostgroup = state.account.default_hostgroup;
    worker.routing.borrow().routes().are_trivial_for(hostgroup)
}

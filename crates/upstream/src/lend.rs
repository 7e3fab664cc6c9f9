//! Making a connection that one session has used that of another one: what the first may still want
//! to know is asked for it, and what the second has set is said, in one exchange.
//!
//! Where the second has set all that the first has, only the rest is said. Otherwise the connection
//! is reset first. The first connection of a session logs in anew (`COM_CHANGE_USER`), so that its
//! server has let every client in that it serves. What a reset does not bring back of a login is in
//! [`login_state`](super::login_state).

use std::rc::Rc;
use std::sync::Arc;

use observe::counts::Counter;
use tokio::time::{Instant, timeout};
use wire::StatusFlags;

use crate::Worker;
use crate::acquire::{Found, note_got};
use crate::entry::Entry;
use crate::failures::is_about_schema;
use crate::idle_state::{Asker, Left};
use crate::last_id::{last_id_behind, tell_last_id};
use crate::login::log_in_again;
use crate::login_state::{Behind, Unfit};
use crate::place::Place;
use crate::plan::{Way, plan, questions};
use crate::purpose::{Ahead, Purpose};
use crate::quit::part;
use crate::setup::Setup;
use crate::{Backend, Connection, InternalQuery, OpenError, internal_query};

/// What came of lending a connection.
pub(crate) enum Lent {
    /// It is the session's, with all that the session has set.
    Ready(Backend),
    /// It is of no use.
    Useless,
    /// Its server has not answered in time.
    Late,
    /// Its server does not let the client in.
    NotAdmitted(OpenError),
    /// Its server does not let the client into the schema, or have its settings: the payload of its
    /// ERR packet.
    Refused(Vec<u8>),
}

/// Makes `entry` a connection of `asker`, if no answer has to be waited for; it comes back if one
/// has.
pub(crate) fn lend_at_once(
    worker: &Worker,
    mut entry: Box<Entry>,
    asker: &Asker<'_>,
) -> Result<Lent, Box<Entry>> {
    // It may have come a while ago, to a session that waited.
    if !entry.is_well(worker) || entry.backend.server().is_off() {
        return Ok(Lent::Useless);
    }
    if entry.backend.connection().is_awaited() && !asker.is_exact(&entry.left) {
        // The command has gone out already, and nothing can be said before.
        return Ok(Lent::Useless);
    }
    let (server, link) = (entry.backend.server(), entry.backend.connection());
    let settings = worker.settings();
    let mut plan = if asker.is_exact(&entry.left) {
        Vec::new()
    } else {
        match Way::of(link, &entry.left, asker, worker.now()) {
            Way::Anew(Behind::Login) => return Err(entry),
            way => plan(way, link, &entry.left, asker, settings.initial.of(server.hostgroup())),
        }
    };
    let has_surplus = || link.statements().has_surplus(settings.variables.max_stmts_per_connection);
    if plan.is_empty() && (link.is_awaited() || !has_surplus()) {
        let Entry { mut backend, .. } = *entry;
        let is_awaited = backend.connection().is_awaited();
        backend.connection_mut().statements_mut().release(is_awaited);
        return Ok(ready(worker, backend, asker));
    }
    if !may_go_ahead(worker, link, server.id(), asker, &mut plan) {
        return Err(entry);
    }
    let Entry { mut backend, left, .. } = *entry;
    say_ahead(worker, &mut backend, left, asker, plan);
    backend.connection_mut().state_mut().status = asker.status;
    Ok(ready(worker, backend, asker))
}

/// Gives `asker` an idle connection, if it is as the session needs it. If more has to be done
/// first, or it is of no use, the place comes back.
pub fn take_at_once(
    worker: &Worker,
    hostgroup: u32,
    entry: Box<Entry>,
    asker: &Asker<'_>,
) -> Result<Found, Place> {
    match lend_at_once(worker, entry, asker) {
        Ok(Lent::Ready(backend)) => {
            note_got(worker, hostgroup, Some(asker));
            Ok(Found { backend, is_lent: true })
        }
        Ok(_) => Err(Place::Useless),
        Err(entry) => Err(Place::Spare(entry)),
    }
}

/// Makes `entry` a connection of `asker`, before `deadline`.
pub(crate) async fn lend(
    worker: &Rc<Worker>,
    entry: Box<Entry>,
    asker: &Asker<'_>,
    deadline: Instant,
) -> Lent {
    let left = deadline.saturating_duration_since(Instant::now());
    let limit = worker.settings().variables.connect_timeout_server.min(left);
    match timeout(limit, set_up(worker, *entry, asker)).await {
        Ok(Lent::Ready(backend)) => ready(worker, backend, asker),
        Ok(lent) => lent,
        Err(_) => Lent::Late,
    }
}

/// It is the session's from now on.
fn ready(worker: &Worker, mut backend: Backend, asker: &Asker<'_>) -> Lent {
    let server = Arc::clone(backend.server());
    let link = backend.connection_mut();
    link.note_answered();
    link.join(worker, &server.endpoint().endpoint, asker.identity.connection_id);
    link.state_mut().change_hands(asker.settings.version());
    worker.counts.note(Counter::TookKept);
    Lent::Ready(backend)
}

async fn set_up(worker: &Rc<Worker>, entry: Entry, asker: &Asker<'_>) -> Lent {
    let Entry { pool_key, mut backend, mut left, .. } = entry;
    let capabilities = pool_key.capabilities();
    let (server, hostgroup) = (backend.server().id(), backend.server().hostgroup());
    let link = backend.connection_mut();
    link.leave();
    let way = Way::of(link, &left, asker, worker.now());
    let behind = if let Way::Anew(behind) = way { behind } else { Behind::Reset };
    if behind == Behind::Login {
        if let Err(lent) = log_in(worker, link, &left, asker).await {
            return lent;
        }
        link.state_mut().status = StatusFlags::AUTOCOMMIT;
    }
    let settings = worker.settings();
    let plan = plan(way, link, &left, asker, settings.initial.of(hostgroup));
    let closings = change_hands(worker, link, &plan);
    let (purposes, commands): (Vec<Purpose>, Vec<InternalQuery>) = plan.into_iter().unzip();
    if !closings.is_empty() && link.sock_mut().write_all(&closings).await.is_err() {
        return Lent::Useless;
    }
    let Ok(replies) = internal_query(worker, link, capabilities, &commands).await else {
        return Lent::Useless;
    };
    for ((purpose, (payload, _)), reply) in purposes.iter().zip(&commands).zip(&replies) {
        let is_refused = purpose.is_refused(reply.error());
        match purpose {
            Purpose::Schema | Purpose::Setting if is_refused => {
                worker.accepted.clear();
                let payload = reply.payload().to_vec();
                part(backend);
                return Lent::Refused(payload);
            }
            _ if is_refused => {
                part(backend);
                return Lent::Useless;
            }
            Purpose::LastId | Purpose::Reset => {}
            Purpose::Packets | Purpose::Question => {
                let (state, row) = (link.login_state_mut(), reply.only_row().unwrap_or_default());
                if let Err(unfit) = state.note(*purpose, row, behind, worker.now()) {
                    return give_up(backend, unfit);
                }
            }
            _ => worker.accepted.note(server, asker.user(), payload),
        }
        link.last_id = last_id_behind(link.last_id, *purpose, reply, &mut left.asking);
        if let Some(status) = reply.outcome.status() {
            link.state_mut().status = status;
        }
    }
    Lent::Ready(backend)
}

/// Logs in anew over a connection on which this is left. What only its server knows is asked first.
async fn log_in(worker: &Worker, link: &mut Connection, left: &Left, asker: &Asker<'_>) -> Result<(), Lent> {
    let capabilities = asker.pool_key.capabilities();
    let (purposes, commands): (Vec<_>, Vec<_>) = questions(link, left, capabilities).into_iter().unzip();
    let replies = if commands.is_empty() {
        Vec::new()
    } else {
        internal_query(worker, link, capabilities, &commands).await.map_err(|_| Lent::Useless)?
    };
    for (purpose, reply) in purposes.iter().zip(&replies) {
        if *purpose == Purpose::LastId {
            tell_last_id(left.asking.as_ref(), reply);
        } else {
            let (state, row) = (link.login_state_mut(), reply.only_row().unwrap_or_default());
            state.note(*purpose, row, Behind::Login, worker.now()).map_err(|_| Lent::Useless)?;
        }
    }
    match log_in_again(worker, link, asker.identity, Way::schema_of_login(asker)).await {
        Ok(()) => {
            link.note_reset();
            Ok(())
        }
        // Another connection shows what the server has against a client that it has let in before.
        Err(error @ OpenError::Refused { .. }) if !asker.is_admitted => Err(Lent::NotAdmitted(error)),
        Err(OpenError::Refused { code, payload, .. }) if is_about_schema(code) => Err(Lent::Refused(payload)),
        Err(_) => Err(Lent::Useless),
    }
}

/// Ends a connection that is not like a new one. Other connections that are as old as one with
/// another limit of packets are no better.
fn give_up(backend: Backend, unfit: Unfit) -> Lent {
    if unfit == Unfit::Packets {
        backend.server().endpoint().note_packet_limit();
    }
    part(backend);
    Lent::Useless
}

/// Whether all of `plan` may be said without waiting for an answer. What need not be asked any more
/// is left out then.
fn may_go_ahead(
    worker: &Worker,
    link: &Connection,
    server: u64,
    asker: &Asker<'_>,
    plan: &mut Vec<(Purpose, InternalQuery)>,
) -> bool {
    if plan.is_empty() || asker.ahead == Ahead::Nothing || !asker.is_admitted || !link.may_pipeline() {
        return false;
    }
    let is_quiet = link.login_state().is_some_and(|state| state.is_quiet(worker.now()));
    let goes_ahead = |(purpose, (payload, _)): &(Purpose, InternalQuery)| match purpose {
        Purpose::LastId | Purpose::Reset => true,
        Purpose::Tracking => asker.ahead.has(*purpose),
        Purpose::Packets => false,
        Purpose::Question => is_quiet,
        _ => asker.ahead.has(*purpose) && worker.accepted.has(server, asker.user(), payload, link.opened()),
    };
    let all = plan.iter().all(goes_ahead);
    if all {
        plan.retain(|(purpose, _)| *purpose != Purpose::Question);
    }
    all
}

/// Says `plan` in front of the command that the connection is for.
fn say_ahead(
    worker: &Worker,
    backend: &mut Backend,
    left: Left,
    asker: &Asker<'_>,
    plan: Vec<(Purpose, InternalQuery)>,
) {
    let link = backend.connection_mut();
    let closings = change_hands(worker, link, &plan);
    link.set_setup(Setup::new(closings, plan, asker.pool_key.capabilities(), left.asking));
}

/// The connection changes hands with these setup commands: takes note of a reset among them, before
/// it is answered. Returns packets that close statements, to be sent in front of the commands.
fn change_hands(worker: &Worker, link: &mut Connection, plan: &[(Purpose, InternalQuery)]) -> Vec<u8> {
    let has = |purpose| plan.iter().any(|(one, _)| *one == purpose);
    if has(Purpose::Reset) {
        worker.counts.note(Counter::ResetKept);
        link.note_reset();
        return Vec::new();
    }
    if has(Purpose::LastId) {
        link.last_id = None;
    }
    link.statements_mut().change_hands(worker.settings().variables.max_stmts_per_connection)
}

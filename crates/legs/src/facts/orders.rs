//! What others want of a session: KILLs, signals, servers that are switched off (`OFFLINE_HARD`),
//! do not answer any more or leave their hostgroup.
//!
//! Connections to such servers that are idle and have nothing left behind are closed, and the
//! client does not notice: the next statement gets another one. What only that server knows is lost
//! with it, and the client is told (`proxy`, `session::lost`).

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use front::ending::Ending;
use pool::{Explained, Off, Reason, Standing};
use runtime::control::{Control, OwnLimit, Signal};
use runtime::kill::{Shot, StandIn, Victim, kill, kill_for_stranger};
use runtime::mail::{Request, Verdict};
use runtime::worker::Worker;
use session::error::{ClientError, Gone};
use session::identity::Stranger;
use session::statement::Kill;
use session::statement::kill::What;
use tokio::task::spawn_local;
use upstream::{Backend, Target};
use wire::Capabilities;

use crate::client::{Client, watched};
use crate::entry::BookEntry;
use crate::facts::endings::{lose_other, told};
use crate::facts::leases::give_up_backend;
use crate::facts::places::has_transaction;
use crate::facts::sharing::take_back;
use crate::leg::Leg;
use crate::state::SessionState;

/// The client may have set how long it may be idle.
#[cold]
pub fn note_own_limit(entry: &BookEntry, leg: &Leg) {
    let seconds = leg.state.wait_timeout();
    let is_told = leg.links.in_use.as_ref().is_some_and(|backend| !backend.connection().is_mariadb());
    entry.control.own_limit.set(seconds.map(|seconds| OwnLimit { seconds, is_told }));
    entry.worker.look_in(Duration::from_secs(seconds.unwrap_or(u32::MAX).into()));
}

/// Does what others want killed here. `running` says whether the client is in the middle of a
/// command.
pub(crate) fn be_killed(entry: &BookEntry, leg: &mut Leg, running: bool) -> Result<(), Ending> {
    if leg.links.in_use.is_none() && !running {
        // The server that has the connection decides whether another user may kill the session.
        take_back(entry, leg);
    }
    let number = entry.control.turns.current();
    for request in entry.control.mail.take() {
        match &leg.links.in_use {
            Some(backend) if number.is_some() || request.stranger.is_some() => {
                be_killed_at_server(entry, &leg.state, backend, request);
            }
            None if !running && request.stranger.is_some() => {
                ask_stand_in(entry, &leg.state, request);
            }
            _ => drop(killed_without_server(request, leg.state.identity.capabilities, running)?),
        }
    }
    Ok(())
}

/// Does what others want of the session, between commands or while one runs: nearly always
/// nothing.
#[inline]
pub fn obey(entry: &BookEntry, leg: &mut Leg, running: bool) -> Result<(), Ending> {
    let is_wanted = entry.control.mail.is_there() || entry.control.signal() != Signal::None;
    if is_wanted { obey_signal(entry, leg, running) } else { Ok(()) }
}

/// What a signal means.
#[cold]
pub(crate) fn obey_signal(entry: &BookEntry, leg: &mut Leg, running: bool) -> Result<(), Ending> {
    if entry.control.mail.is_there() {
        be_killed(entry, leg, running)?;
    }
    let in_transaction = has_transaction(leg);
    match entry.control.signal() {
        Signal::None => Ok(()),
        Signal::Drain if running || in_transaction => Ok(()),
        // With sequence id 1 it is what the client reads as the answer to its next command.
        Signal::Drain => Err(told(entry, &leg.state, &ClientError::Shutdown, 1)),
        Signal::Kill if running => Ok(()),
        Signal::Kill => Err(told(entry, &leg.state, &ClientError::ConnectionKilled, 1)),
        Signal::Stop if !running => Err(told(entry, &leg.state, &ClientError::Shutdown, 1)),
        Signal::Timeout if !running && entry.control.own_limit.get().is_some_and(|own| own.is_told) => {
            Err(told(entry, &leg.state, &ClientError::IdleTooLong, 1))
        }
        Signal::Stop | Signal::Timeout => Err(Ending::Silent),
    }
}

/// Before a command is sent: closes the connections to servers that are off, at home and at shards,
/// or ends the session with the reason if it cannot do without one.
pub fn leave_all_servers_off(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    entry.control.recalled.set(false);
    leave_shards_off(entry, leg)?;
    leave_servers_off(entry, leg)
}

/// The same at one place.
pub fn leave_servers_off(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let is_off = |other: &Backend| other.server().is_off();
    while let Some(at) = leg.links.away.others.iter().position(is_off) {
        let other = leg.links.away.others.swap_remove(at);
        let gone = Gone::Off(other.server().off().unwrap_or(Off::Configured));
        lose_other(entry, &mut leg.state, &other, gone)?;
    }
    match leg.links.off() {
        Some(off) => give_up_backend(entry, leg, Gone::Off(off)),
        None => Ok(()),
    }
}

/// Servers were switched off: inner sessions leave them, as this one does.
pub(crate) fn leave_shards_off(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    for inner in leg.links.away.role.inner_sessions() {
        leave_servers_off(&inner.entry, &mut inner.leg)?;
    }
    entry.control.note_transaction(entry.worker.now(), has_transaction(leg));
    Ok(())
}

/// Has what runs on `backend` killed there.
pub(crate) fn be_killed_at_server(
    entry: &BookEntry,
    state: &SessionState,
    backend: &Backend,
    request: Request,
) {
    let is_own = request.stranger.is_none();
    if is_own && request.kill.what == What::Connection {
        entry.control.send(Signal::Kill);
    }
    let Some(shot) = shot(&entry.worker, state, backend, request.kill, request.stranger.as_deref()) else {
        return request.answer(if is_own { Verdict::Done } else { Verdict::Unknown });
    };
    let victim = Victim::new(&entry.control);
    if is_own {
        spawn_local(kill(shot, victim, request));
    } else {
        spawn_local(kill_for_stranger(shot, victim, request));
    }
}

/// Has a server asked whether another user may kill this session, which has no connection to
/// one. Without a server that cannot be checked: the answer is [`Verdict::Unknown`].
pub(crate) fn ask_stand_in(entry: &BookEntry, state: &SessionState, request: Request) {
    let shared = &entry.worker.shared;
    let servers = shared.upstream.pool.explain(state.here, shared.uptime());
    // Whether it is full does not matter.
    let is_there = |one: &Explained<Target>| {
        one.taken || matches!(one.reason, Reason::Not(Standing::Full { .. } | Standing::Refusing { .. }))
    };
    let (Some(server), Some(stranger)) = (servers.into_iter().find(is_there), request.stranger.as_deref())
    else {
        return request.answer(Verdict::Unknown);
    };
    let on_its_own = |who| state.identity.for_own_use(shared.connection_id(), who);
    let stand_in = StandIn {
        worker: Rc::clone(&entry.worker),
        target: server.server.endpoint().clone(),
        identity: on_its_own(None),
        stranger: on_its_own(Some(stranger)),
        seat: entry.control.seat(),
    };
    spawn_local(stand_in.ask(Victim::new(&entry.control), request));
}

/// The same for one KILL. Without a server it cannot be checked whether another user may kill: the
/// answer is [`Verdict::Unknown`].
pub(crate) fn killed_without_server(
    request: Request,
    capabilities: Capabilities,
    running: bool,
) -> Result<bool, Ending> {
    if request.stranger.is_some() {
        request.answer(Verdict::Unknown);
        return Ok(false);
    }
    let what = request.kill.what;
    request.answer(Verdict::Done);
    if what == What::Query {
        return Ok(true);
    }
    // With sequence id 1 it is what the client reads as the answer to this command, or to its next
    // one.
    let ending = if running { Ending::interrupt } else { Ending::tell };
    Err(ending(&ClientError::ConnectionKilled, 1, capabilities))
}

/// A KILL of what runs on `backend`, by its own user or by a stranger; `None` if the server has
/// not told its id.
pub(crate) fn shot(
    worker: &Rc<Worker>,
    state: &SessionState,
    backend: &Backend,
    kill: Kill,
    stranger: Option<&Stranger>,
) -> Option<Shot> {
    Some(Shot {
        worker: Rc::clone(worker),
        kill,
        target: backend.server().endpoint().clone(),
        thread_id: backend.connection().thread_id()?,
        identity: state.identity.for_own_use(worker.shared.connection_id(), stranger),
    })
}

/// Does what others want killed in a session of which nothing runs at a server. Returns whether its
/// statement, which may wait for a server, is over. `running` says whether the client is in the
/// middle of a command.
pub fn killed_here(control: &Control, capabilities: Capabilities, running: bool) -> Result<bool, Ending> {
    if !control.mail.is_there() {
        return Ok(false);
    }
    let mut is_over = false;
    for request in control.mail.take() {
        is_over |= killed_without_server(request, capabilities, running)?;
    }
    Ok(is_over)
}

/// Waits for what the command in the backlog needs, as long as the client wants it. Returns `None`
/// if the statement is killed meanwhile, and an error if the client leaves or the session is to
/// end.
pub async fn while_waiting<T>(
    control: &Control,
    client: &mut Client,
    capabilities: Capabilities,
    waiting: Pin<&mut impl Future<Output = T>>,
) -> Result<Option<T>, Ending> {
    watched(control, client, pin!(while_wanted(control, capabilities, waiting))).await
}

/// The same within what is [`watched`].
pub async fn while_wanted<T>(
    control: &Control,
    capabilities: Capabilities,
    mut waiting: Pin<&mut impl Future<Output = T>>,
) -> Result<Option<T>, Ending> {
    poll_fn(|cx| {
        let Some(has_left) = control.watch.ask() else { return Poll::Pending };
        match control.signal() {
            _ if killed_here(control, capabilities, true)? => Poll::Ready(Ok(None)),
            signal if signal >= Signal::Stop => Poll::Ready(Err(Ending::Silent)),
            _ if has_left => Poll::Ready(Err(Ending::ClientLeft)),
            _ => waiting.as_mut().poll(cx).map(|done| Ok(Some(done))),
        }
    })
    .await
}

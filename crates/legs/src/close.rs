//! Closing prepared statements at the servers that have them.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use front::ending::Ending;
use runtime::worker::Worker;
use session::error::Gone;
use upstream::{Backend, Connection, Kept, closing};
use wire::command::{Kind, statement_id};

use crate::backlog::skip_command;
use crate::entry::BookEntry;
use crate::facts::endings::lose_other;
use crate::facts::shown::measure_own;
use crate::io::Io;
use crate::leg::Leg;
use crate::links::Links;
use crate::measure::note_at_server;

/// Closes the statement of the command in the backlog, which has no reply, at all servers.
pub async fn close_everywhere(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    measure_own(entry, io, &leg.state, &leg.flight, Kind::StmtClose);
    let id = statement_id(io.front());
    skip_command(entry, io, leg).await?;
    if let Some(id) = id { close_at_all(entry, leg, id).await } else { Ok(()) }
}

/// Forgets a statement, and closes it at all servers that have it.
pub(crate) async fn close_at_all(entry: &BookEntry, leg: &mut Leg, id: u32) -> Result<(), Ending> {
    let Some(serial) = leg.state.prepared.as_mut().and_then(|all| all.close(id)) else { return Ok(()) };
    for hostgroup in leg.links.hostgroups() {
        close_at(entry, leg, hostgroup, serial).await?;
    }
    Ok(())
}

/// Closes a statement at the backend in use, if it is there; the client goes on having it.
pub(crate) async fn close_here(entry: &BookEntry, leg: &mut Leg, id: u32) -> Result<(), Ending> {
    match leg.state.statement(id).map(|prepared| prepared.serial) {
        Some(serial) => close_at(entry, leg, leg.state.here, serial).await,
        None => Ok(()),
    }
}

/// Closes the statement with this serial number at the server of a hostgroup, if it is there.
pub(crate) async fn close_at(
    entry: &BookEntry,
    leg: &mut Leg,
    hostgroup: u32,
    serial: u64,
) -> Result<(), Ending> {
    let Leg { state, links, .. } = leg;
    if state.here == hostgroup && links.in_use.is_some() {
        let known_as = links.state_mut().and_then(|link| link.places.leave(serial));
        return if let Some(known_as) = known_as {
            links.close_as(&entry.worker, known_as).await
        } else {
            Ok(())
        };
    }
    let Some(mut other) = links.take_other(hostgroup) else {
        if let Some((_, ticket)) = links.idle_at(hostgroup)
            && entry.worker.upstream.kept.with(ticket, |backend| close_at_kept(backend, serial))
        {
            note_at_server(&entry.worker, Kind::StmtClose);
        }
        return Ok(());
    };
    let link = other.connection_mut();
    let Some(known_as) = link.state_mut().places.leave(serial) else {
        links.away.others.push(other);
        return Ok(());
    };
    note_at_server(&entry.worker, Kind::StmtClose);
    let packet = close(link, known_as);
    match poll_fn(|cx| Poll::Ready(link.sock_mut().poll_write(cx, &packet))).await {
        Poll::Ready(Ok(n)) if n == packet.len() => links.away.others.push(other),
        // What has taken a part of a command, or none of it, is not to be used again.
        _ => lose_other(entry, state, &other, Gone::Closed)?,
    }
    Ok(())
}

impl Links {
    /// Closes the statement that the server of the backend in use knows as this.
    pub(crate) async fn close_as(&mut self, worker: &Worker, known_as: u32) -> Result<(), Ending> {
        if let Some(link) = self.connection_mut() {
            let packet = close(link, known_as);
            note_at_server(worker, Kind::StmtClose);
            poll_fn(|cx| Poll::Ready(self.send(cx, &packet))).await?;
        }
        Ok(())
    }

    /// The hostgroups to which there are connections, or were idle ones.
    fn hostgroups(&self) -> Vec<u32> {
        let bound = self.bound().map(|backend| backend.server().hostgroup());
        bound.chain(self.away.idle.iter().map(|idle| idle.hostgroup)).collect()
    }

    /// Whether another server than that of the connection in use has the statement with this serial
    /// number.
    pub(crate) fn is_elsewhere(&self, kept: &Kept, serial: u64) -> bool {
        let has = |backend: &Backend| backend.connection().state().places.get(serial).is_some();
        let has_idle = |ticket| kept.with(ticket, |backend| backend.is_some_and(|backend| has(backend)));
        self.away.others.iter().any(has) || self.away.idle.iter().any(|idle| has_idle(idle.ticket))
    }
}

/// Closes a statement over an idle connection that other sessions may take, if none has taken it
/// yet and it is there. If the connection does not take the whole command, its version becomes 0:
/// no session gets it.
fn close_at_kept(backend: Option<&mut Backend>, serial: u64) -> bool {
    let Some(link) = backend.map(|backend| backend.connection_mut()) else { return false };
    let Some(known_as) = link.state_mut().places.leave(serial) else { return false };
    let packet = close(link, known_as);
    let mut cx = Context::from_waker(Waker::noop());
    let sent = link.sock_mut().poll_write(&mut cx, &packet);
    if !matches!(sent, Poll::Ready(Ok(n)) if n == packet.len()) {
        link.version = 0;
    }
    true
}

/// A connection has a statement no more. Returns the command that closes it.
fn close(link: &mut Connection, known_as: u32) -> Vec<u8> {
    link.statements_mut().close(known_as);
    closing(known_as)
}

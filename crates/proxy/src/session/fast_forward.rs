//! Sessions of users with `fast_forward = 1`: after the login their bytes are copied, and the proxy
//! does not look at their commands.
//!
//! With the first byte that the client sends it gets a connection of its own, for the rest of its
//! life. That connection has logged in with the client's own capabilities, so both sides mean the
//! same by the same bytes. Compression and TLS are layers of the two sockets, and may differ.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use legs::client::watched;
use legs::entry::BookEntry;
use legs::facts::endings::unreadable;
use legs::facts::leases::{clean_up_behind, poll_idle_backend};
use legs::facts::orders::{leave_all_servers_off, obey};
use legs::io::Io;
use legs::leg::Leg;
use legs::phase::Phase;
use legs::stop::Stop;
use querylog::{AuditEvent, Port};
use route::no_readers;
use runtime::invariant::{broken, in_use_mut};
use upstream::{AcquireError, Copied, Full, QUIT};

use crate::audit;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::leave::leave_servers;
use crate::session::own::refuse_unserved;
use crate::tunnel::resume;

impl Cx<'_> {
    /// Copies bytes until one side ends the session. Where no server can be had the client hears
    /// why, in the place of the answer to its first command, and may try again.
    pub(super) async fn fast_forward(&mut self) -> Result<Phase, Ending> {
        loop {
            self.entry.set_slow();
            poll_fn(|cx| poll_first_bytes(self.entry, self.io, self.leg, cx)).await?;
            if self.io.backlog == QUIT {
                note_goodbye(self.entry);
                leave_servers(self.entry, self.io, self.leg).await;
                return Err(Ending::ClientLeft);
            }
            self.entry.control.set_busy();
            self.lend_command();
            let reached = {
                let work = pin!(reach_for_all(self.entry, self.leg));
                watched(&self.entry.control, &mut self.io.client, work).await
            };
            self.take_command_back();
            let Err(stop) = reached else { break };
            match stop.unreached()? {
                AcquireError::Proxy(ClientError::NoBackend(search)) => {
                    let error = ClientError::NoBackendForFastForward(search);
                    refuse_unserved(self.entry, self.io, self.leg, AcquireError::Proxy(error)).await?;
                }
                refused => refuse_unserved(self.entry, self.io, self.leg, refused).await?,
            }
        }
        let backlog = std::mem::take(&mut self.io.backlog);
        let backend = in_use_mut(&mut self.leg.links.in_use)?;
        let sock = self.io.client.sock_mut().ok_or_else(|| broken("a tunnel without a client"))?;
        let copied =
            resume(&self.entry.worker.front, &*self.entry.control, sock, backend, backlog, Copied::Commands);
        let end = copied.await;
        if end.said_goodbye {
            note_goodbye(self.entry);
        } else if end.owes {
            clean_up_behind(self.entry, self.leg);
        }
        Err(Ending::ClientLeft)
    }
}

/// Gets to where all of the session goes: what its listener says, or its user's hostgroup.
async fn reach_for_all(entry: &BookEntry, leg: &mut Leg) -> Result<(), Stop> {
    let account = &leg.state.account;
    if account.listener.is_some_and(|listener| listener.hostgroup.is_none()) {
        let why = ClientError::ByRule(no_readers(account.default_hostgroup));
        return Err(AcquireError::Proxy(why).into());
    }
    let hostgroup = account.hostgroup();
    let Some(instead) = account.instead_of(hostgroup, false) else {
        return leg.go_to(entry, hostgroup, Full::TryAgain).await;
    };
    match leg.go_to(entry, hostgroup, Full::Elsewhere).await {
        Err(Stop::Unreached(AcquireError::Proxy(_))) => leg.go_to(entry, instead, Full::TryAgain).await,
        reached => reached,
    }
}

/// Waits until the client has sent something. A connection that it got at its login may go
/// meanwhile, as in other sessions.
fn poll_first_bytes(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Ending>> {
    obey(entry, leg, false)?;
    if entry.control.recalled.get() {
        leave_all_servers_off(entry, leg)?;
    }
    if io.backlog.is_empty() {
        let Poll::Ready(read) = io.poll_more(cx, &entry.worker.net.scratch) else {
            return poll_idle_backend(entry, leg, cx);
        };
        read.map_err(|error| unreadable(entry, &leg.state, &error, 1))?;
    }
    Poll::Ready(Ok(()))
}

/// The client says goodbye: it has not just gone.
fn note_goodbye(entry: &BookEntry) {
    entry.control.quit.set(true);
    audit::note(&entry.worker.front, &*entry.control, AuditEvent::Quit(Port::Traffic));
}

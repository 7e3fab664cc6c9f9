//! Commands that the proxy answers itself, and getting a backend for the others.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use querylog::{AuditEvent, Port};
use tokio::time::Instant;
use wire::command::{self, Kind};
use wire::frame::{MessageScanner, put_message};
use wire::{Codec as _, StatusFlags};

use super::ids::Look;
use super::kill::while_waiting;
use super::phase::Phase;
use super::trace::Part;
use super::{Session, state_of};
use crate::audit;
use crate::backend::{
    AcquireError, Avoid, Backend, Found, Full, LOST_AT_MARIADB, QUIT, Target, Whom, acquire, open_in,
};
use crate::client::check::check_login;
use crate::client::login::{Dialogue, ok};
use crate::client::proof::Claim;
use crate::control::Signal;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::fresh::Behind;
use crate::limits::{CHANGES_REFUSED_MAX, GOODBYE_MAX, LINGER_BYTES_MAX, LINGER_MAX};
use session::identity::{Account, Identity};

impl Session {
    /// Deals with the command in the backlog, which takes more than forwarding.
    pub(super) async fn route(&mut self, kind: Kind) -> Result<Phase, Ending> {
        let decided = self.flight.as_mut().and_then(|flight| flight.decided.take());
        if self.state.transaction.rolled_back.is_some() && self.tell_rolled_back(kind).await? {
            return Ok(self.next_phase());
        }
        let has_none = self.links.is_empty() && !self.links.away.is_admitted;
        match kind {
            Kind::Quit => {
                self.control.note_quit();
                audit::note(&self.worker, &self.control, AuditEvent::Quit(Port::Traffic));
                self.leave_servers().await;
                return Err(Ending::ClientLeft);
            }
            // The proxy itself is alive. A reset, however, needs a server: after it a session is
            // not what it was after its login, but has the server's own charset.
            Kind::Ping if has_none || self.can_answer_ping() => {
                self.state.last.counted.changed = 0;
                let seq = self.skip_command().await?;
                self.reply(seq, &ok(self.capabilities(), self.state.link.status)).await?;
            }
            Kind::ChangeUser if self.refused_changes >= CHANGES_REFUSED_MAX => self.refuse_unknown().await?,
            // Boxed, as all that is not the way of a statement: what waits for a connection should
            // be small.
            Kind::ChangeUser => {
                Box::pin(self.change_user()).await?;
                // Decided here, and not behind each command: the firewall may be switched off
                // meanwhile.
                if self.is_fast_forward() {
                    return Ok(Phase::FastForward);
                }
            }
            _ if self.look(kind, &self.io.backlog) != Look::Plain => Box::pin(self.handle_ids(kind)).await?,
            // Nothing to close or reset where nothing was prepared.
            Kind::StmtClose | Kind::SendLongData if has_none => self.skip_command().await.map(drop)?,
            _ => match decided {
                Some(decided) => return self.follow_route(kind, decided).await,
                None => self.complete_command(kind).await?,
            },
        }
        Ok(self.next_phase())
    }

    /// Whether a session whose connection is lent to another one needs none for a `COM_PING`.
    fn can_answer_ping(&self) -> bool {
        self.links.is_empty() && self.shares(self.state.link.hostgroup)
    }

    /// Answers a command that does not exist.
    pub(super) async fn refuse_unknown(&mut self) -> Result<(), Ending> {
        let seq = self.skip_command().await?;
        self.reply_error(seq, &ClientError::UnknownCommand).await
    }

    /// Says that a command is too large, once the client has sent it all: it does not listen before
    /// that. How much is read, and for how long, has an end.
    pub(super) async fn refuse_too_large(&mut self, mut command: MessageScanner) -> Ending {
        self.links.in_use = None;
        let mut left = LINGER_BYTES_MAX;
        let rest = poll_fn(|cx| {
            let mut scratch = self.worker.net.scratch.borrow_mut();
            let mut n = 0;
            loop {
                let scanned = command.scan(scratch.get(..n).unwrap_or_default());
                if left == 0 || scanned.is_err() || scanned.is_ok_and(|scanned| scanned.done) {
                    return Poll::Ready(());
                }
                n = ready!(self.io.sock.poll_read(cx, &mut scratch)).unwrap_or(0);
                left = if n == 0 { 0 } else { left.saturating_sub(n) };
            }
        });
        let _ = self.control.until(Signal::Stop, tokio::time::timeout(LINGER_MAX, rest)).await;
        let max = self.worker.settings().variables.max_allowed_packet;
        self.interrupted(&ClientError::PacketTooLarge { max }, command.next_seq())
    }

    /// Ends the connection to the server, which has rolled back and let go of all locks when this
    /// returns: a server that changes the user does both before it answers. A goodbye alone is not
    /// answered; the reset before it is.
    async fn end_backend(&mut self) {
        self.links.part_with_others();
        if self.links.in_use.is_some() {
            self.reset_and_quit().await;
        }
        self.links.drop_in_use();
        self.control.about.set_backend(None);
    }

    async fn reset_and_quit(&mut self) {
        let mut packets = Vec::new();
        put_message(&mut packets, 0, &[Kind::ResetConnection as u8]);
        packets.extend(QUIT);
        let _ = poll_fn(|cx| Poll::Ready(self.links.send(cx, &packets))).await;
        let answered = poll_fn(|cx| {
            let Some(backend) = &mut self.links.in_use else { return Poll::Ready(()) };
            // Whatever comes, or the end: old servers do not know the command.
            let mut scratch = self.worker.net.scratch.borrow_mut();
            backend.connection_mut().poll_read(cx, &mut scratch).map(drop)
        });
        let _ = tokio::time::timeout(GOODBYE_MAX, answered).await;
    }

    /// Gets a backend of `hostgroup` for the command in the backlog, which stays there. Whether it
    /// was opened for that.
    pub(super) async fn borrow_backend(
        &mut self,
        hostgroup: u32,
        full: Full,
    ) -> Result<Result<bool, AcquireError>, Ending> {
        let connecting = Cell::new(Duration::ZERO);
        let open = async |target: &Target| {
            let begun = Instant::now();
            let opened = open_in(&self.worker.upstream, hostgroup, target, &self.identity).await;
            connecting.set(connecting.get() + begun.elapsed());
            opened
        };
        let in_line = self.flight.as_mut().and_then(|flight| flight.in_line.take());
        let in_line = in_line.filter(|line| line.hostgroup == hostgroup);
        if in_line.as_ref().is_some_and(|line| line.is_killed) {
            self.end_running();
            return Ok(Err(AcquireError::Proxy(ClientError::Interrupted)));
        }
        let begun = Instant::now();
        if !in_line.as_ref().is_some_and(|line| line.has_stood()) {
            self.show_waiting();
        }
        let acquired = {
            let shares = self.shares(hostgroup) && !self.flight.wants_new;
            let asker = shares.then(|| self.links.asker(&self.state, &self.identity, self.flight.ahead));
            let behind = self.flight.wanted.as_deref().map(|wanted| Behind(wanted, &self.worker.shared));
            let avoid = behind.as_ref().map(|behind| behind as &dyn Avoid);
            let whom = Whom { asker: asker.as_ref(), avoid, ..Whom::of(&self.identity.account.user) };
            let acquiring = pin!(acquire(&self.worker.upstream, hostgroup, full, whom, in_line, open));
            while_waiting(&self.control, &mut self.io.sock, self.identity.capabilities, acquiring).await?
        };
        let acquired = acquired.unwrap_or_else(|| Err(AcquireError::Proxy(ClientError::Interrupted)));
        self.state.trace(|trace| {
            trace.add(Part::Connect, connecting.get());
            trace.add(Part::Queue, begun.elapsed().saturating_sub(connecting.get()));
        });
        self.end_running();
        Ok(acquired.map(|found| self.take_found(found)))
    }

    /// This is the backend in use from now on. Whether it was opened for that.
    pub(super) fn take_found(&mut self, Found { backend, lent }: Found) -> bool {
        self.control.about.set_backend(Some(&backend));
        if lent.is_none() {
            self.state.link.status = backend.connection().first_status();
        }
        self.links.in_use = Some(backend);
        self.links.away.is_admitted = true;
        if let Some(status) = lent {
            self.state.link.applied = self.state.version();
            self.state.link.status = status;
            self.state.last.was_used_by_others();
        }
        lent.is_none()
    }

    /// Answers the command in the backlog with the reason why it got no server.
    pub(super) async fn refuse_unserved(&mut self, why: AcquireError) -> Result<(), Ending> {
        self.measure_refused();
        match why {
            AcquireError::Proxy(error) => {
                let (connection, peer) = (self.identity.connection_id, self.identity.peer);
                tracing::warn!(connection, %peer, error = %error.logged(), "a session got no server");
                let seq = self.skip_command().await?;
                self.reply_error(seq, &error).await
            }
            AcquireError::Server(payload) => {
                let seq = self.skip_command().await?;
                self.reply(seq, &payload).await
            }
        }
    }

    /// `COM_CHANGE_USER`: checks the new user like a login, then starts over with another backend.
    async fn change_user(&mut self) -> Result<(), Ending> {
        let control = std::rc::Rc::clone(&self.control);
        let deadline = self.worker.settings().variables.connect_timeout_client;
        let changing = tokio::time::timeout(deadline, self.log_in_again());
        match control.until(Signal::Stop, changing).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(Ending::Silent),
        }
    }

    async fn log_in_again(&mut self) -> Result<(), Ending> {
        let capabilities = self.capabilities();
        let backlog = std::mem::take(&mut self.io.backlog);
        let exchange = Exchange::resume(&self.worker.net, &mut self.io.sock, 0, &backlog);
        let mut dialogue = Dialogue::new(&self.worker, exchange, capabilities, self.identity.peer);
        let payload = dialogue.receive().await?;
        let packet = command::ChangeUser::decode(&payload, capabilities)
            .map_err(|error| dialogue.refuse_bytes(&error))?;
        let claim = Claim {
            username: packet.username,
            plugin: packet.auth_plugin,
            answer: packet.auth_answer,
            offered: None,
        };
        let admitted = match dialogue.check(claim, self.identity.nonce).await {
            // A session that changes to the user that it has keeps its place.
            Ok(proven) => {
                let held = self.identity.account.place_of(&proven.user);
                dialogue.admit(proven, Some(packet.schema), held)
            }
            Err(ending) => Err(ending),
        };
        let seq = dialogue.exchange.next_seq();
        self.io.backlog = dialogue.exchange.into_unread();
        if let Err(ending) = &admitted {
            self.note_refused_change(packet.username, packet.schema, || {
                ending.packets().and_then(audit::error_in)
            });
        }
        // Refused or not: the old user's session is over.
        self.end_backend().await;
        self.state.link.status = StatusFlags::AUTOCOMMIT;
        let account = match admitted {
            Ok(account) => account,
            Err(Ending::Say { packets, linger: false } | Ending::NoPlace(packets))
                if self.may_stay().await =>
            {
                return self.write_to_client(&packets).await;
            }
            Err(ending) => return Err(ending),
        };
        self.go_on_as(account, &packet, seq).await
    }

    /// Goes on as the user of this account, if a server lets it in.
    async fn go_on_as(
        &mut self,
        account: Account,
        packet: &command::ChangeUser<'_>,
        seq: u8,
    ) -> Result<(), Ending> {
        let identity = &mut *self.identity;
        let (collation, attributes) = (identity.collation, identity.attributes.clone());
        let before = std::mem::replace(&mut identity.account, account);
        identity.collation = packet.collation.unwrap_or(collation);
        if let Some(attributes) = packet.attributes {
            identity.attributes = Some(attributes.into());
        }
        let announced = identity.capabilities;
        if self.worker.shared.says_mariadb().await {
            identity.capabilities -= LOST_AT_MARIADB;
        }
        self.worker.seat(&self.control, &self.identity);
        match check_login(&self.worker, &self.identity).await {
            Ok(backend) => {
                self.control.about.set_backend(backend.as_ref());
                self.begin_anew(backend);
                audit::note(&self.worker, &self.control, AuditEvent::ChangeUserOk(Port::Traffic));
                self.reply(seq, &ok(announced, self.state.link.status)).await
            }
            Err(refusal) => {
                self.note_refused_change(packet.username, packet.schema, || audit::refusal_in(&refusal));
                self.reply(seq, &refusal).await?;
                if !self.may_stay().await {
                    return Err(Ending::Silent);
                }
                let identity = &mut *self.identity;
                (identity.account, identity.collation, identity.attributes) = (before, collation, attributes);
                identity.capabilities = announced;
                self.begin_anew(None);
                self.worker.seat(&self.control, &self.identity);
                Ok(())
            }
        }
    }

    /// The state and the connections are those of a session that begins.
    fn begin_anew(&mut self, backend: Option<Backend>) {
        self.state = state_of(&self.worker, &self.identity);
        if let Some(backend) = &backend {
            self.state.link.status = backend.connection().first_status();
        }
        self.note_own_limit();
        self.links.begin_anew(self.worker.alike.passport(&self.identity), backend);
    }

    /// The client was refused as this user, and told so.
    fn note_refused_change(&self, user: &[u8], schema: &[u8], told: impl FnOnce() -> Option<String>) {
        let Identity { connection_id: id, peer, .. } = &*self.identity;
        let tls = self.io.sock.is_encrypted();
        let stranger = audit::Stranger { id: *id, peer, user, schema, tls };
        audit::note_refusal(&self.worker, AuditEvent::ChangeUserErr(Port::Traffic), &stranger, told);
    }

    /// Whether a client that was refused as another user goes on as the one that it was: with
    /// MariaDB it does, until that has happened too often; MySQL ends the connection.
    async fn may_stay(&mut self) -> bool {
        self.refused_changes += 1;
        self.refused_changes <= CHANGES_REFUSED_MAX && self.worker.shared.says_mariadb().await
    }

    /// Reads one command to its end and forgets it. Returns the sequence id that an answer begins
    /// with.
    pub(super) async fn skip_command(&mut self) -> Result<u8, Ending> {
        // Until the command is whole the client is as good as idle, and has as long as an idle one.
        self.set_slow();
        let mut scanner = MessageScanner::new(0);
        poll_fn(|cx| self.poll_skip(cx, &mut scanner)).await?;
        if let Some(flight) = self.flight.as_mut() {
            (flight.paused, flight.absent) = (None, None);
        }
        self.control.set_busy();
        Ok(scanner.next_seq())
    }

    fn poll_skip(&mut self, cx: &mut Context<'_>, scanner: &mut MessageScanner) -> Poll<Result<(), Ending>> {
        self.obey(true)?;
        loop {
            if self.io.backlog.is_empty() {
                ready!(self.io.poll_more(cx, &self.worker.net.scratch))
                    .map_err(|error| self.unreadable(&error, scanner.next_seq()))?;
            }
            let seq = scanner.next_seq();
            let scanned = scanner
                .scan(&self.io.backlog)
                .map_err(|error| self.interrupted(&ClientError::malformed(error), seq))?;
            self.io.backlog.drain(..scanned.len);
            self.check_size(scanner)?;
            if self.io.backlog.is_empty() {
                self.io.backlog = Vec::new();
            }
            if scanned.done {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Answers a command with one packet.
    pub(super) async fn reply(&mut self, seq: u8, payload: &[u8]) -> Result<(), Ending> {
        let mut packet = Vec::new();
        put_message(&mut packet, seq, payload);
        self.write_to_client(&packet).await
    }

    pub(super) async fn reply_error(&mut self, seq: u8, error: &ClientError) -> Result<(), Ending> {
        self.worker.counts.note(Counter::OwnErrors);
        let packet = error.to_packet(seq, self.capabilities());
        self.write_to_client(&packet).await
    }

    pub(super) async fn write_to_client(&mut self, packet: &[u8]) -> Result<(), Ending> {
        // A client that does not read has as much time as an idle one.
        self.set_slow();
        let written = self.control.until(Signal::Stop, self.io.sock.write_all(packet)).await;
        Ok(written.map_err(|_| Ending::Silent)??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each statement that waits for a connection has one: copied into a box, and made again for
    /// the next one.
    #[test]
    fn what_waits_for_a_connection_stays_small() {
        fn size<'a, F: Future>(_: impl Fn(&'a mut Session, Kind) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size(Session::set_up);
        assert!(bytes <= 1600, "the future of a command that waits has {bytes} bytes");
    }
}

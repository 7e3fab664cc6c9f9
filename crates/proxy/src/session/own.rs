//! Commands that the proxy answers itself, and getting a backend for the others.

use std::future::poll_fn;
use std::task::{Poll, ready};

use front::login::ok;
use legs::backlog::{complete_command, skip_command};
use legs::entry::BookEntry;
use legs::facts::endings::interrupted;
use legs::facts::places::{is_fast_forward, shares};
use legs::facts::replies::{reply, reply_error};
use legs::facts::shown::measure_refused;
use legs::io::Io;
use legs::leg::Leg;
use legs::parts::drop_unanswered;
use legs::phase::Phase;
use querylog::{AuditEvent, Port};
use runtime::control::Signal;
use runtime::limits::{CHANGES_REFUSED_MAX, LINGER_BYTES_MAX, LINGER_MAX};
use upstream::AcquireError;
use wire::command::Kind;
use wire::frame::MessageScanner;
use wire::reply::Answer;

use crate::audit;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::change_user::change_user;
use crate::session::cx::Cx;
use crate::session::leave::leave_servers;
use crate::session::stage::local::ids::is_ours;

impl Cx<'_> {
    /// Deals with the command in the backlog, which takes more than forwarding.
    pub(super) async fn route(&mut self, kind: Kind) -> Result<Phase, Ending> {
        let decided = self.leg.flight.as_mut().and_then(|flight| flight.decided.take());
        if self.tell_owed(kind).await? {
            return Ok(self.next_phase());
        }
        let has_none = self.leg.links.is_empty() && !self.leg.links.away.is_admitted;
        match kind {
            Kind::Quit => {
                self.entry.control.quit.set(true);
                audit::note(&self.entry.worker.front, &*self.entry.control, AuditEvent::Quit(Port::Traffic));
                leave_servers(self.entry, self.io, self.leg).await;
                return Err(Ending::ClientLeft);
            }
            // The proxy itself is alive. A reset, however, needs a server: after it a session is
            // not what it was after its login, but has the server's own charset.
            Kind::Ping if has_none || can_answer_ping(self.entry, self.leg) => {
                self.leg.state.last.counted.changed = 0;
                let seq = skip_command(self.entry, self.io, self.leg).await?;
                let ok = ok(self.leg.state.identity.capabilities, self.leg.state.status);
                reply(self.entry, self.io, &mut self.leg.state, seq, &ok).await?;
            }
            Kind::ChangeUser if self.io.refused_changes >= CHANGES_REFUSED_MAX => {
                refuse_unknown(self.entry, self.io, self.leg).await?;
            }
            // Boxed, as all that is not the way of a statement: what waits for a connection should
            // be small.
            Kind::ChangeUser => {
                Box::pin(change_user(self.entry, self.io, self.leg)).await?;
                // Decided here, and not behind each command: the firewall may be switched off
                // meanwhile.
                if is_fast_forward(&self.entry.worker, &self.leg.state) {
                    return Ok(Phase::FastForward);
                }
            }
            _ if is_ours(self.entry, self.leg, self.io.command(self.leg.state.identity.capabilities)) => {
                Box::pin(self.handle_ids(kind)).await?;
            }
            // Nothing to close or reset where nothing was prepared.
            Kind::StmtClose | Kind::SendLongData if has_none => {
                skip_command(self.entry, self.io, self.leg).await?;
            }
            _ => match decided {
                Some(decided) => return self.follow_route(kind, decided).await,
                None => complete_command(self.entry, self.io, self.leg).await?,
            },
        }
        Ok(self.next_phase())
    }
}

/// Answers a command that does not exist.
pub(super) async fn refuse_unknown(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    let seq = skip_command(entry, io, leg).await?;
    reply_error(entry, io, &mut leg.state, seq, &ClientError::UnknownCommand).await
}

/// Answers the command in the backlog with the reason why it got no server, if it has a reply.
pub(super) async fn refuse_unserved(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    why: AcquireError,
) -> Result<(), Ending> {
    if io
        .command(leg.state.identity.capabilities)
        .is_some_and(|command| command.kind.answer() == Answer::None)
    {
        let error = if let AcquireError::Proxy(error) = &why { Some(error) } else { None };
        return Box::pin(drop_unanswered(entry, io, leg, error)).await;
    }
    measure_refused(entry, io, &leg.state, &leg.flight);
    match why {
        AcquireError::Proxy(error) => {
            let (connection, peer) = (leg.state.identity.connection_id, leg.state.identity.peer);
            tracing::warn!(connection, %peer, error = %error.logged(), "a session got no server");
            let seq = skip_command(entry, io, leg).await?;
            reply_error(entry, io, &mut leg.state, seq, &error).await
        }
        AcquireError::Server(payload) => {
            let seq = skip_command(entry, io, leg).await?;
            reply(entry, io, &mut leg.state, seq, &payload).await
        }
    }
}

/// Says that a command is too large, once the client has sent it all: it does not listen before
/// that. How much is read, and for how long, has an end.
pub(super) async fn refuse_too_large(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    mut command: MessageScanner,
) -> Ending {
    leg.links.in_use = None;
    let mut left = LINGER_BYTES_MAX;
    let rest = poll_fn(|cx| {
        let mut scratch = entry.worker.net.scratch.borrow_mut();
        let mut n = 0;
        loop {
            let scanned = command.scan(scratch.get(..n).unwrap_or_default());
            if left == 0 || scanned.is_err() || scanned.is_ok_and(|scanned| scanned.done) {
                return Poll::Ready(());
            }
            n = ready!(io.client.poll_read(cx, &mut scratch)).unwrap_or(0);
            left = if n == 0 { 0 } else { left.saturating_sub(n) };
        }
    });
    let _ = entry.control.until(Signal::Stop, tokio::time::timeout(LINGER_MAX, rest)).await;
    let max = entry.worker.settings().variables.max_allowed_packet;
    interrupted(entry, &leg.state, &ClientError::PacketTooLarge { max }, command.next_seq())
}

/// Whether a session whose connection is lent to another one needs none for a `COM_PING`.
fn can_answer_ping(entry: &BookEntry, leg: &Leg) -> bool {
    leg.links.is_empty() && shares(entry, &leg.state, leg.state.here)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each statement that waits for a connection has one: copied into a box, and made again for
    /// the next one.
    #[test]
    fn what_waits_for_a_connection_stays_small() {
        fn size<'a, F: Future>(_: impl Fn(&'a mut Cx<'a>, Kind) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size(Cx::set_up);
        // What the allocator has for anything above 1,536.
        assert!(bytes <= 1792, "the future of a command that waits has {bytes} bytes");
    }
}

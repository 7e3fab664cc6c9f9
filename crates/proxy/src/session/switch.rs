//! Changing between servers: the connection in use is released, another one is taken or opened,
//! and what the client has set is said there.

use std::future::poll_fn;
use std::task::Poll;

use wire::StatusFlags;
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use super::Session;
use super::facts::endings::lose_other;
use super::facts::places::{leaves, shares};
use super::state::{Past, Said};
use super::without_schema::position_of_schema;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::Gone;
use crate::state::gtids::said_to;
use crate::statement::set_use::{SetOf, set_of};
use session::link::Loss;
use upstream::{
    AcquireError, Ahead, DOES_NOT_HAVE_IT, Full, InternalQuery, Purpose, Reply, Setup, part, query,
};

/// The status flags that follow from what a session has set: they do not end with a connection.
const OF_SESSION: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::NO_BACKSLASH_ESCAPES);

impl Session {
    /// Makes the session's connection to `hostgroup` the one in use, opens it if there is none, and
    /// says there what the client has set.
    pub(super) async fn go_in_schema(
        &mut self,
        hostgroup: u32,
        full: Full,
    ) -> Result<Result<(), AcquireError>, Ending> {
        if self.state.here != hostgroup {
            if self.may_leave_diagnostics() {
                Box::pin(self.leave_diagnostics()).await?;
            }
            self.release_in_use();
            self.state.here = hostgroup;
            self.control.about.set_hostgroup(hostgroup);
            // Of one that was lost before, the next statement hears: this may be another command.
            let was_lost = self.state.transaction.rolled_back.is_some();
            self.take_up(hostgroup).await?;
            if !was_lost && let Some(error) = self.state.transaction.rolled_back.take() {
                return Ok(Err(AcquireError::Proxy(*error)));
            }
        }
        if let Some(off) = self.links.off()
            && let Some(error) = self.lose_backend_for(Gone::Off(off))?
        {
            return Ok(Err(AcquireError::Proxy(error)));
        }
        if self
            .links
            .in_use
            .as_ref()
            .is_some_and(|backend| leaves(&self.worker, &self.state, &self.links, backend))
            && let Some(late) = self.links.in_use.take()
        {
            self.lose_backend();
            part(late);
        }
        let is_borrowed = self.links.in_use.is_none();
        if is_borrowed {
            let is_new = match self.borrow_backend(hostgroup, full).await? {
                Ok(is_new) => is_new,
                Err(why) => return Ok(Err(why)),
            };
            if is_new
                && self.state.was_reset()
                && let Err(why) = self.reset_new().await?
            {
                return Ok(Err(why));
            }
        }
        let is_in_none = is_borrowed && self.state.lacks_schema();
        if self.links.applied() != self.state.version() || is_in_none {
            return self.say_settings().await;
        }
        if !is_borrowed && self.links.has_setup() && self.flight.ahead != Ahead::All {
            // It was for a command that was not sent.
            return Ok(self.internal_query(&[]).await?.map(drop).map_err(AcquireError::Proxy));
        }
        Ok(Ok(()))
    }

    /// Resets a connection that was just opened: its login has set what the client had before it
    /// reset its own.
    async fn reset_new(&mut self) -> Result<Result<(), AcquireError>, Ending> {
        let (said, version) = self.state.before_reset();
        let schema_at = position_of_schema(&said);
        let mut commands: Vec<_> = said.into_iter().map(|said| self.command(said)).collect();
        commands.push((vec![Kind::ResetConnection as u8], Answer::Single));
        match self.internal_query(&commands).await? {
            Err(error) => return Ok(Err(AcquireError::Proxy(error))),
            Ok(replies) => {
                let may_lack = self.links.note_schema_reply(&mut self.state, schema_at, &replies);
                let refusal = replies
                    .into_iter()
                    .enumerate()
                    .find(|(at, reply)| reply.error().is_some() && !(may_lack && Some(*at) == schema_at));
                if let Some((_, reply)) = refusal {
                    return Ok(Err(self.refused_setup(&reply)));
                }
            }
        }
        self.links.set_applied(version);
        Ok(Ok(()))
    }

    /// The connection in use is in use no more.
    fn release_in_use(&mut self) {
        self.links.note_ran(&mut self.state);
        let is_free = shares(&self.worker, &self.control, &self.state, self.state.here)
            && self.links.pin(&self.state).is_none()
            && self.links.is_as_it_seems(&self.state);
        if let Some(backend) = self.links.in_use.take() {
            if is_free {
                self.make_one_idle(backend);
            } else {
                self.links.away.others.push(backend);
            }
        }
        self.state.set_status(self.state.status & OF_SESSION);
    }

    /// Takes the connection to this hostgroup that was released, if there is one and its server
    /// has not closed it.
    async fn take_up(&mut self, hostgroup: u32) -> Result<(), Ending> {
        let Some(mut other) = self.links.take_other(hostgroup) else {
            self.take_back();
            self.control.about.set_backend(self.links.in_use.as_ref());
            return Ok(());
        };
        let input = poll_fn(|cx| Poll::Ready(other.connection_mut().poll_input(cx))).await;
        if input.is_ready() {
            return lose_other(&self.worker, &self.control, &mut self.state, &other, Gone::Closed);
        }
        self.state.set_status(other.connection().state().status);
        self.control.about.set_backend(Some(&other));
        self.links.in_use = Some(other);
        Ok(())
    }

    /// Says at the backend what it has not heard yet of what the client has set.
    async fn say_settings(&mut self) -> Result<Result<(), AcquireError>, Ending> {
        let missing = self.state.missing(self.links.applied());
        let schema_at = position_of_schema(&missing);
        for said in &missing {
            match said {
                Said::Schema(_) => self.worker.note_at_server(Kind::InitDb),
                Said::Statement(text) if set_of(text) == SetOf::Names => {
                    self.worker.counts.note(Counter::ServerSetNames);
                }
                Said::Statement(_) | Said::Option(_) | Said::Tracking(_) => {}
            }
        }
        let commands: Vec<_> = missing.into_iter().map(|said| (said.purpose(), self.command(said))).collect();
        if self.may_send_ahead(&commands) {
            self.links.set_applied(self.state.version());
            let setup = Setup::new(Vec::new(), commands, self.state.identity.capabilities, None);
            if let Some(link) = self.links.connection_mut() {
                link.set_setup(setup);
            }
            return Ok(Ok(()));
        }
        let commands: Vec<_> = commands.into_iter().map(|(_, command)| command).collect();
        let replies = match self.internal_query(&commands).await? {
            Ok(replies) => replies,
            Err(error) => return Ok(Err(AcquireError::Proxy(error))),
        };
        let may_lack = self.links.note_schema_reply(&mut self.state, schema_at, &replies);
        let refused = |code: u16| !DOES_NOT_HAVE_IT.contains(&code);
        let refusal = replies
            .into_iter()
            .enumerate()
            .find(|(at, reply)| reply.error().is_some_and(refused) && !(may_lack && Some(*at) == schema_at));
        if let Some((_, reply)) = refusal {
            return Ok(Err(self.refused_setup(&reply)));
        }
        self.links.set_applied(self.state.version());
        if let Some(backend) = &self.links.in_use {
            let (server, user) = (backend.server().id(), &self.state.identity.account.user.name);
            for (payload, _) in &commands {
                self.worker.upstream.accepted.note(server, user, payload);
            }
        }
        Ok(Ok(()))
    }

    /// A command that sets the connection in use up was refused. The connection is closed, unless
    /// the session needs it or shares none: nothing may hold one that others could use.
    fn refused_setup(&mut self, reply: &Reply) -> AcquireError {
        self.worker.upstream.accepted.clear();
        if self.links.loss(&self.state) == Loss::Nothing
            && shares(&self.worker, &self.control, &self.state, self.state.here)
            && let Some(backend) = self.links.in_use.take()
        {
            part(backend);
            self.lose_backend();
        }
        AcquireError::Server(reply.bytes.get(HEADER_LEN..).unwrap_or_default().to_vec())
    }

    /// Whether all of this may be said in front of the command in the backlog without waiting for
    /// an answer. At a connection that was just opened this would not save much, and a command that
    /// was not sent can still go elsewhere: there only goes first what nothing depends on. One that
    /// the client would miss is not to be risked.
    fn may_send_ahead(&self, commands: &[(Purpose, InternalQuery)]) -> bool {
        let Some(backend) = &self.links.in_use else { return false };
        let (link, server) = (backend.connection(), backend.server().id());
        let user = &self.state.identity.account.user.name;
        let is_known = |purpose: Purpose, payload: &[u8]| {
            purpose == Purpose::Tracking
                || link.state().applied > 0
                    && self.worker.upstream.accepted.has(server, user, payload, link.opened())
        };
        let is_known = |(purpose, (payload, _)): &(Purpose, InternalQuery)| {
            self.flight.ahead.has(*purpose) && is_known(*purpose, payload)
        };
        self.links.loss(&self.state) == Loss::Nothing
            && !link.has_setup()
            && link.may_pipeline()
            && commands.iter().all(is_known)
    }

    fn command(&self, said: Said) -> (Vec<u8>, Answer) {
        match said {
            Said::Schema(schema) => ([&[Kind::InitDb as u8][..], &schema].concat(), Answer::Single),
            Said::Option(payload) => (payload, Answer::Single),
            Said::Statement(text) => (self.query(&text), Answer::Result),
            Said::Tracking(text) => {
                let is_mariadb =
                    self.links.in_use.as_ref().is_some_and(|backend| backend.connection().is_mariadb());
                (self.query(said_to(&text, is_mariadb)), Answer::Result)
            }
        }
    }

    /// The payload of a `COM_QUERY` of the proxy's own.
    pub(super) fn query(&self, text: &[u8]) -> Vec<u8> {
        query(self.state.identity.capabilities, text)
    }

    /// The backend in use is of no use any more. What the session has set stays, and is said at the
    /// next one.
    pub(super) fn lose_backend(&mut self) {
        self.links.drop_in_use();
        self.control.about.set_backend(None);
        self.state.set_status(self.state.status & OF_SESSION);
        self.state.past.remove(Past::IN_TRANSACTION);
        self.control.set_pin(None, self.worker.now());
    }
}

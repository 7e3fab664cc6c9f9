//! Changing between servers: the connection in use is released, another one is taken or opened,
//! and what the client has set is said there.

use std::future::poll_fn;
use std::task::Poll;

use front::ending::Ending;
use observe::counts::Counter;
use runtime::worker::Worker;
use session::error::Gone;
use session::link::Loss;
use session::state::gtids::said_to;
use session::statement::set_use::{SetOf, set_of};
use upstream::{AcquireError, Ahead, DOES_NOT_HAVE_IT, Full, InternalQuery, Purpose, Reply, Setup, part};
use wire::command::Kind;
use wire::reply::Answer;

use crate::entry::BookEntry;
use crate::facts::asking::{ask_server, packet_of};
use crate::facts::endings::lose_other;
use crate::facts::leases::{lose_backend, lose_backend_for};
use crate::facts::places::{Lack, lack, shares};
use crate::facts::sharing::{make_one_idle, may_leave_diagnostics, take_back};
use crate::kept_error::leave_diagnostics;
use crate::leg::Leg;
use crate::links::Links;
use crate::measure::note_at_server;
use crate::state::{OF_SESSION, Said, SessionState};
use crate::stop::Stop;
use crate::without_schema::position_of_schema;

impl Leg {
    /// Makes the session's connection to `hostgroup` the one in use, opens it if there is none, and
    /// says there what the client has set.
    pub(crate) async fn go_in_schema(
        &mut self,
        entry: &BookEntry,
        hostgroup: u32,
        full: Full,
    ) -> Result<(), Stop> {
        let mut is_borrowed = false;
        loop {
            match lack(&entry.worker, self, Some(hostgroup)) {
                Some(Lack::Hostgroup) => self.change_to(entry, hostgroup).await?,
                Some(Lack::Connection) => {
                    is_borrowed = true;
                    if self.borrow_backend(entry, hostgroup, full).await? && self.state.was_reset() {
                        reset_new(entry, self).await?;
                    }
                }
                Some(Lack::Server(off)) => {
                    if let Some(error) = lose_backend_for(entry, self, Gone::Off(off))? {
                        return Err(AcquireError::Proxy(error).into());
                    }
                }
                Some(Lack::OtherServer) => {
                    if let Some(late) = self.links.in_use.take() {
                        lose_backend(entry, self);
                        part(late);
                    }
                }
                None if !(is_borrowed && self.state.lacks_schema()) => break,
                Some(Lack::Settings) | None => return Box::pin(say_settings(entry, self)).await,
            }
        }
        if !is_borrowed && self.links.has_setup() && self.flight.ahead != Ahead::All {
            // It was for a command that was not sent.
            ask_server(entry, self, &[]).await?;
        }
        Ok(())
    }

    /// Releases the connection in use, and takes the session's own one to `hostgroup`, if there is
    /// one.
    async fn change_to(&mut self, entry: &BookEntry, hostgroup: u32) -> Result<(), Stop> {
        if may_leave_diagnostics(entry, self) {
            Box::pin(leave_diagnostics(entry, self)).await?;
        }
        release_in_use(entry, self);
        self.state.here = hostgroup;
        entry.control.about.set_hostgroup(hostgroup);
        // Of one that was lost before, the next statement hears: this may be another command.
        let was_lost = self.state.transaction.rolled_back.is_some();
        take_up(entry, self, hostgroup).await?;
        match self.state.transaction.rolled_back.take_if(|_| !was_lost) {
            Some(error) => Err(AcquireError::Proxy(*error).into()),
            None => Ok(()),
        }
    }
}

/// Resets a connection that was just opened: its login has set what the client had before it
/// reset its own.
async fn reset_new(entry: &BookEntry, leg: &mut Leg) -> Result<(), Stop> {
    let (said, version) = leg.state.before_reset();
    let schema_at = position_of_schema(&said);
    let mut commands: Vec<_> = said.into_iter().map(|said| command(&leg.state, &leg.links, said)).collect();
    commands.push((vec![Kind::ResetConnection as u8], Answer::Single));
    carry_out(entry, leg, &commands, (schema_at, &[]), version).await
}

/// Carries out commands that set the connection in use up, which then has the settings of this
/// version. The one for the schema is at `schema_at`; `forgiven` are errors that do not matter.
async fn carry_out(
    entry: &BookEntry,
    leg: &mut Leg,
    commands: &[InternalQuery],
    (schema_at, forgiven): (Option<usize>, &[u16]),
    version: u64,
) -> Result<(), Stop> {
    let replies = ask_server(entry, leg, commands).await?;
    let may_lack = leg.links.note_schema_reply(&mut leg.state, schema_at, &replies);
    let matters = |code: u16| !forgiven.contains(&code);
    let refusal = replies
        .iter()
        .enumerate()
        .find(|(at, reply)| reply.error().is_some_and(matters) && !(may_lack && Some(*at) == schema_at));
    if let Some((_, reply)) = refusal {
        return Err(refused_setup(entry, leg, reply).into());
    }
    leg.links.set_applied(version);
    if let Some(link) = leg.links.state() {
        leg.state.hear_status(link);
    }
    Ok(())
}

/// Says at the backend what it has not heard yet of what the client has set.
async fn say_settings(entry: &BookEntry, leg: &mut Leg) -> Result<(), Stop> {
    let missing = leg.state.missing(leg.links.applied());
    let schema_at = position_of_schema(&missing);
    for said in &missing {
        match said {
            Said::Schema(_) => note_at_server(&entry.worker, Kind::InitDb),
            Said::Statement(text) if set_of(text) == SetOf::Names => {
                entry.worker.counts.note(Counter::ServerSetNames);
            }
            Said::Statement(_) | Said::Option(_) | Said::Tracking(_) => {}
        }
    }
    let commands: Vec<_> =
        missing.into_iter().map(|said| (said.purpose(), command(&leg.state, &leg.links, said))).collect();
    if may_send_ahead(&entry.worker, leg, &commands) {
        leg.links.set_applied(leg.state.version());
        let setup = Setup::new(Vec::new(), commands, leg.state.identity.capabilities, None);
        if let Some(link) = leg.links.connection_mut() {
            link.set_setup(setup);
        }
        return Ok(());
    }
    let commands: Vec<_> = commands.into_iter().map(|(_, command)| command).collect();
    carry_out(entry, leg, &commands, (schema_at, &DOES_NOT_HAVE_IT), leg.state.version()).await?;
    if let Some(backend) = &leg.links.in_use {
        let (server, user) = (backend.server().id(), &leg.state.identity.account.user.name);
        for (payload, _) in &commands {
            entry.worker.upstream.accepted.note(server, user, payload);
        }
    }
    Ok(())
}

fn command(state: &SessionState, links: &Links, said: Said) -> (Vec<u8>, Answer) {
    match said {
        Said::Schema(schema) => ([&[Kind::InitDb as u8][..], &schema].concat(), Answer::Single),
        Said::Option(payload) => (payload, Answer::Single),
        Said::Statement(text) => (packet_of(state, &text), Answer::Result),
        Said::Tracking(text) => {
            let is_mariadb = links.in_use.as_ref().is_some_and(|backend| backend.connection().is_mariadb());
            (packet_of(state, said_to(&text, is_mariadb)), Answer::Result)
        }
    }
}

/// The connection in use is in use no more.
fn release_in_use(entry: &BookEntry, leg: &mut Leg) {
    leg.links.note_ran(&mut leg.state);
    let is_free = shares(entry, &leg.state, leg.state.here)
        && leg.links.pin(&leg.state).is_none()
        && leg.links.is_as_it_seems(&leg.state);
    if let Some(backend) = leg.links.in_use.take() {
        if is_free {
            make_one_idle(entry, leg, backend);
        } else {
            leg.links.away.others.push(backend);
        }
    }
    leg.state.set_status(leg.state.status & OF_SESSION);
}

/// Takes the connection to this hostgroup that was released, if there is one and its server
/// has not closed it.
async fn take_up(entry: &BookEntry, leg: &mut Leg, hostgroup: u32) -> Result<(), Ending> {
    let Some(mut other) = leg.links.take_other(hostgroup) else {
        take_back(entry, leg);
        entry.control.about.set_backend(leg.links.in_use.as_ref());
        return Ok(());
    };
    let input = poll_fn(|cx| Poll::Ready(other.connection_mut().poll_input(cx))).await;
    if input.is_ready() {
        return lose_other(entry, &mut leg.state, &other, Gone::Closed);
    }
    leg.state.begin_at(other.connection());
    entry.control.about.set_backend(Some(&other));
    leg.links.in_use = Some(other);
    Ok(())
}

/// A command that sets the connection in use up was refused. The connection is closed, unless
/// the session needs it or shares none: nothing may hold one that others could use.
fn refused_setup(entry: &BookEntry, leg: &mut Leg, reply: &Reply) -> AcquireError {
    entry.worker.upstream.accepted.clear();
    if leg.links.loss(&leg.state) == Loss::Nothing
        && shares(entry, &leg.state, leg.state.here)
        && let Some(backend) = leg.links.in_use.take()
    {
        part(backend);
        lose_backend(entry, leg);
    }
    AcquireError::Server(reply.payload().to_vec())
}

/// Whether all of this may be said in front of the command in the backlog without waiting for
/// an answer. At a connection that was just opened this would not save much, and a command that
/// was not sent can still go elsewhere: there only goes first what nothing depends on. One that
/// the client would miss is not to be risked.
fn may_send_ahead(worker: &Worker, leg: &Leg, commands: &[(Purpose, InternalQuery)]) -> bool {
    let Some(backend) = &leg.links.in_use else { return false };
    let (link, server) = (backend.connection(), backend.server().id());
    let user = &leg.state.identity.account.user.name;
    let is_known = |purpose: Purpose, payload: &[u8]| {
        purpose == Purpose::Tracking
            || link.state().applied > 0 && worker.upstream.accepted.has(server, user, payload, link.opened())
    };
    let is_known = |(purpose, (payload, _)): &(Purpose, InternalQuery)| {
        leg.flight.ahead.has(*purpose) && is_known(*purpose, payload)
    };
    leg.links.loss(&leg.state) == Loss::Nothing
        && !link.has_setup()
        && link.may_pipeline()
        && commands.iter().all(is_known)
}

//! What was decided about a command is carried out, up to the point where it is forwarded, or
//! answered here.

use std::pin::pin;

use command::Command;
use route::{Route, Sighting};
use runtime::decided::{Decided, Next, Reply};
use runtime::invariant::broken;
use runtime::limits::{BEHIND_SETUP_MAX, INTERNAL_LOST_MAX};
use runtime::prepared::Registry;
use upstream::{AcquireError, Ahead, Full};
use wire::command::Kind;
use wire::frame::front;
use wire::reply::Answer;
use wire::{Codec as _, StatusFlags, packet};

use super::backlog::will_be_whole;
use super::client::watched;
use super::cx::Cx;
use super::entry::BookEntry;
use super::facts::asking::{ask_server, forget_warnings, packet_of};
use super::facts::causal::{awaits_writes, depends_on_writes, has_to_see};
use super::facts::executions::rewrite;
use super::facts::sharing::makes_way_for_new;
use super::facts::writes::note_commit;
use super::flight::Flight;
use super::io::Io;
use super::leg::Leg;
use super::phase::Phase;
use super::prepare::prepare_before;
use super::stage::{last, turn};
use super::state::SessionState;
use super::stop::Stop;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::backlog::complete_front;
use crate::session::close::close_everywhere;
use crate::session::facts::screened::{note_ruling, note_sighting};
use crate::session::kept_error::refuse_and_keep;
use crate::session::own::refuse_unserved;
use crate::session::parts::drop_unanswered;
use crate::session::reply::{answer_here, refuse_here};
use crate::session::route::len_to_complete;

/// How a command gets to the connection that was set up for it.
#[derive(Debug)]
enum Fit {
    /// It is sent.
    Sent,
    /// The proxy prepares it for the client.
    Prepared,
}

impl Cx<'_> {
    /// Does what was decided about the command in the backlog, which is answered here, or goes on
    /// to a server.
    pub(super) async fn follow_route(&mut self, kind: Kind, mut decided: Decided) -> Result<Phase, Ending> {
        self.leg.flight.begin().begin_attempt(&decided);
        // It was for a connection that is gone.
        decided.patch = None;
        if decided.is_cached() && Box::pin(self.await_answer(kind, &mut decided)).await? {
            return Ok(self.next_phase());
        }
        if let Route::Local(reply) = &decided.route {
            let reply = Reply::clone(reply);
            if let Some(command) = self.io.command(self.leg.state.identity.capabilities) {
                note_ruling(&self.entry.worker, &self.leg.state, command, &decided);
                note_sighting(&self.entry.worker, &self.leg.state, command, &decided);
            }
            let is_injected = matches!(decided.screened.sighting, Some(Sighting::Refused(_)));
            match reply {
                Reply::Error(error) if is_injected => Box::pin(self.refuse_injected(kind, &error)).await?,
                reply => {
                    let stop = reply_as_decided(self.leg, kind, reply);
                    Box::pin(self.tell_stop(kind, stop, &mut decided)).await?;
                }
            }
            return Ok(self.next_phase());
        }
        // Where there is no room for its text it goes on in pieces.
        if kind == Kind::StmtPrepare
            && let Some(len) = self
                .io
                .command(self.leg.state.identity.capabilities)
                .and_then(|command| len_to_complete(&self.entry.worker, command))
            && let Some(room) = self.entry.worker.texts.reserve(len)
        {
            Box::pin(complete_front(self.entry, self.io, self.leg)).await?;
            drop(room);
        }
        if decided.next == Next::Commit {
            if let Err(stop) = Box::pin(commit_first(self.leg, self.entry)).await {
                Box::pin(self.tell_stop(kind, stop, &mut decided)).await?;
            }
            return Ok(self.next_phase());
        }
        // What is sent once more has its places, and was delayed.
        let waits = decided.next < Next::SetUp
            && self.leg.flight.paused.is_none()
            && turn::is_due(&self.entry.worker, &self.leg.state, kind, decided.orders.as_deref());
        decided.next = Next::SetUp;
        self.leg.flight.begin().decided = Some(decided);
        Ok(if waits { Phase::Waiting(kind) } else { Phase::SettingUp(kind) })
    }

    /// Gets to a connection that fits the command in the backlog.
    pub(super) async fn set_up(&mut self, kind: Kind) -> Result<Phase, Ending> {
        let Some(mut decided) = self.leg.flight.as_mut().and_then(|flight| flight.decided.take()) else {
            return Err(broken("a command without a route"));
        };
        self.io.obey_orders(&mut self.leg.state, &mut decided);
        if kind == Kind::StmtClose {
            Box::pin(close_everywhere(self.entry, self.io, self.leg)).await?;
            return Ok(self.next_phase());
        }
        if kind == Kind::Query && decided.may_be_told() && will_be_whole(&self.io.backlog) {
            // What is known here alone is written into all of it.
            Box::pin(complete_front(self.entry, self.io, self.leg)).await?;
        }
        self.leg.flight.begin().ahead = self.io.ahead(&self.leg.state, kind, &decided);
        self.lend_command();
        let set_up = {
            let work = pin!(self.leg.make_fit(self.entry, kind, &mut decided));
            watched(&self.entry.control, &mut self.io.client, work).await
        };
        self.take_command_back();
        let next = match set_up {
            Ok(Fit::Sent) => Some(Phase::Sending(kind)),
            // Boxed, as what follows for most is nothing.
            Ok(Fit::Prepared) => Box::pin(self.prepare_here(&mut decided)).await?,
            Err(stop) => Box::pin(self.tell_stop(kind, stop, &mut decided)).await?,
        };
        let Some(next) = next else { return Ok(self.next_phase()) };
        let flight = self.leg.flight.begin();
        (flight.decided, flight.in_line, flight.batched) = (Some(decided), None, None);
        Ok(next)
    }

    /// Has the proxy prepare a statement for its client. What is done next for it; nothing if the
    /// client has its reply.
    async fn prepare_here(&mut self, decided: &mut Decided) -> Result<Option<Phase>, Ending> {
        match self.prepare_for_client(decided).await {
            Ok(()) => Ok(None),
            Err(stop) => self.tell_stop(Kind::StmtPrepare, stop, decided).await,
        }
    }

    /// Does what becomes of a command that is not sent now. What is done next for it; nothing if
    /// the client has its reply.
    async fn tell_stop(
        &mut self,
        kind: Kind,
        stop: Stop,
        decided: &mut Decided,
    ) -> Result<Option<Phase>, Ending> {
        match stop {
            Stop::Elsewhere => return Ok(Some(Phase::Reading)),
            Stop::Redirected => return Ok(Some(Phase::Routing(kind))),
            Stop::Refused(error) => refuse_here(self.entry, self.io, self.leg, kind, &error).await?,
            Stop::Kept(error) => refuse_and_keep(self.entry, self.io, self.leg, kind, &error).await?,
            Stop::Told(payload) => answer_here(self.entry, self.io, self.leg, kind, &payload).await?,
            Stop::Failed(error) => {
                if !self.answer_stale(&error, decided).await? {
                    refuse_here(self.entry, self.io, self.leg, kind, &error).await?;
                }
            }
            Stop::Unreached(why) => {
                let is_stale = match &why {
                    AcquireError::Proxy(error) => self.answer_stale(error, decided).await?,
                    AcquireError::Server(_) => false,
                };
                if !is_stale {
                    refuse_unserved(self.entry, self.io, self.leg, why).await?;
                }
            }
            Stop::Dropped { is_to_forget } => {
                drop_unanswered(self.entry, self.io, self.leg, None).await?;
                if is_to_forget {
                    forget_warnings(self.entry, self.leg).await?;
                }
            }
            Stop::Over(ending) => return Err(ending),
        }
        Ok(None)
    }
}

/// Commits the open transaction for a command, which is judged anew after that: it may belong
/// elsewhere.
async fn commit_first(leg: &mut Leg, entry: &BookEntry) -> Result<(), Stop> {
    note_commit(entry, &leg.state, &mut leg.flight);
    let commit = (packet_of(&leg.state, b"COMMIT"), Answer::Result);
    match ask_server(entry, leg, &[commit]).await? {
        Err(error) => Err(Stop::refused(ClientError::CommitUnknown(Box::new(error)))),
        Ok(replies) if leg.state.status.contains(StatusFlags::IN_TRANSACTION) => {
            Err(Stop::Told(replies.first().map_or(&[][..], |reply| front(&reply.bytes)).to_vec()))
        }
        Ok(_) => Ok(()),
    }
}

/// What a client gets for which this answer was decided on.
fn reply_as_decided(leg: &mut Leg, kind: Kind, reply: Reply) -> Stop {
    if let Some(all) = leg.state.prepared.as_mut().filter(|_| kind == Kind::StmtPrepare) {
        all.forget_last();
    }
    let text = match reply {
        Reply::Ok(_) if kind == Kind::StmtPrepare => return Stop::refused(ClientError::OkIsNotPrepared),
        Reply::Ok(text) => text,
        Reply::Error(error) => return Stop::kept(error),
    };
    let packet = packet::Ok { info: text.as_bytes(), ..packet::Ok::plain(leg.state.status) };
    Stop::Told(packet.encode(leg.state.identity.capabilities))
}

impl Leg {
    /// Sets a connection up for the command.
    async fn make_fit(&mut self, entry: &BookEntry, kind: Kind, decided: &mut Decided) -> Result<Fit, Stop> {
        self.flight.begin().wants_new = decided.wants_new()
            && makes_way_for_new(entry, &mut self.state, &mut self.links, decided.hostgroup());
        let may_see = depends_on_writes(kind);
        let fresh = has_to_see(&entry.worker, &self.state, &self.links, decided).filter(|_| may_see);
        let reached = if fresh.is_some()
            || may_see && awaits_writes(&entry.worker, &self.state, &self.links, decided)
        {
            // Boxed: most must see nothing.
            Box::pin(self.reach_seeing(entry, kind, fresh, decided)).await
        } else {
            match self.reach(entry, decided).await {
                // The connection in use was exchanged for one that has proven nothing.
                Ok(reached) if may_see && awaits_writes(&entry.worker, &self.state, &self.links, decided) => {
                    Box::pin(self.see_awaited(entry, kind, decided, reached)).await
                }
                reached => reached,
            }
        };
        let flight = self.flight.begin();
        (flight.ahead, flight.wants_new) = (Ahead::Nothing, false);
        reached?;
        last::bring_id(entry, self, decided).await?;
        let kept = &entry.worker.upstream.kept;
        let has_to_prepare =
            |command: Command<'_>| self.links.has_to_prepare(kept, &self.state, command, decided);
        if self.flight.command(self.state.identity.capabilities).is_some_and(has_to_prepare)
            && let Err(error) = Box::pin(prepare_before(entry, self)).await?
        {
            return Err(self.set_up_failed(error, decided));
        }
        check_connected(self, decided)?;
        if last::tell(entry, self, kind, decided).await? {
            check_connected(self, decided)?;
        }
        if kind.names_statement() {
            self.bring_statement(entry, kind, decided).await?;
        }
        let has_other_homes = |all: &Registry| all.has_other_homes(self.links.state());
        if kind == Kind::StmtPrepare && self.state.prepared.as_deref().is_some_and(has_other_homes) {
            return Ok(Fit::Prepared);
        }
        if decided.next == Next::Ask {
            // Boxed: most must see nothing.
            Box::pin(self.ask_ahead(entry, kind, decided)).await?;
        }
        Ok(Fit::Sent)
    }

    /// Gets to where the command in the backlog was decided to go. A read that the split sends to a
    /// reader does without it: if there is none, or it lacks what the session needs, the writer
    /// does it; so it is for a listener that falls back.
    pub(super) async fn reach(&mut self, entry: &BookEntry, decided: &mut Decided) -> Result<u32, Stop> {
        // Boxed, as the other ways are: mostly there is a server.
        if self.state.begins_later() {
            return Box::pin(self.reach_with_begin(entry, decided)).await;
        }
        let hostgroup = decided.hostgroup();
        let full = self.state.full(hostgroup, Some(decided));
        match self.go_to(entry, hostgroup, full).await? {
            Ok(()) => Ok(hostgroup),
            Err(why) => Box::pin(self.reach_instead(entry, why, decided)).await,
        }
    }

    /// Goes on with a command that has found no server where it was to go, because of `why`.
    async fn reach_instead(
        &mut self,
        entry: &BookEntry,
        why: AcquireError,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        let instead = self.state.instead_of(decided.hostgroup(), decided.is_split());
        let is_lack = match &why {
            AcquireError::Proxy(error) => error.is_lack_of_server(),
            AcquireError::Server(_) => true,
        };
        let is_about_schema = why.is_about_schema() && self.state.may_leave_schema();
        if is_lack && instead.is_none() && decided.may_need_no_writer() && !is_about_schema {
            return self.reach_without_writer(entry, why, decided).await;
        }
        // Without a schema it is done where it was to be done, if nowhere else.
        let here = is_about_schema.then(|| decided.hostgroup());
        let Some(writer) = instead.filter(|_| is_lack).or(here) else {
            return Err(self.unreached(why, decided));
        };
        decided.redirect(writer);
        self.flight.begin().internal_lost = false;
        match self.go_to(entry, writer, Full::TryAgain).await? {
            Ok(()) => Ok(writer),
            Err(why) => Err(self.unreached(why, decided)),
        }
    }

    /// The connection could not be set up for the command: it is carried out elsewhere, or refused.
    pub(super) fn set_up_failed(
        &mut self,
        error: impl Into<Box<ClientError>>,
        decided: &mut Decided,
    ) -> Stop {
        if self.flight.tries_again(decided) { Stop::Elsewhere } else { Stop::Failed(error.into()) }
    }
}

/// What was asked for the command in the backlog may have lost the connection. With nothing
/// else lost the command goes elsewhere.
fn check_connected(leg: &mut Leg, decided: &mut Decided) -> Result<(), Stop> {
    if leg.links.in_use.is_some() {
        return Ok(());
    }
    if let Some(error) = leg.state.transaction.rolled_back.take() {
        return Err(leg.set_up_failed(error, decided));
    }
    leg.flight.tries_again(decided);
    Err(Stop::Elsewhere)
}

impl Io {
    /// Does what rules want done with the command in the backlog: its text is replaced, and the
    /// next command meets other rules.
    fn obey_orders(&mut self, state: &mut SessionState, decided: &mut Decided) {
        let Some(orders) = &mut decided.orders else { return };
        if let Some(flag) = orders.verdict.next_query_flag_in {
            state.flag_in = flag;
        }
        if let Some(text) = orders.text.take() {
            rewrite(&mut self.backlog, state.identity.capabilities, &text);
        }
    }

    /// What may be said in front of the command in the backlog without waiting for an answer.
    pub(super) fn ahead(&self, state: &SessionState, kind: Kind, decided: &Decided) -> Ahead {
        let is_simple = matches!(kind, Kind::Query | Kind::StmtPrepare | Kind::StmtExecute);
        let is_short = self.backlog.len() <= BEHIND_SETUP_MAX && self.whole_front().is_some();
        match (is_simple && is_short && state.trace.is_none(), decided.is_plain_read()) {
            (false, _) => Ahead::Nothing,
            (true, false) => Ahead::Settings,
            (true, true) => Ahead::All,
        }
    }
}

impl Flight {
    /// Whether the command in the backlog, which was not sent, is brought to another connection
    /// because an internal query has lost the one in use.
    pub(super) fn tries_again(&mut self, decided: &mut Decided) -> bool {
        let is_lost = std::mem::take(&mut self.begin().internal_lost);
        let tries = is_lost && decided.lost < INTERNAL_LOST_MAX;
        decided.lost += u8::from(tries);
        tries
    }
}

impl SessionState {
    /// Whether the search for a server of this hostgroup waits for servers that do not work: not if
    /// another hostgroup may do in its place.
    pub(super) fn full(&self, hostgroup: u32, decided: Option<&Decided>) -> Full {
        let is_split = decided.is_some_and(Decided::is_split);
        let has_instead = self.instead_of(hostgroup, is_split).is_some()
            || decided.is_some_and(Decided::may_need_no_writer);
        if has_instead { Full::Elsewhere } else { Full::TryAgain }
    }
}

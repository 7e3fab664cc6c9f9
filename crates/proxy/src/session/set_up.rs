//! What was decided about a command is carried out, up to the point where it is forwarded, or
//! answered here.

use std::pin::pin;

use legs::backlog::{complete_front, will_be_whole};
use legs::client::watched;
use legs::close::close_everywhere;
use legs::entry::BookEntry;
use legs::facts::asking::{NoReply, ask_text, forget_warnings};
use legs::facts::screened::{note_ruling, note_sighting};
use legs::kept_error::refuse_and_keep;
use legs::leg::Leg;
use legs::parts::drop_unanswered;
use legs::phase::Phase;
use legs::reply::{answer_here, refuse_here};
use legs::stop::Stop;
use route::{Route, Sighting};
use runtime::decided::{Decided, Next, Reply};
use runtime::invariant::broken;
use upstream::AcquireError;
use wire::command::Kind;
use wire::frame::front;
use wire::{Codec as _, StatusFlags, packet};

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::facts::writes::note_commit;
use crate::session::own::refuse_unserved;
use crate::session::route::len_to_complete;
use crate::session::stage::turn;

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
            Ok(()) => Some(Phase::Sending(kind)),
            // Boxed, as what follows for most is nothing.
            Err(stop) => Box::pin(self.tell_stop(kind, stop, &mut decided)).await?,
        };
        let Some(next) = next else { return Ok(self.next_phase()) };
        let flight = self.leg.flight.begin();
        (flight.decided, flight.in_line, flight.batched) = (Some(decided), None, None);
        Ok(next)
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
            Stop::Prepared => {
                if let Err(stop) = self.prepare_for_client(decided).await {
                    return Box::pin(self.tell_stop(kind, stop, decided)).await;
                }
            }
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
    match ask_text(entry, leg, b"COMMIT").await {
        Err(NoReply::Lost(error)) => Err(Stop::refused(ClientError::CommitUnknown(error))),
        Err(NoReply::Over(ending)) => Err(ending.into()),
        Ok(reply) if leg.state.status.contains(StatusFlags::IN_TRANSACTION) => {
            Err(Stop::Told(front(&reply.bytes).to_vec()))
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

//! A session: one logged-in client, command after command.
//!
//! [`Session::run`] is the life of a query, phase after phase. A command is read into the worker's
//! scratch buffer, its end is found by packet headers, and the bytes go to the backend in the same
//! poll; the answer comes back the same way. Nothing is copied or allocated unless a socket is
//! full, a command is cut, several commands came at once, or statements of several sessions go out
//! together.
//!
//! - [`again`]: statements that are said a second time, where a primary has changed;
//! - [`command`]: from the client to the backend, [`answer`]: and back;
//! - [`renew`]: statements that a server wants to have prepared again; [`preparing`]: those that a
//!   client prepares; [`batched`]: statements that go out with those of others;
//! - [`segments`]: a reply on its way through the taps;
//! - [`route`](mod@route): what is kept of a command that is sent;
//! - [`facts`]: functions over the parts that they name, which decide, note and ask; more of them
//!   are in [`legs::facts`]; [`explained`]: what becomes of a statement, and why;
//! - [`cx`]: what runs a command, for a client, with the [leg](legs::leg) of a place;
//! - [`decided`](runtime::decided): what was decided about a command;
//! - [`shards`]: statements over tables that are split over servers;
//! - [`told`]: what a `SET` has set that is not written in it;
//! - [`stage`]: what a command passes before it is sent: its [turn](stage::turn), the [query
//!   cache](mod@stage::cache), [what the proxy answers itself](stage::local); [`at_once`]: commands
//!   that wait for nothing;
//! - [`fast_forward`]: sessions whose commands the proxy does not look at;
//! - [`mod@file`]: files of clients for their servers;
//! - [`in_line`]: waiting for a connection; [`set_up`]: getting to one that fits a command;
//! - [`leave`]: what becomes of backends when the client leaves;
//! - [`lost`]: servers that are lost, and [what may have become](session::unanswered) of
//!   what was sent there;
//! - [`overdue`]: statements that take too long; [`own_limit`]: sessions with a limit of their own;
//! - [`own`]: commands that the proxy answers itself; [`change_user`]: becoming another user's.

mod again;
mod answer;
mod at_once;
mod batched;
mod change_user;
mod command;
mod cx;
mod explained;
mod facts;
mod fast_forward;
mod file;
mod in_line;
mod leave;
mod lost;
mod overdue;
mod own;
mod own_limit;
mod preparing;
mod renew;
mod route;
mod segments;
mod set_up;
pub(crate) mod shards;
pub(crate) mod stage;
mod told;

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use front::login::LoggedIn;
use legs::cache::tables::learn_tables;
use legs::client::Client;
use legs::entry::BookEntry;
use legs::facts::places::{has_transaction, is_fast_forward};
use legs::facts::records::note_statement_over;
use legs::facts::replies::flush_client;
use legs::facts::sharing::may_ask_what_is_set;
use legs::idle::make_idle;
use legs::io::Io;
use legs::kept_error::keep_error;
use legs::leg::Leg;
use legs::links::Links;
use legs::phase::Phase;
use legs::routines::judge_routines;
use legs::state::Past;
use legs::warnings::log_warnings;
use querylog::{AuditEvent, Port};
use runtime::control::Control;
use runtime::invariant::broken;
use runtime::worker::Worker;
use upstream::Copied;

use crate::audit;
use crate::ending::Ending;
use crate::session::again::say_again;
use crate::session::change_user::state_of;
use crate::session::command::poll_upload;
use crate::session::cx::Cx;
use crate::session::facts::cache::end_unwatched;
use crate::session::leave::end_of;
use crate::session::own::refuse_unknown;
use crate::session::shards::dispatch::at_shards;
use crate::session::shards::inner::cx_of;
use crate::session::told::ask_what_is_set;
use crate::sock::Sock;
use crate::tunnel::resume;
pub(crate) use legs::flight::Flights;

/// A phase that is rare.
type Rare<'a> = Pin<Box<dyn Future<Output = Result<Phase, Ending>> + 'a>>;

/// A client after its login.
#[derive(Debug)]
pub(crate) struct Session {
    entry: BookEntry,
    io: Io,
    home: Leg,
}

impl Session {
    pub(crate) fn new(
        (worker, flights): (Rc<Worker>, Rc<Flights>),
        control: Rc<Control>,
        client: Sock,
        logged_in: LoggedIn,
    ) -> Self {
        let LoggedIn { identity, backlog, backend } = logged_in;
        control.set_idle(worker.now(), false);
        worker.seat(&control, &identity);
        control.about.set_backend(backend.as_ref());
        let mut state = state_of(&worker, identity.into());
        if let Some(backend) = &backend {
            state.begin_at(backend.connection());
        }
        let entry = BookEntry { worker, control, flights };
        let home = Leg::new(&entry, state, backend);
        Self { entry, io: Io::new(Client::Sock(client), backlog), home }
    }

    /// What is left when the session is over. The backend goes first, and waits for no goodbye.
    pub(crate) fn into_client(self) -> Option<Sock> {
        let Self { io, home, .. } = self;
        drop(home);
        if let Client::Sock(sock) = io.client { Some(sock) } else { None }
    }

    /// Runs commands until one side ends the session.
    pub(crate) async fn run(&mut self) -> Ending {
        audit::note(&self.entry.worker.front, &*self.entry.control, AuditEvent::ConnectOk(Port::Traffic));
        let first = if is_fast_forward(&self.entry.worker, &self.home.state) {
            Phase::FastForward
        } else {
            Phase::Reading
        };
        let mut ending = self.run_phases(first).await;
        let cx = self.cx();
        ending = end_of(cx.entry, cx.io, cx.leg, ending).await;
        if self.come_home() {
            let cx = self.cx();
            ending = end_of(cx.entry, cx.io, cx.leg, ending).await;
        }
        let ending = ending.behind(self.io.take_unsent());
        if let Ending::Broken(broken) = &ending {
            broken.note(&self.entry.worker.counts);
        }
        audit::note_end(&self.entry.worker.front, &*self.entry.control, Some(&ending));
        ending
    }

    /// The life of commands: each phase returns the next one. What it comes to in the end.
    async fn run_phases(&mut self, mut phase: Phase) -> Ending {
        loop {
            if matches!(phase, Phase::Reading) && self.io.is_over_once() && self.come_home() {
                let is_open = has_transaction(&self.home);
                self.entry.control.set_idle(self.entry.worker.now(), is_open);
            }
            let has_own_limit =
                matches!(phase, Phase::Reading) && self.entry.control.own_limit.get().is_some();
            let mut cx = self.cx();
            let next = if has_own_limit { cx.rare(phase).await } else { cx.step(phase).await };
            phase = match next {
                Ok(phase) => phase,
                Err(ending) => return ending,
            };
        }
    }

    /// The command of the client runs at home again. Whether it ran at a shard.
    fn come_home(&mut self) -> bool {
        let was_at_shard = self.home.links.come_home();
        if was_at_shard {
            self.io.is_for_once = false;
        }
        was_at_shard
    }

    /// What runs the command of the client.
    fn cx(&mut self) -> Cx<'_> {
        let Self { entry, io, home } = self;
        if home.links.away.role.runs_at_shard() {
            match home.links.away.role.running() {
                Some(inner) => cx_of(io, inner),
                None => unreachable!("it was looked at above"),
            }
        } else {
            Cx { entry, io, leg: home }
        }
    }
}

impl Cx<'_> {
    /// One phase of a command. The next one.
    async fn step(&mut self, phase: Phase) -> Result<Phase, Ending> {
        match phase {
            // Polled in place: an idle session has none of their state.
            Phase::Reading => poll_fn(|cx| self.poll_command(cx)).await,
            Phase::InLine => poll_fn(|cx| self.poll_line(cx)).await,
            Phase::Sending(kind) => poll_fn(|cx| self.poll_prepared(cx, kind)).await,
            Phase::Relaying(seq) => {
                self.relay_answers(seq).await?;
                let next = self.next_phase();
                Ok(if matches!(next, Phase::Over) { self.finish() } else { next })
            }
            Phase::Over => Ok(self.finish()),
            rare => self.rare(rare).await,
        }
    }

    /// The phases that most commands do not have, in one box each: an idle session does not carry
    /// their states.
    fn rare(&mut self, phase: Phase) -> Rare<'_> {
        match phase {
            Phase::Routing(kind) => Box::pin(self.route(kind)),
            Phase::Waiting(kind) => Box::pin(self.wait(kind)),
            Phase::SettingUp(kind) => Box::pin(self.set_up(kind)),
            Phase::Uploading => Box::pin(self.upload()),
            Phase::Answered => Box::pin(async {
                flush_client(self.entry, self.io, self.leg).await?;
                Ok(self.next_phase())
            }),
            Phase::FollowUp => Box::pin(self.follow_up()),
            Phase::Retrying => Box::pin(async {
                say_again(self.entry, self.io, self.leg).await?;
                Ok(Phase::Over)
            }),
            Phase::KeepingError => Box::pin(async {
                keep_error(self.entry, self.leg).await?;
                Ok(self.next_phase())
            }),
            Phase::Refusing => Box::pin(async {
                refuse_unknown(self.entry, self.io, self.leg).await?;
                Ok(self.next_phase())
            }),
            Phase::Sharded(kind) => Box::pin(at_shards(self.entry, self.io, self.leg, kind)),
            Phase::Reading => Box::pin(self.read_in_time()),
            Phase::Tunnel => Box::pin(tunnel(self.entry, self.io, &mut self.leg.links)),
            Phase::FastForward => Box::pin(self.fast_forward()),
            polled => Box::pin(std::future::ready(Ok(polled))),
        }
    }

    /// What comes behind a command that was answered, or needs no answer.
    #[inline]
    fn next_phase(&self) -> Phase {
        let is_last = self.io.backlog.is_empty();
        let asks = self.entry.control.running.warned.get().is_some()
            || may_ask_what_is_set(self.entry, self.leg)
            || self.leg.state.hides_write()
            || self.leg.may_judge(self.entry, is_last)
            || self.leg.may_learn(self.entry, is_last);
        match asks {
            true => Phase::FollowUp,
            false if self.leg.flight.refused.is_some() => Phase::Retrying,
            false => Phase::Over,
        }
    }

    /// Asks the server what the client has not asked for.
    async fn follow_up(&mut self) -> Result<Phase, Ending> {
        let is_known = self.leg.flight.refused.is_none() && self.leg.links.pipelined.is_empty();
        if let Some(flight) = self.leg.flight.as_mut().filter(|_| is_known) {
            // What is asked now takes its time, and others need not wait for that.
            flight.taps.end_writes();
        }
        if let Some(warned) = self.entry.control.running.warned.take() {
            log_warnings(self.entry, self.leg, warned).await?;
        }
        if self.leg.state.hides_write() {
            let end = Box::pin(self.leg.ask_what_was_written(self.entry)).await?;
            let sent = poll_fn(|cx| Poll::Ready(self.io.send(cx, &end))).await;
            sent.map_err(|_| Ending::ClientLeft)?;
            flush_client(self.entry, self.io, self.leg).await?;
        }
        if may_ask_what_is_set(self.entry, self.leg) {
            ask_what_is_set(self.entry, self.leg).await?;
        }
        if self.leg.may_judge(self.entry, self.io.backlog.is_empty()) {
            judge_routines(self.entry, self.leg).await?;
        }
        if self.leg.may_learn(self.entry, self.io.backlog.is_empty()) {
            learn_tables(self.entry, self.leg).await?;
        }
        Ok(if self.leg.flight.refused.is_some() { Phase::Retrying } else { Phase::Over })
    }

    /// The command is over: the flight ends, unless the command goes on, and connections that
    /// nothing binds to the session become idle.
    fn finish(&mut self) -> Phase {
        note_statement_over(&self.entry.worker, &self.leg.state, &mut self.leg.flight);
        if self.leg.state.past.contains(Past::UNWATCHED) {
            end_unwatched(&self.entry.worker, &mut self.leg.state);
        }
        self.leg.flight.end_try();
        self.leg.links.away.role.end_command();
        if !self.io.is_for_once {
            // What is run once is a part of what its client runs.
            self.entry.control.set_idle(self.entry.worker.now(), has_transaction(self.leg));
        }
        make_idle(self.entry, self.io, self.leg);
        Phase::Reading
    }

    /// Sends the rest of a command that came in pieces.
    async fn upload(&mut self) -> Result<Phase, Ending> {
        let upload = self.leg.flight.as_mut().and_then(|flight| flight.upload.take());
        let Some(mut upload) = upload else { return Err(broken("an upload without a command")) };
        // While the client sends it has as much time as an idle one.
        self.entry.set_slow();
        let complete = poll_fn(|cx| poll_upload(self.entry, self.io, self.leg, cx, &mut upload)).await?;
        self.entry.control.set_busy();
        if complete {
            return Ok(Phase::after(upload.answer, upload.next_seq()).unwrap_or_else(|| self.next_phase()));
        }
        // A server that answers before it has the whole command will not read the rest.
        Err(Ending::BackendSpoke { answer_seq: Some(upload.next_seq()) })
    }
}

/// Copies bytes for the rest of the connection: the answer has no end.
async fn tunnel(entry: &BookEntry, io: &mut Io, links: &mut Links) -> Result<Phase, Ending> {
    let backlog = std::mem::take(&mut io.backlog);
    if let (Some(backend), Some(sock)) = (&mut links.in_use, io.client.sock_mut()) {
        resume(&entry.worker.front, &*entry.control, sock, backend, backlog, Copied::Stream).await;
    }
    Err(Ending::ClientLeft)
}

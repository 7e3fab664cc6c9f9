//! Commands of a session that the read/write split sends to the writer, while the writer's
//! hostgroup has no usable server. What needs no writer does not wait for one:
//!
//! - settings, the schema and what is the same at all servers go to a reader;
//! - a transaction begins with its first statement: `BEGIN` is answered here, and said to the
//!   writer in front of that statement. If there is none, `COMMIT` is answered here as well.
//!
//! All others wait for the writer.

use command::Command;
use runtime::decided::Decided;
use session::state::without_writer::{Bracket, bracket, is_shown_anywhere};
use sql::StatementKind;
use sql::shape::Effects;
use upstream::{AcquireError, Ahead, Full, part};
use wire::command::Kind;
use wire::{Codec as _, StatusFlags, packet};

use crate::entry::BookEntry;
use crate::facts::asking::ask_text;
use crate::facts::leases::lose_backend;
use crate::io::Io;
use crate::leg::Leg;
use crate::state::{Past, SessionState};
use crate::stop::Stop;

/// What a `SET` does that every server can do alike. One of `autocommit` commits, but there is no
/// transaction.
const OF_SETS: Effects = Effects::SESSION
    .union(Effects::TRANSACTION)
    .union(Effects::COMMITS)
    .union(Effects::SERVER)
    .union(Effects::USER_VARIABLES)
    .union(Effects::SETS_USER_VARIABLES);

/// The variable by which `COMMIT` may begin another transaction.
pub const COMPLETION_TYPE: &str = "completion_type";

/// How a command is done that the writer cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    /// It waits for the writer.
    Waits,
    /// By the readers in this hostgroup.
    Reader(u32),
    /// Later, in front of the first statement of its transaction.
    Later,
}

impl Leg {
    /// Goes on with a command that has found no writer, because of `why`.
    pub(crate) async fn reach_without_writer(
        &mut self,
        entry: &BookEntry,
        why: AcquireError,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let hostgroup = decided.hostgroup();
        if entry.worker.shared.upstream.pool.works(hostgroup, entry.worker.shared.uptime()) {
            return Err(self.unreached(why.into(), decided));
        }
        match without_writer(entry, self, decided) {
            Without::Later => {
                let payload = begin_later(&mut self.state);
                return Err(Stop::Told(payload));
            }
            Without::Reader(reader) => {
                let Err(stop) = self.go_to(entry, reader, Full::Elsewhere).await else {
                    decided.redirect(reader);
                    return Ok(());
                };
                stop.unreached()?;
                self.flight.begin().internal_lost = false;
            }
            Without::Waits => {}
        }
        self.go_to(entry, hostgroup, Full::TryAgain).await.map_err(|stop| self.unreached(stop, decided))
    }

    /// Goes on with a command of a transaction that has not begun at a server.
    pub(crate) async fn reach_with_begin(
        &mut self,
        entry: &BookEntry,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        match self.text().and_then(bracket) {
            // Servers commit a transaction when another one begins: this one is empty.
            Some(Bracket::Begin) => self.state.past.remove(Past::BEGINS_LATER),
            Some(Bracket::End) => {
                let payload = end_unbegun(&mut self.state);
                return Err(Stop::Told(payload));
            }
            None => {}
        }
        let status = self.state.status;
        if !self.state.begins_later() {
            self.state.status -= StatusFlags::IN_TRANSACTION;
            return Box::pin(self.reach(entry, decided)).await;
        }
        self.flight.begin().ahead = Ahead::Nothing;
        let begun = match self.go_to(entry, decided.hostgroup(), Full::TryAgain).await {
            Ok(()) => say_begin(entry, self).await,
            reached => reached,
        };
        let Err(stop) = begun else {
            self.state.past.remove(Past::BEGINS_LATER);
            return Ok(());
        };
        let why = stop.unreached()?;
        // The client is in its transaction as before.
        if let Some(backend) = self.links.in_use.take() {
            lose_backend(entry, self);
            part(backend);
        }
        self.state.status = status;
        Err(self.unreached(why.into(), decided))
    }

    /// What becomes of a command that has found no server.
    pub(crate) fn unreached(&mut self, stop: Stop, decided: &mut Decided) -> Stop {
        let is_unreached = matches!(stop, Stop::Unreached(_));
        if is_unreached && self.flight.tries_again(decided) { Stop::Elsewhere } else { stop }
    }
}

/// A server gets the `BEGIN` of the client later. The payload of its answer.
pub fn begin_later(state: &mut SessionState) -> Vec<u8> {
    state.past |= Past::BEGINS_LATER;
    state.status |= StatusFlags::IN_TRANSACTION;
    packet::Ok::plain(state.status).encode(state.identity.capabilities)
}

/// A transaction ends that has not begun at a server. The payload of the answer.
pub fn end_unbegun(state: &mut SessionState) -> Vec<u8> {
    state.past.remove(Past::BEGINS_LATER);
    state.status -= StatusFlags::IN_TRANSACTION;
    packet::Ok::plain(state.status).encode(state.identity.capabilities)
}

/// Says the `BEGIN` that was answered here.
async fn say_begin(entry: &BookEntry, leg: &mut Leg) -> Result<(), Stop> {
    let reply = ask_text(entry, leg, b"BEGIN").await?;
    let refusal = reply.error().map(|_| AcquireError::Server(reply.payload().to_vec()));
    refusal.map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// How the command in the backlog is done without a writer.
fn without_writer(entry: &BookEntry, leg: &Leg, decided: &Decided) -> Without {
    let state = &leg.state;
    let account = &*state.account;
    let session = leg.session();
    let is_bound = session.transaction.is_some() || session.locked_on.is_some() || session.hold.is_some();
    let writer = account.default_hostgroup;
    if is_bound || account.listener.is_some() || decided.hostgroup() != writer {
        return Without::Waits;
    }
    let routing = entry.worker.routing.borrow();
    let routes = routing.routes();
    let Some(reader) = routes.pairs.reader(writer).filter(|_| routes.split_on) else {
        return Without::Waits;
    };
    let bracket = leg.text().and_then(bracket);
    if bracket == Some(Bracket::Begin) {
        return if account.transaction_persistent { Without::Later } else { Without::Waits };
    }
    let is_for_reader = match decided.plan.statement() {
        None => matches!(
            leg.command().map(|command| command.kind),
            Some(Kind::InitDb | Kind::SetOption | Kind::ResetConnection | Kind::Statistics)
        ),
        Some(StatementKind::Set | StatementKind::Use) => {
            let only_sets = decided.change.as_ref().is_some_and(|change| change.only_sets());
            only_sets && decided.plan.effects.difference(OF_SETS).is_empty()
        }
        Some(StatementKind::Select) => {
            !decided.plan.tables && decided.plan.effects.difference(Effects::SERVER).is_empty()
        }
        Some(StatementKind::Show) => session.autocommit && leg.text().is_some_and(is_shown_anywhere),
        Some(StatementKind::Commit | StatementKind::Rollback) => {
            let chains = state.settings().any(|(name, _)| name == COMPLETION_TYPE);
            bracket == Some(Bracket::End) && !chains
        }
        Some(_) => false,
    };
    let works = || entry.worker.shared.upstream.pool.works(reader, entry.worker.shared.uptime());
    if is_for_reader && works() { Without::Reader(reader) } else { Without::Waits }
}

impl Io {
    /// The text of the `COM_QUERY` in the backlog, if it is one, and whole.
    pub fn text_in_backlog(&self, state: &SessionState) -> Option<&[u8]> {
        let command = self.command(state.identity.capabilities).filter(Command::is_whole)?;
        (command.kind == Kind::Query).then(|| command.text())
    }
}

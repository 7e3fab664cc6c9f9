//! Statements that kill or list connections, as they are known before a server has them.

use command::Command;
use reply::listing::Listing;
use runtime::worker::Worker;
use session::limits::FIRST_CONNECTION_ID;
use session::state::OPTION;
use session::statement;
use session::statement::kill::PreparedKill;
use session::statement::{Kill, Own};
use wire::Capabilities;
use wire::command::Kind;

use crate::facts::commands::naming;
use crate::facts::screened::is_watched;
use crate::flight::Flight;
use crate::links::Links;
use crate::state::{Past, SessionState};

/// A `KILL` of the session itself, with its id.
pub(crate) fn own_kill(state: &SessionState, kill: Kill) -> Kill {
    Kill { id: state.identity.connection_id.into(), ..kill }
}

/// Takes note of a command that is being sent, if it may show ids of threads. Rows that the
/// client fetches later keep them.
#[inline]
pub fn begin_listing(state: &SessionState, flight: &mut Flight, command: Command<'_>) {
    let absent = flight.as_mut().and_then(|flight| flight.absent.take());
    let shown = flight.proposed.as_ref().and_then(|change| change.ids);
    let Some(ids) = shown.filter(|_| !command.opens_cursor()) else { return };
    let is_binary = command.kind == Kind::StmtExecute;
    let listing = Listing::new(state.identity.capabilities, ids, is_binary);
    flight.begin().taps.set_listing(match absent.filter(|_| !is_binary) {
        Some(absent) => listing.with(*absent),
        None => listing,
    });
}

/// What an execution of a prepared statement is, if it kills a session of the proxy, or what a
/// parameter says.
pub(crate) fn prepared_kill(worker: &Worker, state: &SessionState, command: Command<'_>) -> Option<Own> {
    if !state.past.contains(Past::PREPARED_KILL) {
        return None;
    }
    match state.executed(command)?.kill? {
        PreparedKill::Session(kill) => Some(Own::Kill(kill)),
        PreparedKill::Own(kill) => Some(Own::Kill(own_kill(state, kill))),
        PreparedKill::ByParameter { .. } => {
            kill_by_parameter(worker, state, command).map(|_| Own::KillExecuted)
        }
    }
}

/// The KILL that an execution stands for, and the type of its parameter; nothing if its value
/// is no number. Where texts are judged it must not become another text.
pub fn kill_by_parameter(worker: &Worker, state: &SessionState, command: Command<'_>) -> Option<(Kill, u16)> {
    let PreparedKill::ByParameter { kill, kind } = state.executed(command)?.kill? else { return None };
    let (id, kind) = command.params(1)?.first_whole_number(kind)?;
    (!is_watched(worker, state)).then_some((Kill { id, ..kill }, kind))
}

/// Whether other statements may stand behind the first in one text.
pub(crate) fn takes_several_statements(state: &SessionState) -> bool {
    // `COM_SET_OPTION` with 0 allows it.
    let mut said = state.settings().filter(|(key, _)| *key == OPTION);
    let said = said.next().and_then(|(_, payload)| payload.get(1));
    said.map_or_else(
        || state.identity.capabilities.contains(Capabilities::MULTI_STATEMENTS),
        |said| *said == 0,
    )
}

impl Links {
    /// A command with a statement that names sessions, with their threads at the backend's server
    /// in their place; `None` if it names none that has one there.
    pub fn with_threads(&self, worker: &Worker, command: Command<'_>) -> Option<Vec<u8>> {
        let (text, payload) = (naming(command)?, command.payload());
        let server = &self.in_use.as_ref()?.server().endpoint().endpoint;
        // A server that counts that far could be asked for the wrong one.
        let thread = |session| {
            worker
                .shared
                .upstream
                .threads
                .thread(server, session)
                .filter(|&thread| thread < FIRST_CONNECTION_ID)
        };
        let translated = statement::naming::translated(text, thread)?;
        let front = payload.get(..payload.len() - text.len())?;
        Some([front, &translated].concat())
    }

    /// Whether a command has a statement that names sessions, in whose place a server needs its own
    /// threads. Without a backend it is not known yet which.
    pub(crate) fn names_threads(&self, worker: &Worker, command: Command<'_>) -> bool {
        if self.in_use.is_some() {
            return self.with_threads(worker, command).is_some();
        }
        naming(command).is_some_and(statement::naming::is_one)
    }
}

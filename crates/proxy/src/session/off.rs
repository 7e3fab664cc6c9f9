//! Servers that are switched off (`OFFLINE_HARD`), do not answer any more or leave their hostgroup
//! while the session has connections to them.
//!
//! Connections that are idle and have nothing left behind are closed, and the client does not
//! notice: the next statement gets another one. What only that server knows is lost with it, and
//! the client is told ([`lost`](super::lost)).

use super::entry::BookEntry;
use super::facts::endings::told_if;
use super::facts::leases::leave_nothing_running;
use super::links::Links;
use super::state::SessionState;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};

/// While an answer is on its way: ends the session if the server that owes it is off. What runs
/// there is killed.
pub(super) fn break_off(entry: &BookEntry, state: &SessionState, links: &mut Links) -> Result<(), Ending> {
    let Some(backend) = &links.in_use else { return Ok(()) };
    // What runs at a server that has only left its hostgroup may end.
    let Some(off) = backend.server().off().filter(|off| off.breaks_off()) else { return Ok(()) };
    let reply = backend.connection().progress();
    if !reply.is_begun {
        return Err(Ending::ServerLost(Gone::Off(off)));
    }
    entry.worker.counts.note(Counter::OfflineDuringQuery);
    let error = ClientError::server_off(backend.server().endpoint(), off);
    let ending = told_if(entry, state, reply, &error);
    leave_nothing_running(entry, state, links);
    Err(ending)
}

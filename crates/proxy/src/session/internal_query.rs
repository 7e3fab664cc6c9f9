//! Internal queries over the session's connection to a server; the client sees nothing of them.

use super::entry::BookEntry;
use super::facts::asking::internal_query_within;
use super::flight::Flight;
use super::links::Links;
use super::state::SessionState;
use crate::ending::Ending;
use crate::error::ClientError;
use upstream::{InternalQuery, Reply};

/// Why a connection has not done what it was to do.
#[derive(Debug, Clone, Copy)]
pub(super) enum NoAnswer {
    /// It was lost, for this reason.
    Lost(&'static str),
    /// It has not answered in time.
    Late,
}

/// Has the backend carry out commands, given as payloads, one after the other. An error of the
/// server is an answer; if there is none in time the backend is given up, and the reason is
/// what the client is to hear: that its transaction is lost, if one is.
pub(super) async fn ask_server(
    entry: &BookEntry,
    state: &mut SessionState,
    links: &mut Links,
    flight: &mut Flight,
    commands: &[InternalQuery],
) -> Result<Result<Vec<Reply>, ClientError>, Ending> {
    let limit = entry.worker.settings().variables.connect_timeout_server_max;
    internal_query_within(entry, state, links, flight, limit, commands).await
}

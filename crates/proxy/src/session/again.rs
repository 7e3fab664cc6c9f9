//! Statements that a server has refused because it is read-only, in the place of a primary, or
//! because it has lost its Galera cluster: it has done nothing of them. They are said again at the
//! server that takes them, once the monitor has found it.

use std::pin::pin;
use std::time::Duration;

use legs::entry::BookEntry;
use legs::facts::executions::send_once_more;
use legs::facts::leases::lose_backend;
use legs::facts::orders::while_waiting;
use legs::hidden::Refused;
use legs::io::Io;
use legs::leg::Leg;
use legs::part::Part;
use legs::state::SessionState;
use pool::Off;
use runtime::control::Control;
use session::link::Loss;
use tokio::time::{Instant, sleep, timeout_at};
use wire::command::Kind;
use wire::reply::{End, Event, Outcome};
use wire::{Capabilities, StatusFlags};

use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::session::batched::say_alone;
use crate::session::cx::Cx;
use crate::session::lost::command_that_runs;
use crate::session::renew::{needs_renewal, pass_on, refuse_running};

/// What servers say to a write that they do not take: `ER_OPTION_PREVENTS_STATEMENT`.
const OPTION_PREVENTS: u16 = 1290;

/// How they name the option; the error is there for others as well.
const OPTION: &[u8] = b"read-only";

/// What MySQL says to it in some states: `ER_READ_ONLY_MODE`.
const READ_ONLY_MODE: u16 = 1836;

/// What nodes say to all statements while they are not part of their cluster:
/// `ER_UNKNOWN_COM_ERROR`.
const NO_CLUSTER: u16 = 1047;

/// How they begin to say it; the error is there for commands that do not exist as well.
const WSREP: &[u8] = b"WSREP";

/// How often a session looks whether the monitor has found out.
const LOOK: Duration = Duration::from_millis(2);

/// Whether an answer that ends like this may be one that the client does not see: the statement is
/// said again. Until that is known it is not over for those who count.
pub(super) const fn may_be_hidden(outcome: Outcome, runs: Option<Kind>) -> bool {
    let End::Err { code } = outcome.end else { return false };
    needs_renewal(outcome, runs) || matches!(code, OPTION_PREVENTS | READ_ONLY_MODE | NO_CLUSTER)
}

/// Whether `output`, which ends with this error, says that the server takes no writes, or nothing
/// at all.
fn is_refusal(code: u16, output: &[u8]) -> bool {
    match code {
        OPTION_PREVENTS => has(output, OPTION),
        READ_ONLY_MODE => true,
        NO_CLUSTER => has(output, WSREP),
        _ => false,
    }
}

fn has(output: &[u8], words: &[u8]) -> bool {
    output.windows(words.len()).any(|part| part == words)
}

/// What is to be done about the whole answer to the only statement that was sent, if it is a
/// refusal. The statement may be sent again if all of it is known, and it is outside a transaction.
pub(super) fn refused(
    state: &SessionState,
    control: &Control,
    caps: Capabilities,
    answer: &Part<'_>,
) -> Option<Box<Refused>> {
    let Part { event, bytes: output, runs, .. } = *answer;
    let Event::Done(outcome @ Outcome { end: End::Err { code }, .. }) = event else { return None };
    let renews = needs_renewal(outcome, runs.0);
    if !renews && !is_refusal(code, output) {
        return None;
    }
    let in_transaction = state.in_transaction();
    let is_alone = !in_transaction && state.status.contains(StatusFlags::AUTOCOMMIT);
    let command = if renews || is_alone {
        Some(command_that_runs(state, control, caps, runs.0?, runs.1?)?)
    } else if in_transaction {
        None
    } else {
        return None;
    };
    Some(Box::new(Refused { command, answer: output.to_vec(), outcome, renews, is_alone: false }))
}

/// Says a statement again that was refused, as soon as its server is known not to take writes.
/// If it is not, or the session cannot do without the server, the client gets the refusal. One
/// in a transaction is not said again: the client hears that the transaction is over.
pub(super) async fn say_again(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    let Some(refused) = leg.flight.begin().refused.take() else { return Ok(()) };
    if refused.is_alone {
        if let Some(command) = refused.command {
            say_alone(entry, io, leg, command);
        }
        return Ok(());
    }
    if refused.renews {
        return Cx { entry, io, leg }.renew(refused.command, &refused.answer, refused.outcome).await;
    }
    let settings = entry.worker.settings();
    let server = leg.links.in_use.as_ref().map(|backend| std::sync::Arc::clone(backend.server()));
    let hostgroup = leg.state.here;
    let concerns =
        settings.is_writer(hostgroup) || has(&refused.answer, WSREP) && settings.is_clustered(hostgroup);
    let is_watched = entry.worker.shared.watching.is_running() && concerns;
    let begun = Instant::now();
    let limit = settings.variables.connect_timeout_server_max;
    let end = *leg.flight.begin().again_until.get_or_insert(begun + limit);
    if let Some(server) = server.filter(|_| is_watched && begun < end) {
        entry.worker.shared.watching.doubt(&server.endpoint().endpoint);
        let monitor = settings.upstream.monitor();
        let patience = begun + monitor.read_only_interval + monitor.read_only_timeout;
        let moved = async {
            while server.off().is_none() {
                sleep(LOOK).await;
            }
        };
        let moved = pin!(timeout_at(end.min(patience), moved));
        let moved =
            while_waiting(&entry.control, &mut io.client, leg.state.identity.capabilities, moved).await?;
        let Some(moved) = moved else {
            return refuse_running(entry, io, leg, &ClientError::Interrupted).await;
        };
        let has_moved = moved.is_ok();
        match (leg.links.loss(&leg.state), refused.command) {
            (Loss::Nothing, Some(command)) if has_moved => {
                lose_backend(entry, leg);
                send_once_more(&entry.control, io, &mut leg.flight, command);
                return Ok(());
            }
            (Loss::Transaction, None) if has_moved => {
                let off = server.off().unwrap_or(Off::Left);
                let error = ClientError::transaction_lost(server.endpoint(), Gone::Off(off));
                lose_backend(entry, leg);
                return refuse_running(entry, io, leg, &error).await;
            }
            _ => {}
        }
    }
    pass_on(entry, io, leg, &refused.answer, refused.outcome).await
}

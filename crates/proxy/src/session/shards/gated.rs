//! Waiting at the gates of tables, which definitions close.

use std::pin::pin;
use std::sync::atomic::Ordering;

use legs::entry::BookEntry;
use legs::facts::orders::while_waiting;
use legs::io::Io;
use legs::leg::Leg;
use runtime::gates::{Gates, Pass, TableName};
use tokio::time::timeout;

use crate::ending::Ending;
use crate::error::ClientError;

/// Why a command does not run behind a gate.
pub(super) enum Barred {
    /// The client gets this error.
    Refused(ClientError),
    /// Tables were defined since it was planned.
    Outdated,
}

/// Waits until a command may run that names these tables.
pub(super) async fn pass_gates<'g>(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    gates: &'g Gates,
    tables: Vec<TableName>,
    defines: bool,
) -> Result<Result<Pass<'g>, Barred>, Ending> {
    let longest = entry.worker.settings().variables.connect_timeout_server_max;
    let waiting = pin!(timeout(longest, pass(gates, tables, defines)));
    let passed =
        while_waiting(&entry.control, &mut io.client, leg.state.identity.capabilities, waiting).await?;
    let pass = match passed {
        Some(Ok(pass)) => pass,
        None => return Ok(Err(Barred::Refused(ClientError::Interrupted))),
        Some(Err(_)) => {
            let part = "a statement and a definition of its tables at once";
            let error = ClientError::not_sharded(part, "the one before has not ended in time");
            return Ok(Err(Barred::Refused(error)));
        }
    };
    let defined = entry.worker.shared.definitions_of_shards.load(Ordering::Relaxed);
    let is_outdated = !defines && leg.links.away.role.shards().planned_at != defined;
    Ok(if is_outdated { Err(Barred::Outdated) } else { Ok(pass) })
}

/// Waits until a command may run that names these tables.
async fn pass(gates: &Gates, tables: Vec<TableName>, defines: bool) -> Pass<'_> {
    if defines { gates.close(tables).await } else { gates.enter(tables).await }
}

//! Waiting at the gates of tables, which definitions close.

use std::pin::pin;
use std::sync::atomic::Ordering;

use legs::entry::BookEntry;
use legs::facts::orders::while_waiting;
use legs::io::Io;
use legs::leg::Leg;
use runtime::gates::{Gates, Pass, TableName};
use tokio::time::timeout;

use crate::error::ClientError;
use crate::session::shards::done::Halt;

/// Waits until a command may run that names these tables.
pub(super) async fn pass_gates<'g>(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    gates: &'g Gates,
    tables: Vec<TableName>,
    defines: bool,
) -> Result<Pass<'g>, Halt> {
    let longest = entry.worker.settings().variables.connect_timeout_server_max;
    let waiting = pin!(timeout(longest, gates.pass(tables, defines)));
    let passed =
        while_waiting(&entry.control, &mut io.client, leg.state.identity.capabilities, waiting).await?;
    let pass = match passed {
        Some(Ok(pass)) => pass,
        None => return Err(ClientError::Interrupted.into()),
        Some(Err(_)) => {
            let part = "a statement and a definition of its tables at once";
            return Err(ClientError::not_sharded(part, "the one before has not ended in time").into());
        }
    };
    let defined = entry.worker.shared.definitions_of_shards.load(Ordering::Relaxed);
    let is_outdated = !defines && leg.links.away.role.shards().planned_at != defined;
    if is_outdated { Err(Halt::Outdated) } else { Ok(pass) }
}

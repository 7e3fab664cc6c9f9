//! Opening a connection to a server that a session can use.

use super::{Connection, OpenError, Target, connect, login::log_in};
use crate::client::login::Identity;
use crate::worker::Worker;

/// Connects to `target` and logs in as `identity`; the caller keeps the deadline.
pub(crate) async fn open(
    worker: &Worker,
    target: &Target,
    identity: &Identity,
) -> Result<Connection, OpenError> {
    let mut sock = connect(worker, &target.endpoint, identity.peer).await?;
    let (thread_id, greeted) = log_in(worker, target, &mut sock, identity).await.map_err(|error| {
        if worker.settings().announced.contains(&target.endpoint) { error.behind_header() } else { error }
    })?;
    Ok(Connection::new(
        sock,
        worker.shared.threads.enter(&target.endpoint, thread_id, identity.connection_id),
        greeted,
    ))
}

//! Opening a connection to a server that a session can use.

use session::identity::Identity;

use crate::Worker;
use crate::initial::initialise;
use crate::login::log_in;
use crate::{Connection, OpenError, Target, connect};

/// Connects to `target`, which is a server of `hostgroup`, logs in as `identity`, and says there
/// what connections to that hostgroup begin with; the caller keeps the deadline.
pub async fn open_in(
    worker: &Worker,
    hostgroup: u32,
    target: &Target,
    identity: &Identity,
) -> Result<Connection, OpenError> {
    let mut link = open(worker, target, identity).await?;
    initialise(worker, &mut link, hostgroup, identity.capabilities).await?;
    Ok(link)
}

/// Connects to `target` and logs in as `identity`, for the proxy's own use; the caller keeps the
/// deadline.
pub async fn open(worker: &Worker, target: &Target, identity: &Identity) -> Result<Connection, OpenError> {
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

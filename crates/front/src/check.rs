//! Asking a server, at a client's login, whether it lets this user into this schema.
//!
//! A server that refuses says so at the login, and clients expect to hear it there. So the first
//! client of a user and a schema gets its connection at its login already; for the next ones that
//! is known, and idle clients take no connections.

use config::CheckLogins;
use tokio::time::{Instant, timeout};

use crate::worker::Worker;
use session::identity::Identity;
use upstream::{AcquireError, Backend, Full, Target, Whom, acquire, note_client, open_in};

/// The connection of a client that is being let in, if it gets one now: a new one, as one that is
/// there proves nothing. `Err` is the payload of the server's ERR packet.
///
/// Only a server's own refusal counts, also that it is full, if all are. Where none can be reached
/// within `mysql-connect_timeout_server` the client is let in without a connection, as when no
/// server is asked: its first statement waits longer. With the read/write split the login does not
/// wait for a writer while there are readers only: clients may have come to read.
pub async fn check_login(worker: &Worker, identity: &Identity) -> Result<Option<Backend>, Vec<u8>> {
    let settings = worker.upstream.settings();
    let (user, schema) = (&identity.account.user, identity.account.schema.as_deref());
    match settings.config().pointsman.check_logins {
        CheckLogins::Never => return Ok(None),
        CheckLogins::First if user.is_vouched_for(schema, Instant::now().into_std()) => return Ok(None),
        CheckLogins::First | CheckLogins::Always => {}
    }
    let account = identity.route_account(&worker.pairs());
    // At a listener for readers of a user who has none nothing can be had, which is said when it is
    // asked for.
    if account.listener.is_some_and(|listener| listener.hostgroup.is_none()) {
        return Ok(None);
    }
    let hostgroup = account.hostgroup();
    if has_readers_only(worker, hostgroup) {
        return Ok(None);
    }
    let open = async |target: &Target| open_in(&worker.upstream, hostgroup, target, identity).await;
    let whom = Whom::of(user);
    let acquiring = acquire(&worker.upstream, hostgroup, Full::Tell, whom, None, open);
    match timeout(settings.variables.connect_timeout_server, acquiring).await {
        Ok(Ok(found)) => {
            user.vouch_for(schema, Instant::now().into_std());
            note_client(&worker.upstream, hostgroup, identity);
            Ok(Some(found.backend))
        }
        Ok(Err(AcquireError::Server(refusal))) => Err(refusal),
        Ok(Err(AcquireError::Proxy(_))) | Err(_) => Ok(None),
    }
}

/// Whether this is a writer's hostgroup without a usable server, which has readers that are.
fn has_readers_only(worker: &Worker, hostgroup: u32) -> bool {
    let upstream = &worker.upstream;
    let (pool, uptime) = (&upstream.shared.pool, upstream.shared.uptime());
    let reader = worker.pairs().reader(hostgroup).filter(|_| upstream.settings().variables.read_write_split);
    reader.is_some_and(|reader| !pool.works(hostgroup, uptime) && pool.works(reader, uptime))
}

//! Statements that must see a transaction (`min_gtid`): they go where it has been executed.

use std::pin::pin;

use monitor::Gtid;
use tokio::time::timeout;
use wire::command::Kind;

use super::Session;
use super::course::decided::Decided;
use super::kill::while_waiting;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::worker::Worker;

/// Whether all servers of a hostgroup are known to have executed a transaction.
fn has_caught_up(worker: &Worker, hostgroup: u32, gtid: &Gtid) -> bool {
    let (shared, executed) = (&worker.shared, &worker.shared.watching.executed);
    let servers = shared.pool.servers();
    let mut servers =
        servers.iter().filter(|server| server.hostgroup() == hostgroup && server.is_configured());
    servers.all(|server| executed.has(&server.endpoint().endpoint, gtid))
}

impl Session {
    /// Sees to it that the command in the backlog is executed where a transaction has been: readers of a pair that have not caught
    /// up leave it to their writer, and for other servers it waits. In a transaction it stays where that is. False if the client
    /// was told that it has waited in vain.
    pub(super) async fn catch_up(
        &mut self,
        kind: Kind,
        gtid: Gtid,
        decided: &mut Decided,
    ) -> Result<bool, Ending> {
        let hostgroup = decided.hostgroup;
        if self.course.session(self.status).transaction.is_some() {
            return Ok(true);
        }
        self.worker.counts.note(Counter::GtidConsistent);
        let settings = self.worker.settings();
        if settings.is_writer(hostgroup) || has_caught_up(&self.worker, hostgroup, &gtid) {
            return Ok(true);
        }
        let writer = self.worker.routing.borrow().routes().pairs.writer(hostgroup);
        if let Some(writer) = writer {
            (decided.hostgroup, decided.is_split) = (writer, false);
            return Ok(true);
        }
        let limit = settings.variables.connect_timeout_server_max;
        self.show_waiting();
        let worker = std::rc::Rc::clone(&self.worker);
        let waited = {
            let caught_up = || has_caught_up(&worker, hostgroup, &gtid);
            let waiting = pin!(timeout(limit, worker.shared.watching.executed.wait_until(caught_up)));
            while_waiting(&self.control, &mut self.client, self.identity.capabilities, waiting).await?
        };
        self.end_running();
        let error = match waited {
            Some(Ok(())) => return Ok(true),
            Some(Err(_)) => {
                let why = format_args!("not all of its servers are known to have executed {gtid}");
                ClientError::no_backend(hostgroup, limit, &why)
            }
            None => ClientError::interrupted(),
        };
        self.refuse_here(kind, &error).await.map(|()| false)
    }
}

//! Statements that must see a transaction (`min_gtid`): they go where it has been executed.
//!
//! There are two looks. The first is at the servers that the session may get, so that it does not take a connection in vain. The second is
//! at the server of the connection that it has got, and that one counts: servers come and go while it waits for a place.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use monitor::Gtid;
use route::Effects;
use tokio::time::{Instant, sleep, timeout_at};
use wire::command::Kind;

use super::Session;
use super::course::decided::Decided;
use super::kill::while_waiting;
use crate::backend::Target;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::worker::Worker;

/// How often a session that waits looks at its servers. What there is to be seen changes with each transaction of each of them, and
/// with each change of the configuration: those who wait are not to be woken by all of that.
const LOOK: Duration = Duration::from_millis(5);

/// What is known of the servers of a hostgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Sessions get none of them at the moment.
    Nobody,
    /// Not all of those that sessions may get are known to have executed it.
    Behind,
    /// They are.
    CaughtUp,
}

fn look(worker: &Worker, hostgroup: u32, gtid: &Gtid) -> Look {
    let executed = &worker.shared.watching.executed;
    let has = |server: &pool::Server<Target>| executed.has(&server.endpoint().endpoint, gtid);
    match worker.shared.pool.are_all(hostgroup, has) {
        None => Look::Nobody,
        Some(true) => Look::CaughtUp,
        Some(false) => Look::Behind,
    }
}

/// How a statement has to wait.
#[derive(Debug)]
struct Patience {
    kind: Kind,
    gtid: Gtid,
    hostgroup: u32,
    limit: Duration,
    end: Instant,
}

impl Session {
    /// The transaction that the command in the backlog must see, if that matters for where it goes.
    pub(super) fn has_to_see(&self, decided: &Decided) -> Option<Gtid> {
        decided.min_gtid().filter(|_| !self.stays(decided))
    }

    /// Whether it stays wherever it was decided to go: in a transaction it would see nothing newer, and what asks about the statement
    /// before has to ask the server that has executed that.
    fn stays(&self, decided: &Decided) -> bool {
        let session = self.course.session(self.status);
        let here = Some(decided.hostgroup);
        session.transaction == here
            || session.last_hostgroup == here && decided.effects.any_of(Effects::LAST_RESULT)
    }

    /// Whether the session has left something in this hostgroup that its statements need, so that no other server will do.
    fn is_bound_to(&self, hostgroup: u32) -> bool {
        let session = self.course.session(self.status);
        session.locked_on == Some(hostgroup) || session.hold.is_some_and(|(_, at)| at == hostgroup)
    }

    /// Gets to servers that have executed a transaction: readers of a pair that have not leave the command to their writer, others are
    /// waited for. Nothing if the client was told why it is refused.
    pub(super) async fn reach_caught_up(
        &mut self,
        kind: Kind,
        gtid: Gtid,
        decided: &mut Decided,
    ) -> Result<Option<u32>, Ending> {
        self.worker.counts.note(Counter::GtidConsistent);
        let hostgroup = decided.hostgroup;
        let settings = self.worker.settings();
        if settings.is_writer(hostgroup) {
            return self.reach(decided).await;
        }
        let limit = settings.variables.connect_timeout_server_max;
        let patience = Patience { kind, gtid, hostgroup, limit, end: Instant::now() + limit };
        let is_bound = self.is_bound_to(hostgroup);
        let writer = self.worker.routing.borrow().routes().pairs.writer(hostgroup).filter(|_| !is_bound);
        // Who is bound needs only the server that it has.
        let first = if is_bound { Look::CaughtUp } else { look(&self.worker, hostgroup, &gtid) };
        match (first, writer) {
            (Look::CaughtUp, _) | (Look::Nobody, None) => {}
            (_, Some(writer)) => return self.leave_to(writer, decided).await,
            (Look::Behind, None) => {
                let is_over = |worker: &Worker| look(worker, hostgroup, &gtid) != Look::Behind;
                if !self.wait_to_catch_up(&patience, is_over).await? {
                    return Ok(None);
                }
            }
        }
        let reached = self.reach(decided).await?;
        let Some(backend) = self.backend.as_ref().filter(|_| reached == Some(hostgroup)) else {
            return Ok(reached);
        };
        let (server, peer) = (backend.server().endpoint().endpoint.clone(), backend.connection().peer_ip());
        let has = |worker: &Worker| worker.shared.watching.executed.has_at(&server, peer, &gtid);
        match writer {
            _ if has(&self.worker) => Ok(reached),
            Some(writer) => self.leave_to(writer, decided).await,
            None => Ok(if self.wait_to_catch_up(&patience, has).await? { reached } else { None }),
        }
    }

    /// The writer of the pair does it.
    async fn leave_to(&mut self, writer: u32, decided: &mut Decided) -> Result<Option<u32>, Ending> {
        (decided.hostgroup, decided.is_split) = (writer, false);
        self.reach(decided).await
    }

    /// Waits until `is_over`. False if the client was told that it has waited in vain.
    async fn wait_to_catch_up(
        &mut self,
        patience: &Patience,
        is_over: impl Fn(&Worker) -> bool,
    ) -> Result<bool, Ending> {
        let Patience { kind, gtid, hostgroup, limit, end } = patience;
        self.show_waiting();
        let worker = Rc::clone(&self.worker);
        let over = async {
            while !is_over(&worker) {
                sleep(LOOK).await;
            }
        };
        let over = pin!(timeout_at(*end, over));
        let waited = while_waiting(&self.control, &mut self.client, self.identity.capabilities, over).await?;
        self.end_running();
        let error = match waited {
            Some(Ok(())) => return Ok(true),
            Some(Err(_)) => {
                let why = format_args!("not all of its servers are known to have executed {gtid}");
                ClientError::no_backend(*hostgroup, *limit, &why)
            }
            None => ClientError::interrupted(),
        };
        self.refuse_here(*kind, &error).await.map(|()| false)
    }
}

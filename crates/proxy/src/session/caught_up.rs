//! Statements that must see a transaction (`min_gtid`, `gtid_from_hostgroup`): they go where it has been executed.
//!
//! There are two looks. The first is at the servers that the session may get, so that it does not take a connection in vain. The second is
//! at the server of the connection that it has got, and that one counts: servers come and go while it waits for a place.

use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use config::Endpoint;
use monitor::Gtid;
use route::{Effects, Verdict};
use tokio::time::{Instant, sleep, timeout_at};
use wire::command::Kind;

use super::Session;
use super::course::Loss;
use super::course::decided::Decided;
use super::kill::while_waiting;
use crate::backend::{Target, part};
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::state::gtids::Gtids;
use crate::worker::Worker;

/// How often a session that waits looks at its servers. What there is to be seen changes with each transaction of each of them, and
/// with each change of the configuration: those who wait are not to be woken by all of that.
const LOOK: Duration = Duration::from_millis(5);

/// What is known of the servers of a hostgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Sessions get none of them at the moment.
    Nobody,
    /// None of those that sessions may get is known to have executed it.
    Behind,
    /// One of them is.
    CaughtUp,
}

fn look(worker: &Worker, hostgroup: u32, gtid: &Gtid) -> Look {
    let executed = &worker.shared.watching.executed;
    let has = |server: &pool::Server<Target>| executed.has(&server.endpoint().endpoint, gtid);
    match worker.shared.pool.is_any(hostgroup, has) {
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
        let orders = decided.orders.as_ref()?;
        self.gtid_for(&orders.verdict).filter(|_| !self.stays(decided))
    }

    /// The transaction that a hint names, or the last one of the session where a rule says.
    pub(super) fn gtid_for(&self, verdict: &Verdict) -> Option<Gtid> {
        let hinted = verdict.min_gtid.as_deref().and_then(|gtid| gtid.parse().ok());
        let last_of = |hostgroup| self.course.gtids.as_ref()?.last(hostgroup);
        hinted.or_else(|| verdict.gtid_from_hostgroup.and_then(last_of))
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

    /// Gets to a server that has executed a transaction: where no reader of a pair has, its writer does the command; servers of others are
    /// waited for. Nothing if the client was told why it is refused.
    pub(super) async fn reach_caught_up(
        &mut self,
        kind: Kind,
        gtid: Gtid,
        decided: &mut Decided,
    ) -> Result<Option<u32>, Ending> {
        self.worker.counts.note(Counter::GtidConsistent);
        let reached = self.find_caught_up(kind, gtid, decided).await?;
        if let Some(backend) = self.backend.as_ref().filter(|_| reached.is_some()) {
            backend.connection().note_synced();
        }
        Ok(reached)
    }

    /// The same, uncounted.
    async fn find_caught_up(
        &mut self,
        kind: Kind,
        gtid: Gtid,
        decided: &mut Decided,
    ) -> Result<Option<u32>, Ending> {
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
        let reached = self.reach_one_with(gtid, decided).await?;
        let Some((server, peer)) = self.server_at(reached, hostgroup) else { return Ok(reached) };
        let has = |worker: &Worker| worker.shared.watching.executed.has_at(&server, peer, &gtid);
        match writer {
            _ if has(&self.worker) => Ok(reached),
            Some(writer) => self.leave_to(writer, decided).await,
            None => Ok(if self.wait_to_catch_up(&patience, has).await? { reached } else { None }),
        }
    }

    /// Gets to a server of the command's hostgroup: one that has executed the transaction, if there is one with room. For that the session
    /// parts with its connection to another one, if it loses nothing with it.
    async fn reach_one_with(&mut self, gtid: Gtid, decided: &mut Decided) -> Result<Option<u32>, Ending> {
        let hostgroup = decided.hostgroup;
        let reached = self.reach_seeing(gtid, decided).await?;
        let Some((server, peer)) = self.server_at(reached, hostgroup) else { return Ok(reached) };
        let has_it = self.worker.shared.watching.executed.has_at(&server, peer, &gtid);
        let is_elsewhere = look(&self.worker, hostgroup, &gtid) == Look::CaughtUp;
        if has_it || !is_elsewhere || self.loss() != Loss::Nothing {
            return Ok(reached);
        }
        if let Some(behind) = self.backend.take() {
            self.lose_backend();
            part(behind);
        }
        self.reach_seeing(gtid, decided).await
    }

    /// Gets to where the command goes; among servers to choose from, those that have executed the transaction come first.
    async fn reach_seeing(&mut self, gtid: Gtid, decided: &mut Decided) -> Result<Option<u32>, Ending> {
        let keeps = self.identity.keeps(false);
        self.course.gtids.get_or_insert_with(|| Box::new(Gtids::new(keeps))).must_see = Some(gtid);
        let reached = self.reach(decided).await;
        if let Some(gtids) = &mut self.course.gtids {
            gtids.must_see = None;
        }
        reached
    }

    /// The server of the backend in use, and the address at the other end; nothing if that is not in this hostgroup.
    fn server_at(&self, reached: Option<u32>, hostgroup: u32) -> Option<(Endpoint, Option<IpAddr>)> {
        let backend = self.backend.as_ref().filter(|_| reached == Some(hostgroup))?;
        Some((backend.server().endpoint().endpoint.clone(), backend.connection().peer_ip()))
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
                let why =
                    format_args!("none of its servers that could be had is known to have executed {gtid}");
                ClientError::no_backend(*hostgroup, *limit, &why)
            }
            None => ClientError::interrupted(),
        };
        self.refuse_here(*kind, &error).await.map(|()| false)
    }
}

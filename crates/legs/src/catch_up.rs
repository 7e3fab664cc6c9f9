//! Statements that must see what is recent: a transaction (`min_gtid`, `gtid_from_hostgroup`), or
//! what was there so many milliseconds ago (`max_lag_ms`, `min_epoch_ms`). They go to a server that
//! has it.
//!
//! There are two looks. The first is at the servers that the session may get, so that it does not
//! take a connection in vain. The second is at the server of the connection that it has got, and
//! that one counts: servers come and go while it waits for a place.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use observe::counts::Counter;
use runtime::decided::Decided;
use runtime::fresh::{Fresh, Wanted};
use runtime::worker::Worker;
use session::causal::applied::Machine;
use session::error::ClientError;
use session::link::Loss;
use tokio::time::{Instant, sleep, timeout_at};
use upstream::{Full, Target};

use crate::entry::BookEntry;
use crate::facts::causal::{note_application, writer_for};
use crate::facts::orders::while_wanted;
use crate::facts::sharing::leave_backend;
use crate::facts::shown::show_waiting;
use crate::leg::Leg;
use crate::stop::Stop;

/// How often a session that waits looks at its servers. What there is to be seen changes with each
/// transaction of each of them, and with each change of the configuration: those who wait are not
/// to be woken by all of that.
const LOOK: Duration = Duration::from_millis(5);

/// Whether one of the servers of a hostgroup that sessions get at the moment is known to have it;
/// nothing if they get none.
fn is_at_any(worker: &Worker, hostgroup: u32, fresh: &Fresh) -> Option<bool> {
    let has = |server: &pool::Server<Target>| fresh.is_at(&worker.shared, &server.endpoint().endpoint);
    worker.shared.upstream.pool.is_any(hostgroup, has)
}

impl Leg {
    /// Gets to a server that has what must be seen: where no reader of a pair has, its writer does
    /// the command; servers of others are waited for. Acknowledged writes are seen to behind that.
    pub(crate) async fn reach_seeing(
        &mut self,
        entry: &BookEntry,
        fresh: Fresh,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        note_application(&entry.worker, self, decided);
        let counts = &entry.worker.counts;
        if fresh.gtid.is_some() {
            counts.note(Counter::GtidConsistent);
        }
        if fresh.max_lag.is_some() {
            counts.note(Counter::LagLimited);
            let skipped = fresh.skipped(&entry.worker.shared, decided.hostgroup());
            counts.add(Counter::LagSkipped, skipped.try_into().unwrap_or(u64::MAX));
        }
        self.find_caught_up(entry, fresh, decided).await?;
        if let Some(link) = self.links.connection().filter(|_| fresh.gtid.is_some()) {
            link.note_synced();
        }
        Ok(())
    }

    /// The same, uncounted.
    async fn find_caught_up(
        &mut self,
        entry: &BookEntry,
        fresh: Fresh,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let hostgroup = decided.hostgroup();
        let settings = entry.worker.settings();
        if settings.is_writer(hostgroup) {
            return self.reach(entry, decided).await;
        }
        let end = Instant::now() + settings.variables.connect_timeout_server_max;
        let is_bound = self.session().is_bound_to(hostgroup);
        let writer = writer_for(&entry.worker, self, decided).filter(|_| !is_bound);
        // Where there are no servers, and no writer, the search for one says so. A session that is
        // bound needs only the server that it has.
        let is_at_one =
            |worker: &Worker| is_bound || is_at_any(worker, hostgroup, &fresh).unwrap_or(writer.is_none());
        self.wait_or_leave(entry, (fresh, writer, end), decided, is_at_one).await?;
        if decided.hostgroup() != hostgroup {
            return Ok(());
        }
        self.reach_one_with(entry, fresh, decided).await?;
        let Some((server, peer)) = self.machine_at(hostgroup) else { return Ok(()) };
        let has = |worker: &Worker| fresh.is_at_peer(&worker.shared, &server, peer);
        self.wait_or_leave(entry, (fresh, writer, end), decided, has).await
    }

    /// Gets to a server of the command's hostgroup: one of those that come first, if there is one
    /// with room. For that the session gives up its connection to another one, if it loses nothing
    /// with it.
    async fn reach_one_with(
        &mut self,
        entry: &BookEntry,
        fresh: Fresh,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let hostgroup = decided.hostgroup();
        let replicas_from = entry.worker.settings().variables.aurora_max_lag_ms_only_read_from_replicas;
        let wanted = Wanted::new(fresh, &entry.worker.shared, hostgroup, replicas_from);
        self.flight.begin().wanted = Some(Box::new(wanted));
        let mut reached = self.reach(entry, decided).await;
        let shared = &entry.worker.shared;
        if reached.is_ok()
            && let Some((server, peer)) = self.machine_at(hostgroup)
            && !(wanted.is_first(shared, &server) && fresh.is_at_peer(shared, &server, peer))
            && is_at_any(&entry.worker, hostgroup, &fresh) == Some(true)
            && self.links.loss(&self.state) == Loss::Nothing
        {
            leave_backend(entry, self);
            reached = self.reach(entry, decided).await;
        }
        self.flight.begin().wanted = None;
        reached
    }

    /// Gets to the writer in the place of a reader, and to no other reader in place of the writer:
    /// that may lack what must be seen.
    pub(crate) async fn leave_to(
        &mut self,
        entry: &BookEntry,
        writer: u32,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        decided.redirect(writer);
        self.flight.begin().internal_lost = false;
        self.go_to(entry, writer, Full::TryAgain).await.map_err(|stop| self.unreached(stop, decided))
    }

    /// Goes on if the command's hostgroup `has` what must be seen. If not, the `writer` of a pair
    /// does the command; servers without one are waited for until `end`. If that is in vain, the
    /// client is told so.
    async fn wait_or_leave(
        &mut self,
        entry: &BookEntry,
        (fresh, writer, end): (Fresh, Option<u32>, Instant),
        decided: &mut Decided,
        has: impl Fn(&Worker) -> bool,
    ) -> Result<(), Stop> {
        if has(&entry.worker) {
            return Ok(());
        }
        if let Some(writer) = writer {
            return self.leave_to(entry, writer, decided).await;
        }
        let begun = Instant::now();
        show_waiting(entry, self);
        let worker = Rc::clone(&entry.worker);
        let over = async {
            while !has(&worker) {
                sleep(LOOK).await;
            }
        };
        let over = pin!(timeout_at(end, over));
        let waited = while_wanted(&entry.control, self.state.identity.capabilities, over).await?;
        entry.end_running(&self.links);
        if fresh.max_lag.is_some() {
            let waited = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            entry.worker.counts.note(Counter::LagDelayed);
            entry.worker.counts.add(Counter::LagMicroseconds, waited);
        }
        let error = match waited {
            Some(Ok(())) => return Ok(()),
            Some(Err(_)) => {
                let why = format_args!("none of its servers that could be had is known {fresh}");
                let limit = entry.worker.settings().variables.connect_timeout_server_max;
                ClientError::no_backend(decided.hostgroup(), limit, &why)
            }
            None => ClientError::Interrupted,
        };
        Err(Stop::refused(error))
    }

    /// The machine of the connection in use; nothing if that is not in this hostgroup.
    fn machine_at(&self, hostgroup: u32) -> Option<Machine> {
        let (machine, _) = self.links.asked_server().filter(|_| self.state.here == hostgroup)?;
        Some(machine)
    }
}

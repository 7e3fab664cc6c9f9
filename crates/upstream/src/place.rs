//! A place at a server, or an idle connection: where there is neither, waiting in line for both.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use observe::counts::Counter;
use pool::{Choice, Permit, Ticket, Turn};
use tokio::time::{Instant, timeout_at};

use crate::Target;
use crate::Worker;
use crate::batch::Candidate;
use crate::entry::Entry;
use crate::handed::Handed;
use crate::idle_state::Asker;
use crate::keeper::{first_look, look};
use crate::kept::Servers;
use crate::line::Other;
use crate::whom::{Full, Whom};

/// What a session gets that looks for a server.
#[derive(Debug)]
pub enum Place {
    /// The right to connect to one.
    Free(Permit<Target>),
    /// An idle connection.
    Spare(Box<Entry>),
    /// A connection that was of no use: there may be another one.
    Useless,
    /// There is no server, or it is too late.
    None,
}

/// A place at a server of `hostgroup`, or a connection that is there; nothing if all are full at
/// `now`, the time since the start. Servers to `avoid` are taken if there is no other.
pub fn take(
    worker: &Rc<Worker>,
    hostgroup: u32,
    now: Duration,
    avoid: impl Fn(&Target) -> bool,
    full: Full,
    whom: &Whom<'_>,
) -> Option<Place> {
    let (shared, asker) = (&worker.shared, whom.asker);
    let spare = asker.map_or_else(Servers::new, |asker| worker.kept.spare(worker, hostgroup, asker));
    let has_spare = |server: u64| spare.contains(&server);
    match shared.pool.choose_with(hostgroup, worker.dice.roll(), whom.account(), now, avoid, has_spare) {
        Choice::Granted(permit) => return Some(Place::Free(permit)),
        Choice::Spare(server) => {
            if let Some(asker) = asker
                && let Some(entry) = worker.kept.pop(worker, hostgroup, Some(server.id()), asker)
            {
                return Some(Place::Spare(Box::new(entry)));
            }
        }
        Choice::NoServer => return Some(Place::None),
        Choice::Busy if full == Full::Elsewhere && !shared.pool.works(hostgroup, now) => {
            return Some(Place::None);
        }
        Choice::Busy => {}
    }
    let asker = asker?;
    Some(Place::Spare(Box::new(worker.kept.pop(worker, hostgroup, None, asker)?)))
}

/// A search for a server that has begun, and mostly waits in line: for a server, and for a
/// connection that another session of the worker does not need any more.
///
/// It is polled, and no future: a session that has nothing else to do for its statement but to wait
/// has it in its hands.
#[derive(Debug)]
pub struct InLine {
    worker: Rc<Worker>,
    /// The hostgroup whose servers are waited for.
    pub hostgroup: u32,
    /// When the search began.
    pub(crate) began: Instant,
    standing: Option<Standing>,
    /// What has come of it already.
    came: Option<Place>,
    /// The session's statement was killed while it waited.
    pub is_killed: bool,
}

/// The places in both lines.
#[derive(Debug)]
struct Standing {
    ticket: Ticket<Target>,
    handed: Handed,
}

impl InLine {
    /// A place in the line from `now` on, which is this long after the start, until `deadline`, for
    /// a session whose search for a server `began` then: behind those that have begun before. If
    /// there is a `candidate`, its command may go into a batch.
    pub fn stand(
        worker: &Rc<Worker>,
        hostgroup: u32,
        (now, uptime): (Instant, Duration),
        (began, deadline): (Instant, Instant),
        asker: &Asker<'_>,
        candidate: Option<Candidate>,
    ) -> Self {
        let (roll, account) = (worker.dice.roll(), asker.identity.account.user.account());
        let since = uptime.saturating_sub(now.saturating_duration_since(began));
        let ticket = worker.shared.pool.enqueue_since(hostgroup, roll, Some(account), since, uptime);
        let Some(ticket) = ticket else {
            return Self::over(worker, hostgroup, began, Place::None);
        };
        if ticket.is_throttled() {
            worker.counts.note(Counter::ServersDelayed);
        } else {
            worker.kept.make_room(worker, hostgroup);
        }
        let look = first_look(ticket.first_look(uptime), now, uptime).min(deadline);
        let (handed, slot) = Handed::new(worker, Some(look));
        let other = Other::Pool(ticket.deputy());
        worker.kept.wait(worker, asker, hostgroup, (other, slot), since, (Some(deadline), candidate));
        worker.kept.keeper.note(worker, look);
        let standing = Some(Standing { ticket, handed });
        Self { worker: Rc::clone(worker), hostgroup, began, standing, came: None, is_killed: false }
    }

    /// A search that has led to this without waiting.
    pub fn over(worker: &Rc<Worker>, hostgroup: u32, began: Instant, came: Place) -> Self {
        let worker = Rc::clone(worker);
        Self { worker, hostgroup, began, standing: None, came: Some(came), is_killed: false }
    }

    /// Whether nothing has come of it yet.
    pub const fn is_waiting(&self) -> bool {
        self.came.is_none() && !self.is_killed
    }

    /// Whether it has waited.
    pub const fn has_stood(&self) -> bool {
        self.standing.is_some()
    }

    /// Keeps what has come of it, for the next [`poll`](Self::poll) or for the drop.
    pub fn set_came(&mut self, place: Place) {
        self.came = Some(place);
    }

    /// What comes of it.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Place> {
        if let Some(place) = self.came.take() {
            return Poll::Ready(place);
        }
        let Some(Standing { ticket, handed }) = &mut self.standing else { return Poll::Ready(Place::None) };
        if let Some(entry) = handed.take() {
            return Poll::Ready(Place::Spare(entry));
        }
        while let Some(turn) = ticket.poll_turn(cx.waker()) {
            match turn {
                Turn::Granted(permit) => return Poll::Ready(Place::Free(permit)),
                Turn::NoServer => return Poll::Ready(Place::None),
                Turn::First => handed.look_at(Instant::now()),
            }
        }
        if handed.is_late() {
            return Poll::Ready(Place::None);
        }
        if handed.has_missed() {
            return Poll::Ready(Place::Useless);
        }
        handed.wakes(cx);
        Poll::Pending
    }
}

impl Drop for InLine {
    /// The search is over. A connection that came and was not taken goes back to the pool.
    fn drop(&mut self) {
        if self.has_stood() {
            self.worker.counts.hostgroups.note_wait(self.hostgroup, self.began.elapsed());
        }
        if let Some(Place::Spare(entry)) = self.came.take() {
            // This session is out of the line first, so that it is not given the connection again.
            self.standing = None;
            self.worker.kept.put_back(&self.worker, entry);
        }
    }
}

/// Waits for a place at a server of `hostgroup`, or for a connection that another session of this
/// worker does not need any more.
pub(crate) async fn wait(
    worker: &Rc<Worker>,
    hostgroup: u32,
    times @ (began, deadline): (Instant, Instant),
    whom: &Whom<'_>,
) -> Place {
    let Some(asker) = whom.asker else {
        return wait_for_server(worker, hostgroup, (began, deadline), whom.account()).await;
    };
    let now = worker.shared.now();
    let mut line = InLine::stand(worker, hostgroup, now, times, asker, None);
    poll_fn(|cx| line.poll(cx)).await
}

/// The same for a session that can only use a connection of its own.
async fn wait_for_server(
    worker: &Rc<Worker>,
    hostgroup: u32,
    (began, deadline): (Instant, Instant),
    account: Option<usize>,
) -> Place {
    let (shared, roll) = (&worker.shared, worker.dice.roll());
    let (now, uptime) = shared.now();
    let since = uptime.saturating_sub(now.saturating_duration_since(began));
    let Some(mut ticket) = shared.pool.enqueue_since(hostgroup, roll, account, since, uptime) else {
        return Place::None;
    };
    if ticket.is_throttled() {
        worker.counts.note(Counter::ServersDelayed);
    }
    let deputy = ticket.deputy();
    loop {
        let now = Instant::now();
        let next = now + look(worker, hostgroup, &deputy, now).next;
        let turn = poll_fn(|cx| ticket.poll_turn(cx.waker()).map_or(Poll::Pending, Poll::Ready));
        match timeout_at(deadline.min(next), turn).await {
            Ok(Turn::Granted(permit)) => return Place::Free(permit),
            Ok(Turn::NoServer) => return Place::None,
            Err(_) if next >= deadline => return Place::None,
            Ok(Turn::First) | Err(_) => {}
        }
    }
}

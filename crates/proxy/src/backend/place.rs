//! A place at a server, or a connection that nobody uses: where there is neither, waiting in line for both.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use pool::{Choice, Permit, Ticket, Turn};
use tokio::time::{Instant, timeout_at};

use super::Target;
use super::acquire::Full;
use super::kept::{Asker, Entry};
use super::line::Other;
use crate::counts::Counter;
use crate::limits::MOVE_WAIT;
use crate::worker::Worker;

/// While a session waits for a server, it looks this often whether one has come back by itself. Servers that are shunned
/// meanwhile announce when that will be to those who look.
const LOOK: Duration = Duration::from_secs(1);

/// The shortest time between two such looks: the resolution of the runtime's timers.
const TICK: Duration = Duration::from_millis(1);

/// What a session gets that looks for a server.
pub(super) enum Place<'a> {
    /// The right to connect to one.
    Free(Permit<Target>),
    /// A connection that nobody uses, and who asked for it.
    Spare(Box<Entry>, &'a Asker<'a>),
    /// There is no server, or it is too late.
    None,
}

/// A place at a server of `hostgroup`, or a connection that is there; nothing if all are full. Servers to `avoid` are taken if there is no
/// other.
pub(super) fn take<'a>(
    worker: &Rc<Worker>,
    hostgroup: u32,
    avoid: impl Fn(&Target) -> bool,
    full: Full,
    asker: Option<&'a Asker<'a>>,
) -> Option<Place<'a>> {
    let shared = &worker.shared;
    let spare = asker.map_or_else(Vec::new, |asker| worker.kept.spare(worker, hostgroup, asker));
    let has_spare = |server: u64| spare.contains(&server);
    match shared.pool.choose_with(hostgroup, worker.dice.roll(), shared.uptime(), avoid, has_spare) {
        Choice::Granted(permit) => return Some(Place::Free(permit)),
        Choice::Spare(server) => {
            if let Some(asker) = asker
                && let Some(entry) = worker.kept.pop(worker, hostgroup, Some(server.id()), asker)
            {
                return Some(Place::Spare(Box::new(entry), asker));
            }
        }
        Choice::NoServer => return Some(Place::None),
        Choice::Busy if full == Full::Elsewhere && !shared.pool.works(hostgroup, shared.uptime()) => {
            return Some(Place::None);
        }
        Choice::Busy => {}
    }
    let asker = asker?;
    Some(Place::Spare(Box::new(worker.kept.pop(worker, hostgroup, None, asker)?), asker))
}

/// Waits for a place at a server of `hostgroup`, or for a connection that another session of this worker does not need any more.
pub(super) async fn wait<'a>(
    worker: &Rc<Worker>,
    hostgroup: u32,
    deadline: Instant,
    asker: Option<&'a Asker<'a>>,
) -> Place<'a> {
    let shared = &worker.shared;
    let Some(ticket) = shared.pool.enqueue(hostgroup, worker.dice.roll(), shared.uptime()) else {
        return Place::None;
    };
    if ticket.is_throttled() {
        worker.counts.note(Counter::ServersDelayed);
    }
    let patience = if asker.is_some() { MOVE_WAIT } else { Duration::ZERO };
    let other = || Other::Pool(ticket.leave());
    let handed = asker.map(|asker| (worker.kept.wait(worker, asker, hostgroup, other()), asker));
    let handed = async {
        let (handed, asker) = handed?;
        Some((handed.await?, asker))
    };
    tokio::select! {
        biased;
        Some((entry, asker)) = handed => Place::Spare(entry, asker),
        turn = turn(worker, hostgroup, ticket, deadline, patience) => match turn {
            Some(permit) => Place::Free(permit),
            None => Place::None,
        },
    }
}

/// Waits for a ticket's turn until the deadline, for so long without asking other workers for anything.
async fn turn(
    worker: &Rc<Worker>,
    hostgroup: u32,
    mut ticket: Ticket<Target>,
    deadline: Instant,
    patience: Duration,
) -> Option<Permit<Target>> {
    let shared = &worker.shared;
    let mut patience = Some(patience).filter(|patience| !patience.is_zero());
    loop {
        let mut longest = LOOK;
        // What nobody uses in this hostgroup is in somebody's way, but for those who wait until the next one may be opened.
        if !ticket.is_throttled() {
            worker.kept.make_room(worker, hostgroup);
            if patience.is_none() && shared.pool.resting(hostgroup) > 0 {
                if worker.requests.admit(hostgroup, Instant::now()) {
                    shared.siblings.make_room(hostgroup);
                } else {
                    // What somebody else has asked for is his.
                    longest = MOVE_WAIT;
                }
            }
        }
        let change = ticket.look(shared.uptime());
        let turn = poll_fn(|cx| ticket.poll_turn(cx.waker()).map_or(Poll::Pending, Poll::Ready));
        let look = change.map_or(longest, |change| change.clamp(TICK, longest));
        let look = patience.take().map_or(look, |patience| look.min(patience));
        // One timer for both: whoever waits does so with nearly every statement.
        let now = Instant::now();
        match timeout_at(deadline.min(now + look), turn).await {
            Ok(Turn::Granted(permit)) => return Some(permit),
            Ok(Turn::NoServer) => return None,
            Err(_) if now + look >= deadline => return None,
            Ok(Turn::First) | Err(_) => {}
        }
    }
}

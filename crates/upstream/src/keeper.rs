//! The keeper task: it checks the sessions of a worker that wait in line. Is an idle connection in
//! their way, has a server come back by itself, have they waited as long as they may?
//!
//! Most wait for a moment only, and nearly with each statement. So no session has a timer of its
//! own: one task has one timer for all, as long as a session waits.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use pool::Deputy;
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep_until};

use crate::Target;
use crate::Worker;
use crate::kept::Kept;
use crate::limits::MOVE_WAIT;
use crate::line::Due;

/// While a session waits for a server, it looks this often whether one has come back by itself.
/// Servers that are shunned meanwhile announce when that will be to those who look.
const LOOK: Duration = Duration::from_secs(1);

/// The shortest time between two such looks: the resolution of the runtime's timers.
const TICK: Duration = Duration::from_millis(1);

/// The task of one worker.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    /// When it looks next; `None` while no session waits.
    next: Cell<Option<Instant>>,
    /// Tells it that it has to look earlier.
    sooner: Notify,
}

impl Keeper {
    /// Has the task look at this time at the latest.
    pub(crate) fn note(&self, worker: &Rc<Worker>, look: Instant) {
        match self.next.get() {
            Some(next) if next <= look => {}
            Some(_) => {
                self.next.set(Some(look));
                self.sooner.notify_one();
            }
            None => {
                self.next.set(Some(look));
                spawn_local(keep(Rc::clone(worker)));
            }
        }
    }
}

async fn keep(worker: Rc<Worker>) {
    let Kept { keeper, line, .. } = &worker.kept;
    while let Some(next) = keeper.next.get() {
        tokio::select! {
            biased;
            () = sleep_until(next) => {}
            () = keeper.sooner.notified() => continue,
        }
        look_for_all(&worker, Instant::now());
        let now = Instant::now();
        keeper.next.set(line.next_look().map(|next| next.max(now + TICK)));
    }
}

/// Checks all sessions for which it is time.
fn look_for_all(worker: &Rc<Worker>, now: Instant) {
    // There may be hundreds. What the check of one has not found, the next one need not look for.
    let mut last = None;
    for Due { slot, hostgroup, deputy } in worker.kept.line.due(now) {
        let next = match last {
            Some((looked_at, Looked { next, helps_others: false })) if looked_at == hostgroup => next,
            _ => {
                let looked = look(worker, hostgroup, &deputy, now);
                last = Some((hostgroup, looked));
                looked.next
            }
        };
        slot.look.set(Some(now + next));
    }
}

/// What has come of a look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked {
    /// Time until the next one.
    pub(crate) next: Duration,
    /// Whether another session that waits in the same hostgroup may find something else now.
    helps_others: bool,
}

/// Checks a session that has waited for a while.
pub(crate) fn look(worker: &Rc<Worker>, hostgroup: u32, place: &Deputy<Target>, now: Instant) -> Looked {
    let shared = &worker.shared;
    let mut longest = LOOK;
    // An idle connection of this hostgroup is in the session's way, unless the session waits until
    // the next connection may be opened.
    let is_throttled = place.is_throttled();
    let makes_room = !is_throttled && worker.kept.make_room(worker, hostgroup);
    if !is_throttled && shared.pool.resting(hostgroup) > 0 {
        if worker.requests.admit(hostgroup, now) {
            shared.siblings.make_room(hostgroup);
        } else {
            // Another session asked just now, and what comes of that is for that session.
            longest = MOVE_WAIT;
        }
    }
    let next = bounded(place.look(shared.uptime()), longest);
    Looked { next, helps_others: is_throttled || makes_room }
}

/// When a session that begins to wait at `now`, this long after the start, has to be checked first,
/// if time alone may bring a `change`. Sessions that have come within the same few milliseconds are
/// checked together.
pub(crate) fn first_look(change: Option<Duration>, now: Instant, uptime: Duration) -> Instant {
    if let Some(change) = change.filter(|change| *change < MOVE_WAIT) {
        return now + bounded(Some(change), MOVE_WAIT);
    }
    let together = MOVE_WAIT.as_millis() / 2;
    let beyond = uptime.as_millis() % together;
    now + MOVE_WAIT + Duration::from_millis(u64::try_from(together - beyond).unwrap_or(0))
}

/// Time until the next look, if time alone may bring a change after `change`.
fn bounded(change: Option<Duration>, longest: Duration) -> Duration {
    change.map_or(longest, |change| change.clamp(TICK, longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn those_who_come_together_look_together() {
        let start = Instant::now();
        let at = |change, uptime: u64| first_look(change, start + ms(uptime), ms(uptime)) - start;
        assert_eq!(
            [at(None, 100), at(None, 101), at(None, 104), at(None, 105)].map(|at| at.as_millis()),
            [115, 115, 115, 120]
        );
        assert_eq!(at(Some(ms(3)), 101), ms(104), "what changes earlier is looked at then");
        assert_eq!(at(Some(Duration::ZERO), 101), ms(101) + TICK);
        assert_eq!(at(Some(ms(700)), 101), at(None, 101));
    }
}

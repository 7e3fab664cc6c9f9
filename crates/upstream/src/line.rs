//! The sessions of a worker that wait for a connection which another one makes idle.
//!
//! Each also stands in the pool's line, where it gets a place at a server, or in its user's line,
//! if the user has all the connections that it may have. A connection that comes back goes to a
//! session of this worker directly, which leaves its other line at once: this costs nothing, and a
//! new one costs as much as some dozens of statements. A session of another worker or user can only
//! have its place. So the session that gets it must not be too far ahead of the one waiting
//! longest.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use session::turn::Turn;
use tokio::time::Instant;

use crate::Target;
use crate::Worker;
use crate::batch::{Batch, Candidate, Progress};
use crate::entry::Entry;
use crate::handed::Slot;
use crate::idle_state::Wish;
use crate::key::{ByKey, Key};
use crate::limits::{AHEAD_MAX, BATCH_BYTES_MAX, LOOKS_MAX, STANDSTILL_MAX};

/// Waiting sessions, by the connections that they can use.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: RefCell<HashMap<Key, Queue, ByKey>>,
    /// When a connection was given up last for a session that is not in this line, as time since
    /// the start.
    yielded: Cell<Duration>,
    /// The batches with sessions that were promised a connection one behind the other, and when the
    /// keeper task has to check the progress of each.
    batches: RefCell<VecDeque<(Instant, Rc<Progress>)>>,
}

/// Sessions that can use the same connections.
#[derive(Debug, Default)]
struct Queue {
    /// Sessions whose [turn](Turn) it is. They come first.
    in_turn: VecDeque<Waiting>,
    /// Sessions that wait for their turn.
    others: VecDeque<Waiting>,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.in_turn.is_empty() && self.others.is_empty()
    }

    fn len(&self) -> usize {
        self.in_turn.len() + self.others.len()
    }

    fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.in_turn.iter().chain(&self.others)
    }
}

/// The other line in which a session stands.
#[derive(Debug)]
pub(crate) enum Other {
    /// For a server.
    Pool(pool::Deputy<Target>),
    /// For a share of its user's.
    Quota(pool::LeaveLine),
}

impl Other {
    /// The session is served. It still has to learn that, and until then nothing is to be ended for
    /// it.
    fn leave(self) {
        match self {
            Self::Pool(line) => line.leave(),
            Self::Quota(line) => line.leave(),
        }
    }
}

/// A waiting session.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) slot: Rc<Slot>,
    pub(crate) other: Other,
    pub(crate) wish: Wish,
    pub(crate) turn: Rc<Turn>,
    /// Since when, as time since the start.
    pub(crate) since: Duration,
    /// Sessions with lower ranks come first. The rank is when the session was served last; where
    /// there are no turns, since when it waits.
    pub(crate) rank: Duration,
    /// When the session gives up; `None` if it sees to that itself.
    pub(crate) deadline: Option<Instant>,
    /// The command that the session waits to send, if that may go into a batch.
    pub(crate) candidate: Option<Candidate>,
}

/// A session that the keeper task has to check now.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) slot: Rc<Slot>,
    pub(crate) hostgroup: u32,
    pub(crate) deputy: pool::Deputy<Target>,
}

impl Line {
    /// Puts a session in line: behind those whose turn it is if it is its turn as well, else behind
    /// those whose ranks are not higher.
    pub(crate) fn wait(&self, key: Key, waiting: Waiting) {
        let mut all = self.waiting.borrow_mut();
        let Queue { in_turn, others } = all.entry(key).or_default();
        if waiting.turn.is_on(waiting.since) {
            return in_turn.push_back(waiting);
        }
        // Mostly it is the end.
        let is_last = others.back().is_none_or(|last| last.rank <= waiting.rank);
        let at = if is_last { others.len() } else { others.partition_point(|one| one.rank <= waiting.rank) };
        others.insert(at, waiting);
    }

    /// Gives a connection to a session that it is good for: to one whose turn it is, or else to the
    /// one that was served longest ago. It comes back if there is no such session, or if it is for
    /// a session elsewhere.
    pub(crate) fn hand_on(&self, worker: &Rc<Worker>, key: Key, mut entry: Box<Entry>) -> Option<Box<Entry>> {
        let mut all = self.waiting.borrow_mut();
        let Some(queue) = all.get_mut(&key) else { return Some(entry) };
        let next = self.next(worker, queue, &entry);
        if let Some(next) = &next
            && let Some(batch) = self.batch(worker, queue, next, &entry)
        {
            entry.backend.connection_mut().set_batch(batch);
        }
        if queue.is_empty() {
            all.remove(&key);
        }
        drop(all);
        let Some(next) = next else { return Some(entry) };
        entry.leave();
        next.slot.put(entry);
        next.other.leave();
        None
    }

    /// Takes the session that gets a connection out of the line.
    fn next(&self, worker: &Worker, queue: &mut Queue, entry: &Entry) -> Option<Waiting> {
        let Queue { in_turn, others } = queue;
        let now = worker.shared.uptime();
        if let Some(at) = first(worker, in_turn, entry) {
            // A session whose turn it is has the rank of the first one that it passes.
            let rank = others.front().or_else(|| in_turn.get(at))?.rank;
            if self.has_to_yield(entry, rank, now) {
                return None;
            }
            let next = in_turn.remove(at)?;
            next.turn.go_on(now);
            return Some(next);
        }
        let at = first(worker, others, entry)?;
        if self.has_to_yield(entry, others.get(at)?.rank, now) {
            return None;
        }
        let next = others.remove(at)?;
        next.turn.begin(
            now.saturating_sub(next.since),
            now,
            worker.settings().config().pointsman.connection_turn,
        );
        Some(next)
    }

    /// Members of the batch of `next`: its share of the waiting sessions, as each connection takes
    /// its share. `None` if there are none, or if the statement is not batched.
    fn batch(&self, worker: &Rc<Worker>, queue: &mut Queue, next: &Waiting, entry: &Entry) -> Option<Batch> {
        let most = worker.settings().statements_together.checked_sub(1).filter(|most| *most > 0)?;
        let first =
            next.candidate.as_ref().filter(|first| entry.may_take_along() && first.fits(&entry.left))?;
        let (open, workers) = (entry.backend.server().open(), u32::from(worker.shared.workers).max(1));
        let here = usize::try_from(open.div_ceil(workers)).unwrap_or(usize::MAX).max(1);
        let most = most.min(queue.len().div_ceil(here));
        let (now, uptime) = worker.shared.now();
        let (mut members, mut room) = (VecDeque::new(), BATCH_BYTES_MAX.checked_sub(first.command.len())?);
        for line in [&mut queue.in_turn, &mut queue.others] {
            let (mut at, mut looks) = (0, 0);
            while members.len() < most && looks < LOOKS_MAX && at < line.len() {
                looks += 1;
                let Some(one) = line.get(at) else { break };
                let is_there = !one.slot.is_closed() && entry.is_good_for(worker, &one.wish);
                let candidate = one
                    .candidate
                    .as_ref()
                    .filter(|one| is_there && one.command.len() <= room && one.fits(&entry.left));
                let member =
                    candidate.and_then(|candidate| candidate.on(entry.backend.connection(), &one.slot));
                let Some(member) = member else {
                    at += 1;
                    continue;
                };
                let Some(Waiting { other, turn, since, .. }) = line.remove(at) else { break };
                turn.begin(
                    uptime.saturating_sub(since),
                    uptime,
                    worker.settings().config().pointsman.connection_turn,
                );
                other.leave();
                room -= member.command.len();
                members.push_back(member);
            }
        }
        if members.is_empty() {
            return None;
        }
        let (batch, look) = (Batch::new(members), now + STANDSTILL_MAX + until_next(LOOK_TOGETHER, uptime));
        self.batches.borrow_mut().push_back((look, batch.progress()));
        worker.kept.keeper.note(worker, look);
        Some(batch)
    }

    /// Whether a session that waits elsewhere comes before the one here with this rank. Not for
    /// each connection: a line that moves slowly needs a few more connections, not all.
    fn has_to_yield(&self, entry: &Entry, rank: Duration, now: Duration) -> bool {
        let is_ahead = |oldest| rank.saturating_sub(oldest) > AHEAD_MAX;
        if let Some(quota) = entry.backend.connection().quota().filter(|quota| quota.waiting() > 0)
            && quota.has_to_yield(rank, now, AHEAD_MAX)
        {
            return true;
        }
        if !entry.backend.oldest_waiting().is_some_and(is_ahead) || !entry.backend.is_in_the_way() {
            return false;
        }
        let yields = now.saturating_sub(self.yielded.get()) > AHEAD_MAX;
        if yields {
            self.yielded.set(now);
        }
        yields
    }

    /// Whether no session waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Sessions to check at `now`. Those that have waited as long as they may are told.
    pub(crate) fn due(&self, now: Instant) -> Vec<Due> {
        let mut due = Vec::new();
        let mut batches = self.batches.borrow_mut();
        while let Some((_, progress)) = batches.pop_front_if(|(look, _)| *look <= now) {
            if progress.goes_on() {
                batches.push_back((now + STANDSTILL_MAX, progress));
            }
        }
        drop(batches);
        for (Key { hostgroup, .. }, queue) in self.waiting.borrow().iter() {
            for one in queue.iter().filter(|one| one.slot.is_looked_after()) {
                if one.deadline.is_some_and(|deadline| deadline <= now) {
                    one.slot.give_up();
                } else if one.slot.look.get().is_some_and(|look| look <= now)
                    && let Other::Pool(deputy) = &one.other
                {
                    let (slot, deputy) = (Rc::clone(&one.slot), deputy.clone());
                    due.push(Due { slot, hostgroup: *hostgroup, deputy });
                }
            }
        }
        due
    }

    /// When the keeper task has to check a session or a batch next, or a session gives up; `None`
    /// if there is nothing to check.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        let waiting = self.waiting.borrow();
        let all = waiting.values().flat_map(Queue::iter).filter(|one| one.slot.is_looked_after());
        let looks = all.filter_map(|one| one.slot.look.get().into_iter().chain(one.deadline).min());
        looks.chain(self.batches.borrow().front().map(|(look, _)| *look)).min()
    }

    /// Forgets the sessions that do not wait any more.
    pub(crate) fn sweep(&self) {
        self.waiting.borrow_mut().retain(|_, queue| {
            queue.in_turn.retain(|one| !one.slot.is_closed());
            queue.others.retain(|one| !one.slot.is_closed());
            !queue.is_empty()
        });
    }
}

/// Batches that were sent within this time are checked together.
const LOOK_TOGETHER: Duration = Duration::from_millis(10);

/// Time from `uptime` to the next multiple of `step`.
fn until_next(step: Duration, uptime: Duration) -> Duration {
    let (step, uptime) = (step.as_millis(), uptime.as_millis());
    Duration::from_millis(u64::try_from(step - uptime % step).unwrap_or(0))
}

/// Index of the first session that still waits and that the connection is good for. Sessions in
/// front that do not wait any more are forgotten.
fn first(worker: &Worker, waiting: &mut VecDeque<Waiting>, entry: &Entry) -> Option<usize> {
    let mut at = 0;
    while let Some(one) = waiting.get(at).filter(|_| at < LOOKS_MAX) {
        if one.slot.is_closed() {
            waiting.remove(at);
        } else if entry.is_good_for(worker, &one.wish) {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

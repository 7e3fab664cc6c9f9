//! Limits of users and query rules: most statements in a second (`max_qps`), and at a time
//! (`max_concurrent`).
//!
//! They hold for all workers together, so a statement under a limit takes a lock that others use as
//! well; no other statement knows that there are limits. A statement without a place waits in line,
//! first come, first served. The deciding part is `line`.

mod line;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::error::ClientError;

pub use line::Rates;
use line::{Line, Turn};

/// One limit.
#[derive(Debug, Clone)]
pub struct Limit {
    whose: Whose,
    rates: Rates,
    gate: Arc<Gate>,
}

/// What a limit is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whose {
    /// The rule with this id.
    Rule(i64),
    User(Arc<str>),
}

/// What all statements under a limit share.
#[derive(Debug, Default)]
struct Gate {
    /// When the clock of the line began: with the first statement.
    base: OnceLock<Instant>,
    line: Mutex<Line<Waker>>,
}

/// A statement's place under a limit, which it gives back on drop.
#[derive(Debug)]
pub struct Place(Arc<Gate>);

/// What a statement in line can expect.
#[derive(Debug)]
pub enum Outlook {
    /// Its place.
    Granted(Place),
    /// There may be one at this time.
    At(Instant),
    /// Others have to leave first, which wakes it.
    Open,
}

/// A statement in line, which leaves it on drop.
#[derive(Debug)]
pub struct Waiting<'a> {
    limit: &'a Limit,
    ticket: u64,
}

impl Limit {
    /// That of a user, if there is one. With `before` it goes on with the statements under that.
    pub fn of_user(name: &[u8], rates: Rates, before: Option<&Self>) -> Option<Self> {
        Self::new(Whose::User(String::from_utf8_lossy(name).into()), rates, before)
    }

    /// The same of the rule with this id.
    pub fn of_rule(id: i64, rates: Rates, before: Option<&Self>) -> Option<Self> {
        Self::new(Whose::Rule(id), rates, before)
    }

    /// Whether it is that of the rule with this id.
    pub fn is_of_rule(&self, id: i64) -> bool {
        self.whose == Whose::Rule(id)
    }

    /// What it allows.
    pub const fn rates(&self) -> Rates {
        self.rates
    }

    fn new(whose: Whose, rates: Rates, before: Option<&Self>) -> Option<Self> {
        rates.is_any().then(|| Self {
            whose,
            rates,
            gate: before.map_or_else(Arc::default, |before| Arc::clone(&before.gate)),
        })
    }

    /// A place for a statement that comes at `now`, if there is one and no other waits for it.
    pub fn enter(&self, now: Instant) -> Option<Place> {
        let now = self.gate.time(now);
        self.gate.lock().enter(self.rates, now).then(|| Place(Arc::clone(&self.gate)))
    }

    /// Joins the end of the line.
    pub fn queue(&self) -> Waiting<'_> {
        Waiting { limit: self, ticket: self.gate.lock().queue() }
    }

    /// How many statements run under it, and how many wait.
    pub fn counts(&self) -> (u64, usize) {
        self.gate.lock().counts()
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Line<Waker>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds on the line's clock.
    fn time(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(*self.base.get_or_init(|| now));
        u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Waiting<'_> {
    /// Takes the place, if it is there at `now`; if not, `cx` is woken when it may be.
    pub fn turn(&self, now: Instant, cx: &Context<'_>) -> Outlook {
        let Limit { gate, rates, .. } = self.limit;
        let time = gate.time(now);
        let mut line = gate.lock();
        match line.turn(self.ticket, *rates, time, || cx.waker().clone()) {
            Turn::Granted { next } => {
                let next = next.cloned();
                drop(line);
                next.inspect(Waker::wake_by_ref);
                Outlook::Granted(Place(Arc::clone(gate)))
            }
            Turn::At(ns) => Outlook::At(now + Duration::from_nanos(ns.saturating_sub(time))),
            Turn::Wait => Outlook::Open,
        }
    }

    /// The error of a statement that has `waited` in vain: which limit it is, and how many have the
    /// places.
    pub fn refused(self, waited: Duration) -> ClientError {
        let (running, waiting) = self.limit.counts();
        // Without the one that gives up.
        let waiting = waiting.saturating_sub(1);
        ClientError::limit_reached(&Full { limit: self.limit, running, waiting, waited })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let next = self.limit.gate.lock().give_up(self.ticket).cloned();
        next.inspect(Waker::wake_by_ref);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = self.0.lock().leave().cloned();
        next.inspect(Waker::wake_by_ref);
    }
}

/// Why there was no place.
struct Full<'a> {
    limit: &'a Limit,
    running: u64,
    waiting: usize,
    waited: Duration,
}

impl fmt::Display for Full<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, running, waiting, waited } = self;
        match &limit.whose {
            Whose::Rule(id) => write!(f, "Query rule {id}")?,
            Whose::User(name) => write!(f, "User '{name}'")?,
        }
        write!(f, " has reached its limit of {}: ", limit.rates)?;
        write!(f, "{running} run, {waiting} more wait; no place within {}ms", waited.as_millis())
    }
}

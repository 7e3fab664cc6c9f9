//! Limits of users and query rules: most statements in a second (`max_qps`), and at a time
//! (`max_concurrent`).
//!
//! They hold for all workers together, so a statement under a limit takes a lock that others use as
//! well; no other statement knows that there are limits. A statement without a place waits in line,
//! first come, first served: the first one has the head of the line until it has its place.

mod rates;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pool::Quota;

use crate::error::ClientError;

/// A statement's place under a limit, which it gives back on drop.
pub use pool::Share as Place;
pub use rates::Rates;

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
#[derive(Debug)]
struct Gate {
    /// What holds for all of them, those that wait included.
    rates: Mutex<Rates>,
    /// When its clock began: with the first statement.
    base: OnceLock<Instant>,
    /// When the next statement would come if all came at even distances. Who has the head writes
    /// it.
    due: AtomicU64,
    /// The head of the line.
    head: Arc<Quota>,
    /// The places of those that run.
    places: Arc<Quota>,
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

    /// Whether statements under both count together.
    pub fn goes_on_with(&self, before: &Self) -> bool {
        Arc::ptr_eq(&self.gate, &before.gate)
    }

    /// What it allows, once it is enforced.
    pub const fn rates(&self) -> Rates {
        self.rates
    }

    /// Has this hold for all statements under it, also for those that wait.
    pub fn enforce(&self) {
        self.gate.hold_to(self.rates);
    }

    /// Has nothing hold any more.
    pub fn lift(&self) {
        self.gate.hold_to(Rates::default());
    }

    fn new(whose: Whose, rates: Rates, before: Option<&Self>) -> Option<Self> {
        rates.is_any().then(|| Self {
            whose,
            rates,
            gate: before.map_or_else(|| Gate::new(rates), |before| Arc::clone(&before.gate)),
        })
    }

    /// A place for a statement that comes at `now`, if there is one and no other waits for it.
    pub fn enter(&self, now: Instant) -> Option<Place> {
        let _head = self.head().take()?;
        self.due(now).is_none().then(|| self.places().take()).flatten().inspect(|_| self.note(now))
    }

    /// The head of the line, of which there is one. Who has it looks for a place.
    pub fn head(&self) -> &Arc<Quota> {
        &self.gate.head
    }

    /// When the first one in line may come, if not at `now`.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let (time, due) = (self.gate.time(now), self.gate.due.load(Relaxed));
        let earliest = self.gate.rates().earliest(due);
        (earliest > time).then(|| now + Duration::from_nanos(earliest - time))
    }

    /// Those that may run at a time.
    pub fn places(&self) -> &Arc<Quota> {
        &self.gate.places
    }

    /// The first one in line has got its place at `now`.
    pub fn note(&self, now: Instant) {
        let Gate { due, .. } = &*self.gate;
        due.store(self.gate.rates().due_behind(due.load(Relaxed), self.gate.time(now)), Relaxed);
    }

    /// The error of a statement that has `waited` in vain, and does not wait any more: which limit
    /// it is, and how many have the places.
    pub fn refused(&self, waited: Duration) -> ClientError {
        let Gate { head, places, .. } = &*self.gate;
        let waiting = head.waiting() + usize::from(head.taken() > 0);
        let (whose, rates) = (&self.whose, self.gate.rates());
        ClientError::limit_reached(&Full { whose, rates, running: places.taken(), waiting, waited })
    }
}

impl Gate {
    fn new(rates: Rates) -> Arc<Self> {
        let (head, places) = (Quota::new(1), Quota::new(rates.most()));
        Arc::new(Self { rates: rates.into(), base: OnceLock::new(), due: AtomicU64::new(0), head, places })
    }

    fn lock(&self) -> MutexGuard<'_, Rates> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rates(&self) -> Rates {
        *self.lock()
    }

    fn hold_to(&self, rates: Rates) {
        *self.lock() = rates;
        self.places.allow(rates.most());
    }

    /// Nanoseconds on its clock.
    fn time(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(*self.base.get_or_init(|| now));
        u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Why there was no place.
struct Full<'a> {
    whose: &'a Whose,
    rates: Rates,
    running: u32,
    waiting: usize,
    waited: Duration,
}

impl fmt::Display for Full<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whose, rates, running, waiting, waited } = self;
        match whose {
            Whose::Rule(id) => write!(f, "Query rule {id}")?,
            Whose::User(name) => write!(f, "User '{name}'")?,
        }
        write!(f, " has reached its limit of {rates}: ")?;
        write!(f, "{running} run, {waiting} more wait; no place within {}ms", waited.as_millis())
    }
}

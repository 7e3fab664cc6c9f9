//! Limits of users and query rules: most statements in a second (`max_qps`), and at a time
//! (`max_concurrent`).
//!
//! They hold for all workers together, so a statement under a limit takes a lock that others use as
//! well; no other statement knows that there are limits. Who finds no place waits in line, first
//! come, first served, with a deadline. The deciding part is [`line`](mod@line).

mod line;

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use route::{Rules, Verdict};
use tokio::time::{Instant, sleep_until};

use crate::error::ClientError;

pub(crate) use line::Rates;
use line::{Line, Turn};

/// The limits of query rules, by the rule's place among them.
#[derive(Debug, Default)]
pub(crate) struct RuleLimits(HashMap<u32, Limit>);

/// One limit.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    whose: Whose,
    rates: Rates,
    gate: Arc<Gate>,
}

/// Whom a limit is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whose {
    /// The rule with this id.
    Rule(i64),
    User(Arc<str>),
}

/// What all who are under a limit share.
#[derive(Debug)]
struct Gate {
    /// When the clock of the line began.
    base: Instant,
    line: Mutex<Line<Waker>>,
}

/// A statement's place under a limit, which it gives back on drop.
#[derive(Debug)]
pub(crate) struct Place(Arc<Gate>);

/// What somebody in line can expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlook {
    /// The place is taken.
    Granted,
    /// There may be one at this time.
    At(Instant),
    /// Others have to leave first, who will wake him.
    Open,
}

/// Somebody in line, who leaves it on drop.
#[derive(Debug)]
struct Waiting<'a> {
    gate: &'a Gate,
    ticket: u64,
}

impl RuleLimits {
    /// The limits of these rules. A rule with the id of one of `before` goes on with who is there
    /// under it.
    pub(crate) fn new(rules: &Rules, before: Option<&Self>) -> Self {
        let limited = (0..).map_while(|place| Some((place, rules.rule(place)?)));
        let limits = limited.filter_map(|(place, rule)| {
            let extras = rule.extras();
            let rates = Rates { max_qps: extras.max_qps, max_concurrent: extras.max_concurrent };
            let whose = Whose::Rule(rule.id());
            let same = before.and_then(|before| before.0.values().find(|limit| limit.whose == whose));
            Some((place, Limit::new(whose, rates, same)?))
        });
        Self(limits.collect())
    }

    /// Those that hold for a statement about which the rules have said this, each once, always in
    /// the same order: so nobody waits for one who waits for him.
    pub(crate) fn of<'a>(&'a self, verdict: &Verdict) -> Vec<&'a Limit> {
        if !verdict.extras || self.0.is_empty() {
            return Vec::new();
        }
        let mut places = verdict.matched.to_vec();
        places.sort_unstable();
        places.dedup();
        places.iter().filter_map(|place| self.0.get(place)).collect()
    }
}

impl Limit {
    /// That of a user, if there is one. With `before` it goes on with who is there under it.
    pub(crate) fn of_user(name: &[u8], rates: Rates, before: Option<&Self>) -> Option<Self> {
        Self::new(Whose::User(String::from_utf8_lossy(name).into()), rates, before)
    }

    /// What it allows.
    pub(crate) const fn rates(&self) -> Rates {
        self.rates
    }

    fn new(whose: Whose, rates: Rates, before: Option<&Self>) -> Option<Self> {
        rates.is_any().then(|| Self {
            whose,
            rates,
            gate: before.map_or_else(|| Arc::new(Gate::new()), |before| Arc::clone(&before.gate)),
        })
    }

    /// A place for a statement, as soon as there is one, but not later than `deadline`. The error
    /// says which limit it is, and who has the places.
    pub(crate) async fn enter(&self, deadline: Instant) -> Result<Place, ClientError> {
        let place = || Place(Arc::clone(&self.gate));
        if self.gate.lock().enter(self.rates, self.gate.now()) {
            return Ok(place());
        }
        let began = Instant::now();
        let ticket = self.gate.lock().queue();
        let waiting = Waiting { gate: &self.gate, ticket };
        let mut timer = pin!(sleep_until(deadline));
        let granted = poll_fn(|cx| {
            loop {
                let until = match waiting.turn(self.rates, cx) {
                    Outlook::Granted => return Poll::Ready(true),
                    Outlook::At(time) => time.min(deadline),
                    Outlook::Open => deadline,
                };
                timer.as_mut().reset(until);
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                if Instant::now() >= deadline {
                    return Poll::Ready(false);
                }
            }
        })
        .await;
        if granted {
            return Ok(place());
        }
        let (running, waiting) = self.gate.lock().counts();
        // Without the one who gives up.
        let full = Full { limit: self, running, waiting: waiting.saturating_sub(1), waited: began.elapsed() };
        Err(ClientError::limit_reached(&full))
    }
}

impl Gate {
    fn new() -> Self {
        Self { base: Instant::now(), line: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Line<Waker>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds on the line's clock.
    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Waiting<'_> {
    /// Takes the place, if it is there.
    fn turn(&self, rates: Rates, cx: &Context<'_>) -> Outlook {
        let now = self.gate.now();
        let mut line = self.gate.lock();
        match line.turn(self.ticket, rates, now, || cx.waker().clone()) {
            Turn::Granted { next } => {
                let next = next.cloned();
                drop(line);
                next.inspect(Waker::wake_by_ref);
                Outlook::Granted
            }
            Turn::At(ns) => Outlook::At(self.gate.base + Duration::from_nanos(ns)),
            Turn::Wait => Outlook::Open,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let next = self.gate.lock().give_up(self.ticket).cloned();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(max_qps: Option<u64>, max_concurrent: Option<u64>) -> Limit {
        Limit::of_user(b"app", Rates { max_qps, max_concurrent }, None).unwrap()
    }

    fn soon(ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn places_go_to_whoever_waits_longest() {
        let limit = limit(None, Some(1));
        let first = limit.enter(soon(0)).await.unwrap();
        let order = Mutex::new(Vec::new());
        let wait = async |n: u32| {
            let place = limit.enter(soon(1000)).await.unwrap();
            order.lock().unwrap().push(n);
            tokio::task::yield_now().await;
            drop(place);
        };
        let free = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        tokio::join!(wait(1), wait(2), wait(3), free);
        assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
        assert_eq!(limit.gate.lock().counts(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_hears_why() {
        let limit = limit(None, Some(2));
        let places = [limit.enter(soon(0)).await.unwrap(), limit.enter(soon(0)).await.unwrap()];
        let (error, other) = tokio::join!(limit.enter(soon(100)), limit.enter(soon(200)));
        assert_eq!(
            error.unwrap_err().logged().to_string(),
            "1226 (42000): User 'app' has reached its limit of 2 statements at a time (max_concurrent): 2 run, 1 more wait; no \
             place within 100ms"
        );
        other.unwrap_err();
        drop(places);
        limit.enter(soon(0)).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn statements_in_a_second_are_bounded() {
        let limit = limit(Some(10), None);
        let began = Instant::now();
        let mut times = Vec::new();
        for _ in 0..30 {
            drop(limit.enter(soon(10_000)).await.unwrap());
            times.push(began.elapsed().as_millis());
        }
        for window in times.windows(11) {
            assert!(window[10] - window[0] >= 1000, "{times:?}");
        }
        assert!(times[29] <= 2950, "and not more than that: {times:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_leaves_the_line_holds_nobody_up() {
        let limit = limit(None, Some(1));
        let place = limit.enter(soon(0)).await.unwrap();
        let gone = limit.enter(soon(10));
        let stays = limit.enter(soon(1000));
        let free = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(place);
        };
        let (gone, stays, ()) = tokio::join!(gone, stays, free);
        gone.unwrap_err();
        stays.unwrap();
    }
}

//! Statements under limits: which limits of query rules hold for one, and waiting for a place with
//! a deadline.

use std::collections::HashMap;

use route::{Rules, Verdict};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::error::ClientError;
use crate::limit::{Limit, Place, Rates};

/// The limits of query rules, by the rule's place among them.
#[derive(Debug, Default)]
pub struct RuleLimits(HashMap<u32, Limit>);

impl RuleLimits {
    /// The limits of these rules. A rule with the id of one of `before` goes on with the statements
    /// under that.
    pub fn new(rules: &Rules, before: Option<&Self>) -> Self {
        let limited = (0..).map_while(|place| Some((place, rules.rule(place)?)));
        let limits = limited.filter_map(|(place, rule)| {
            let extras = rule.extras();
            let rates = Rates { max_qps: extras.max_qps, max_concurrent: extras.max_concurrent };
            let id = rule.id();
            let same = before.and_then(|before| before.0.values().find(|limit| limit.is_of_rule(id)));
            Some((place, Limit::of_rule(id, rates, same)?))
        });
        Self(limits.collect())
    }

    /// Has them hold, also for statements that wait, and no longer those of `before` without a
    /// successor.
    pub fn enforce(&self, before: &Self) {
        let has_successor = |old: &Limit| self.0.values().any(|limit| limit.goes_on_with(old));
        before.0.values().filter(|old| !has_successor(old)).for_each(Limit::lift);
        self.0.values().for_each(Limit::enforce);
    }

    /// Those that hold for a statement about which the rules have said this, each once, always in
    /// the same order: so no statement waits for one that waits for it.
    pub fn of<'a>(&'a self, verdict: &Verdict) -> Vec<&'a Limit> {
        if !verdict.extras || self.0.is_empty() {
            return Vec::new();
        }
        let mut places = verdict.matched.to_vec();
        places.sort_unstable();
        places.dedup();
        places.iter().filter_map(|place| self.0.get(place)).collect()
    }
}

/// A place for a statement under `limit`, as soon as there is one, but not later than `deadline`.
/// The error says which limit it is, and how many have the places.
pub async fn enter(limit: &Limit, deadline: Instant) -> Result<Place, ClientError> {
    let began = Instant::now();
    if let Some(place) = limit.enter(began.into_std()) {
        return Ok(place);
    }
    let waiting = async {
        let _head = limit.head().wait().await;
        while let Some(time) = limit.due(Instant::now().into_std()) {
            sleep_until(Instant::from_std(time)).await;
        }
        let place = limit.places().wait().await;
        limit.note(Instant::now().into_std());
        place
    };
    timeout_at(deadline, waiting).await.map_err(|_| limit.refused(began.elapsed()))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;

    fn limit(max_qps: Option<u64>, max_concurrent: Option<u64>) -> Limit {
        Limit::of_user(b"app", Rates { max_qps, max_concurrent }, None).unwrap()
    }

    fn soon(ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_given_in_fifo_order() {
        let limit = limit(None, Some(1));
        let first = enter(&limit, soon(0)).await.unwrap();
        let order = Mutex::new(Vec::new());
        let wait = async |n: u32| {
            let place = enter(&limit, soon(1000)).await.unwrap();
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
        assert_eq!((limit.places().taken(), limit.head().waiting()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_hears_why() {
        let limit = limit(None, Some(2));
        let places = [enter(&limit, soon(0)).await.unwrap(), enter(&limit, soon(0)).await.unwrap()];
        let (error, other) = tokio::join!(enter(&limit, soon(100)), enter(&limit, soon(200)));
        assert_eq!(
            error.unwrap_err().logged().to_string(),
            "1226 (42000): User 'app' has reached its limit of 2 statements at a time (max_concurrent): 2 run, 1 more wait; no \
             place within 100ms"
        );
        other.unwrap_err();
        drop(places);
        enter(&limit, soon(0)).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn statements_in_a_second_are_bounded() {
        let limit = limit(Some(10), None);
        let began = Instant::now();
        let mut times = Vec::new();
        for _ in 0..30 {
            drop(enter(&limit, soon(10_000)).await.unwrap());
            times.push(began.elapsed().as_millis());
        }
        for window in times.windows(11) {
            assert!(window[10] - window[0] >= 1000, "{times:?}");
        }
        assert!(times[29] <= 2950, "and not more than that: {times:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_holds_for_those_who_wait_already() {
        let rates = |max_qps, max_concurrent| Rates { max_qps, max_concurrent };
        let old = limit(None, Some(1));
        let changed = |rates| Limit::of_user(b"app", rates, Some(&old)).unwrap();
        let first = enter(&old, soon(0)).await.unwrap();
        let raised = changed(rates(None, Some(2)));
        enter(&raised, soon(10)).await.unwrap_err();
        let reload = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            raised.enforce();
        };
        let (second, ()) = tokio::join!(enter(&old, soon(100)), reload);
        let second = second.unwrap();
        enter(&old, soon(10)).await.unwrap_err();
        changed(rates(None, Some(1))).enforce();
        drop(first);
        enter(&old, soon(10)).await.unwrap_err();
        let lift = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            old.lift();
        };
        let (all, ()) =
            tokio::join!(async { [enter(&old, soon(100)).await, enter(&old, soon(100)).await] }, lift);
        assert!(all.iter().all(Result::is_ok));
        drop((all, second));
        changed(rates(Some(1), None)).enforce();
        drop(enter(&old, soon(0)).await.unwrap());
        changed(rates(Some(1000), None)).enforce();
        for _ in 0..20 {
            drop(enter(&old, soon(1100)).await.unwrap());
        }
        assert_eq!((old.places().taken(), old.head().taken(), old.head().waiting()), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_leaves_the_line_delays_no_other() {
        let limit = limit(None, Some(1));
        let place = enter(&limit, soon(0)).await.unwrap();
        let gone = enter(&limit, soon(10));
        let stays = enter(&limit, soon(1000));
        let free = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(place);
        };
        let (gone, stays, ()) = tokio::join!(gone, stays, free);
        gone.unwrap_err();
        stays.unwrap();
    }
}

//! Whose turn it is among sessions that wait for connections.
//!
//! If each statement had to wait as long as all others, a request of several statements would wait
//! once for each of them, and by the time a session is served again everything that belongs to it
//! has gone cold, at its client, in here and at its server. And one that asks now and then would
//! wait as long as those that ask without a pause. So sessions take turns with connections as
//! processes do with a processor: the one that was served longest ago comes first, and where they
//! wait long, its next few statements come before others. No session waits for ever: each of the
//! others has one turn before it at most, as it was served later from then on.

use std::cell::Cell;
use std::time::Duration;

/// A session that has waited shorter than this has one statement to a turn: nothing has gone cold
/// meanwhile.
const WAIT_MIN: Duration = Duration::from_millis(10);

/// Longer turns last the time that was waited beyond that, divided by this. Where fewer than about
/// so many times the sessions wait that connections can serve at a time, turns become shorter and
/// shorter by that.
const SHARE: u32 = 8;

/// Statements of the longest turn: so many times as long others wait at most.
const STATEMENTS_MAX: u32 = 4;

/// A session that has waited longer than this has one statement to a turn: others wait as long, and
/// are not to wait until it is too late.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// A session's turns. All times are those since the start.
#[derive(Debug, Default)]
pub struct Turn {
    /// Until when its turn lasts.
    until: Cell<Duration>,
    /// For how many more statements.
    left: Cell<u32>,
    /// When it was served last. It counts as served when it began: a client that comes again and
    /// again as a new session passes no other one.
    served: Cell<Duration>,
}

impl Turn {
    /// Of a session that begins at `now`.
    pub fn new(now: Duration) -> Self {
        Self { until: Cell::default(), left: Cell::default(), served: Cell::new(now) }
    }

    /// It is its turn at `now`: it has waited for so long. The turn lasts no longer than `longest`.
    pub fn begin(&self, waited: Duration, now: Duration, longest: Duration) {
        let counts = if waited > WAIT_MAX { Duration::ZERO } else { waited.saturating_sub(WAIT_MIN) };
        self.until.set(now + (counts / SHARE).min(longest));
        self.left.set(STATEMENTS_MAX - 1);
        self.served.set(now);
    }

    /// It is still its turn at `now`, and is served.
    pub fn go_on(&self, now: Duration) {
        self.left.set(self.left.get().saturating_sub(1));
        self.served.set(now);
    }

    /// Whether it comes before those whose turn it is not.
    pub fn is_on(&self, now: Duration) -> bool {
        self.left.get() > 0 && now < self.until.get()
    }

    /// When it was served last.
    pub fn served(&self) -> Duration {
        self.served.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_turn_lasts_a_part_of_the_time_that_was_waited() {
        let turn = Turn::new(ms(0));
        assert!(!turn.is_on(ms(0)), "nobody has one who has not waited");
        turn.begin(ms(10), ms(50), ms(10));
        assert!(!turn.is_on(ms(50)), "nor who has hardly waited");
        turn.begin(ms(50), ms(100), ms(10));
        assert_eq!([100, 104, 105].map(|now| turn.is_on(ms(now))), [true, true, false]);
        turn.begin(ms(800), ms(200), ms(10));
        assert_eq!([209, 210].map(|now| turn.is_on(ms(now))), [true, false], "not more than the longest");
        turn.begin(ms(800), ms(300), ms(0));
        assert!(!turn.is_on(ms(300)));
        turn.begin(ms(1_001), ms(2_000), ms(10));
        assert!(!turn.is_on(ms(2_000)), "the line is too long for that");
    }

    #[test]
    fn a_turn_is_for_a_few_statements() {
        let turn = Turn::new(ms(0));
        turn.begin(ms(500), ms(500), ms(10));
        let on = [501, 502, 503, 504].map(|now| {
            let is_on = turn.is_on(ms(now));
            turn.go_on(ms(now));
            is_on
        });
        assert_eq!(on, [true, true, true, false]);
        assert_eq!(turn.served(), ms(504));
    }
}

//! Ids from the time, the number of the worker and a counter.

use crate::limits::{COUNTER_MAX, WORKER_MAX};

/// When time began, in milliseconds of Unix time: 2016-11-01 in the zone whose days begin first.
///
/// `ShardingSphere` counts from that day in its own zone. So ids of the same layout are never below
/// those that it has made before, and never again the same.
const EPOCH_MILLIS: u64 = 1_477_908_000_000;

/// Bits of the counter.
const COUNTER_BITS: u32 = 12;

/// Bits of the worker.
const WORKER_BITS: u32 = 10;

/// Largest time of an id: 41 bits, which last until 2086.
const TIME_MAX: u64 = (1 << 41) - 1;

/// How far ids may run ahead of the clock: it has gone back, or ids are wanted faster than 4,096 in
/// a millisecond.
const AHEAD_MAX_MILLIS: u64 = 10_000;

/// Ids of 41 bits for the time, 10 for the worker and 12 for a counter. They rise, whatever the
/// clock does.
#[derive(Debug, Clone)]
pub struct Snowflake {
    worker: u16,
    vibration: u16,
    /// The time of the last id.
    millis: u64,
    /// The counter of the next id in that millisecond.
    counter: u16,
    /// The counter with which that millisecond has begun.
    begun: u16,
}

/// Ids have run ahead of the clock too far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("ids are {millis} ms ahead of the clock: it has gone back")]
pub struct Ahead {
    /// Milliseconds.
    pub millis: u64,
}

impl Snowflake {
    /// Ids of a worker, 0 to [`WORKER_MAX`]. A millisecond begins with a counter that goes round
    /// from 0 to `vibration`, 0 to [`COUNTER_MAX`].
    pub fn new(worker: u16, vibration: u16) -> Self {
        let vibration = vibration.min(COUNTER_MAX);
        let (worker, full) = (worker.min(WORKER_MAX), COUNTER_MAX + 1);
        Self { worker, vibration, millis: 0, counter: full, begun: vibration }
    }

    /// Makes ids at a Unix time in milliseconds. They follow each other if a millisecond has as
    /// many.
    pub fn take(&mut self, count: usize, unix_millis: u64) -> Result<Vec<u64>, Ahead> {
        let now = unix_millis.saturating_sub(EPOCH_MILLIS).min(TIME_MAX);
        let mut made = self.clone();
        let mut ids = Vec::new();
        if now > made.millis || count > made.left() {
            made.begin(now);
        }
        while ids.len() < count {
            if made.left() == 0 {
                made.begin(now);
            }
            let ahead = made.millis.saturating_sub(now);
            if ahead > AHEAD_MAX_MILLIS {
                return Err(Ahead { millis: ahead });
            }
            ids.push(made.id());
            made.counter += 1;
        }
        *self = made;
        Ok(ids)
    }

    /// Ids that the millisecond has left.
    fn left(&self) -> usize {
        usize::from(COUNTER_MAX + 1 - self.counter)
    }

    /// Begins with a later millisecond: now, if that is one.
    fn begin(&mut self, now: u64) {
        self.millis = now.max(self.millis + 1);
        self.begun = if self.begun >= self.vibration { 0 } else { self.begun + 1 };
        self.counter = self.begun;
    }

    fn id(&self) -> u64 {
        self.millis << (WORKER_BITS + COUNTER_BITS)
            | u64::from(self.worker) << COUNTER_BITS
            | u64::from(self.counter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::calendar::Date;

    const NOW: u64 = EPOCH_MILLIS + 5;

    fn parts(id: u64) -> (u64, u64, u64) {
        (id >> 22, id >> 12 & 0x3ff, id & 0xfff)
    }

    #[test]
    fn an_id_has_time_worker_and_counter() {
        let mut snowflake = Snowflake::new(7, 0);
        let ids = snowflake.take(3, NOW).unwrap();
        assert_eq!(ids.into_iter().map(parts).collect::<Vec<_>>(), [(5, 7, 0), (5, 7, 1), (5, 7, 2)]);
        assert_eq!(parts(snowflake.take(1, NOW).unwrap()[0]), (5, 7, 3));
        assert_eq!(parts(snowflake.take(1, NOW + 1).unwrap()[0]), (6, 7, 0));
    }

    #[test]
    fn time_begins_where_a_day_begins_first() {
        let day = u64::try_from(Date::new(2016, 11, 1).unwrap().days()).unwrap();
        assert_eq!(EPOCH_MILLIS, (day * 24 - 14) * 3_600_000);
    }

    #[test]
    fn milliseconds_begin_with_a_counter_that_goes_round() {
        let mut snowflake = Snowflake::new(0, 2);
        let begins = (0..5).map(|ms| parts(snowflake.take(1, NOW + ms).unwrap()[0]).2);
        assert_eq!(begins.collect::<Vec<_>>(), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn ids_of_a_call_follow_each_other() {
        let mut snowflake = Snowflake::new(0, 0);
        snowflake.take(4_000, NOW).unwrap();
        let ids = snowflake.take(100, NOW).unwrap();
        assert_eq!(parts(ids[0]), (6, 0, 0));
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert_eq!(snowflake.take(10_000, NOW).unwrap().len(), 10_000);
        assert_eq!(snowflake.take(0, NOW).unwrap(), Vec::<u64>::new());
    }

    #[test]
    fn ids_do_not_go_back_with_the_clock() {
        let mut snowflake = Snowflake::new(0, 0);
        let first = snowflake.take(1, NOW + 20_000).unwrap();
        assert_eq!(snowflake.take(1, NOW), Err(Ahead { millis: 20_000 }));
        let later = snowflake.take(1, NOW + 11_000).unwrap();
        assert!(later > first);
        assert!(snowflake.take(1, 0).is_err());
        assert!(snowflake.take(1, u64::MAX).is_ok());
    }

    proptest! {
        #[test]
        fn ids_rise(takes in proptest::collection::vec((0_usize..5_000, 0_u64..50), 1..50), vibration in 0_u16..5_000) {
            let mut snowflake = Snowflake::new(1, vibration);
            let mut last = 0;
            for (count, at) in takes {
                for id in snowflake.take(count, NOW + at).unwrap() {
                    prop_assert!(id > last);
                    last = id;
                }
            }
        }
    }
}

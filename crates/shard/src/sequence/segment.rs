//! Ids at hand, of a counter that all proxies share.

use std::collections::VecDeque;
use std::ops::Range;

/// Ranges of ids at hand. Of more the first ones are dropped: ids have gaps, as AUTO_INCREMENT has.
const RANGES_MAX: usize = 8;

/// Ids of one sequence that a proxy has at hand.
///
/// Ids rise. Those of one call follow each other, as those of one INSERT do: clients compute with
/// `LAST_INSERT_ID()`. The next segment is wanted when half of one is left, so that statements do
/// not wait for it.
#[derive(Debug, Clone)]
pub struct Segment {
    step: u64,
    /// Rising, none is empty.
    ranges: VecDeque<Range<u64>>,
    /// No id below is handed out.
    floor: u64,
    /// Ids that a call has lacked.
    lacked: u64,
    /// Ids that the counter was asked for.
    asked: Option<u64>,
}

/// Ids of the counter that are in use: it was not raised as the sequence was, or its table was
/// changed by hand. It has to be raised to `floor`, and asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the counter of a sequence is at {first}, but ids below {floor} are in use")]
pub struct Backwards {
    /// The id that came.
    pub first: u64,
    /// The least id that may come.
    pub floor: u64,
}

impl Segment {
    /// No ids, of segments of so many: 1 at least.
    pub fn new(step: u32) -> Self {
        let step = u64::from(step.max(1));
        Self { step, ranges: VecDeque::new(), floor: 1, lacked: 0, asked: None }
    }

    /// Takes ids that follow each other. None if there are not as many at hand: the next segment
    /// has them.
    pub fn take(&mut self, count: u64) -> Option<Range<u64>> {
        if count == 0 {
            return Some(self.floor..self.floor);
        }
        let found = self.ranges.iter().position(|range| range.end - range.start >= count);
        let Some(at) = found else {
            self.lacked = self.lacked.max(count);
            return None;
        };
        // Ids rise: those in front are lost.
        self.ranges.drain(..at);
        let range = self.ranges.front_mut()?;
        let ids = range.start..range.start + count;
        range.start = ids.end;
        self.floor = ids.end;
        if range.is_empty() {
            self.ranges.pop_front();
        }
        Some(ids)
    }

    /// How many ids the counter should be asked for now, if for any.
    pub fn wanted(&self) -> Option<u64> {
        let left: u64 = self.ranges.iter().map(|range| range.end - range.start).sum();
        let is_wanted = self.asked.is_none() && (self.lacked > 0 || left <= self.step / 2);
        is_wanted.then(|| self.step.max(self.lacked))
    }

    /// The counter is asked for so many ids: no more are wanted before its answer.
    pub fn ask(&mut self, count: u64) {
        self.asked = Some(count);
    }

    /// The counter has given the ids from `first` on, as many as it was asked for. Without a
    /// question they are ignored.
    pub fn answer(&mut self, first: u64) -> Result<(), Backwards> {
        let Some(count) = self.asked.take() else { return Ok(()) };
        let least = self.ranges.back().map_or(0, |range| range.end);
        let end = first.saturating_add(count);
        if first < least || end <= self.floor {
            return Err(Backwards { first, floor: self.floor.max(least) });
        }
        self.lacked = 0;
        let first = first.max(self.floor);
        match self.ranges.back_mut() {
            Some(last) if last.end == first => last.end = end,
            _ => self.ranges.push_back(first..end),
        }
        if self.ranges.len() > RANGES_MAX {
            self.ranges.pop_front();
        }
        Ok(())
    }

    /// The counter has not answered: ids are wanted again.
    pub fn fail(&mut self) {
        self.asked = None;
    }

    /// A row is stored with an id of its own: ids up to it are not handed out any more. True if
    /// the counter may not be beyond it, so that it has to be raised, too.
    pub fn raise(&mut self, id: u64) -> bool {
        let next = id.saturating_add(1);
        let is_beyond = self.ranges.back().is_none_or(|range| range.end < next);
        self.floor = self.floor.max(next);
        while let Some(range) = self.ranges.front_mut() {
            range.start = range.start.max(self.floor);
            if !range.is_empty() {
                break;
            }
            self.ranges.pop_front();
        }
        is_beyond
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The counter of a server.
    struct Counter(u64);

    impl Counter {
        fn give(&mut self, count: u64) -> u64 {
            self.0 += count;
            self.0 - count
        }

        /// Has a segment filled as the proxy does it.
        fn fill(&mut self, segment: &mut Segment) {
            if let Some(count) = segment.wanted() {
                segment.ask(count);
                let first = self.give(count);
                segment.answer(first).unwrap();
            }
        }
    }

    #[test]
    fn the_next_segment_is_wanted_at_half() {
        let (mut segment, mut counter) = (Segment::new(10), Counter(1));
        assert_eq!((segment.wanted(), segment.take(1)), (Some(10), None));
        segment.ask(10);
        assert_eq!(segment.wanted(), None);
        segment.answer(counter.give(10)).unwrap();
        assert_eq!((segment.wanted(), segment.take(4), segment.wanted()), (None, Some(1..5), None));
        assert_eq!((segment.take(1), segment.wanted()), (Some(5..6), Some(10)));
        counter.fill(&mut segment);
        // Neighbours are one.
        assert_eq!(segment.take(12), Some(6..18));
        assert_eq!(segment.take(0), Some(18..18));
    }

    #[test]
    fn ids_of_a_call_follow_each_other() {
        let (mut segment, mut counter) = (Segment::new(10), Counter(1));
        counter.fill(&mut segment);
        assert_eq!(segment.take(8), Some(1..9));
        counter.give(100);
        counter.fill(&mut segment);
        assert_eq!(segment.take(1), Some(9..10));
        assert_eq!(segment.take(2), Some(111..113));
        assert_eq!((segment.take(50), segment.wanted()), (None, Some(50)));
        counter.fill(&mut segment);
        assert_eq!(segment.take(50), Some(113..163));
    }

    #[test]
    fn a_question_that_fails_is_asked_again() {
        let mut segment = Segment::new(10);
        segment.ask(10);
        segment.fail();
        assert_eq!(segment.wanted(), Some(10));
        assert_eq!((segment.answer(5), segment.take(1)), (Ok(()), None));
    }

    #[test]
    fn an_id_of_a_row_raises_the_sequence() {
        let (mut segment, mut counter) = (Segment::new(10), Counter(1));
        assert!(segment.raise(3));
        counter.fill(&mut segment);
        assert_eq!(segment.take(1), Some(4..5));
        assert!(!segment.raise(7) && !segment.raise(2));
        assert_eq!(segment.take(1), Some(8..9));
        assert!(segment.raise(11) && segment.take(1).is_none());
        segment.ask(5);
        assert_eq!(segment.answer(6), Err(Backwards { first: 6, floor: 12 }));
        assert_eq!(segment.wanted(), Some(10));
        assert!(segment.raise(u64::MAX));
    }

    proptest! {
        #[test]
        fn ids_of_proxies_differ_and_rise(steps in proptest::collection::vec(1_u32..50, 3),
            takes in proptest::collection::vec((0_usize..3, 1_u64..30, 0_u64..20), 1..200))
        {
            let mut counter = Counter(1);
            let mut segments: Vec<_> = steps.iter().map(|step| Segment::new(*step)).collect();
            let mut given = std::collections::HashSet::new();
            let mut last = [0; 3];
            for (proxy, count, raise) in takes {
                let segment = &mut segments[proxy];
                if raise == 0 {
                    let id = last[proxy] + count;
                    if segment.raise(id) { counter.0 = counter.0.max(id + 1) }
                    last[proxy] = id;
                }
                let ids = loop {
                    if let Some(ids) = segment.take(count) { break ids }
                    counter.fill(segment);
                };
                counter.fill(segment);
                prop_assert_eq!(ids.end - ids.start, count);
                prop_assert!(ids.start > last[proxy]);
                last[proxy] = ids.end - 1;
                for id in ids { prop_assert!(given.insert(id), "{id}"); }
                prop_assert!(segment.ranges.len() <= RANGES_MAX);
            }
        }
    }
}

//! Which collector is tried first: the one that has taken the last batch, and the better ones again
//! after a while.

use std::time::Instant;

use crate::limits::BETTER_INTERVAL;

/// What is remembered of the last batches.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// A collector behind the first one that takes spans, and since when no better one was tried.
    taker: Option<(String, Instant)>,
}

impl Choice {
    /// The `collectors`, best first, in the order in which they are tried at `now`.
    pub(crate) fn order<'a>(&self, collectors: &'a [String], now: Instant) -> Vec<&'a str> {
        let taker = self.taker.as_ref().filter(|(_, since)| now < *since + BETTER_INTERVAL);
        let is_taker = |name: &&str| taker.is_some_and(|(taker, _)| taker == name);
        let mut all: Vec<&str> = collectors.iter().map(String::as_str).collect();
        // Stable: the others stay in their order.
        all.sort_by_key(|name| !is_taker(name));
        all
    }

    /// `collector` has taken a batch at `now`. Returns whether that is another one than the last
    /// time, and not the best.
    pub(crate) fn note_taken(&mut self, collectors: &[String], collector: &str, now: Instant) -> bool {
        if collectors.first().is_some_and(|best| best == collector) {
            self.taker = None;
            return false;
        }
        let known = self.taker.take().filter(|(taker, _)| taker == collector);
        let is_new = known.is_none();
        let since = known.map(|(_, since)| since).filter(|since| now < *since + BETTER_INTERVAL);
        self.taker = Some((collector.to_owned(), since.unwrap_or(now)));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_collector_keeps_the_spans_until_better_ones_are_tried_again() {
        let all = ["a", "b", "c"].map(str::to_owned);
        let (mut choice, begun) = (Choice::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(choice.order(&all, at(0)), ["a", "b", "c"]);
        assert!(choice.note_taken(&all, "c", at(0)));
        assert_eq!(choice.order(&all, at(59)), ["c", "a", "b"]);
        assert!(!choice.note_taken(&all, "c", at(59)), "it was the same before");
        assert_eq!(choice.order(&all, at(60)), ["a", "b", "c"]);
        // The try has taken its time, and the next one is a minute later.
        assert!(!choice.note_taken(&all, "c", at(70)));
        assert_eq!(choice.order(&all, at(129)), ["c", "a", "b"]);
        assert!(choice.note_taken(&all, "b", at(130)));
        assert!(!choice.note_taken(&all, "a", at(190)));
        assert_eq!(choice.order(&all, at(191)), ["a", "b", "c"]);
        // It is no collector any more.
        assert!(choice.note_taken(&all, "c", at(192)));
        assert_eq!(choice.order(&all[..2], at(193)), ["a", "b"]);
    }
}

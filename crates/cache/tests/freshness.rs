//! Whatever is asked, answered and read in which order: an answer is never taken for newer than a
//! question whose log was read.

use std::sync::Arc;

use cache::{Cache, Following, Position, Source};
use proptest::prelude::*;

const US: u64 = 1_000;
/// An hour, in nanoseconds: a process may be stopped for so long.
const HOUR: u64 = 3_600_000_000 * US;

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// So many nanoseconds go by.
    Time(u64),
    /// The server logs something.
    Write,
    /// The server is asked where its log ends, and says so later.
    Ask,
    /// The oldest question is answered.
    Answer,
    /// The log is read up to its end. Without, the stream is frozen.
    Read,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let time = prop_oneof![4 => 1..30_000 * US, 1 => 0..2 * US, 1 => 0..HOUR];
    let step = prop_oneof![
        3 => time.prop_map(Step::Time),
        1 => Just(Step::Write),
        2 => Just(Step::Ask),
        2 => Just(Step::Answer),
        2 => Just(Step::Read),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #[test]
    fn an_answer_is_not_older_than_its_bound(
        steps in steps(), begun in US..HOUR, bound_ms in 1..50_u64, before in 0..40_000 * US,
    ) {
        let cache = Arc::new(Cache::new([1, 2], 1 << 20));
        let source = Arc::new(Source::new("db:3306"));
        let at = |offset| Position { file: 1, offset };
        let mut following = Following::<()>::begin(&cache, &source, at(0));
        let (mut now, mut end, mut read) = (begun, 0, 0);
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Time(passed) => now += passed,
                Step::Write => end += 1,
                Step::Ask => asked.push((now, end)),
                Step::Answer if asked.is_empty() => {}
                Step::Answer => {
                    let (asked_at, end) = asked.remove(0);
                    following.prove(asked_at / US, at(end));
                    answered.push((asked_at, end));
                }
                Step::Read => {
                    following.advance(at(end));
                    read = end;
                }
            }
            let known = answered.iter().filter(|(_, end)| *end <= read).map(|(asked_at, _)| *asked_at).max();
            let (bound, since) = (bound_ms * 1_000, now.saturating_sub(before));
            if source.exact_within(now / US, bound).is_some() {
                prop_assert!(known.is_some_and(|known| now - known < bound * US), "{known:?}, {now}");
            } else {
                // A microsecond less is certain.
                prop_assert!(known.is_none_or(|known| now - known >= (bound - 1) * US), "{known:?}, {now}");
            }
            if source.is_proven(since / US) {
                prop_assert!(known.is_some_and(|known| known > since), "{known:?}, {since}");
            }
        }
        drop(following);
        prop_assert!(source.exact_within(now / US, u64::MAX).is_none() && !source.is_proven(0), "it is lost");
    }
}

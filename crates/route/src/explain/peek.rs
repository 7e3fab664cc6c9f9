//! What the query cache has for a statement, seen without a trace in the cache.

use cache::{Miss, NotStored, Refusal, Seen};

use crate::plan::StatementPlan;
use crate::route::Routed;
use crate::verdict::Verdict;

/// A statement that the query cache may answer, as far as it was decided about.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// What rules and hints say.
    pub verdict: &'a Verdict,
    /// The statement as rules rewrote it.
    pub text: Option<&'a [u8]>,
    /// What follows from its shape.
    pub plan: StatementPlan,
    /// Where it goes.
    pub routed: &'a Routed,
}

/// What a look into the query cache finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peek {
    /// Nothing was looked for: the session is only assumed, or a prepared statement is executed.
    #[default]
    Unseen,
    /// The answer is there; one that is older than its time to live is served if no server answers.
    Stored(Seen),
    /// The answer is not there, and would be stored.
    Miss(Miss),
    /// The answer would be neither looked up nor stored.
    Refused(Refusal),
    /// The answer is not there, and would not be stored now.
    NotStored(NotStored),
}

impl Peek {
    /// The result of the step `cache`, and what is told besides in front of the policy `how`.
    pub(super) fn cells(self, how: &str) -> (&'static str, String) {
        match self {
            Self::Unseen => ("yes", format!("looked up, else stored: {how}")),
            Self::Stored(Seen { age_ms, ttl_ms, bytes, .. }) if age_ms < ttl_ms => {
                ("hit", format!("age {} of {}, {bytes} bytes: {how}", seconds(age_ms), seconds(ttl_ms)))
            }
            Self::Stored(Seen { age_ms, stale_until_ms, .. }) => {
                let (age, until) = (seconds(age_ms), seconds(stale_until_ms));
                ("would store", format!("if no server answers, an answer of age {age} of {until}: {how}"))
            }
            Self::Miss(miss) => ("would store", format!("{}: {how}", miss.text())),
            Self::Refused(refusal) => ("no", refusal.text().to_owned()),
            Self::NotStored(reason) => ("no", reason.text().to_owned()),
        }
    }
}

/// A time in seconds with one decimal: `1.2 s`.
fn seconds(ms: u32) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_find_has_its_cells() {
        let seen = Seen { age_ms: 1250, ttl_ms: 5000, stale_until_ms: 65_000, bytes: 312 };
        let stale = Seen { age_ms: 5000, ..seen };
        for (peek, expected) in [
            (Peek::Unseen, ("yes", "looked up, else stored: how")),
            (Peek::Stored(seen), ("hit", "age 1.2 s of 5.0 s, 312 bytes: how")),
            (
                Peek::Stored(stale),
                ("would store", "if no server answers, an answer of age 5.0 s of 65.0 s: how"),
            ),
            (Peek::Miss(Miss::Absent), ("would store", "no answer is there: how")),
            (Peek::Refused(Refusal::Engine), ("no", Refusal::Engine.text())),
            (Peek::NotStored(NotStored::Written), ("no", "written to meanwhile")),
        ] {
            assert_eq!(peek.cells("how"), (expected.0, expected.1.to_owned()));
        }
    }
}

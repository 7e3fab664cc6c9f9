//! Statements that a worker has seen lately, by their outlines: what was found out about one holds
//! for all that differ from it in plain values.

use sql::digest::Span;
use sql::{Digest, Outline, outline};

use crate::StatementPlan;
use crate::limits::SEEN_SETS;

/// Places for statements whose hashes end with the same bits.
const WAYS: usize = 2;

const _: () = assert!(SEEN_SETS.is_power_of_two(), "sets are the lower bits of hashes");

/// What is remembered of a statement.
#[derive(Debug)]
pub(super) struct Known {
    outline: Outline,
    /// The hash of its digest.
    pub(super) digest: u64,
    /// The digest's text as tables show it.
    pub(super) shown: Box<[u8]>,
    /// The inside of its first comment.
    pub(super) comment: Option<Span>,
    /// Whether its strings have backslashes, and whether there are double quotes.
    pub(super) escapes: bool,
    pub(super) quotes: bool,
    /// What follows from its shape in a session in default modes.
    pub(super) plan: StatementPlan,
}

impl Known {
    /// What is to be remembered of `text`, of which `digest` was made; nothing if that holds for no
    /// other.
    pub(super) fn new(text: &[u8], digest: &Digest, plan: StatementPlan) -> Option<Self> {
        let found = digest.facts();
        Some(Self {
            outline: Outline::of(text, digest)?,
            digest: digest.hash(),
            shown: digest.shown().into(),
            comment: found.first_comment,
            escapes: found.escapes,
            quotes: found.quotes,
            plan,
        })
    }
}

/// The statements whose hashes end with the same bits: the one that was used last is in front.
#[derive(Debug, Default)]
struct Set {
    /// The hash of each, and its number.
    ways: [Option<(u64, u32)>; WAYS],
    /// The hash of the last one that was not there.
    missed: u64,
}

/// What a worker remembers.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Made when the first statement comes.
    sets: Vec<Set>,
    known: Vec<Known>,
    /// The number of the statement that was found last: many come several times in a row.
    last: u32,
}

/// Where a statement belongs that is not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vacancy(u64);

impl Seen {
    /// The number of a statement that is known.
    pub(super) fn find(&mut self, text: &[u8]) -> Result<u32, Vacancy> {
        if self.known.get(self.last as usize).is_some_and(|known| known.outline.fits(text)) {
            return Ok(self.last);
        }
        let hash = outline::hash(text);
        let Some(set) = self.sets.get_mut(set_of(hash)) else { return Err(Vacancy(hash)) };
        let known = &self.known;
        let found = set.ways.iter().enumerate().find_map(|(way, entry)| {
            let (its, number) = (*entry)?;
            let fits = |known: &Known| its == hash && known.outline.fits(text);
            known.get(number as usize).is_some_and(fits).then_some((way, number))
        });
        if let Some((way, number)) = found {
            set.ways.swap(0, way);
            self.last = number;
            return Ok(number);
        }
        Err(Vacancy(hash))
    }

    /// The statement with a number that was found.
    #[expect(clippy::indexing_slicing, reason = "statements keep their numbers")]
    pub(super) fn get(&self, number: u32) -> &Known {
        &self.known[number as usize]
    }

    /// Remembers a statement if it comes for the second time: many come only once. The one that was
    /// not used for longest makes room.
    pub(super) fn learn(&mut self, Vacancy(hash): Vacancy, known: impl FnOnce() -> Option<Known>) {
        if self.sets.is_empty() {
            self.sets.resize_with(SEEN_SETS, Set::default);
        }
        let Some(set) = self.sets.get_mut(set_of(hash)) else { return };
        if set.missed != hash {
            set.missed = hash;
            return;
        }
        let Some(known) = known() else { return };
        set.ways.rotate_right(1);
        let oldest = set.ways[0].and_then(|(_, number)| Some((number, self.known.get_mut(number as usize)?)));
        let number = if let Some((number, place)) = oldest {
            *place = known;
            number
        } else {
            self.known.push(known);
            // There are less than a thousand sets.
            u32::try_from(self.known.len() - 1).unwrap_or(u32::MAX)
        };
        set.ways[0] = Some((hash, number));
    }
}

fn set_of(hash: u64) -> usize {
    usize::try_from(hash & (SEEN_SETS as u64 - 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use sql::Options;

    use super::*;

    fn send(seen: &mut Seen, text: &str) -> bool {
        let mut digest = Digest::default();
        digest.read(text.as_bytes(), &Options::default());
        match seen.find(text.as_bytes()) {
            Ok(number) => assert_eq!(seen.get(number).digest, digest.hash(), "{text}"),
            Err(vacancy) => {
                seen.learn(vacancy, || Known::new(text.as_bytes(), &digest, StatementPlan::COMMAND));
                return false;
            }
        }
        true
    }

    #[test]
    fn a_statement_is_known_from_the_third_time_on() {
        let mut seen = Seen::default();
        assert_eq!(
            [1, 2, 3, 4].map(|id| send(&mut seen, &format!("SELECT {id}"))),
            [false, false, true, true]
        );
        assert_eq!(
            ["b", "c", "d"].map(|id| send(&mut seen, &format!("SELECT c, '{id}'"))),
            [false, false, true]
        );
        assert!(send(&mut seen, "SELECT 5"));
        assert!(!send(&mut seen, "SELECT 5.5"));
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = Seen::default();
        for n in 0..20 * SEEN_SETS {
            let text = format!("SELECT c{n}");
            send(&mut seen, &text);
            send(&mut seen, &text);
            assert!(send(&mut seen, &text));
        }
        assert!(seen.known.len() > SEEN_SETS && seen.known.len() <= WAYS * SEEN_SETS);
    }
}

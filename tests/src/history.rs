//! Histories of reads and writes, and what in them an exact cache would not have allowed.
//!
//! Each key has one writer at a time, and each of its writes a higher version. All moments are of
//! one clock. [`check`] takes time `O(n log n)`.
//!
//! Where reads may miss what is not older than a bound, the replies to writes and to the reads that
//! show them count [so much later](Span::late).

use std::collections::HashMap;

/// When an operation was sent and when its reply was there, in nanoseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Before it was sent.
    pub sent: u64,
    /// After its reply was read, or its connection was lost.
    pub done: u64,
}

impl Span {
    /// The same with a reply that counts so much later.
    #[must_use]
    pub const fn late(self, by: u64) -> Self {
        Self { done: self.done.saturating_add(by), ..self }
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Acknowledged.
    Done,
    /// Rolled back, or refused.
    Undone,
    /// The connection was lost before the reply.
    Unknown,
}

/// A write to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// What is written to.
    pub key: usize,
    /// Higher than that of all writes to the key before.
    pub version: u64,
    /// Whether the key has no value from then on.
    pub removes: bool,
    /// When it took place.
    pub span: Span,
    /// What became of it.
    pub fate: Fate,
}

/// A read of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// What was read.
    pub key: usize,
    /// The version that was there, or nothing.
    pub seen: Option<u64>,
    /// When it took place.
    pub span: Span,
}

/// A read that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It was sent after a write had been acknowledged, and does not show it.
    Stale {
        /// The read.
        read: Read,
        /// The highest version that was acknowledged before.
        acknowledged: u64,
    },
    /// It was sent after the reply to another read that had shown a higher version.
    Backward {
        /// The read.
        read: Read,
        /// What the other read had shown.
        shown: u64,
    },
    /// What it shows was not written before its reply, or was undone.
    Invented {
        /// The read.
        read: Read,
    },
}

/// The reads that are wrong, in no order.
#[must_use]
pub fn check(writes: &[Write], reads: &[Read]) -> Vec<Wrong> {
    let mut keys: HashMap<usize, Key<'_>> = HashMap::new();
    for write in writes {
        keys.entry(write.key).or_default().writes.push(write);
    }
    for read in reads {
        keys.entry(read.key).or_default().reads.push(read);
    }
    keys.values().flat_map(Key::check).collect()
}

/// The operations on one key.
#[derive(Debug, Default)]
struct Key<'a> {
    writes: Vec<&'a Write>,
    reads: Vec<&'a Read>,
}

impl Key<'_> {
    fn check(&self) -> Vec<Wrong> {
        let versions: HashMap<u64, &Write> =
            self.writes.iter().map(|write| (write.version, *write)).collect();
        let with_fate = |fate| self.writes.iter().filter(move |write| write.fate == fate);
        let acknowledged =
            Highest::new(with_fate(Fate::Done).map(|write| (write.span.done, write.version)).collect());
        let removed = self.writes.iter().filter(|write| write.removes && write.fate != Fate::Undone);
        let removed = Highest::new(removed.map(|write| (write.span.sent, write.version)).collect());
        // What has no value may be so by each removal before: the last one is taken.
        let shown = |read: &Read| match read.seen {
            Some(version) => {
                versions.get(&version).is_some_and(|write| is_possible(write, read)).then_some(version)
            }
            None => removed.until(read.span.done),
        };
        let mut wrong = Vec::new();
        let mut known = Vec::with_capacity(self.reads.len());
        for read in &self.reads {
            match shown(read) {
                Some(version) => known.push((*read, version)),
                None => wrong.push(Wrong::Invented { read: **read }),
            }
        }
        let told = Highest::new(known.iter().map(|(read, version)| (read.span.done, *version)).collect());
        for (read, version) in known {
            let read = *read;
            // What happened in the same nanosecond may have happened later.
            let before = read.span.sent.checked_sub(1);
            match before.and_then(|before| acknowledged.until(before)) {
                Some(acknowledged) if acknowledged > version => {
                    wrong.push(Wrong::Stale { read, acknowledged });
                }
                _ => match before.and_then(|before| told.until(before)) {
                    Some(shown) if shown > version => wrong.push(Wrong::Backward { read, shown }),
                    _ => {}
                },
            }
        }
        wrong
    }
}

/// Whether a read may show a write.
fn is_possible(write: &Write, read: &Read) -> bool {
    !write.removes && write.fate != Fate::Undone && write.span.sent <= read.span.done
}

/// The highest version until any moment.
#[derive(Debug)]
struct Highest(Vec<(u64, u64)>);

impl Highest {
    /// From moments and their versions.
    fn new(mut all: Vec<(u64, u64)>) -> Self {
        all.sort_unstable();
        let mut highest = 0;
        for (_, version) in &mut all {
            highest = highest.max(*version);
            *version = highest;
        }
        Self(all)
    }

    /// The highest version with a moment not after this one.
    fn until(&self, moment: u64) -> Option<u64> {
        let count = self.0.partition_point(|(at, _)| *at <= moment);
        let (_, version) = self.0.get(count.checked_sub(1)?)?;
        Some(*version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(version: u64, sent: u64, done: u64) -> Write {
        Write { key: 1, version, removes: false, span: Span { sent, done }, fate: Fate::Done }
    }

    fn read(seen: u64, sent: u64, done: u64) -> Read {
        Read { key: 1, seen: Some(seen), span: Span { sent, done } }
    }

    #[test]
    fn a_read_behind_an_acknowledged_write_shows_it() {
        let writes = [write(1, 0, 1), write(2, 10, 20)];
        let old = read(1, 21, 22);
        assert_eq!(check(&writes, &[old]), [Wrong::Stale { read: old, acknowledged: 2 }]);
        for right in [read(2, 21, 22), read(1, 20, 30), read(2, 5, 10), read(1, 19, 90)] {
            assert_eq!(check(&writes, &[right]), [], "{right:?}");
        }
        assert_eq!(check(&writes, &[Read { key: 2, ..old }]).len(), 1, "it is of another key");
    }

    #[test]
    fn what_counts_is_the_highest_version_and_not_the_last_reply() {
        // The reply to the second write is there before that to the first one.
        let writes = [write(1, 0, 1), write(2, 10, 40), write(3, 11, 20)];
        let old = read(2, 50, 51);
        assert_eq!(check(&writes, &[old]), [Wrong::Stale { read: old, acknowledged: 3 }]);
    }

    #[test]
    fn no_read_goes_back_behind_another_one() {
        let writes = [write(1, 0, 1), write(2, 10, 90)];
        let (new, old) = (read(2, 12, 20), read(1, 21, 30));
        assert_eq!(check(&writes, &[old, new]), [Wrong::Backward { read: old, shown: 2 }]);
        assert_eq!(check(&writes, &[new, read(1, 20, 30)]), [], "both at once");
    }

    #[test]
    fn a_read_within_the_bound_may_miss_a_write() {
        let late = |write: Write| Write { span: write.span.late(50), ..write };
        let writes = [write(1, 0, 1), late(write(2, 10, 20))];
        let old = read(1, 71, 72);
        assert_eq!(check(&writes, &[read(1, 70, 72)]), []);
        assert_eq!(check(&writes, &[old]), [Wrong::Stale { read: old, acknowledged: 2 }]);
        let shown = Read { span: Span { sent: 11, done: 12 }.late(50), ..read(2, 0, 0) };
        assert_eq!(check(&writes, &[shown, read(1, 62, 63)]), []);
        let back = read(1, 63, 64);
        assert_eq!(check(&writes, &[shown, back]), [Wrong::Backward { read: back, shown: 2 }]);
    }

    #[test]
    fn what_was_not_written_is_not_read() {
        let undone = Write { fate: Fate::Undone, ..write(2, 10, 20) };
        let writes = [write(1, 0, 1), undone, write(3, 50, 60)];
        for wrong in [read(2, 11, 12), read(2, 30, 31), read(3, 30, 49), read(4, 70, 71)] {
            assert_eq!(check(&writes, &[wrong]), [Wrong::Invented { read: wrong }]);
        }
        assert_eq!(check(&writes, &[read(1, 30, 31)]), [], "what was undone need not be shown");
    }

    #[test]
    fn a_write_of_unknown_fate_may_be_shown_or_not() {
        let unknown = Write { fate: Fate::Unknown, ..write(2, 10, 20) };
        let writes = [write(1, 0, 1), unknown];
        for right in [read(1, 30, 31), read(2, 30, 31)] {
            assert_eq!(check(&writes, &[right]), [], "{right:?}");
        }
        let back = read(1, 40, 41);
        assert_eq!(check(&writes, &[read(2, 30, 31), back]), [Wrong::Backward { read: back, shown: 2 }]);
    }

    #[test]
    fn a_key_without_a_value_is_as_old_as_its_last_removal() {
        let removal = Write { removes: true, ..write(2, 10, 20) };
        let writes = [write(1, 0, 1), removal, write(3, 50, 60)];
        let nothing = |sent, done| Read { seen: None, ..read(0, sent, done) };
        assert_eq!(check(&writes, &[nothing(15, 25), nothing(55, 58)]), []);
        let (early, late) = (nothing(2, 9), nothing(61, 62));
        assert_eq!(check(&writes, &[early]), [Wrong::Invented { read: early }]);
        assert_eq!(check(&writes, &[late]), [Wrong::Stale { read: late, acknowledged: 3 }]);
        let (value, shown) = (read(1, 21, 22), read(2, 30, 31));
        assert_eq!(check(&writes, &[value]), [Wrong::Stale { read: value, acknowledged: 2 }]);
        assert_eq!(check(&writes, &[shown]), [Wrong::Invented { read: shown }], "a removal shows no version");
    }
}

//! GTIDs of MySQL: one transaction, and the set of those that a server has executed.
//!
//! Each source numbers its own transactions. A server's set has a few ranges of each source, most
//! often one.

mod tag;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use self::tag::Tag;
use crate::GtidError;

/// A server that transactions come from, by its UUID, and their tag, if they have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    uuid: u128,
    tag: Tag,
}

/// One transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gtid {
    /// Where it comes from.
    pub source: Source,
    /// Its number there; the first is 1.
    pub number: u64,
}

/// Digits of a UUID.
const SOURCE_DIGITS: usize = 32;

impl Source {
    /// The source with this UUID, for transactions without a tag.
    pub const fn of(uuid: u128) -> Self {
        Self { uuid, tag: Tag::NONE }
    }

    /// The server's UUID, without the tag.
    pub const fn uuid(self) -> u128 {
        self.uuid
    }

    /// The same server with a tag.
    ///
    /// # Errors
    ///
    /// The text is no tag: see [`GtidError::Tag`].
    pub fn with_tag(self, tag: &str) -> Result<Self, GtidError> {
        Ok(Self { tag: tag.parse()?, ..self })
    }
}

impl FromStr for Source {
    type Err = GtidError;

    /// `uuid` or `uuid:tag`.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let (text, tag) = match text.split_once(':') {
            Some((uuid, tag)) => (uuid, tag.parse()?),
            None => (text, Tag::NONE),
        };
        let mut digits = 0;
        let mut value = 0;
        for letter in text.chars().filter(|letter| *letter != '-') {
            digits += 1;
            let digit = letter.to_digit(16).filter(|_| digits <= SOURCE_DIGITS).ok_or(GtidError::Source)?;
            value = value << 4 | u128::from(digit);
        }
        if digits == SOURCE_DIGITS { Ok(Self { uuid: value, tag }) } else { Err(GtidError::Source) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.uuid);
        let (parts, mut begin) = ([8, 4, 4, 4, 12], 0);
        for (at, len) in parts.into_iter().enumerate() {
            let part = digits.get(begin..begin + len).unwrap_or_default();
            write!(f, "{}{part}", if at == 0 { "" } else { "-" })?;
            begin += len;
        }
        if self.tag.is_empty() { Ok(()) } else { write!(f, ":{}", self.tag) }
    }
}

impl FromStr for Gtid {
    type Err = GtidError;

    /// `uuid:number` or `uuid:tag:number`.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let (source, number) = text.rsplit_once(':').ok_or(GtidError::Range)?;
        let number = number.parse().ok().filter(|number| *number > 0).ok_or(GtidError::Range)?;
        Ok(Self { source: source.parse()?, number })
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.number)
    }
}

/// The first and the last number of a range, both included, from `7` or `3-9`.
///
/// # Errors
///
/// The text is no range: see [`GtidError::Range`].
pub fn range(text: &str) -> Result<(u64, u64), GtidError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok((first, last)),
        _ => Err(GtidError::Range),
    }
}

/// What a server has executed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Set {
    /// The ranges of each source by their first number, with their last one; no two of them touch.
    sources: BTreeMap<Source, BTreeMap<u64, u64>>,
    /// How many there are.
    ranges: usize,
}

impl Set {
    /// Adds a range of a source's transactions, both ends included. One whose end is before its
    /// beginning is empty.
    pub fn insert(&mut self, source: Source, mut first: u64, mut last: u64) {
        if first > last {
            return;
        }
        let ranges = self.sources.entry(source).or_default();
        // From the one that may begin before it to the one that begins right behind it.
        while let Some((&begin, &end)) = ranges.range(..=last.saturating_add(1)).next_back() {
            if end.saturating_add(1) < first {
                break;
            }
            ranges.remove(&begin);
            self.ranges -= 1;
            (first, last) = (first.min(begin), last.max(end));
        }
        ranges.insert(first, last);
        self.ranges += 1;
    }

    /// Whether all transactions of another set are in the set.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.sources.iter().all(|(source, ranges)| {
            ranges.iter().all(|(first, last)| self.contains_range(*source, *first, *last))
        })
    }

    /// Whether a range of a source's transactions, both ends included, is in the set.
    pub fn contains_range(&self, source: Source, first: u64, last: u64) -> bool {
        let ranges = self.sources.get(&source);
        let before = ranges.and_then(|ranges| ranges.range(..=first).next_back());
        first > last || before.is_some_and(|(_, end)| last <= *end)
    }

    /// Whether a transaction is in the set.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        self.contains_range(gtid.source, gtid.number, gtid.number)
    }

    /// The ranges of the set: the source, the first and the last number, both included.
    pub fn iter(&self) -> impl Iterator<Item = (Source, u64, u64)> + '_ {
        self.sources
            .iter()
            .flat_map(|(source, ranges)| ranges.iter().map(|(first, last)| (*source, *first, *last)))
    }

    /// The last number of the last source.
    pub fn last(&self) -> Option<Gtid> {
        let (source, ranges) = self.sources.last_key_value()?;
        ranges.last_key_value().map(|(_, last)| Gtid { source: *source, number: *last })
    }

    /// Ranges that it is made of, of all sources. Each source has one at least.
    pub const fn ranges(&self) -> usize {
        self.ranges
    }
}

impl FromStr for Set {
    type Err = GtidError;

    /// `uuid:1-5:7,uuid:1-9:tag:1-3`, as `@@gtid_executed` has it; the text may be empty.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut set = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let mut pieces = part.split(':');
            let mut source: Source = pieces.next().unwrap_or_default().parse()?;
            for piece in pieces.map(str::trim) {
                if piece.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
                    source.tag = piece.parse()?;
                    continue;
                }
                let (first, last) = range(piece)?;
                set.insert(source, first, last);
            }
        }
        Ok(set)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for (source, ranges) in &self.sources {
            match before {
                Some(uuid) if uuid == source.uuid => write!(f, ":{}", source.tag)?,
                Some(_) => write!(f, ",{source}")?,
                None => write!(f, "{source}")?,
            }
            before = Some(source.uuid);
            for (first, last) in ranges {
                if first == last {
                    write!(f, ":{first}")?;
                } else {
                    write!(f, ":{first}-{last}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const A: Source = Source::of(0x3e11_fa47_71ca_11e1_9e33_c80a_a942_9562);
    const B: Source = Source::of(7);

    #[test]
    fn texts_are_those_of_mysql() {
        let text =
            "00000000-0000-0000-0000-000000000007:1-9,3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7:11-18";
        let set: Set = text.parse().unwrap();
        assert_eq!(set.to_string(), text);
        let spaced = format!(" {} ,\n", text.replace(',', ",\n").to_uppercase());
        assert_eq!(spaced.parse(), Ok(set));
        assert_eq!("".parse(), Ok(Set::default()));
        assert_eq!(Set::default().to_string(), "");
        assert_eq!(A.to_string().replace('-', "").parse(), Ok(A));
    }

    #[test]
    fn transactions_with_a_tag_are_counted_by_themselves() {
        let text = format!("00000000-0000-0000-0000-000000000007:ddl:3,{A}:1-5:7:ddl:1-2:online:4");
        let set: Set = text.parse().unwrap();
        assert_eq!((set.to_string(), set.ranges()), (text, 5));
        let has = |gtid: String| set.contains(&gtid.parse().unwrap());
        assert!(has(format!("{A}:5")) && has(format!("{A}:DDL:2")) && has(format!("{A}:online:4")));
        assert!(!has(format!("{A}:ddl:5")) && !has(format!("{A}:other:1")) && !has(format!("{B}:3")));
        let last = set.last().unwrap();
        assert_eq!((last.to_string(), last.to_string().parse()), (format!("{A}:online:4"), Ok(last)));
        for text in [format!("{A}:tag:"), format!("{A}:tag"), format!("{A}:9x:1"), format!("{A}:a:b:1")] {
            text.parse::<Gtid>().unwrap_err();
        }
        assert_eq!(format!("{A}:a-b:1").parse::<Set>(), Err(GtidError::Tag));
    }

    #[test]
    fn what_is_no_gtid_is_refused() {
        for text in [
            "",
            "x",
            "3e11fa47-71ca-11e1-9e33-c80aa9429562",
            "3e11:5",
            "3e11fa47-71ca-11e1-9e33-c80aa94295623:5",
        ] {
            text.parse::<Gtid>().unwrap_err();
        }
        let uuid = A.to_string();
        for number in ["", "0", "-1", "1-2", "18446744073709551616"] {
            format!("{uuid}:{number}").parse::<Gtid>().unwrap_err();
        }
        for range in ["0-3", "5-4", "1-", "-"] {
            assert_eq!(format!("{uuid}:{range}").parse::<Set>(), Err(GtidError::Range), "{range}");
        }
        let last = u64::MAX;
        let gtid: Gtid = format!("{uuid}:{last}").parse().unwrap();
        let mut set = Set::default();
        set.insert(A, last, last);
        set.insert(A, 5, 4);
        assert!(set.contains(&gtid));
        assert_eq!(set.ranges(), 1);
    }

    #[test]
    fn sets_are_compared() {
        let set = |text: String| text.parse::<Set>().unwrap();
        let (small, large) = (set(format!("{A}:2-3:7")), set(format!("{A}:1-4:7-9,{B}:1")));
        assert!(large.contains_all(&small) && !small.contains_all(&large));
        assert!(small.contains_all(&Set::default()));
        assert!(!large.contains_range(A, 4, 7) && large.contains_range(A, 7, 9));
        assert_eq!(large.iter().collect::<Vec<_>>(), [(B, 1, 1), (A, 1, 4), (A, 7, 9)]);
    }

    #[test]
    fn a_source_has_a_uuid_and_a_tag() {
        let tagged = A.with_tag("Ddl").unwrap();
        assert_eq!((tagged.uuid(), tagged.to_string()), (A.uuid(), format!("{A}:ddl")));
        assert_eq!(A.with_tag("9"), Err(GtidError::Tag));
    }

    proptest! {
        /// The set is what a plain list of numbers would be, in whatever order ranges come, and
        /// says itself in as few as can be.
        #[test]
        fn a_set_is_what_was_put_in(ranges in prop::collection::vec((any::<bool>(), 1_u64..60, 0_u64..12), 0..40)) {
            let (mut set, mut plain) = (Set::default(), BTreeSet::new());
            for (is_a, first, more) in ranges {
                let source = if is_a { A } else { B };
                set.insert(source, first, first + more);
                plain.extend((first..=first + more).map(|number| (source, number)));
            }
            for source in [A, B] {
                for number in 1..80 {
                    prop_assert_eq!(set.contains(&Gtid { source, number }), plain.contains(&(source, number)));
                }
            }
            let begins = plain.iter().filter(|(source, number)| !plain.contains(&(*source, number - 1))).count();
            prop_assert_eq!(set.ranges(), begins);
            prop_assert_eq!(set.to_string().parse(), Ok(set));
        }
    }
}

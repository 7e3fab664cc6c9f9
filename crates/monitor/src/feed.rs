//! What a `proxysql_binlog_reader` says of its server, a line at a time.
//!
//! It begins with `ST=` and the whole set. Then comes a line for each transaction: `I1=` with the
//! source's UUID without hyphens (and the tag, if there is one) and the number, or `I2=` with the
//! number alone, of the same source as in the line before. Newer readers put several into one line:
//! `I3=` and `I4=` have a range in the place of the number.

use std::str::FromStr;

use gtid::GtidError;
use gtid::mysql::{Set, Source, range};

/// Bytes of the longest line: sets of servers that have had many sources, some of them with holes.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Ranges of all sources that are kept of one server. A server that executes all transactions has
/// one or a few of each source; each takes some dozens of bytes here.
pub const RANGES_MAX: usize = 100_000;

/// Why a reader is not listened to any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// The line is none of those that are known.
    #[error("a line that is none of ST=, I1=, I2=, I3= and I4=")]
    Unknown,
    /// It says what is no GTID.
    #[error(transparent)]
    Malformed(#[from] GtidError),
    /// A number comes before a source.
    #[error("a number before any UUID")]
    NoSource,
    /// What it has said is more than can be kept.
    #[error("more than {RANGES_MAX} ranges of transactions")]
    TooMany,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// All that the server has executed.
    Whole(Set),
    /// A range of a source's transactions, both ends included.
    Of(Source, (u64, u64)),
    /// The same of the source of the line before.
    OfSame((u64, u64)),
}

impl FromStr for Line {
    type Err = FeedError;

    /// A line without its end.
    fn from_str(line: &str) -> Result<Self, FeedError> {
        let (kind, rest) = line.split_once('=').ok_or(FeedError::Unknown)?;
        Ok(match kind {
            "ST" => Self::Whole(rest.parse()?),
            "I1" | "I3" => {
                let (source, numbers) = rest.rsplit_once(':').ok_or(GtidError::Range)?;
                Self::Of(source.parse()?, range(numbers)?)
            }
            "I2" | "I4" => Self::OfSame(range(rest)?),
            _ => return Err(FeedError::Unknown),
        })
    }
}

/// What one reader has said.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    executed: Set,
    last: Option<Source>,
    is_complete: bool,
    events: u64,
}

impl Feed {
    /// Hears a line.
    ///
    /// # Errors
    ///
    /// It makes no sense here, and so what comes behind it may mean something else than it says; or
    /// there is too much of it.
    pub fn hear(&mut self, line: Line) -> Result<(), FeedError> {
        match line {
            Line::Whole(executed) => (self.executed, self.is_complete) = (executed, true),
            Line::Of(source, (first, last)) => {
                self.last = Some(source);
                self.executed.insert(source, first, last);
            }
            Line::OfSame((first, last)) => {
                self.executed.insert(self.last.ok_or(FeedError::NoSource)?, first, last);
            }
        }
        if self.executed.ranges() > RANGES_MAX {
            return Err(FeedError::TooMany);
        }
        self.events += 1;
        Ok(())
    }

    /// What the server has executed, as far as it is known; nothing before the whole set has come.
    pub fn executed(&self) -> Option<&Set> {
        self.is_complete.then_some(&self.executed)
    }

    /// Lines that it has heard.
    pub const fn events(&self) -> u64 {
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn hear(feed: &mut Feed, line: &str) -> Result<(), FeedError> {
        feed.hear(line.parse()?)
    }

    fn said(feed: &Feed) -> String {
        feed.executed().map_or_else(|| "nothing".to_owned(), ToString::to_string)
    }

    #[test]
    fn lines_of_all_kinds_add_up() {
        let bare = UUID.replace('-', "");
        let mut feed = Feed::default();
        assert_eq!(said(&feed), "nothing");
        hear(&mut feed, &format!("ST={UUID}:1-5:8,00000000-0000-0000-0000-000000000007:1")).unwrap();
        for line in [&format!("I1={bare}:6"), "I2=7", &format!("I3={bare}:20-22"), "I4=23-30", "I2=31"] {
            hear(&mut feed, line).unwrap();
        }
        assert_eq!(said(&feed), format!("00000000-0000-0000-0000-000000000007:1,{UUID}:1-8:20-31"));
        assert_eq!(feed.events(), 6);
        hear(&mut feed, "ST=").unwrap();
        assert_eq!(said(&feed), "");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let hear = |line: &str| hear(&mut Feed::default(), line);
        assert_eq!(hear("I2=5"), Err(FeedError::NoSource));
        assert_eq!(hear("I5=5"), Err(FeedError::Unknown));
        assert_eq!(hear(""), Err(FeedError::Unknown));
        assert_eq!(hear("I1=5"), Err(FeedError::Malformed(GtidError::Range)));
        assert_eq!(hear("ST=x:1"), Err(FeedError::Malformed(GtidError::Source)));
        assert_eq!(hear(&format!("I1={UUID}:0")), Err(FeedError::Malformed(GtidError::Range)));
    }

    #[test]
    fn who_says_more_than_can_be_kept_is_not_listened_to() {
        let bare = UUID.replace('-', "");
        let mut feed = Feed::default();
        hear(&mut feed, &format!("I1={bare}:1")).unwrap();
        let ends = (1_u64..).find_map(|at| {
            let outcome = hear(&mut feed, &format!("I2={}", 2 * at + 1));
            outcome.err().map(|error| (at, error))
        });
        assert_eq!(ends, Some((RANGES_MAX as u64, FeedError::TooMany)));
        // Each source has a range.
        let mut feed = Feed::default();
        let ends = (1_usize..)
            .find_map(|at| hear(&mut feed, &format!("I1={at:032x}:1")).err().map(|error| (at, error)));
        assert_eq!(ends, Some((RANGES_MAX + 1, FeedError::TooMany)));
        let whole: Vec<_> = (1..=RANGES_MAX + 1).map(|at| (2 * at).to_string()).collect();
        let line = format!("ST={UUID}:{}", whole.join(":"));
        assert!(line.len() < LINE_BYTES_MAX);
        assert_eq!(hear(&mut Feed::default(), &line), Err(FeedError::TooMany));
    }
}

//! What a `proxysql_binlog_reader` says of its server, a line at a time.
//!
//! It begins with `ST=` and the whole set. Then comes a line for each transaction: `I1=` with the source's UUID without hyphens and
//! the number, or `I2=` with the number alone, of the same source as in the line before. Newer readers put several into one
//! line: `I3=` and `I4=` have a range in the place of the number.

use super::{GtidError, GtidSet, Source, range};

/// Bytes of the longest line: sets of servers that have had many sources, some of them with holes.
pub const LINE_BYTES_MAX: usize = 1 << 20;

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
}

/// What one reader has said.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    executed: GtidSet,
    last: Option<Source>,
    is_complete: bool,
    events: u64,
}

impl Feed {
    /// Hears a line without its end.
    ///
    /// # Errors
    ///
    /// It makes no sense, and so what comes behind it may mean something else than it says.
    pub fn hear(&mut self, line: &str) -> Result<(), FeedError> {
        let (kind, rest) = line.split_once('=').ok_or(FeedError::Unknown)?;
        match kind {
            "ST" => {
                self.executed = rest.parse()?;
                self.is_complete = true;
            }
            "I1" | "I3" => {
                let (source, numbers) = rest.split_once(':').ok_or(GtidError::Range)?;
                let source = source.parse()?;
                self.last = Some(source);
                self.add(source, numbers)?;
            }
            "I2" | "I4" => {
                let source = self.last.ok_or(FeedError::NoSource)?;
                self.add(source, rest)?;
            }
            _ => return Err(FeedError::Unknown),
        }
        self.events += 1;
        Ok(())
    }

    fn add(&mut self, source: Source, numbers: &str) -> Result<(), GtidError> {
        let (first, last) = range(numbers)?;
        self.executed.insert(source, first, last);
        Ok(())
    }

    /// What the server has executed, as far as it is known; nothing before the whole set has come.
    pub fn executed(&self) -> Option<&GtidSet> {
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

    fn said(feed: &Feed) -> String {
        feed.executed().map_or_else(|| "nothing".to_owned(), ToString::to_string)
    }

    #[test]
    fn lines_of_all_kinds_add_up() {
        let bare = UUID.replace('-', "");
        let mut feed = Feed::default();
        assert_eq!(said(&feed), "nothing");
        feed.hear(&format!("ST={UUID}:1-5:8,00000000-0000-0000-0000-000000000007:1")).unwrap();
        for line in [&format!("I1={bare}:6"), "I2=7", &format!("I3={bare}:20-22"), "I4=23-30", "I2=31"] {
            feed.hear(line).unwrap();
        }
        assert_eq!(said(&feed), format!("00000000-0000-0000-0000-000000000007:1,{UUID}:1-8:20-31"));
        assert_eq!(feed.events(), 6);
        feed.hear("ST=").unwrap();
        assert_eq!(said(&feed), "");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let hear = |line: &str| Feed::default().hear(line);
        assert_eq!(hear("I2=5"), Err(FeedError::NoSource));
        assert_eq!(hear("I5=5"), Err(FeedError::Unknown));
        assert_eq!(hear(""), Err(FeedError::Unknown));
        assert_eq!(hear("I1=5"), Err(FeedError::Malformed(GtidError::Range)));
        assert_eq!(hear("ST=x:1"), Err(FeedError::Malformed(GtidError::Source)));
        assert_eq!(hear(&format!("I1={UUID}:0")), Err(FeedError::Malformed(GtidError::Range)));
    }
}

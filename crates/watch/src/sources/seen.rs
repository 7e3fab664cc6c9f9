//! How far a server's log was read, and whether it can be read on from there.
//!
//! The log is read on if nothing was missed: it is the log of the same server, which has run ever
//! since and was not [reset](Identity::resets), and has what was read. A server that was restarted
//! may have lost transactions, and MariaDB gives their GTIDs to others. A proxy in front of the
//! server may have sent queries to another one for a while.

use binlog::Position;
use binlog::request::Start;

use super::probe::place;

/// A log that was not read for so long is not read on: answers of that age are worth less than what
/// it takes to read all that was logged since. In microseconds.
pub(super) const GAP_MAX_US: u64 = 60_000_000;

/// What tells the log of a server from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// The server: behind one name there may be several.
    pub(super) server: String,
    /// When it was started, in seconds of Unix time.
    pub(super) started: String,
    /// How often it has [reset its log, or begun to replicate](super::resets) since.
    pub(super) resets: u64,
    /// The server itself has greeted the connection, and no proxy in front of it.
    pub(super) is_direct: bool,
}

/// A server's log, as far as it was read.
#[derive(Debug)]
pub(super) struct Seen {
    identity: Identity,
    /// The transactions behind which it goes on.
    behind: Start,
    /// Where these end in its files; nothing as long as the server has not said that.
    at: Option<Position>,
}

/// What a server says of its log when it is connected to again.
#[derive(Debug, Clone)]
pub(super) struct Now {
    /// Which log it is.
    pub(super) identity: Identity,
    /// At MySQL, the transactions that the server has executed. At MariaDB, the last ones in front
    /// of the place up to which the log was read; nothing if the server does not have that place.
    pub(super) has: Option<Start>,
    /// Where the log ends.
    pub(super) end: cache::Position,
    /// For how long it was not read, in microseconds.
    pub(super) gap_us: u64,
}

/// Why a log is not read on where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Anew {
    /// Another server answers.
    #[error("it is another server")]
    OtherServer,
    /// The server was restarted.
    #[error("the server was restarted")]
    Restarted,
    /// The log was reset, or the server has begun to replicate.
    #[error("the log was reset, or replication was started")]
    Reset,
    /// The log ends before the place up to which it was read, or has something else in front of it.
    #[error("the server lacks what was read of its log")]
    Lacks,
    /// It was not read for too long.
    #[error("the log was not read for too long")]
    TooLong,
    /// Queries may have gone to another server meanwhile, whose answers were stored.
    #[error("the server is behind a proxy")]
    Proxy,
}

impl Seen {
    /// A log that is read from here on.
    pub(super) const fn new(identity: Identity, behind: Start, at: Option<Position>) -> Self {
        Self { identity, behind, at }
    }

    /// The transactions behind which it goes on.
    pub(super) const fn behind(&self) -> &Start {
        &self.behind
    }

    /// Where these end in its files.
    pub(super) const fn at(&self) -> Option<&Position> {
        self.at.as_ref()
    }

    /// A transaction was read.
    pub(super) fn note(&mut self, gtid: gtid::Gtid) {
        self.behind.advance(gtid);
    }

    /// The log was read up to this place. A stream that goes on begins with an earlier one.
    pub(super) fn advance(&mut self, to: &Position) {
        if place(to) > self.at.as_ref().and_then(place) {
            self.at = Some(to.clone());
        }
    }

    /// Whether the log can be read on, and why not.
    ///
    /// # Errors
    ///
    /// Something may have been missed: following is to begin anew.
    pub(super) fn check(&self, now: &Now) -> Result<(), Anew> {
        let Now { identity, has, end, gap_us } = now;
        if identity.server != self.identity.server {
            return Err(Anew::OtherServer);
        }
        if identity.started != self.identity.started {
            return Err(Anew::Restarted);
        }
        if identity.resets != self.identity.resets {
            return Err(Anew::Reset);
        }
        if !identity.is_direct {
            return Err(Anew::Proxy);
        }
        if *gap_us > GAP_MAX_US {
            return Err(Anew::TooLong);
        }
        let is_there = self.at.as_ref().and_then(place) <= Some(*end);
        let has_all = has.as_ref().is_some_and(|has| match (has, &self.behind) {
            // A place has one position. A later one is that of another log.
            (Start::MariaDb(has), Start::MariaDb(behind)) => has == behind,
            (has, behind) => has.contains_all(behind),
        });
        if is_there && has_all { Ok(()) } else { Err(Anew::Lacks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn identity(server: &str, started: &str, resets: u64) -> Identity {
        let [server, started] = [server, started].map(str::to_owned);
        Identity { server, started, resets, is_direct: true }
    }

    fn at(number: u64, offset: u64) -> Position {
        Position { file: format!("binlog.{number:06}"), offset }
    }

    const fn end(file: u64, offset: u64) -> cache::Position {
        cache::Position { file, offset }
    }

    fn mysql(set: &str) -> Start {
        Start::MySql(set.replace('U', UUID).parse().unwrap())
    }

    fn mariadb(position: &str) -> Start {
        Start::MariaDb(position.parse().unwrap())
    }

    /// A log that was read up to the fifth transaction.
    fn seen(mut behind: Start, last: &str) -> Seen {
        behind.advance(last.replace('U', UUID).parse().unwrap());
        Seen::new(identity("s", "100", 0), behind, Some(at(2, 700)))
    }

    fn now(has: Start) -> Now {
        Now { identity: identity("s", "100", 0), has: Some(has), end: end(2, 700), gap_us: 9 }
    }

    #[test]
    fn a_log_is_read_on_if_nothing_was_missed() {
        for (seen, has) in [
            (seen(mysql("U:1-4"), "U:5"), mysql("U:1-5")),
            (seen(mysql("U:1-4"), "U:5"), mysql("U:1-9")),
            (seen(mariadb("0-1-4,1-1-2"), "0-1-5"), mariadb("0-1-5,1-1-2")),
        ] {
            let same = now(has);
            assert_eq!(seen.check(&same), Ok(()));
            assert_eq!(seen.check(&Now { end: end(3, 4), ..same.clone() }), Ok(()));
            let other = |server, started, resets| {
                seen.check(&Now { identity: identity(server, started, resets), ..same.clone() })
            };
            assert_eq!(other("t", "100", 0), Err(Anew::OtherServer));
            assert_eq!(other("s", "101", 0), Err(Anew::Restarted));
            assert_eq!(other("s", "100", 1), Err(Anew::Reset));
            let behind_proxy = Identity { is_direct: false, ..same.identity.clone() };
            assert_eq!(seen.check(&Now { identity: behind_proxy, ..same.clone() }), Err(Anew::Proxy));
            assert_eq!(seen.check(&Now { end: end(2, 699), ..same.clone() }), Err(Anew::Lacks));
            assert_eq!(seen.check(&Now { has: None, ..same.clone() }), Err(Anew::Lacks), "purged");
            assert_eq!(seen.check(&Now { gap_us: GAP_MAX_US + 1, ..same }), Err(Anew::TooLong));
        }
    }

    #[test]
    fn a_log_that_lacks_what_was_read_is_another_one() {
        for (seen, has) in [
            (seen(mysql("U:1-4"), "U:5"), mysql("U:1-4")),
            (seen(mysql("U:1-4"), "U:5"), mysql("")),
            (seen(mysql("U:1-4"), "U:5"), mariadb("0-1-5")),
            (seen(mariadb("0-1-4"), "0-1-5"), mariadb("0-1-4")),
            (seen(mariadb("0-1-4"), "0-1-5"), mariadb("0-1-6")),
            (seen(mariadb("0-1-4"), "0-1-5"), mariadb("0-2-5")),
            (seen(mariadb("0-1-4"), "0-1-5"), mariadb("0-1-5,1-1-1")),
        ] {
            assert_eq!(seen.check(&now(has.clone())), Err(Anew::Lacks), "{has}");
        }
    }

    #[test]
    fn a_stream_that_goes_on_begins_with_an_earlier_place() {
        let mut seen = Seen::new(identity("s", "100", 0), mysql("U:1-4"), None);
        assert_eq!(seen.check(&now(mysql("U:1-4"))), Ok(()), "no place is known yet");
        seen.advance(&Position::default());
        assert_eq!(seen.at(), None);
        for (to, is) in [(at(2, 4), at(2, 4)), (at(2, 700), at(2, 700)), (at(2, 4), at(2, 700))] {
            seen.advance(&to);
            assert_eq!(seen.at(), Some(&is));
        }
    }
}

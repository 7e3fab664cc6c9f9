//! A GTID of either server, and the highest one of each origin.

use std::fmt;
use std::str::FromStr;

use crate::{GtidError, mariadb, mysql};

/// One transaction of MySQL or MariaDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gtid {
    /// `uuid:number` or `uuid:tag:number`.
    MySql(mysql::Gtid),
    /// `domain-server-sequence`.
    MariaDb(mariadb::Gtid),
}

/// What counts a transaction: GTIDs of one origin are in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A server of MySQL and a tag.
    Source(mysql::Source),
    /// A replication domain of MariaDB.
    Domain(u32),
}

impl Gtid {
    /// What counts the transaction.
    pub const fn origin(&self) -> Origin {
        match self {
            Self::MySql(gtid) => Origin::Source(gtid.source),
            Self::MariaDb(gtid) => Origin::Domain(gtid.domain),
        }
    }

    /// The number at the origin.
    pub const fn number(&self) -> u64 {
        match self {
            Self::MySql(gtid) => gtid.number,
            Self::MariaDb(gtid) => gtid.sequence,
        }
    }
}

impl FromStr for Gtid {
    type Err = GtidError;

    /// A text with a colon is MySQL's, one without is MariaDB's.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        if text.contains(':') { text.parse().map(Self::MySql) } else { text.parse().map(Self::MariaDb) }
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(gtid) => gtid.fmt(f),
            Self::MariaDb(gtid) => gtid.fmt(f),
        }
    }
}

/// Origins that a [`Highest`] keeps. Each former primary of MySQL is one, and so is each tag.
pub const ORIGINS_MAX: usize = 64;

/// The highest GTID of each origin, for a few origins.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Highest {
    /// One of each origin; the origin that was raised last is last.
    gtids: Vec<Gtid>,
}

impl Highest {
    /// Raises the GTID of its origin to this one, unless it is as high already. Returns whether it
    /// has changed. Beyond [`ORIGINS_MAX`] the origin that was raised the longest time ago is
    /// dropped.
    pub fn raise(&mut self, gtid: Gtid) -> bool {
        let origin = gtid.origin();
        let held = self.gtids.iter().enumerate().rev().find(|(_, held)| held.origin() == origin);
        if let Some((at, held)) = held {
            if held.number() >= gtid.number() {
                return false;
            }
            self.gtids.remove(at);
        } else if self.gtids.len() >= ORIGINS_MAX {
            self.gtids.remove(0);
        }
        self.gtids.push(gtid);
        true
    }

    /// Raises all origins to what another one has. Returns whether any has changed.
    pub fn merge(&mut self, other: &Self) -> bool {
        let mut is_changed = false;
        for gtid in &other.gtids {
            is_changed |= self.raise(*gtid);
        }
        is_changed
    }

    /// Whether the GTID of this origin is as high as this one.
    pub fn reaches(&self, gtid: &Gtid) -> bool {
        let origin = gtid.origin();
        self.gtids.iter().any(|held| held.origin() == origin && held.number() >= gtid.number())
    }

    /// Puts `left`, an earlier GTID of the same origin, in the place of `lost`, or nothing. Returns
    /// whether `lost` was there: a later one stays.
    pub fn replace(&mut self, lost: &Gtid, left: Option<Gtid>) -> bool {
        let Some(at) = self.gtids.iter().position(|held| held == lost) else { return false };
        self.gtids.remove(at);
        self.gtids.extend(left.filter(|left| left.origin() == lost.origin()));
        true
    }

    /// One GTID of each origin.
    pub fn iter(&self) -> impl Iterator<Item = &Gtid> {
        self.gtids.iter()
    }

    /// Whether there is no GTID.
    pub const fn is_empty(&self) -> bool {
        self.gtids.is_empty()
    }
}

impl FromIterator<Gtid> for Highest {
    fn from_iter<I: IntoIterator<Item = Gtid>>(gtids: I) -> Self {
        let mut highest = Self::default();
        for gtid in gtids {
            highest.raise(gtid);
        }
        highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn gtid(text: &str) -> Gtid {
        text.parse().unwrap()
    }

    #[test]
    fn texts_tell_which_server_they_are_of() {
        for text in [format!("{UUID}:7"), format!("{UUID}:tag:7"), "0-1-7".to_owned()] {
            let gtid = gtid(&text);
            assert_eq!((gtid.to_string(), gtid.number()), (text, 7));
        }
        assert_eq!("".parse::<Gtid>(), Err(GtidError::MariaDb));
        assert_eq!(format!("{UUID}:").parse::<Gtid>(), Err(GtidError::Range));
    }

    #[test]
    fn each_origin_has_its_highest() {
        let mut highest = Highest::default();
        assert!(highest.is_empty() && !highest.reaches(&gtid("0-1-1")));
        for (text, changes) in [("0-1-7", true), ("0-2-5", false), ("1-1-2", true), ("0-2-8", true)] {
            assert_eq!(highest.raise(gtid(text)), changes, "{text}");
        }
        assert!(highest.raise(gtid(&format!("{UUID}:3"))) && highest.raise(gtid(&format!("{UUID}:tag:1"))));
        assert!(highest.reaches(&gtid("0-9-8")) && !highest.reaches(&gtid("0-1-9")));
        assert!(
            highest.reaches(&gtid(&format!("{UUID}:2"))) && !highest.reaches(&gtid(&format!("{UUID}:tag:2")))
        );
        let mut other = Highest::default();
        assert!(other.merge(&highest) && !other.merge(&highest));
        assert_eq!(other, highest);
        assert!(!other.replace(&gtid("0-1-7"), None) && other.replace(&gtid("0-2-8"), Some(gtid("0-3-6"))));
        assert!(other.reaches(&gtid("0-1-6")) && !other.reaches(&gtid("0-1-7")));
        assert!(other.replace(&gtid("0-3-6"), None) && !other.reaches(&gtid("0-1-1")));
        assert_eq!(other.iter().count(), 3);
    }

    #[test]
    fn origins_are_bounded() {
        let mut highest = Highest::default();
        for domain in 0..ORIGINS_MAX {
            highest.raise(gtid(&format!("{domain}-1-1")));
        }
        // The first one is raised, and so the second one is the oldest.
        highest.raise(gtid("0-1-2"));
        highest.raise(gtid(&format!("{ORIGINS_MAX}-1-1")));
        assert_eq!(highest.iter().count(), ORIGINS_MAX);
        assert!(highest.reaches(&gtid("0-1-2")) && !highest.reaches(&gtid("1-1-1")));
        assert!(highest.reaches(&gtid(&format!("{ORIGINS_MAX}-1-1"))));
    }
}

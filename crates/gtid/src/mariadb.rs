//! GTIDs of MariaDB: one transaction, and a server's position.
//!
//! Each domain is one order of transactions, whichever server has numbered them. So the last
//! transaction of a domain stands for all before it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::GtidError;

/// One transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gtid {
    /// The replication domain.
    pub domain: u32,
    /// The `server_id` of the server that has executed the transaction first.
    pub server: u32,
    /// The number in the domain.
    pub sequence: u64,
}

/// A number in decimal digits and nothing else.
fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl FromStr for Gtid {
    type Err = GtidError;

    /// `domain-server-sequence`.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let read = || {
            let (domain, rest) = text.split_once('-')?;
            let (server, sequence) = rest.split_once('-')?;
            Some(Self { domain: number(domain)?, server: number(server)?, sequence: number(sequence)? })
        };
        read().ok_or(GtidError::MariaDb)
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

/// The last transaction of each domain.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Position {
    /// The server and the sequence number by the domain.
    domains: BTreeMap<u32, (u32, u64)>,
}

impl Position {
    /// Moves the position of a transaction's domain up to the transaction, unless it is there or
    /// beyond. Returns whether the position has moved.
    pub fn advance(&mut self, gtid: Gtid) -> bool {
        let is_new = !self.contains(gtid);
        if is_new {
            self.domains.insert(gtid.domain, (gtid.server, gtid.sequence));
        }
        is_new
    }

    /// Whether the position is at the transaction or beyond.
    pub fn contains(&self, gtid: Gtid) -> bool {
        self.domains.get(&gtid.domain).is_some_and(|(_, sequence)| gtid.sequence <= *sequence)
    }

    /// Whether no domain of another position is beyond this one.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|gtid| self.contains(gtid))
    }

    /// The last transaction of each domain, by the domain's number.
    pub fn iter(&self) -> impl Iterator<Item = Gtid> + '_ {
        self.domains.iter().map(|(domain, (server, sequence))| Gtid {
            domain: *domain,
            server: *server,
            sequence: *sequence,
        })
    }
}

impl FromStr for Position {
    type Err = GtidError;

    /// `0-1-7,2-1-9`, as `@@gtid_slave_pos` has it; the text may be empty. Of several transactions
    /// of a domain, as `@@gtid_binlog_state` has them, the highest counts.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut position = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            position.advance(part.parse()?);
        }
        Ok(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, gtid) in self.iter().enumerate() {
            write!(f, "{}{gtid}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_those_of_mariadb() {
        let gtid: Gtid = "0-1-100".parse().unwrap();
        assert_eq!(gtid, Gtid { domain: 0, server: 1, sequence: 100 });
        assert_eq!(gtid.to_string(), "0-1-100");
        let (id, sequence) = (u32::MAX, u64::MAX);
        let largest = format!("{id}-{id}-{sequence}");
        assert_eq!(largest.parse::<Gtid>().map(|gtid| gtid.to_string()), Ok(largest));
        for text in ["", "1", "1-2", "1-2-", "-1-2", "1-2-3-4", "1-+2-3", "a-1-2", "4294967296-1-1", "0-1-2 "]
        {
            assert_eq!(text.parse::<Gtid>(), Err(GtidError::MariaDb), "{text}");
        }
    }

    #[test]
    fn a_position_has_the_last_transaction_of_each_domain() {
        let position: Position = " 2-1-9, 0-1-7,\n0-3-5,".parse().unwrap();
        assert_eq!(position.to_string(), "0-1-7,2-1-9");
        assert_eq!("".parse(), Ok(Position::default()));
        assert_eq!("0-1".parse::<Position>(), Err(GtidError::MariaDb));
        let has = |gtid: &str| position.contains(gtid.parse().unwrap());
        assert!(has("0-9-7") && has("0-1-1") && !has("0-1-8") && !has("1-1-1"));
    }

    proptest! {
        /// A position is at the highest number of each domain, in whatever order transactions come.
        #[test]
        fn a_position_has_the_highest_numbers(list in prop::collection::vec((0_u32..4, 1_u64..9), 0..12)) {
            let mut position = Position::default();
            for (domain, sequence) in &list {
                position.advance(Gtid { domain: *domain, server: 1, sequence: *sequence });
            }
            for gtid in position.iter() {
                let numbers = list.iter().filter(|(domain, _)| *domain == gtid.domain);
                prop_assert_eq!(numbers.map(|(_, sequence)| *sequence).max(), Some(gtid.sequence));
            }
            for (domain, sequence) in list {
                let gtid = Gtid { domain, server: 9, sequence };
                prop_assert!(position.contains(gtid));
            }
            prop_assert_eq!(position.to_string().parse(), Ok(position));
        }
    }
}

//! Where a stream begins: behind the transactions that the replica has.

use std::fmt;

use gtid::{Gtid, mariadb, mysql};

/// The transactions that a replica has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// These, at MySQL with `gtid_mode = ON`.
    MySql(mysql::Set),
    /// These, at MariaDB.
    MariaDb(mariadb::Position),
}

impl Start {
    /// Adds a transaction. One of the other server is left out.
    pub fn advance(&mut self, gtid: Gtid) {
        match (self, gtid) {
            (Self::MySql(set), Gtid::MySql(gtid)) => set.insert(gtid.source, gtid.number, gtid.number),
            (Self::MariaDb(position), Gtid::MariaDb(gtid)) => {
                position.advance(gtid);
            }
            (Self::MySql(_), Gtid::MariaDb(_)) | (Self::MariaDb(_), Gtid::MySql(_)) => {}
        }
    }

    /// Whether a replica with these transactions has all of `other`.
    pub fn contains_all(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MySql(set), Self::MySql(other)) => set.contains_all(other),
            (Self::MariaDb(position), Self::MariaDb(other)) => position.contains_all(other),
            (Self::MySql(_), Self::MariaDb(_)) | (Self::MariaDb(_), Self::MySql(_)) => false,
        }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(set) => set.fmt(f),
            Self::MariaDb(position) => position.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "00000000-0000-0000-0000-000000000009";

    #[test]
    fn each_server_has_its_own() {
        let mysql = Start::MySql(format!("{UUID}:1-4").parse().unwrap());
        let mariadb = Start::MariaDb("0-1-7".parse().unwrap());
        for (start, gtid, after) in
            [(&mysql, format!("{UUID}:5"), format!("{UUID}:1-5")), (&mariadb, "0-1-8".into(), "0-1-8".into())]
        {
            let mut later = start.clone();
            later.advance(gtid.parse().unwrap());
            assert_eq!(later.to_string(), after);
            assert!(later.contains_all(start) && !start.contains_all(&later));
        }
        let mut same = mysql.clone();
        same.advance("0-1-8".parse().unwrap());
        assert_eq!(same, mysql);
        assert!(!mysql.contains_all(&mariadb) && !mariadb.contains_all(&mysql));
    }
}

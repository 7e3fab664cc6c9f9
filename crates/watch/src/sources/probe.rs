//! The two questions about the binary log of a server: what is visible, and where the log ends.
//!
//! A server writes a transaction to its log before others see it. `@@gtid_executed` of MySQL and
//! `binlog_snapshot_%` of MariaDB move with the commit in the engine: they are behind what is
//! visible, never ahead. The log's end is ahead of what is visible, never behind.

use binlog::Position;
use gtid::Gtid;

use crate::question::Rows;

/// How long MariaDB may take from the log to the engine with an `XA COMMIT`, in microseconds.
pub(super) const XA_COMMIT_US: u64 = 50_000;

/// Which questions a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// MySQL since 8.2, and the words of those before.
    MySql {
        /// `SHOW MASTER STATUS`.
        is_old: bool,
    },
    /// MariaDB.
    MariaDb,
}

/// What marks a transaction of the log, to be compared with what is [visible](Visible).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// Its GTID, at MySQL.
    Gtid(Gtid),
    /// Where it ends, at MariaDB.
    End(cache::Position),
    /// The same of one that commits an XA transaction, with the time when it was read, in
    /// microseconds. MariaDB moves the place before the engine commits.
    XaEnd(cache::Position, u64),
}

/// What a server's sessions see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Visible {
    /// These transactions.
    Set(gtid::mysql::Set),
    /// Those before this place in the log.
    Before(Position),
}

impl Kind {
    /// The statement that asks what is visible.
    pub(super) const fn visible(self) -> &'static str {
        match self {
            Self::MySql { .. } => "SELECT @@global.gtid_executed",
            Self::MariaDb => "SHOW STATUS LIKE 'binlog_snapshot_%'",
        }
    }

    /// The statement that asks where the log ends.
    pub(super) const fn end(self) -> &'static str {
        match self {
            Self::MySql { is_old: false } => "SHOW BINARY LOG STATUS",
            Self::MySql { is_old: true } | Self::MariaDb => "SHOW MASTER STATUS",
        }
    }

    /// What is visible, by the answer.
    pub(super) fn read_visible(self, rows: &Rows) -> Option<Visible> {
        match self {
            Self::MySql { .. } => {
                let text = rows.text(0, "@@global.gtid_executed")?;
                Some(Visible::Set(text.parse().ok()?))
            }
            Self::MariaDb => {
                let file = rows.variable("Binlog_snapshot_file").filter(|file| !file.is_empty())?;
                Some(Visible::Before(Position {
                    file,
                    offset: rows.variable("Binlog_snapshot_position")?.parse().ok()?,
                }))
            }
        }
    }
}

impl Visible {
    /// Whether a transaction with this mark is among it at `now_us`.
    pub(super) fn has(&self, mark: &Mark, now_us: u64) -> bool {
        match (self, mark) {
            (Self::Set(set), Mark::Gtid(Gtid::MySql(gtid))) => set.contains(gtid),
            (Self::Before(position), Mark::End(end)) => place(position).is_some_and(|seen| *end <= seen),
            (Self::Before(position), Mark::XaEnd(end, read_us)) => {
                let is_late = now_us.saturating_sub(*read_us) >= XA_COMMIT_US;
                is_late && place(position).is_some_and(|seen| *end <= seen)
            }
            _ => false,
        }
    }
}

/// Where the log ends, by the answer.
pub(super) fn read_end(rows: &Rows) -> Option<cache::Position> {
    let (file, offset) = (rows.text(0, "File")?, rows.text(0, "Position")?);
    place(&Position { file, offset: offset.parse().ok()? })
}

/// A place in the log that can be compared with others of the same server.
pub(super) fn place(position: &Position) -> Option<cache::Position> {
    let (_, number) = position.file.rsplit_once('.')?;
    Some(cache::Position { file: number.parse().ok()?, offset: position.offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    const OLD: Kind = Kind::MySql { is_old: true };

    fn at(file: &str, offset: u64) -> Position {
        Position { file: file.to_owned(), offset }
    }

    #[test]
    fn places_are_in_the_order_of_the_log() {
        let places = [at("binlog.000009", 700), at("binlog.000010", 4), at("binlog.1000000", 4)];
        let places = places.map(|position| place(&position).unwrap());
        assert!(places.is_sorted());
        assert_eq!(place(&at("binlog", 4)), None);
    }

    #[test]
    fn mysql_tells_what_is_visible_by_gtids() {
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let text = format!("{uuid}:1-5");
        let rows = answer(&["@@global.gtid_executed"], &[&[Some(&text)]]).unwrap();
        let visible = OLD.read_visible(&rows).unwrap();
        let mark = |number: u64| Mark::Gtid(Gtid::MySql(format!("{uuid}:{number}").parse().unwrap()));
        assert!(visible.has(&mark(5), 0) && !visible.has(&mark(6), 0));
        assert!(!visible.has(&Mark::End(cache::Position::default()), 0));
    }

    #[test]
    fn mariadb_tells_what_is_visible_by_a_place() {
        let rows: [&[Option<&str>]; 2] = [
            &[Some("Binlog_snapshot_file"), Some("db-bin.000002")],
            &[Some("Binlog_snapshot_position"), Some("344")],
        ];
        let rows = answer(&["Variable_name", "Value"], &rows).unwrap();
        let visible = Kind::MariaDb.read_visible(&rows).unwrap();
        let mark = |file, offset| Mark::End(cache::Position { file, offset });
        assert!(visible.has(&mark(2, 344), 0) && visible.has(&mark(1, 999), 0));
        assert!(!visible.has(&mark(2, 345), 0) && !visible.has(&mark(3, 4), 0));
        let xa = Mark::XaEnd(cache::Position { file: 2, offset: 344 }, 500);
        assert!(!visible.has(&xa, 500) && visible.has(&xa, 500 + XA_COMMIT_US));
        let none = answer(&["Variable_name", "Value"], &[]).unwrap();
        assert_eq!(Kind::MariaDb.read_visible(&none), None);
    }

    #[test]
    fn the_end_is_a_file_and_an_offset() {
        let rows = answer(&["File", "Position"], &[&[Some("binlog.000003"), Some("157")]]).unwrap();
        assert_eq!(read_end(&rows), Some(cache::Position { file: 3, offset: 157 }));
        assert_eq!(read_end(&answer(&["File", "Position"], &[]).unwrap()), None);
    }
}

//! The statements of checks, and what the answers mean.

use std::time::Duration;

use config::MonitorVariables;
use monitor::{Lag, Told};
use session::identity::PLAIN;
use wire::{Codec as _, packet};

/// How servers are asked for their lag: MariaDB, with all sources of a replica; MySQL since 8.0.22;
/// others.
pub(crate) const LAG: [&str; 3] = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

/// The column of the lag in the answers to them.
const LAG_COLUMNS: [&[u8]; 2] = [b"Seconds_Behind_Master", b"Seconds_Behind_Source"];

/// The column in the answers to them that says whether a replica gets changes, or tries to.
const FOLLOWS_COLUMNS: [&str; 2] = ["Slave_IO_Running", "Replica_IO_Running"];

/// The statement that asks a server whether it is read-only, for a `check_type`.
pub(crate) fn read_only(check_type: &str) -> String {
    let global = |name: &str| format!("@@global.{name}");
    let expression = match check_type.to_ascii_lowercase().as_str() {
        "innodb_read_only" => global("innodb_read_only"),
        "super_read_only" => global("super_read_only"),
        "read_only|innodb_read_only" => "@@global.read_only|@@global.innodb_read_only".to_owned(),
        "read_only&innodb_read_only" => "@@global.read_only&@@global.innodb_read_only".to_owned(),
        _ => global("read_only"),
    };
    format!("SELECT {expression} read_only")
}

/// The statement that asks for the lag in the table of pt-heartbeat; `None` if there is no such
/// table.
pub(crate) fn heartbeat(variables: &MonitorVariables) -> Option<String> {
    let table = variables.heartbeat_table()?;
    Some(format!(
        "SELECT MAX(ROUND(TIMESTAMPDIFF(MICROSECOND, ts, SYSDATE(6))/1000000)) AS Seconds_Behind_Master FROM {table}"
    ))
}

/// A result set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    columns: Vec<Vec<u8>>,
    rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl Rows {
    /// The rows in the packets of an answer.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let rows = wire::rows::Rows::of(bytes)?;
        let name = |column| Some(packet::Column::decode(column, PLAIN).ok()?.name.to_vec());
        let columns = rows.definitions().map(name).collect::<Option<_>>()?;
        let own = |row: Vec<Option<&[u8]>>| row.into_iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
        Some(Self { columns, rows: wire::rows::cells(bytes)?.into_iter().map(own).collect() })
    }

    /// The value of a variable in an answer with `Variable_name` and `Value`, by its name in any
    /// case.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let is_it = |row: &usize| {
            self.text(*row, "Variable_name").is_some_and(|shown| shown.eq_ignore_ascii_case(name))
        };
        self.text((0..self.len()).find(is_it)?, "Value")
    }

    /// The cells of each row; a NULL is nothing.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &[Option<Vec<u8>>]> {
        self.rows.iter().map(Vec::as_slice)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The text in a column of a row, by the column's name in any case; `None` if it is NULL, or is
    /// not there.
    pub(crate) fn text(&self, row: usize, column: &str) -> Option<String> {
        let at = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column.as_bytes()))?;
        let cell = self.rows.get(row)?.get(at)?.as_deref()?;
        Some(String::from_utf8_lossy(cell).into_owned())
    }

    /// Whether the server says that it is read-only. MariaDB 12 has words for it.
    pub(crate) fn read_only(&self) -> Option<Told> {
        let cell = self.rows.first()?.first()?.as_deref()?;
        Some(Told::ReadOnly(!(cell == b"0" || cell.eq_ignore_ascii_case(b"off"))))
    }

    /// Whether the server follows another one, or tries to; `None` if it does not say so.
    pub(crate) fn follows(&self) -> Option<bool> {
        let has =
            |name: &&&str| self.columns.iter().any(|column| column.eq_ignore_ascii_case(name.as_bytes()));
        let column = FOLLOWS_COLUMNS.iter().find(has)?;
        Some((0..self.len()).any(|at| self.text(at, column).is_some_and(|running| running != "No")))
    }

    /// How far the server is behind the source that it is farthest behind.
    pub(crate) fn lag(&self) -> Option<Told> {
        let is_lag = |name: &Vec<u8>| LAG_COLUMNS.iter().any(|lag| name.eq_ignore_ascii_case(lag));
        let at = self.columns.iter().position(is_lag)?;
        let mut worst = Lag::NoReplica;
        for row in &self.rows {
            let Some(cell) = row.get(at)?.as_deref() else { return Some(Told::Lag(Lag::Unknown)) };
            let seconds: i64 = std::str::from_utf8(cell).ok()?.parse().ok()?;
            // Clocks differ: a heartbeat of the future is no lag.
            let lag = Duration::from_secs(seconds.max(0).unsigned_abs());
            worst = match worst {
                Lag::Behind(other) if other >= lag => worst,
                _ => Lag::Behind(lag),
            };
        }
        Some(Told::Lag(worst))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use wire::StatusFlags;
    use wire::frame::put_packet;

    use super::*;

    /// The rows of an answer with these columns and cells.
    pub(crate) fn answer(columns: &[&str], rows: &[&[Option<&str>]]) -> Option<Rows> {
        let mut bytes = Vec::new();
        let count = packet::ColumnCount { count: columns.len() as u64, metadata_follows: None };
        let mut seq = put_packet(&mut bytes, 1, &count, PLAIN);
        for column in columns {
            seq = put_packet(&mut bytes, seq, &packet::Column::text(column.as_bytes(), 45), PLAIN);
        }
        let eof = packet::Eof { warnings: 0, status: StatusFlags::AUTOCOMMIT };
        seq = put_packet(&mut bytes, seq, &eof, PLAIN);
        for row in rows {
            let mut payload = Vec::new();
            packet::TextRow::put(&mut payload, row.iter().copied());
            seq = wire::frame::put_message(&mut bytes, seq, &payload);
        }
        put_packet(&mut bytes, seq, &eof, PLAIN);
        Rows::read(&bytes)
    }

    #[test]
    fn servers_say_whether_they_are_read_only() {
        for (said, expected) in [("0", false), ("1", true), ("OFF", false), ("NO_LOCK", true)] {
            let told = answer(&["read_only"], &[&[Some(said)]]).and_then(|rows| rows.read_only());
            assert_eq!(told, Some(Told::ReadOnly(expected)), "{said}");
        }
        assert_eq!(answer(&["read_only"], &[]).unwrap().read_only(), None);
        assert_eq!(read_only("READ_ONLY"), "SELECT @@global.read_only read_only");
        assert_eq!(
            read_only("read_only|innodb_read_only"),
            "SELECT @@global.read_only|@@global.innodb_read_only read_only"
        );
    }

    #[test]
    fn the_lag_is_that_of_the_worst_source() {
        let lag = |rows: &[&[Option<&str>]]| answer(&["Host", "Seconds_Behind_Master"], rows).unwrap().lag();
        let behind = |seconds| Some(Told::Lag(Lag::Behind(Duration::from_secs(seconds))));
        assert_eq!(lag(&[]), Some(Told::Lag(Lag::NoReplica)));
        assert_eq!(lag(&[&[Some("a"), Some("3")], &[Some("b"), Some("7")], &[None, Some("5")]]), behind(7));
        assert_eq!(lag(&[&[Some("a"), Some("3")], &[Some("b"), None]]), Some(Told::Lag(Lag::Unknown)));
        assert_eq!(lag(&[&[Some("a"), Some("-1")]]), behind(0));
        assert_eq!(answer(&["x"], &[&[Some("1")]]).unwrap().lag(), None);
    }

    #[test]
    fn servers_say_whether_they_follow_another_one() {
        for column in ["Slave_IO_Running", "Replica_IO_Running"] {
            let follows = |rows: &[&[Option<&str>]]| answer(&["Host", column], rows).unwrap().follows();
            assert_eq!(follows(&[]), Some(false));
            assert_eq!(follows(&[&[Some("a"), Some("No")]]), Some(false));
            assert_eq!(follows(&[&[Some("a"), Some("No")], &[Some("b"), Some("Connecting")]]), Some(true));
            assert_eq!(follows(&[&[Some("a"), Some("Yes")]]), Some(true));
        }
        assert_eq!(answer(&["x"], &[&[Some("Yes")]]).unwrap().follows(), None);
    }

    #[test]
    fn a_replica_may_have_much_to_say() {
        // The sets of transactions of servers that were primaries often.
        let set = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77,".repeat(5_000);
        let said = answer(&["Executed_Gtid_Set", "Seconds_Behind_Source"], &[&[Some(&set), Some("3")]]);
        assert_eq!(said.unwrap().lag(), Some(Told::Lag(Lag::Behind(Duration::from_secs(3)))));
    }

    #[test]
    fn a_heartbeat_table_is_a_name() {
        let of = |table: &str| {
            let table = table.to_owned();
            heartbeat(&MonitorVariables {
                replication_lag_use_percona_heartbeat: table,
                ..Default::default()
            })
        };
        assert!(of("`percona`.heartbeat").unwrap().ends_with(" FROM `percona`.heartbeat"));
        for table in ["", "heartbeat", "a.b; DROP TABLE c", "a.`b", "a."] {
            assert_eq!(of(table), None, "{table}");
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        assert_eq!(Rows::read(&[1, 0, 0, 1, 1]), None);
        assert_eq!(Rows::read(&[]), None);
    }
}

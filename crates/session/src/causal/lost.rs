//! Acknowledged transactions that a writer lacks: a new primary may never have got them.

use gtid::mysql::{self, Set};
use gtid::{Gtid, Highest, mariadb};
use wire::Codec as _;
use wire::packet::TextRow;

use crate::identity::PLAIN;

/// The statement that asks a writer of MariaDB for its positions. `gtid_current_pos` has none of
/// transactions that a session with another `server_id` has made there.
const POSITIONS: &str = "SELECT CONCAT_WS(',', @@global.gtid_binlog_pos, @@global.gtid_slave_pos)";

/// The statement that asks a writer of MySQL for all that it has: [`left`] reads the answer.
pub const EXECUTED: &str = "SELECT @@global.gtid_executed";

/// The transactions that a server of this kind may have.
pub fn of_kind(tokens: &Highest, is_mariadb: bool) -> Highest {
    tokens.iter().filter(|token| matches!(token, Gtid::MariaDb(_)) == is_mariadb).copied().collect()
}

/// The statement that asks a writer which of these transactions, all of its kind, it lacks:
/// [`lacked`] reads the answer. MySQL is asked for single transactions: its own ones need not begin
/// with 1.
pub fn question(tokens: &Highest, is_mariadb: bool) -> String {
    if is_mariadb {
        return POSITIONS.to_owned();
    }
    let tokens: Vec<_> = tokens.iter().map(ToString::to_string).collect();
    format!("SELECT GTID_SUBTRACT('{}', @@global.gtid_executed)", tokens.join(","))
}

/// Which of these transactions a writer lacks, by the row of its answer, as it is in its packet;
/// nothing if the answer makes no sense.
pub fn lacked(tokens: &Highest, is_mariadb: bool, row: &[u8]) -> Option<Vec<Gtid>> {
    let text = cell(row)?;
    let lacks: Box<dyn Fn(&Gtid) -> bool> = if is_mariadb {
        let last = positions(&text)?;
        Box::new(move |token| matches!(token, Gtid::MariaDb(_)) && !last.reaches(token))
    } else {
        let missing: Set = text.parse().ok()?;
        Box::new(move |token| matches!(token, Gtid::MySql(gtid) if missing.contains(gtid)))
    };
    Some(tokens.iter().filter(|token| lacks(token)).copied().collect())
}

/// The last transaction that a writer has of the origin of `lost`, and in front of it, if it has
/// one; nothing if the answer makes no sense. The row is that of the [position](question) of
/// MariaDB, or of what MySQL has [executed](EXECUTED).
pub fn left(lost: &Gtid, row: &[u8]) -> Option<Option<Gtid>> {
    let text = cell(row)?;
    match lost {
        Gtid::MySql(lost) => {
            let executed: Set = text.parse().ok()?;
            let before =
                executed.iter().filter(|(source, first, _)| *source == lost.source && *first <= lost.number);
            let number = before.map(|(_, _, last)| last.min(lost.number)).max();
            Some(number.map(|number| Gtid::MySql(mysql::Gtid { number, ..*lost })))
        }
        Gtid::MariaDb(lost) => {
            let is_of_domain =
                |gtid: &&Gtid| matches!(gtid, Gtid::MariaDb(gtid) if gtid.domain == lost.domain);
            Some(positions(&text)?.iter().find(is_of_domain).copied())
        }
    }
}

/// The last transaction of each domain by two positions, each of which may be empty.
fn positions(text: &str) -> Option<Highest> {
    let gtids = text.split(',').filter(|gtid| !gtid.is_empty());
    gtids.map(|gtid| gtid.parse::<mariadb::Gtid>().ok().map(Gtid::MariaDb)).collect()
}

/// The only column of a row.
pub(super) fn cell(row: &[u8]) -> Option<String> {
    let row = TextRow::decode(row, PLAIN).ok()?;
    let cell = row.iter().next()??;
    std::str::from_utf8(cell).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn gtid(text: &str) -> Gtid {
        text.parse().unwrap()
    }

    fn row(cell: &str) -> Vec<u8> {
        let mut row = Vec::new();
        TextRow::put(&mut row, [Some(cell)]);
        row
    }

    #[test]
    fn a_writer_of_mysql_may_lack_what_was_acknowledged() {
        let (seven, tagged) = (gtid(&format!("{UUID}:7")), gtid(&format!("{UUID}:ddl:3")));
        let tokens = of_kind(&[seven, tagged, gtid("0-1-7")].into_iter().collect(), false);
        let text = format!("SELECT GTID_SUBTRACT('{UUID}:7,{UUID}:ddl:3', @@global.gtid_executed)");
        assert_eq!(question(&tokens, false), text);
        let lacked = |cell: &str| lacked(&tokens, false, &row(cell));
        assert_eq!(lacked(""), Some(Vec::new()));
        assert_eq!(lacked(&format!("{UUID}:ddl:3")), Some(vec![tagged]));
        assert_eq!(lacked("x"), None);
        let left = |cell: &str| left(&seven, &row(cell));
        assert_eq!(left(&format!("{UUID}:1-5:9")), Some(Some(gtid(&format!("{UUID}:5")))));
        assert_eq!([left(&format!("{UUID}:8-9")), left("")], [Some(None), Some(None)]);
        assert_eq!(left("x"), None);
    }

    #[test]
    fn a_writer_of_mariadb_may_lack_what_was_acknowledged() {
        let tokens = of_kind(&[gtid("0-1-7"), gtid("1-1-7")].into_iter().collect(), true);
        assert!(
            question(&tokens, true).contains("gtid_binlog_pos")
                && !question(&tokens, true).contains("current")
        );
        let lacked = |cell: &str| lacked(&tokens, true, &row(cell));
        assert_eq!(lacked("0-1-9,1-2-7"), Some(Vec::new()));
        assert_eq!(lacked("0-1-9,1-2-6"), Some(vec![gtid("1-1-7")]));
        assert_eq!(lacked("x"), None);
        // The position of the binary log, and that of a former replica.
        assert_eq!(lacked("0-77-9,1-2-7,0-1-3"), Some(Vec::new()));
        assert_eq!(lacked(",0-1-9,1-2-7"), Some(Vec::new()));
        let left = |cell: &str| left(&gtid("1-1-7"), &row(cell));
        assert_eq!([left("0-1-9,1-2-6"), left("0-1-9")], [Some(Some(gtid("1-2-6"))), Some(None)]);
    }

    #[test]
    fn rows_without_a_text_say_nothing() {
        for row in [&b"\xfb"[..], b"", b"\x01\xff"] {
            assert_eq!(left(&gtid("1-1-7"), row), None);
            assert_eq!(lacked(&Highest::default(), true, row), None);
        }
    }
}

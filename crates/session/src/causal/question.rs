//! The statement that asks a replica whether it has applied transactions.

use std::fmt::Write as _;
use std::time::Duration;

use gtid::{Gtid, Highest};

/// The statement that asks a server, MariaDB or MySQL, whether it has applied these transactions.
/// The server waits for them up to `wait`. The answer is one row with one number: 1 for yes.
///
/// Nothing if there is a transaction of the other kind of server, which no server of this kind has.
///
/// At MySQL the question is about all transactions of each source up to the token: a replica may
/// apply a source's transactions in another order (`replica_preserve_commit_order = OFF`).
pub fn of(tokens: &Highest, is_mariadb: bool, wait: Duration) -> Option<String> {
    let mut list = String::new();
    for token in tokens.iter() {
        let comma = if list.is_empty() { "" } else { "," };
        let written = match token {
            Gtid::MySql(gtid) if !is_mariadb => write!(list, "{comma}{}:1-{}", gtid.source, gtid.number),
            Gtid::MariaDb(gtid) if is_mariadb => write!(list, "{comma}{gtid}"),
            _ => return None,
        };
        written.ok()?;
    }
    let (seconds, micros) = (wait.as_secs(), wait.subsec_micros());
    Some(match (is_mariadb, wait.is_zero()) {
        (true, _) => format!("SELECT MASTER_GTID_WAIT('{list}', {seconds}.{micros:06}) = 0"),
        // `WAIT_FOR_EXECUTED_GTID_SET` with 0 waits for ever.
        (false, true) => format!("SELECT GTID_SUBSET('{list}', @@global.gtid_executed)"),
        (false, false) => {
            format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{list}', {seconds}.{micros:06}) = 0")
        }
    })
}

/// The statement that asks a writer whether it has this transaction at all; its answer is that of
/// [`of`]. A primary of MariaDB has its own transactions in its binary log.
pub fn of_writer(token: &Gtid) -> String {
    match token {
        Gtid::MySql(gtid) => format!("SELECT GTID_SUBSET('{gtid}', @@global.gtid_executed)"),
        Gtid::MariaDb(gtid) => format!(
            "SELECT COALESCE(MAX({} <= CAST(SUBSTRING_INDEX(pos, '-', -1) AS UNSIGNED)), 0) FROM \
             (SELECT REGEXP_SUBSTR(CONCAT(',', @@global.gtid_current_pos), ',{}-[0-9]+-[0-9]+') pos) t \
             WHERE pos <> ''",
            gtid.sequence, gtid.domain
        ),
    }
}

/// What the row of the answer says, as it is in its packet.
pub fn is_yes(row: &[u8]) -> bool {
    row == b"\x011"
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn highest(gtids: &[&str]) -> Highest {
        let mut highest = Highest::default();
        for gtid in gtids {
            highest.raise(gtid.parse().unwrap());
        }
        highest
    }

    #[test]
    fn each_server_is_asked_in_its_words() {
        let (first, tagged) = (format!("{UUID}:7"), format!("{UUID}:ddl:3"));
        let tokens = highest(&[&first, &tagged]);
        let now = of(&tokens, false, Duration::ZERO).unwrap();
        let list = format!("{UUID}:1-7,{UUID}:ddl:1-3");
        assert_eq!(now, format!("SELECT GTID_SUBSET('{list}', @@global.gtid_executed)"));
        let later = of(&tokens, false, Duration::from_millis(1_050)).unwrap();
        assert_eq!(later, format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{list}', 1.050000) = 0"));
        let tokens = highest(&["0-1-7", "2-1-9"]);
        let now = of(&tokens, true, Duration::ZERO).unwrap();
        assert_eq!(now, "SELECT MASTER_GTID_WAIT('0-1-7,2-1-9', 0.000000) = 0");
        assert_eq!(of(&tokens, false, Duration::ZERO), None);
        assert_eq!(of(&highest(&["0-1-7", &first]), true, Duration::ZERO), None);
    }

    #[test]
    fn the_answer_is_one() {
        assert!(is_yes(b"\x011"));
        for row in [&b"\x010"[..], b"\x02-1", b"\xfb", b"", b"\x0211"] {
            assert!(!is_yes(row), "{row:?}");
        }
    }
}

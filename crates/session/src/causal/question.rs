//! The statement that asks a replica whether it has applied transactions.

use std::fmt::Write as _;
use std::time::Duration;

use gtid::{Gtid, Highest};

/// What a server says about transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It had them when it was asked.
    Had,
    /// It has them now.
    Waited,
    /// It lacks some of them.
    Lacks,
}

/// The statement that asks a server, MariaDB or MySQL, whether it has applied these transactions.
/// The server waits for them up to `wait`. [`read`] reads the answer.
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
    let now = if is_mariadb {
        format!("SELECT MASTER_GTID_WAIT('{list}', 0) = 0")
    } else {
        format!("SELECT GTID_SUBSET('{list}', @@global.gtid_executed)")
    };
    // `WAIT_FOR_EXECUTED_GTID_SET` with 0 waits for ever.
    if wait.as_micros() == 0 {
        return Some(now);
    }
    let function = if is_mariadb { "MASTER_GTID_WAIT" } else { "WAIT_FOR_EXECUTED_GTID_SET" };
    Some(format!("{now}, {function}('{list}', {}.{:06}) = 0", wait.as_secs(), wait.subsec_micros()))
}

/// What the row of the answer says, as it is in its packet: a column that tells what the server had
/// at once and, if it was to wait, one that tells what it has now.
pub fn read(row: &[u8]) -> Reply {
    match row {
        b"\x011" | b"\x011\x011" => Reply::Had,
        b"\x010\x011" => Reply::Waited,
        _ => Reply::Lacks,
    }
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
        assert_eq!(later, format!("{now}, WAIT_FOR_EXECUTED_GTID_SET('{list}', 1.050000) = 0"));
        let tokens = highest(&["0-1-7", "2-1-9"]);
        let now = of(&tokens, true, Duration::ZERO).unwrap();
        assert_eq!(now, "SELECT MASTER_GTID_WAIT('0-1-7,2-1-9', 0) = 0");
        let later = of(&tokens, true, Duration::from_millis(50)).unwrap();
        assert_eq!(later, format!("{now}, MASTER_GTID_WAIT('0-1-7,2-1-9', 0.050000) = 0"));
        assert_eq!(of(&tokens, false, Duration::ZERO), None);
        assert_eq!(of(&highest(&["0-1-7", &first]), true, Duration::ZERO), None);
    }

    #[test]
    fn answers_say_what_a_server_has() {
        for (row, reply) in [
            (&b"\x011"[..], Reply::Had),
            (b"\x011\x011", Reply::Had),
            (b"\x010\x011", Reply::Waited),
            (b"\x010\x010", Reply::Lacks),
            (b"\x010", Reply::Lacks),
            (b"\xfb", Reply::Lacks),
            (b"\xfb\xfb", Reply::Lacks),
            (b"", Reply::Lacks),
        ] {
            assert_eq!(read(row), reply, "{row:?}");
        }
    }
}

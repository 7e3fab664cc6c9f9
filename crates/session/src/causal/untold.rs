//! Transactions that no OK packet has told.
//!
//! A client without `CLIENT_DEPRECATE_EOF` gets rows that end with an EOF packet, which has no room
//! for session trackers. So a server tells nothing of a write that answers with rows (`RETURNING`,
//! `ANALYZE UPDATE`, a function that writes). Its status flags say at MariaDB that something has
//! changed, and nothing at MySQL. The server is asked then, before the client gets the end.

use gtid::mysql::{self, Set};
use gtid::{Gtid, Highest};
use sql::shape::Effects;
use wire::frame::HEADER_LEN;
use wire::reply::{End, Outcome};
use wire::{Capabilities, StatusFlags};

use super::lost::{EXECUTED, cell};

/// Bytes of the payload of an EOF packet.
const EOF_LEN: usize = 5;

/// What may write though rows come of it.
const MAY_WRITE: Effects = Effects::WRITES.union(Effects::FUNCTION).union(Effects::UNKNOWN);

/// Whether a packet of `len` bytes, of which the status says that it tells of changes, has no room
/// for them.
pub const fn has_no_room(len: usize) -> bool {
    len == HEADER_LEN + EOF_LEN
}

/// Whether MySQL may have hidden a transaction of a statement that may do this.
pub fn may_hide(effects: Effects, outcome: Outcome, caps: Capabilities) -> bool {
    // The question would take warnings away.
    matches!(outcome.end, End::Eof { warnings: 0, .. })
        && !caps.contains(Capabilities::DEPRECATE_EOF)
        && effects.intersects(MAY_WRITE)
        && outcome.status().is_some_and(|status| !status.contains(StatusFlags::IN_TRANSACTION))
}

/// The statement that asks a server for it: MariaDB for the session's last transaction, MySQL for
/// all that it has.
pub const fn question(is_mariadb: bool) -> &'static str {
    if is_mariadb { "SELECT @@SESSION.last_gtid" } else { EXECUTED }
}

/// The highest transactions in the only row of the answer.
pub fn told(row: &[u8], is_mariadb: bool) -> Highest {
    let Some(text) = cell(row) else { return Highest::default() };
    if is_mariadb {
        return text.parse().ok().into_iter().map(Gtid::MariaDb).collect();
    }
    let executed: Set = text.parse().unwrap_or_default();
    executed.iter().map(|(source, _, last)| Gtid::MySql(mysql::Gtid { source, number: last })).collect()
}

#[cfg(test)]
mod tests {
    use wire::packet::TextRow;

    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn told_by(cell: &str, is_mariadb: bool) -> Vec<String> {
        let mut row = Vec::new();
        TextRow::put(&mut row, [Some(cell)]);
        told(&row, is_mariadb).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn answers_have_the_last_transactions() {
        assert_eq!(told_by("0-77-9", true), ["0-77-9"]);
        let executed = format!("{UUID}:1-5:8-9,{UUID}:ddl:1-3");
        assert_eq!(told_by(&executed, false), [format!("{UUID}:9"), format!("{UUID}:ddl:3")]);
        for (cell, is_mariadb) in [("", true), ("x", true), ("", false), ("x", false)] {
            assert_eq!(told_by(cell, is_mariadb), [""; 0]);
        }
        assert!(told(b"\xfb", true).is_empty());
    }

    #[test]
    fn what_ends_without_trackers_may_hide_a_write() {
        let eof = |status| Outcome { end: End::Eof { status, warnings: 0 }, ends_rows: true, rows: 1 };
        let (plain, old) = (StatusFlags::AUTOCOMMIT, Capabilities::PROTOCOL_41);
        assert!(may_hide(Effects::FUNCTION, eof(plain), old));
        assert!(!may_hide(Effects::empty(), eof(plain), old));
        assert!(!may_hide(Effects::FUNCTION, eof(plain | StatusFlags::IN_TRANSACTION), old));
        assert!(!may_hide(Effects::FUNCTION, eof(plain), old | Capabilities::DEPRECATE_EOF));
        assert!(has_no_room(9) && !has_no_room(11));
    }
}

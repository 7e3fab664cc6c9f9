//! A transaction of MariaDB begins.

use ::gtid::{Gtid, mariadb};
use wire::WireError;
use wire::codec::Reader;

use super::Begin;
use crate::xid::Xid;

/// Flags of `GTID_EVENT` (`FL_...` in `log_event.h`).
const STANDALONE: u8 = 1;
const GROUP_COMMIT_ID: u8 = 2;
const PREPARED_XA: u8 = 64;
const COMPLETED_XA: u8 = 128;

/// Flags of the second byte.
const START_ALTER: u8 = 2;
const COMMIT_ALTER: u8 = 4;
const ROLLBACK_ALTER: u8 = 8;

/// What a transaction is, as far as its first event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// MySQL: the next statement says it.
    ToBeSeen,
    /// MariaDB: events up to a commit, as behind a `BEGIN`.
    Transaction,
    /// MariaDB: one statement that commits by itself.
    Standalone,
    /// MariaDB: what an XA transaction does, up to its `XA PREPARE`.
    Prepared(Xid),
    /// MariaDB: the `XA COMMIT` or `XA ROLLBACK` of such a transaction.
    Completed(Xid),
    /// MariaDB with `binlog_alter_two_phase`: the begin or the end of an `ALTER TABLE`.
    Alter,
}

/// Reads MariaDB's `GTID_EVENT`. The server is in the event's header.
pub(super) fn read(server: u32, reader: &mut Reader<'_>) -> Result<Begin, WireError> {
    let sequence = reader.u64("sequence number")?;
    let domain = reader.u32("domain")?;
    let flags = reader.u8("flags")?;
    if flags & GROUP_COMMIT_ID != 0 {
        reader.u64("group commit")?;
    }
    let has_xid = flags & (PREPARED_XA | COMPLETED_XA) != 0;
    let xid = if has_xid {
        let format = reader.u32("format of the XID")?;
        let global = reader.u8("length of the XID")?;
        let branch = reader.u8("length of the XID")?;
        Some(Xid::read(format, global.into(), branch.into(), reader)?)
    } else {
        // Without both, six bytes fill the event up to the length that it had at first.
        let fill = if flags & GROUP_COMMIT_ID == 0 { 6 } else { 0 };
        reader.bytes(fill.min(reader.left()), "fill")?;
        None
    };
    let more = reader.peek().unwrap_or_default();
    let change = match xid {
        Some(xid) if flags & PREPARED_XA != 0 => Change::Prepared(xid),
        Some(xid) => Change::Completed(xid),
        None if more & (START_ALTER | COMMIT_ALTER | ROLLBACK_ALTER) != 0 => Change::Alter,
        None if flags & STANDALONE != 0 => Change::Standalone,
        None => Change::Transaction,
    };
    let gtid = Gtid::MariaDb(mariadb::Gtid { domain, server, sequence });
    Ok(Begin { gtid: Some(gtid), change })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(flags: u8, more: &[u8]) -> Vec<u8> {
        [&7_u64.to_le_bytes()[..], &3_u32.to_le_bytes(), &[flags], more].concat()
    }

    #[test]
    fn flags_say_what_follows() {
        let change = |bytes: &[u8]| read(9, &mut Reader::new(bytes)).map(|begin| begin.change);
        assert_eq!(read(9, &mut Reader::new(&body(0, &[0; 6]))).unwrap().gtid, "3-9-7".parse().ok());
        assert_eq!(change(&body(0, &[0; 6])), Ok(Change::Transaction));
        assert_eq!(change(&body(STANDALONE | 32, &[0; 6])), Ok(Change::Standalone));
        assert_eq!(change(&body(STANDALONE, &[0, 0, 0, 0, 0, 0, START_ALTER])), Ok(Change::Alter));
        assert_eq!(change(&body(GROUP_COMMIT_ID, &[0, 0, 0, 0, 0, 0, 0, 1])), Ok(Change::Transaction));
        let xid = [&1_u32.to_le_bytes()[..], &[2, 1], b"abc"].concat();
        let named = Xid::new(1, b"ab", b"c").unwrap();
        assert_eq!(change(&body(PREPARED_XA, &xid)), Ok(Change::Prepared(named)));
        assert_eq!(change(&body(COMPLETED_XA, &xid)), Ok(Change::Completed(named)));
        change(&body(PREPARED_XA, &xid[..8])).unwrap_err();
        change(&body(GROUP_COMMIT_ID, &[0; 7])).unwrap_err();
    }
}

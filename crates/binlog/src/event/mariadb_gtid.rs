//! A transaction of MariaDB begins.

use ::gtid::{Gtid, mariadb};
use wire::WireError;
use wire::codec::Reader;

use super::Begin;

/// Flags of `GTID_EVENT` (`FL_...` in `log_event.h`).
const STANDALONE: u8 = 1;
const GROUP_COMMIT_ID: u8 = 2;
const PREPARED_XA: u8 = 64;
const COMPLETED_XA: u8 = 128;

/// Bytes in the place of a group commit and an XID.
const FILL_LEN: usize = 6;

/// Flags of the second byte.
const START_ALTER: u8 = 2;
const COMMIT_ALTER: u8 = 4;
const ROLLBACK_ALTER: u8 = 8;

/// What a transaction is, as far as its first event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// MySQL: the next statement says it.
    ToBeSeen,
    /// MariaDB: events up to a commit or an `XA PREPARE`, as behind a `BEGIN`.
    Transaction,
    /// MariaDB: one statement that commits by itself, or ends an XA transaction.
    Standalone,
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
    if flags & (PREPARED_XA | COMPLETED_XA) != 0 {
        // The statement or the event at its end names it as well.
        reader.u32("format of the XID")?;
        let (global, branch) = (reader.u8("length of the XID")?, reader.u8("length of the XID")?);
        reader.bytes(usize::from(global) + usize::from(branch), "XID")?;
    } else if flags & GROUP_COMMIT_ID == 0 {
        // Without both, six bytes fill the event up to the length that it had at first.
        reader.bytes(FILL_LEN.min(reader.left()), "fill")?;
    }
    let more = reader.peek().unwrap_or_default();
    let change = if more & (START_ALTER | COMMIT_ALTER | ROLLBACK_ALTER) != 0 {
        Change::Alter
    } else if flags & STANDALONE != 0 {
        Change::Standalone
    } else {
        Change::Transaction
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
        assert_eq!(change(&body(PREPARED_XA, &xid)), Ok(Change::Transaction));
        assert_eq!(change(&body(COMPLETED_XA | STANDALONE, &xid)), Ok(Change::Standalone));
        change(&body(PREPARED_XA, &xid[..8])).unwrap_err();
        change(&body(GROUP_COMMIT_ID, &[0; 7])).unwrap_err();
    }
}

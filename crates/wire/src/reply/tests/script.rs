//! Writes answers as servers do.

use crate::frame::put_message;
use crate::packet::{Eof, Err, Ok, OkHeader, PrepareOk};
use crate::{Capabilities, Codec as _, StatusFlags};

/// An answer in the making.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) caps: Capabilities,
    pub(super) bytes: Vec<u8>,
    seq: u8,
}

impl Script {
    pub(super) fn new(caps: Capabilities) -> Self {
        Self { caps, bytes: Vec::new(), seq: 1 }
    }

    pub(super) fn seq(&self) -> u8 {
        self.seq
    }

    pub(super) fn skip_to(mut self, seq: u8) -> Self {
        self.seq = seq;
        self
    }

    pub(super) fn message(mut self, payload: &[u8]) -> Self {
        self.seq = put_message(&mut self.bytes, self.seq, payload);
        self
    }

    pub(super) fn ok(self, status: StatusFlags) -> Self {
        let payload = ok(OkHeader::Ok, status).encode(self.caps);
        self.message(&payload)
    }

    pub(super) fn err(self, code: u16) -> Self {
        let packet = Err { code, sql_state: Some(*b"HY000"), message: b"no" };
        let payload = packet.encode(self.caps);
        self.message(&payload)
    }

    /// What ends rows: EOF, or OK if that was agreed.
    pub(super) fn end(self, status: StatusFlags) -> Self {
        if !self.deprecate() {
            return self.eof(status);
        }
        let payload = ok(OkHeader::Eof, status).encode(self.caps);
        self.message(&payload)
    }

    pub(super) fn eof(self, status: StatusFlags) -> Self {
        let payload = Eof { warnings: 0, status }.encode(self.caps);
        self.message(&payload)
    }

    /// An EOF packet where only the classic protocol has one.
    pub(super) fn classic_eof(self, status: StatusFlags) -> Self {
        if self.deprecate() { self } else { self.eof(status) }
    }

    pub(super) fn definitions(mut self, count: u16) -> Self {
        for _ in 0..count {
            self = self.message(b"\x03def\0\0\0\x01a\0\x0c\x21\0\x01\0\0\0\x08\x81\0\0\0\0");
        }
        self
    }

    /// Everything of a result before its rows.
    pub(super) fn columns(self, count: u16) -> Self {
        let payload = column_count(count, self.caps, true);
        self.message(&payload).definitions(count).classic_eof(StatusFlags::AUTOCOMMIT)
    }

    pub(super) fn rows(mut self, count: usize) -> Self {
        for row in 0..count {
            self = self.message(&vec![b'0'; 1 + row % 300]);
        }
        self
    }

    pub(super) fn prepare_ok(self, params: u16, columns: u16, metadata_follows: bool) -> Self {
        let metadata_follows = Some(metadata_follows);
        let packet = PrepareOk { statement_id: 7, columns, params, warnings: 0, metadata_follows };
        let payload = packet.encode(self.caps);
        self.message(&payload)
    }

    fn deprecate(&self) -> bool {
        self.caps.contains(Capabilities::DEPRECATE_EOF)
    }
}

/// A column count as `Protocol_classic::start_result_metadata` of MySQL and
/// `send_result_set_metadata` of MariaDB write it: the count, then the flag.
pub(super) fn column_count(count: u16, caps: Capabilities, follows: bool) -> Vec<u8> {
    let mut payload = Vec::new();
    crate::codec::put_lenenc(&mut payload, count.into());
    let optional = Capabilities::OPTIONAL_RESULTSET_METADATA | Capabilities::MARIADB_CACHE_METADATA;
    if caps.intersects(optional) {
        payload.push(follows.into());
    }
    payload
}

pub(super) const fn ok(header: OkHeader, status: StatusFlags) -> Ok<'static> {
    Ok { header, affected_rows: 0, last_insert_id: 0, status, warnings: 0, info: b"", session_state: None }
}

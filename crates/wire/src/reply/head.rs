//! The fixed parts of the packets that decide how an answer goes on.
//!
//! Each function gets the first [`HEAD_MAX`] bytes of a payload, or all of a shorter one, and
//! ignores what is behind the fixed part: texts and session state are for code that decodes the
//! whole packet.

use super::End;
use crate::packet::Eof;
use crate::{Capabilities, StatusFlags, WireError, codec::Reader};

/// The longest fixed part: an OK packet with two 8-byte integers and status and warnings.
pub(super) const HEAD_MAX: usize = 1 + 9 + 9 + 2 + 2;

/// Columns that one result can have: as many as a statement of 1 GiB can name. Tables have at most
/// 4,096, but MariaDB selects any number of constants.
pub(super) const COLUMNS_MAX: u32 = 1 << 29;

/// The shortest OK packet; a terminator below this length is an EOF packet whatever was agreed.
const OK_MIN: u32 = 7;

/// Whether a message that starts with `0xfe` and has `len` bytes in its first packet is a
/// terminator, not a row whose first value is longer than 16 MiB.
pub(super) const fn is_terminator(len: u32, caps: Capabilities) -> bool {
    if caps.contains(Capabilities::DEPRECATE_EOF) {
        len < super::FULL
    } else {
        (len as usize) < Eof::BYTES_END
    }
}

/// OK packet: header, affected rows, last insert id, status, warnings.
pub(super) fn ok(head: &[u8]) -> Result<End, WireError> {
    let mut reader = Reader::new(head);
    reader.u8("OK header")?;
    Ok(End::Ok {
        affected_rows: reader.lenenc("affected rows")?,
        last_insert_id: reader.lenenc("last insert id")?,
        status: StatusFlags::from_bits_retain(reader.u16("status")?),
        warnings: reader.u16("warnings")?,
    })
}

/// A packet that starts with `0xfe`: an EOF packet (header, warnings, status), or an OK packet if
/// that was agreed.
pub(super) fn terminator(head: &[u8], len: u32, caps: Capabilities) -> Result<End, WireError> {
    if len >= OK_MIN && caps.contains(Capabilities::DEPRECATE_EOF) {
        return ok(head);
    }
    let mut reader = Reader::new(head);
    reader.u8("EOF header")?;
    let warnings = reader.u16("warnings")?;
    Ok(End::Eof { status: StatusFlags::from_bits_retain(reader.u16("status")?), warnings })
}

/// ERR packet: header, code.
pub(super) fn err(head: &[u8]) -> Result<u16, WireError> {
    let mut reader = Reader::new(head);
    reader.u8("ERR header")?;
    reader.u16("error code")
}

/// Column count, and whether the definitions follow, which a byte tells if either of the two
/// capabilities for leaving them out was agreed.
pub(super) fn column_count(head: &[u8], caps: Capabilities) -> Result<(u32, bool), WireError> {
    let mut reader = Reader::new(head);
    let count = reader.lenenc("column count")?;
    let columns = u32::try_from(count)
        .ok()
        .filter(|columns| (1..=COLUMNS_MAX).contains(columns))
        .ok_or(WireError::Invalid { field: "column count", value: count })?;
    let optional = Capabilities::OPTIONAL_RESULTSET_METADATA.union(Capabilities::MARIADB_CACHE_METADATA);
    let follows = !caps.intersects(optional) || metadata_follows(&mut reader)?;
    Ok((columns, follows))
}

/// What the first packet of a prepare answer announces.
pub(super) struct PrepareHead {
    pub(super) id: u32,
    pub(super) columns: u16,
    pub(super) params: u16,
    pub(super) warnings: u16,
    pub(super) metadata_follows: bool,
}

/// Prepare answer: `0x00`, statement id, columns, parameters, a filler, warnings, and the byte for
/// left-out definitions if MySQL's capability for that was agreed (MariaDB's has no effect here).
pub(super) fn prepare(head: &[u8], caps: Capabilities) -> Result<PrepareHead, WireError> {
    let mut reader = Reader::new(head);
    reader.u8("prepare header")?;
    let id = reader.u32("statement id")?;
    let columns = reader.u16("column count")?;
    let params = reader.u16("parameter count")?;
    reader.u8("filler")?;
    let warnings = reader.u16("warnings")?;
    let is_told = caps.contains(Capabilities::OPTIONAL_RESULTSET_METADATA);
    let metadata_follows = !is_told || metadata_follows(&mut reader)?;
    Ok(PrepareHead { id, columns, params, warnings, metadata_follows })
}

fn metadata_follows(reader: &mut Reader<'_>) -> Result<bool, WireError> {
    match reader.u8("metadata follows")? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(WireError::Invalid { field: "metadata follows", value: other.into() }),
    }
}

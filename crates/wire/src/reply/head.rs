//! What the packets that decide how an answer goes on say in their fixed parts.
//!
//! Each function gets the first [`HEAD_MAX`] bytes of a payload, or all of a shorter one, and
//! ignores what is behind the fixed part: texts and session state are for code that decodes the
//! whole packet.

use super::End;
use crate::packet::{ColumnCount, Err, Ok as OkPacket};
use crate::{Capabilities, Codec as _, WireError, codec::Reader};

/// The longest fixed part: an OK packet with two 8-byte integers and status and warnings.
pub(super) const HEAD_MAX: usize = 1 + 9 + 9 + 2 + 2;

/// Columns that one result can have: as many as a statement of 1 GiB can name. Tables have at most
/// 4,096, but MariaDB selects any number of constants.
pub(super) const COLUMNS_MAX: u32 = 1 << 29;

/// OK packet.
#[inline]
pub(super) fn ok(head: &[u8]) -> Result<End, WireError> {
    let OkPacket { affected_rows, last_insert_id, status, warnings, .. } =
        OkPacket::read_numbers(&mut Reader::new(head))?;
    Ok(End::Ok { affected_rows, last_insert_id, status, warnings })
}

/// The code in an ERR packet.
pub(super) fn err(head: &[u8], caps: Capabilities) -> Result<u16, WireError> {
    Ok(Err::read(&mut Reader::new(head), caps)?.code)
}

/// Column count, and whether the definitions follow, which a byte tells if either of the two
/// capabilities for leaving them out was agreed.
pub(super) fn column_count(head: &[u8], caps: Capabilities) -> Result<(u32, bool), WireError> {
    let ColumnCount { count, metadata_follows } = ColumnCount::read(&mut Reader::new(head), caps)?;
    let columns = u32::try_from(count)
        .ok()
        .filter(|columns| (1..=COLUMNS_MAX).contains(columns))
        .ok_or(WireError::Invalid { field: "column count", value: count })?;
    Ok((columns, metadata_follows.unwrap_or(true)))
}

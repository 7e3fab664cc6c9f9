//! Rows of a table, of which only the table and the flags are looked at.

use bitflags::bitflags;
use wire::WireError;
use wire::codec::Reader;

use super::Event;

bitflags! {
    /// Flags of a row event. Others than these have no meaning here.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RowFlags: u16 {
        /// The last rows of their statement.
        const STATEMENT_END = 1;
        /// MySQL 9.6 and later: the server has carried out foreign keys as statements of SQL, so
        /// rows of child tables that a cascade has changed have events of their own.
        const SQL_FOREIGN_KEYS = 1 << 4;
    }
}

/// Reads the beginning of a row event of any kind.
pub(super) fn read<'a>(reader: &mut Reader<'_>) -> Result<Event<'a>, WireError> {
    let id = table_id(reader)?;
    let flags = RowFlags::from_bits_truncate(reader.u16("flags")?);
    Ok(Event::Rows { id, flags })
}

/// The number of a table, in six bytes.
pub(super) fn table_id(reader: &mut Reader<'_>) -> Result<u64, WireError> {
    let low = reader.u32("table")?;
    let high = reader.u16("table")?;
    Ok(u64::from(high) << 32 | u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_rows_are_left_alone() {
        let event = read(&mut Reader::new(b"\x07\x01\0\0\0\0\x13\0\x02\0\x05"));
        let flags = RowFlags::STATEMENT_END | RowFlags::SQL_FOREIGN_KEYS;
        assert_eq!(event, Ok(Event::Rows { id: 0x107, flags }));
        read(&mut Reader::new(b"\x07\x01\0\0\0\0\x13")).unwrap_err();
    }
}

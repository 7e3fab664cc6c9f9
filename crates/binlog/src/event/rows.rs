//! Rows of a table, of which only the table is looked at.

use wire::WireError;
use wire::codec::Reader;

use super::Event;

/// Reads the beginning of a row event of any kind.
pub(super) fn read<'a>(reader: &mut Reader<'_>) -> Result<Event<'a>, WireError> {
    Ok(Event::Rows { id: table_id(reader)? })
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
    fn flags_columns_and_rows_are_left_alone() {
        let event = read(&mut Reader::new(b"\x07\x01\0\0\0\x02\x13\0\x02\0\x05"));
        assert_eq!(event, Ok(Event::Rows { id: 0x200_0000_0107 }));
        read(&mut Reader::new(b"\x07\x01\0\0\0")).unwrap_err();
    }
}

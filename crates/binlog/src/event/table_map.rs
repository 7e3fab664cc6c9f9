//! The name of a table whose rows follow. Servers send one for each table that a statement may
//! change, those of triggers and cascades among them.

use wire::WireError;
use wire::codec::Reader;

use super::Event;
use super::rows::table_id;

/// Reads `TABLE_MAP_EVENT` up to the table's name. Columns are not looked at.
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Event<'a>, WireError> {
    let id = table_id(reader)?;
    reader.u16("flags")?;
    let schema = name(reader)?;
    let name = name(reader)?;
    Ok(Event::Table { id, schema, name })
}

/// A name behind its length, and the zero byte behind it.
fn name<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    let name = reader.lenenc_bytes("name")?;
    match reader.u8("end of a name")? {
        0 => Ok(name),
        byte => Err(WireError::Invalid { field: "end of a name", value: byte.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_zero() {
        let body = b"\x07\x01\0\0\0\0\x01\0\x04shop\0\x05items\0\x02\x03\x0f";
        let event = read(&mut Reader::new(body));
        assert_eq!(event, Ok(Event::Table { id: 0x107, schema: b"shop", name: b"items" }));
        let mut wrong = *body;
        wrong[13] = b'x';
        read(&mut Reader::new(&wrong)).unwrap_err();
        for len in 0..20 {
            read(&mut Reader::new(&body[..len])).unwrap_err();
        }
    }
}

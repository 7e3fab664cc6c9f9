//! A statement as text.

use sql::Modes;
use wire::WireError;
use wire::codec::Reader;

use super::modes;

/// A statement that was logged as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The default schema.
    pub schema: &'a [u8],
    /// The text; `None` if it is too long to be looked at.
    pub text: Option<&'a [u8]>,
    /// How the text is to be read; `None` if that is not known.
    pub modes: Option<Modes>,
}

impl Statement<'_> {
    /// A statement that may be any.
    pub(super) const UNREADABLE: Self = Self { schema: &[], text: None, modes: None };
}

/// Bytes of what `LOAD DATA` has in front of its variables: a file and where its name is.
const LOAD_LEN: usize = 13;

/// Reads `QUERY_EVENT`.
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Statement<'a>, WireError> {
    read_behind(reader, 0)
}

/// Reads `EXECUTE_LOAD_QUERY_EVENT`.
pub(super) fn read_load<'a>(reader: &mut Reader<'a>) -> Result<Statement<'a>, WireError> {
    read_behind(reader, LOAD_LEN)
}

/// Reads the event of a statement that has so many bytes more in its fixed part.
fn read_behind<'a>(reader: &mut Reader<'a>, more: usize) -> Result<Statement<'a>, WireError> {
    reader.u32("thread")?;
    reader.u32("time")?;
    let schema = reader.u8("length of the schema")?;
    reader.u16("error")?;
    let variables = reader.u16("length of variables")?;
    reader.bytes(more, "file")?;
    let modes = modes::read(reader.bytes(variables.into(), "variables")?)?;
    let schema = reader.bytes(schema.into(), "schema")?;
    match reader.u8("end of the schema")? {
        0 => Ok(Statement { schema, text: Some(reader.rest()), modes }),
        byte => Err(WireError::Invalid { field: "end of the schema", value: byte.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_behind_the_schema() {
        let body = b"\x09\0\0\0\0\0\0\0\x04\0\0\x01\0\x63shop\0BEGIN";
        let statement = read(&mut Reader::new(body)).unwrap();
        assert_eq!(statement, Statement { schema: b"shop", text: Some(b"BEGIN"), modes: None });
        let load = [&body[..13], &[0; LOAD_LEN], &body[13..]].concat();
        assert_eq!(read_load(&mut Reader::new(&load)), Ok(statement));
        for len in 0..19 {
            read(&mut Reader::new(&body[..len])).unwrap_err();
        }
        let mut wrong = *body;
        wrong[18] = b'x';
        read(&mut Reader::new(&wrong)).unwrap_err();
    }
}

//! The log goes on in another file, or begins: servers send one in front of the stream.

use wire::WireError;
use wire::codec::Reader;

use super::Event;

/// Reads `ROTATE_EVENT`.
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Event<'a>, WireError> {
    let position = reader.u64("position")?;
    Ok(Event::Rotate { file: reader.rest(), position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_rest() {
        let body = b"\x04\0\0\0\0\0\0\0binlog.000007";
        let event = read(&mut Reader::new(body));
        assert_eq!(event, Ok(Event::Rotate { file: b"binlog.000007", position: 4 }));
        read(&mut Reader::new(&body[..7])).unwrap_err();
    }
}

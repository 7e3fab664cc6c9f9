//! Nothing was logged for a while, and the log still ends where it did.

use wire::WireError;
use wire::codec::Reader;

use super::Event;

/// Fields of `HEARTBEAT_LOG_EVENT_V2`, each behind its type and its length; the first type ends
/// them.
const END: u64 = 0;
const FILE: u64 = 1;
const POSITION: u64 = 2;

/// Reads `HEARTBEAT_LOG_EVENT`: the position is in the event's header. MariaDB has one of more than
/// 32 bits in front of the file's name, and 0 in the header.
pub(super) fn read<'a>(next_position: u32, reader: &mut Reader<'a>) -> Result<Event<'a>, WireError> {
    let position = if next_position == 0 { reader.u64("position")? } else { next_position.into() };
    Ok(Event::Heartbeat { file: reader.rest(), position })
}

/// Reads `HEARTBEAT_LOG_EVENT_V2`, whose position may have more than 32 bits.
pub(super) fn read_v2<'a>(reader: &mut Reader<'a>) -> Result<Event<'a>, WireError> {
    let (mut file, mut position) = (&[][..], 0);
    while !reader.is_empty() {
        let kind = reader.lenenc("type of a field")?;
        if kind == END {
            break;
        }
        let value = reader.lenenc_bytes("field")?;
        match kind {
            FILE => file = value,
            POSITION => position = Reader::new(value).lenenc("position")?,
            _ => {}
        }
    }
    Ok(Event::Heartbeat { file, position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_say_where_the_log_ends() {
        let event = read(300, &mut Reader::new(b"binlog.000002"));
        assert_eq!(event, Ok(Event::Heartbeat { file: b"binlog.000002", position: 300 }));
        let event = read(0, &mut Reader::new(b"\x07\0\0\0\x01\0\0\0binlog.000002"));
        assert_eq!(event, Ok(Event::Heartbeat { file: b"binlog.000002", position: (1 << 32) + 7 }));
        read(0, &mut Reader::new(b"\x07\0\0\0\x01\0\0")).unwrap_err();
        let body = b"\x01\x03log\x02\x09\xfe\0\0\0\0\x01\0\0\0\0";
        let event = read_v2(&mut Reader::new(body));
        assert_eq!(event, Ok(Event::Heartbeat { file: b"log", position: 1 << 32 }));
        read_v2(&mut Reader::new(&body[..12])).unwrap_err();
    }
}

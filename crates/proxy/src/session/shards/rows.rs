//! The rows of a reply that the proxy has asked for itself.

use wire::codec::Reader;
use wire::frame::{HEADER_LEN, Header};
use wire::packet;

/// What a NULL begins with in the text protocol.
const NULL: u8 = 0xfb;

/// Values of a row, by the place of their columns.
pub(crate) type Row<'a> = Vec<Option<&'a [u8]>>;

/// The rows of a reply in the text protocol; none if it is an error, no result, or cut.
pub(crate) fn rows(reply: &[u8]) -> Option<Vec<Row<'_>>> {
    let mut packets = packets(reply)?.into_iter();
    let head = packets.next()?;
    if matches!(head.first(), None | Some(&0 | &packet::Err::HEADER)) {
        return None;
    }
    let columns = usize::try_from(Reader::new(head).lenenc("columns").ok()?).ok()?;
    let rest: Vec<_> = packets.skip(columns).collect();
    let (last, mut rest) = rest.split_last()?;
    if last.first() == Some(&packet::Err::HEADER) {
        return None;
    }
    if let Some((first, behind)) = rest.split_first()
        && is_eof(first)
    {
        rest = behind;
    }
    rest.iter().map(|row| values(row, columns)).collect()
}

/// The payloads of the packets of a reply; none if it is cut.
pub(super) fn packets(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (header, behind) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let (payload, rest) = behind.split_at_checked(Header::parse(*header).len as usize)?;
        all.push(payload);
        bytes = rest;
    }
    Some(all)
}

/// Whether a packet ends the columns.
fn is_eof(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() == 5
}

fn values(row: &[u8], columns: usize) -> Option<Row<'_>> {
    let mut reader = Reader::new(row);
    let mut all = Vec::with_capacity(columns);
    for _ in 0..columns {
        let mut ahead = reader.clone();
        all.push(match ahead.u8("value").ok()? {
            NULL => {
                reader = ahead;
                None
            }
            _ => Some(reader.lenenc_bytes("value").ok()?),
        });
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use wire::frame::put_message;

    use super::*;

    #[test]
    fn rows_are_read_with_and_without_the_end_of_columns() {
        for has_eof in [true, false] {
            let mut reply = Vec::new();
            let mut packets: Vec<&[u8]> = vec![b"\x02", b"one", b"two"];
            packets.extend(has_eof.then_some(&b"\xfe\0\0\x02\0"[..]));
            packets.extend([&b"\x01a\xfb"[..], b"\x00\x02bc", b"\xfe\0\0\x02\0"]);
            for (seq, payload) in packets.into_iter().enumerate() {
                put_message(&mut reply, u8::try_from(seq).unwrap(), payload);
            }
            let expected: Vec<Row<'_>> = vec![vec![Some(b"a"), None], vec![Some(b""), Some(b"bc")]];
            assert_eq!(rows(&reply), Some(expected));
            for len in 0..reply.len() {
                let _ = rows(&reply[..len]);
            }
        }
    }

    #[test]
    fn errors_have_no_rows() {
        assert_eq!(rows(b"\x03\0\0\x01\xff\x10\x04"), None);
        assert_eq!(rows(b"\x01\0\0\x01\0"), None);
    }
}

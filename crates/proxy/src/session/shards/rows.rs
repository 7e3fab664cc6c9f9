//! The rows of a reply that the proxy has asked for itself.

use planner::merge::Protocol;
use wire::codec::Reader;
use wire::frame::{HEADER_LEN, Header};
use wire::packet;

/// What a NULL begins with in the text protocol.
const NULL: u8 = 0xfb;

/// Values of a row, by the place of their columns.
pub(crate) type Row<'a> = Vec<Option<&'a [u8]>>;

/// The rows of a reply in the text protocol; none if it is an error, no result, or cut.
pub(crate) fn rows(reply: &[u8]) -> Option<Vec<Row<'_>>> {
    let (columns, rows) = payloads(reply)?;
    rows.into_iter().map(|row| values(row, columns)).collect()
}

/// The texts of a reply with one column, in this protocol; none if it is another reply.
pub(super) fn texts(reply: &[u8], protocol: Protocol) -> Option<Vec<Vec<u8>>> {
    let (_, rows) = payloads(reply)?;
    let text = |row: &[u8]| {
        let value = match protocol {
            Protocol::Text => row,
            // Behind the header and the bits of NULLs.
            Protocol::Binary => row.get(2..)?,
        };
        Some(Reader::new(value).lenenc_bytes("value").ok()?.to_vec())
    };
    rows.into_iter().map(text).collect()
}

/// The last payload of a reply: that of its error, if it ends with one.
pub(super) fn last(reply: &[u8]) -> Option<Vec<u8>> {
    packets(reply)?.last().map(|payload| payload.to_vec())
}

/// The number of columns of a reply, and the payloads of its rows.
fn payloads(reply: &[u8]) -> Option<(usize, Vec<&[u8]>)> {
    let mut packets = packets(reply)?.into_iter();
    let head = packets.next()?;
    if matches!(head.first(), None | Some(&0 | &packet::Err::HEADER)) {
        return None;
    }
    let columns = usize::try_from(Reader::new(head).lenenc("columns").ok()?).ok()?;
    let mut rows: Vec<_> = packets.skip(columns).collect();
    if rows.pop()?.first() == Some(&packet::Err::HEADER) {
        return None;
    }
    if rows.first().is_some_and(|first| is_eof(first)) {
        rows.remove(0);
    }
    Some((columns, rows))
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
    fn a_column_of_texts_is_read_in_both_protocols() {
        for (protocol, row) in [(Protocol::Text, &b"\x02ab"[..]), (Protocol::Binary, b"\0\0\x02ab")] {
            let mut reply = Vec::new();
            for payload in [&b"\x01"[..], b"definition", row, b"\xfe\0\0\x02\0"] {
                put_message(&mut reply, 0, payload);
            }
            assert_eq!(texts(&reply, protocol), Some(vec![b"ab".to_vec()]));
            assert_eq!(last(&reply).as_deref(), Some(&b"\xfe\0\0\x02\0"[..]));
        }
    }

    #[test]
    fn errors_have_no_rows() {
        assert_eq!(rows(b"\x03\0\0\x01\xff\x10\x04"), None);
        assert_eq!(rows(b"\x01\0\0\x01\0"), None);
    }
}

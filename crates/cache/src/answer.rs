//! A stored reply, and the forms in which clients get it.
//!
//! A reply with rows has an EOF packet behind its columns, and ends with one. For a client that has
//! set `CLIENT_DEPRECATE_EOF` the first is missing, so the sequence ids behind it are one less, and
//! the last is an OK packet (MySQL's "Text Resultset"). An answer is stored in the form in which it
//! came, and turned into the other one where it is needed.
//!
//! Sequence ids of a reply begin with 1, so nothing has to be numbered anew for the same form. The
//! status flags in the EOF and OK packets are those of the session that asked; they are replaced.

use std::sync::Arc;

/// How a reply with rows ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// EOF packets behind the columns and behind the rows.
    Eof,
    /// An OK packet behind the rows.
    Ok,
}

/// Bytes of a packet's header: the length in three, the sequence id in one.
const HEADER: usize = 4;
/// Bytes of an EOF packet with its header: 0xFE, warnings, status.
const EOF: usize = HEADER + 5;
/// Bytes of the OK packet at the end of rows: 0xFE, no rows changed, no id, status, warnings.
const OK: usize = HEADER + 7;
/// The first byte of both.
const END: u8 = 0xFE;

/// What is kept behind the bytes: number of rows, length of what comes before the rows, flags.
const TRAILER: usize = 8;
/// The flag of [`Form::Ok`].
const FORM_OK: u8 = 1;
/// The flag of an answer that may be served stale: for how long is in front of the trailer.
const MAY_BE_STALE: u8 = 1 << 1;
/// Bytes of that time.
const STALE: usize = 4;
/// The flag of an answer behind which `FOUND_ROWS()` is not the number of its rows: what it is
/// stands behind the bytes.
const FOUND: u8 = 1 << 2;
/// Bytes of that number.
const FOUND_BYTES: usize = 4;
/// Columns are described by fewer bytes than this.
const COLUMNS_MAX: usize = 1 << 24;

/// A stored reply. A clone is one more reference to the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(Arc<[u8]>);

/// The rows of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowCounts {
    /// How many there are.
    pub sent: u32,
    /// What `FOUND_ROWS()` gives behind it.
    pub found: u32,
}

impl RowCounts {
    /// Those of an answer with all rows that were found.
    #[must_use]
    pub const fn all(rows: u32) -> Self {
        Self { sent: rows, found: rows }
    }
}

/// What is behind the bytes of an answer.
#[derive(Debug, Clone, Copy)]
struct Trailer {
    rows: u32,
    has_found: bool,
    columns: usize,
    form: Form,
    may_be_stale: bool,
}

impl Trailer {
    /// Bytes of all that is behind those of the reply.
    const fn len(self) -> usize {
        let stale = if self.may_be_stale { STALE } else { 0 };
        TRAILER + stale + if self.has_found { FOUND_BYTES } else { 0 }
    }
}

impl Answer {
    /// A reply with rows: all its packets, of which the columns (without the EOF packet behind
    /// them) take the first `columns` bytes. For `stale_ms` milliseconds behind its time to live it
    /// may be served if no server answers.
    ///
    /// Nothing if it does not end as its form says, has warnings or information of its session
    /// behind the status, or more columns than can be described here.
    #[must_use]
    pub fn new(reply: &[u8], columns: usize, rows: RowCounts, form: Form, stale_ms: u32) -> Option<Self> {
        let end = reply.last_chunk::<EOF>()?;
        let is_whole = match (form, end) {
            (Form::Eof, [5, 0, 0, _, END, 0, 0, _, _]) => true,
            // Two bytes of its header are in front of these.
            (Form::Ok, [0, _, END, 0, 0, _, _, 0, 0]) => reply
                .len()
                .checked_sub(OK)
                .is_some_and(|start| reply.get(start..).is_some_and(|packet| packet.starts_with(&[7, 0, 0]))),
            _ => false,
        };
        if !is_whole || columns >= COLUMNS_MAX || columns > reply.len() {
            return None;
        }
        let has_found = rows.found != rows.sent;
        let mut bytes = Vec::with_capacity(reply.len() + FOUND_BYTES + STALE + TRAILER);
        bytes.extend_from_slice(reply);
        if has_found {
            bytes.extend_from_slice(&rows.found.to_le_bytes());
        }
        if stale_ms > 0 {
            bytes.extend_from_slice(&stale_ms.to_le_bytes());
        }
        bytes.extend_from_slice(&rows.sent.to_le_bytes());
        bytes.extend(u32::try_from(columns).unwrap_or(0).to_le_bytes().iter().take(3));
        let flags = [(form == Form::Ok, FORM_OK), (stale_ms > 0, MAY_BE_STALE), (has_found, FOUND)];
        bytes.push(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum());
        Some(Self(bytes.into()))
    }

    pub(crate) const fn from_shared(bytes: Arc<[u8]>) -> Self {
        Self(bytes)
    }

    pub(crate) fn into_shared(self) -> Arc<[u8]> {
        self.0
    }

    /// Numbers of its rows.
    #[must_use]
    pub fn rows(&self) -> RowCounts {
        let trailer = self.trailer();
        let place = self.0.len().checked_sub(trailer.len()).filter(|_| trailer.has_found);
        let found = place.and_then(|at| self.0.get(at..)?.first_chunk());
        RowCounts {
            sent: trailer.rows,
            found: found.map_or(trailer.rows, |bytes| u32::from_le_bytes(*bytes)),
        }
    }

    /// The packets as they came.
    #[must_use]
    pub fn packets(&self) -> &[u8] {
        let len = self.0.len().saturating_sub(self.trailer().len());
        self.0.get(..len).unwrap_or_default()
    }

    /// Milliseconds behind its time to live for which it may be served if no server answers.
    #[must_use]
    pub(crate) fn stale_ms(&self) -> u32 {
        if !self.trailer().may_be_stale {
            return 0;
        }
        let before = self.0.split_last_chunk::<TRAILER>().and_then(|(before, _)| before.last_chunk());
        before.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn trailer(&self) -> Trailer {
        let [r0, r1, r2, r3, c0, c1, c2, flags] = self.0.last_chunk().copied().unwrap_or_default();
        Trailer {
            rows: u32::from_le_bytes([r0, r1, r2, r3]),
            columns: u32::from_le_bytes([c0, c1, c2, 0]) as usize,
            form: if flags & FORM_OK == 0 { Form::Eof } else { Form::Ok },
            may_be_stale: flags & MAY_BE_STALE != 0,
            has_found: flags & FOUND != 0,
        }
    }

    /// Writes the reply behind `out`, in this form and with these status flags.
    pub fn write(&self, form: Form, status: u16, out: &mut Vec<u8>) {
        let (trailer, packets, start) = (self.trailer(), self.packets(), out.len());
        if trailer.form == form {
            out.extend_from_slice(packets);
        } else {
            write_other(packets, trailer, out);
        }
        let Some(written) = out.get_mut(start..) else { return };
        set_status(written, trailer.columns, form, status);
    }
}

/// Writes a reply in the other form than that of its `trailer`.
fn write_other(packets: &[u8], trailer: Trailer, out: &mut Vec<u8>) {
    let Some((columns, rest)) = packets.split_at_checked(trailer.columns) else { return };
    out.extend_from_slice(columns);
    let behind = columns_end_seq(columns);
    let (rows, seq) = match trailer.form {
        Form::Eof => {
            (rest.get(EOF..).and_then(|rest| rest.split_last_chunk::<EOF>()).map(|(rows, _)| rows), behind)
        }
        Form::Ok => {
            out.extend_from_slice(&[5, 0, 0, behind, END, 0, 0, 0, 0]);
            (rest.split_last_chunk::<OK>().map(|(rows, _)| rows), behind.wrapping_add(1))
        }
    };
    let seq = write_numbered(rows.unwrap_or_default(), seq, out);
    match trailer.form {
        Form::Eof => out.extend_from_slice(&[7, 0, 0, seq, END, 0, 0, 0, 0, 0, 0]),
        Form::Ok => out.extend_from_slice(&[5, 0, 0, seq, END, 0, 0, 0, 0]),
    }
}

/// The length of the packet at the beginning of `bytes`, with its header, and its sequence id.
fn packet(bytes: &[u8]) -> Option<(usize, u8)> {
    let [a, b, c, seq] = *bytes.first_chunk()?;
    Some((HEADER + u32::from_le_bytes([a, b, c, 0]) as usize, seq))
}

/// The sequence id behind these packets.
fn columns_end_seq(mut packets: &[u8]) -> u8 {
    let mut next = 1;
    while let Some((len, seq)) = packet(packets) {
        next = seq.wrapping_add(1);
        packets = packets.get(len..).unwrap_or_default();
    }
    next
}

/// Writes packets with sequence ids from `seq` on. Returns the next one.
fn write_numbered(mut packets: &[u8], mut seq: u8, out: &mut Vec<u8>) -> u8 {
    while let Some((len, _)) = packet(packets) {
        let (this, rest) = packets.split_at_checked(len).unwrap_or((packets, &[]));
        let at = out.len();
        out.extend_from_slice(this);
        if let Some(number) = out.get_mut(at + 3) {
            *number = seq;
        }
        seq = seq.wrapping_add(1);
        packets = rest;
    }
    seq
}

/// Writes the status flags into a reply of this form.
fn set_status(reply: &mut [u8], columns: usize, form: Form, status: u16) {
    let status = status.to_le_bytes();
    let len = reply.len();
    let places = match form {
        Form::Eof => [columns + EOF - 2, len.saturating_sub(2)],
        Form::Ok => [len.saturating_sub(4), len.saturating_sub(4)],
    };
    for place in places {
        if let Some(at) = reply.get_mut(place..place + 2) {
            at.copy_from_slice(&status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with its header.
    fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
        let [a, b, c, _] = u32::try_from(payload.len()).unwrap().to_le_bytes();
        [&[a, b, c, seq], payload].concat()
    }

    /// A reply with this many rows of one column, and the length of its columns.
    fn reply(form: Form, rows: usize, status: u8) -> (Vec<u8>, usize) {
        let mut seq = 0;
        let mut bytes = Vec::new();
        let mut add = |bytes: &mut Vec<u8>, payload: &[u8]| {
            seq += 1;
            bytes.extend(framed(u8::try_from(seq % 256).unwrap(), payload));
        };
        add(&mut bytes, &[1]);
        add(&mut bytes, b"\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x08\0\0\0\0\0");
        let columns = bytes.len();
        if form == Form::Eof {
            add(&mut bytes, &[END, 0, 0, status, 0]);
        }
        for _ in 0..rows {
            add(&mut bytes, b"\x0242");
        }
        match form {
            Form::Eof => add(&mut bytes, &[END, 0, 0, status, 0]),
            Form::Ok => add(&mut bytes, &[END, 0, 0, status, 0, 0, 0]),
        }
        (bytes, columns)
    }

    #[test]
    fn an_answer_is_given_in_each_form_as_a_server_gives_it() {
        for rows in [0, 1, 3, 253, 254, 600] {
            for stored in [Form::Eof, Form::Ok] {
                let (bytes, columns) = reply(stored, rows, 2);
                let stale_ms = u32::try_from(rows).unwrap();
                for found in [stale_ms, stale_ms + 7] {
                    let counts = RowCounts { sent: stale_ms, found };
                    let answer = Answer::new(&bytes, columns, counts, stored, stale_ms).unwrap();
                    assert_eq!((answer.packets(), answer.stale_ms()), (&bytes[..], stale_ms));
                    assert_eq!(answer.rows(), counts);
                }
                let counts = RowCounts::all(stale_ms);
                let answer = Answer::new(&bytes, columns, counts, stored, stale_ms).unwrap();
                for wanted in [Form::Eof, Form::Ok] {
                    let mut out = b"before".to_vec();
                    answer.write(wanted, 0x22, &mut out);
                    let expected = [b"before".to_vec(), reply(wanted, rows, 0x22).0].concat();
                    assert_eq!(out, expected, "{rows} rows from {stored:?} to {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn replies_with_warnings_or_another_end_are_not_stored() {
        let (mut bytes, columns) = reply(Form::Eof, 1, 2);
        assert!(Answer::new(&bytes, columns, RowCounts::all(1), Form::Ok, 0).is_none());
        let at = bytes.len() - 4;
        bytes[at] = 1;
        assert!(Answer::new(&bytes, columns, RowCounts::all(1), Form::Eof, 0).is_none(), "a warning");
        let (bytes, columns) = reply(Form::Ok, 1, 2);
        assert!(
            Answer::new(&bytes[..bytes.len() - 1], columns, RowCounts::all(1), Form::Ok, 0).is_none(),
            "cut"
        );
        assert!(Answer::new(&[], 0, RowCounts::all(0), Form::Eof, 0).is_none());
    }
}

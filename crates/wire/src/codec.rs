//! The bounds-checked reader, the writers, and the contract of every wire type.
//!
//! Integers are little-endian. A *length-encoded integer* is one byte below `0xfb`, or `0xfc`,
//! `0xfd`, `0xfe` followed by 2, 3 or 8 bytes; `0xfb` (NULL) and `0xff` (ERR) are not integers.

use crate::{Capabilities, WireError};

/// The first byte of a cell in text that is NULL.
pub const NULL: u8 = 0xfb;

/// A type with one layout on the wire.
///
/// `decode(encode(value)) == value` for every value; `decode` refuses bytes after the last field.
pub trait Codec<'a>: Sized {
    /// Reads one value. `caps` are the capabilities that both sides agreed on.
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError>;

    /// Appends the value's bytes to `out`.
    fn write(&self, caps: Capabilities, out: &mut Vec<u8>);

    /// Reads one value that fills the whole `payload`.
    fn decode(payload: &'a [u8], caps: Capabilities) -> Result<Self, WireError> {
        let mut reader = Reader::new(payload);
        let value = Self::read(&mut reader, caps)?;
        reader.finish()?;
        Ok(value)
    }

    /// The value's bytes, without a packet header.
    fn encode(&self, caps: Capabilities) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(caps, &mut out);
        out
    }
}

/// A cursor over received bytes that cannot leave them.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Bytes not read yet.
    pub const fn left(&self) -> usize {
        self.left.len()
    }

    /// Whether everything was read.
    pub const fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The next byte, without taking it.
    pub fn peek(&self) -> Option<u8> {
        self.left.first().copied()
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize, field: &'static str) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.left.split_at_checked(n).ok_or(WireError::Truncated {
            field,
            needed: n,
            left: self.left.len(),
        })?;
        self.left = rest;
        Ok(taken)
    }

    /// The next `N` bytes, by value.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.left.split_first_chunk::<N>().ok_or(WireError::Truncated {
            field,
            needed: N,
            left: self.left.len(),
        })?;
        self.left = rest;
        Ok(*taken)
    }

    /// `int<1>`.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, WireError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    /// `int<2>`.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, WireError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// `int<3>`.
    pub fn u24(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array::<3>(field).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    /// `int<4>`.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// `int<8>`.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// `int<lenenc>`.
    pub fn lenenc(&mut self, field: &'static str) -> Result<u64, WireError> {
        match self.u8(field)? {
            0xfc => self.u16(field).map(u64::from),
            0xfd => self.u24(field).map(u64::from),
            0xfe => self.u64(field),
            byte @ (NULL | 0xff) => Err(WireError::Invalid { field, value: byte.into() }),
            byte => Ok(byte.into()),
        }
    }

    /// `string<lenenc>`: a length-encoded integer and that many bytes.
    pub fn lenenc_bytes(&mut self, field: &'static str) -> Result<&'a [u8], WireError> {
        let len = self.lenenc(field)?;
        let left = self.left.len();
        let len =
            usize::try_from(len).map_err(|_| WireError::Truncated { field, needed: usize::MAX, left })?;
        self.bytes(len, field)
    }

    /// A cell of a row in text: `string<lenenc>`, or the byte 0xfb, which is NULL.
    pub fn cell(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, WireError> {
        match self.left.split_first() {
            Some((&NULL, left)) => {
                self.left = left;
                Ok(None)
            }
            _ => self.lenenc_bytes(field).map(Some),
        }
    }

    /// `string<NUL>`: bytes up to a zero byte, which is taken and not returned.
    pub fn nul_bytes(&mut self, field: &'static str) -> Result<&'a [u8], WireError> {
        let left = self.left.len();
        let end = self.left.iter().position(|&byte| byte == 0).ok_or(WireError::Truncated {
            field,
            needed: left + 1,
            left,
        })?;
        let taken = self.bytes(end, field)?;
        self.bytes(1, field)?;
        Ok(taken)
    }

    /// `string<EOF>`: all that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.left)
    }

    /// A reader over the next `n` bytes only, so that a nested length cannot read past its parent.
    pub fn sub(&mut self, n: usize, field: &'static str) -> Result<Self, WireError> {
        self.bytes(n, field).map(Self::new)
    }

    /// Refuses bytes that were not read.
    pub const fn finish(self) -> Result<(), WireError> {
        match self.left.len() {
            0 => Ok(()),
            n => Err(WireError::TrailingBytes(n)),
        }
    }
}

/// Appends an `int<3>`; the upper byte of `value` is cut off.
pub fn put_u24(out: &mut Vec<u8>, value: u32) {
    let [a, b, c, _] = value.to_le_bytes();
    out.extend_from_slice(&[a, b, c]);
}

/// Appends an `int<lenenc>` in its shortest form.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    let [a, b, c, ..] = bytes;
    match value {
        0..=0xfa => out.push(a),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, a, b]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, a, b, c]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a `string<lenenc>`.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a `string<NUL>`. A zero byte inside `bytes` would end it early: callers hold text that
/// has none.
pub fn put_nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(!bytes.contains(&0), "a NUL-terminated string cannot hold a zero byte");
    out.extend_from_slice(bytes);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lenenc_round_trips(value: u64) {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.lenenc("n"), Ok(value));
            prop_assert_eq!(reader.finish(), Ok(()));
        }

        #[test]
        fn lenenc_bytes_never_leave_the_input(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            if let Ok(taken) = reader.lenenc_bytes("s") {
                prop_assert!(taken.len() + reader.left() < bytes.len());
            }
        }
    }

    #[test]
    fn lenenc_takes_the_shortest_form() {
        for (value, len) in
            [(0, 1), (0xfa, 1), (0xfb, 3), (0xffff, 3), (0x1_0000, 4), (0xff_ffff, 4), (0x100_0000, 9)]
        {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            assert_eq!(out.len(), len, "{value:#x}");
        }
    }

    #[test]
    fn null_and_err_are_no_integers() {
        assert_eq!(Reader::new(&[0xfb]).lenenc("n"), Err(WireError::Invalid { field: "n", value: 0xfb }));
        assert_eq!(Reader::new(&[0xff]).lenenc("n"), Err(WireError::Invalid { field: "n", value: 0xff }));
    }

    #[test]
    fn a_sub_reader_cannot_read_past_its_length() {
        let mut reader = Reader::new(b"abcdef");
        let mut sub = reader.sub(2, "sub").unwrap();
        assert_eq!(sub.rest(), b"ab");
        assert!(sub.u8("more").is_err());
        assert_eq!(reader.rest(), b"cdef");
    }
}

//! The name of an XA transaction.

use std::fmt;

use wire::WireError;
use wire::codec::Reader;

/// Bytes of the longest global part, and of the longest branch (`MAXGTRIDSIZE`, `MAXBQUALSIZE`).
const PART_MAX: usize = 64;

/// The name of an XA transaction: its format and its two parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Xid {
    format: u32,
    global: u8,
    branch: u8,
    data: [u8; 2 * PART_MAX],
}

impl Xid {
    /// A name of these parts; `None` if one is longer than 64 bytes.
    pub fn new(format: u32, global: &[u8], branch: &[u8]) -> Option<Self> {
        let mut data = [0; 2 * PART_MAX];
        let is_short = global.len() <= PART_MAX && branch.len() <= PART_MAX;
        let (first, rest) = data.split_at_mut_checked(global.len()).filter(|_| is_short)?;
        first.copy_from_slice(global);
        rest.get_mut(..branch.len())?.copy_from_slice(branch);
        let len = |part: &[u8]| u8::try_from(part.len()).ok();
        Some(Self { format, global: len(global)?, branch: len(branch)?, data })
    }

    /// Reads the parts of a name whose format and lengths are known.
    pub(crate) fn read(
        format: u32,
        global: u32,
        branch: u32,
        reader: &mut Reader<'_>,
    ) -> Result<Self, WireError> {
        let mut part = |len: u32| reader.bytes(usize::try_from(len).unwrap_or(usize::MAX), "XID");
        let (first, second) = (part(global)?, part(branch)?);
        let too_long = WireError::Invalid { field: "length of the XID", value: global.max(branch).into() };
        Self::new(format, first, second).ok_or(too_long)
    }

    /// Reads a name as servers write it in `XA` statements of the log: `X'616263',X'64',1`.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(text).ok()?.split(',');
        let (global, branch) = (unhex(parts.next()?)?, unhex(parts.next()?)?);
        let format = parts.next()?.trim().parse().ok()?;
        if parts.next().is_some() { None } else { Self::new(format, &global, &branch) }
    }
}

/// The bytes of `X'616263'`.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim().strip_prefix("X'")?.strip_suffix('\'')?;
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (global, branch) = (usize::from(self.global), usize::from(self.branch));
        let part = |from: usize, len: usize| self.data.get(from..from + len).unwrap_or_default();
        for bytes in [part(0, global), part(global, branch)] {
            f.write_str("X'")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
            f.write_str("',")?;
        }
        write!(f, "{}", self.format)
    }
}

impl fmt::Debug for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_servers_write_them() {
        let xid = Xid::new(1, b"abc", b"d").unwrap();
        assert_eq!(Xid::parse(b"X'616263',X'64',1"), Some(xid));
        assert_eq!(xid.to_string(), "X'616263',X'64',1");
        assert_ne!(Xid::new(1, b"ab", b"cd").unwrap(), xid);
        for text in [&b""[..], b"X'6162'", b"X'61',X'',x", b"X'61',X'',1,2", b"'61',X'',1", b"X'6',X'',"] {
            assert_eq!(Xid::parse(text), None);
        }
        assert_eq!(Xid::new(1, &[0; PART_MAX + 1], b""), None);
        assert!(Xid::new(1, &[0; PART_MAX], &[1; PART_MAX]).is_some());
    }
}

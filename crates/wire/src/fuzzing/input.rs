//! Parts of the bytes of a fuzz case.

use crate::Capabilities;

/// Takes capabilities from the front of `data`; missing bytes are zero.
pub(super) fn split_capabilities(data: &[u8]) -> (Capabilities, &[u8]) {
    let (front, rest) = data.split_first_chunk::<8>().map_or(([0; 8], data), |(front, rest)| (*front, rest));
    (Capabilities::from_bits_retain(u64::from_le_bytes(front)), rest)
}

/// Cuts `bytes` into pieces whose lengths are those in `lengths`, over and over; one piece without
/// lengths.
pub(super) fn pieces<'a>(bytes: &'a [u8], lengths: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut lengths = lengths.iter().cycle();
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let len = lengths.next().map_or(rest.len(), |&len| usize::from(len).clamp(1, rest.len()));
        let (piece, after) = rest.split_at_checked(len)?;
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole() {
        assert_eq!(pieces(b"abcdef", &[]).collect::<Vec<_>>(), [b"abcdef"]);
        assert_eq!(pieces(b"abcdef", &[1, 0, 3]).collect::<Vec<_>>(), [&b"a"[..], b"b", b"cde", b"f"]);
        assert_eq!(pieces(b"", &[1]).count(), 0);
    }

    #[test]
    fn capabilities_come_first() {
        assert_eq!(split_capabilities(&[2, 0, 0, 0, 0, 0, 0, 0, 9]), (Capabilities::FOUND_ROWS, &[9][..]));
        assert_eq!(split_capabilities(&[2, 3]), (Capabilities::empty(), &[2, 3][..]));
    }
}

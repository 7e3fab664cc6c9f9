//! The checksum at the end of events.

use flate2::Crc;

/// Bytes of a checksum.
pub(crate) const CHECKSUM_LEN: usize = 4;

/// How events end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// With their last field.
    None,
    /// With a CRC-32 of all bytes before it.
    Crc32,
}

impl Checksum {
    /// Bytes that it takes.
    pub(crate) const fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => CHECKSUM_LEN,
        }
    }
}

/// The CRC-32 of `parts`, one behind the other.
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    for part in parts {
        crc.update(part);
    }
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_common_crc() {
        assert_eq!(crc32(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
    }
}

//! Where a stream is in the files of its log.

use std::fmt;

/// A place in the files of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    /// The file's name.
    pub file: String,
    /// Bytes from the start of the file.
    pub offset: u64,
}

/// The bits of a position that events have.
const LOW: u64 = 0xffff_ffff;

impl Position {
    /// Another place.
    pub(super) fn set(&mut self, file: &[u8], offset: u64) {
        self.file = String::from_utf8_lossy(file).into_owned();
        self.offset = offset;
    }

    /// A later place in the same file, by the lower 32 bits of its offset. 0 is no place.
    pub(super) fn advance(&mut self, low: u32) {
        if low == 0 {
            return;
        }
        let next = self.offset & !LOW | u64::from(low);
        self.offset = if next < self.offset { next.saturating_add(LOW + 1) } else { next };
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_grow_beyond_32_bits() {
        let mut position = Position::default();
        position.set(b"binlog.000001", 4);
        position.advance(u32::MAX);
        position.advance(0);
        assert_eq!(position.to_string(), "binlog.000001:4294967295");
        position.advance(7);
        assert_eq!(position.offset, (1 << 32) + 7);
    }
}

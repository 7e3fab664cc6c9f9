//! The compressed protocol: packets travel inside *frames*, each of them compressed on its own.
//!
//! A frame is a header of seven bytes (length of what follows, sequence id, length of the plain
//! text) and the content. A plain length of zero says that the content is *stored*, not compressed.
//! Frames know nothing of packets: a frame may hold many, and a packet may go on in the next frame.
//! It begins behind the OK packet of the login, in both directions, and never ends. Source:
//! "Compression" in MySQL's "Client/Server Protocol" documentation.
//!
//! - [`Codecs`]: what compresses and expands; shared by all connections of a thread;
//! - [`Inflater`]: from frames to packets, whatever the reads are, one per connection;
//! - [`Numbering`]: the sequence ids of frames and of the packets in them, one per connection.

mod codecs;
mod inflater;
mod numbering;

pub use codecs::Codecs;
pub use inflater::{Inflated, Inflater};
pub use numbering::{Numbering, Peer};

use crate::Capabilities;

/// Bytes of a frame's header.
pub const FRAME_HEADER_LEN: usize = 7;

/// Content shorter than this is stored: compression would not pay. Servers and `libmysqlclient`
/// have the same limit (`MIN_COMPRESS_LENGTH` in `my_compress.h`).
pub const MIN_COMPRESS_LEN: usize = 50;

/// How the content of frames is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// zlib, from [`Capabilities::COMPRESS`]. Each side chooses its own level.
    Zlib,
    /// zstd, from [`Capabilities::ZSTD_COMPRESSION`].
    Zstd {
        /// The level, 1 to 22, which the client chooses for both sides.
        level: u8,
    },
}

impl Method {
    /// The levels of zstd that a login may ask for (`is_zstd_compression_level_valid` in MySQL's
    /// `compression.cc`).
    pub const ZSTD_LEVELS: std::ops::RangeInclusive<u8> = 1..=22;

    /// The level of zstd where the client asks for no other, as in MySQL.
    pub const ZSTD_LEVEL_DEFAULT: u8 = 3;

    /// The method that two sides use that agreed on `capabilities`; `None` if they do not compress.
    /// With both in common it is zlib, as in MySQL's `parse_client_handshake_packet`.
    ///
    /// # Errors
    ///
    /// The level of zstd if there is no such level.
    pub fn agreed(capabilities: Capabilities, zstd_level: Option<u8>) -> Result<Option<Self>, u8> {
        if capabilities.contains(Capabilities::COMPRESS) {
            return Ok(Some(Self::Zlib));
        }
        if !capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
            return Ok(None);
        }
        match zstd_level.unwrap_or_default() {
            level if Self::ZSTD_LEVELS.contains(&level) => Ok(Some(Self::Zstd { level })),
            level => Err(level),
        }
    }
}

/// The header of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes that follow, at most 2^24-1.
    pub len: u32,
    /// The frame's place in its exchange.
    pub seq: u8,
    /// Bytes of the plain text; 0 if it is stored as it is.
    pub plain_len: u32,
}

impl FrameHeader {
    /// Reads a header; every seven bytes are one.
    pub const fn parse(bytes: [u8; FRAME_HEADER_LEN]) -> Self {
        let [l0, l1, l2, seq, p0, p1, p2] = bytes;
        Self { len: u32::from_le_bytes([l0, l1, l2, 0]), seq, plain_len: u32::from_le_bytes([p0, p1, p2, 0]) }
    }

    /// The header's bytes; the upper bytes of the lengths are cut off.
    pub const fn to_bytes(self) -> [u8; FRAME_HEADER_LEN] {
        let [l0, l1, l2, _] = self.len.to_le_bytes();
        let [p0, p1, p2, _] = self.plain_len.to_le_bytes();
        [l0, l1, l2, self.seq, p0, p1, p2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        for bytes in [[0; 7], [0xff; 7], [1, 2, 3, 4, 5, 6, 7]] {
            assert_eq!(FrameHeader::parse(bytes).to_bytes(), bytes);
        }
        let header = FrameHeader { len: 0x03_0201, seq: 4, plain_len: 0x07_0605 };
        assert_eq!(FrameHeader::parse([1, 2, 3, 4, 5, 6, 7]), header);
    }

    #[test]
    fn zlib_goes_before_zstd_and_levels_are_checked() {
        let (zlib, zstd) = (Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION);
        assert_eq!(Method::agreed(Capabilities::PROTOCOL_41, Some(3)), Ok(None));
        assert_eq!(Method::agreed(zlib, None), Ok(Some(Method::Zlib)));
        assert_eq!(Method::agreed(zlib | zstd, Some(3)), Ok(Some(Method::Zlib)));
        assert_eq!(Method::agreed(zstd, Some(1)), Ok(Some(Method::Zstd { level: 1 })));
        assert_eq!(Method::agreed(zstd, Some(22)), Ok(Some(Method::Zstd { level: 22 })));
        for level in [0, 23, 255] {
            assert_eq!(Method::agreed(zstd, Some(level)), Err(level));
        }
    }
}

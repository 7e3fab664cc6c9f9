//! Why a stream cannot be read any further.

use wire::WireError;

/// Bytes that are not what a server sends at their place. The stream has no defined next byte.
///
/// No variant owns memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// A packet does not carry the next sequence id.
    #[error("packets out of order: sequence id {got}, expected {expected}")]
    OutOfOrder {
        /// The next sequence id.
        expected: u8,
        /// The one in the packet's header.
        got: u8,
    },
    /// A packet is neither an event nor the end of the log nor an error.
    #[error("a packet begins with {0:#x}")]
    Packet(u8),
    /// A packet has no bytes.
    #[error("an empty packet")]
    Empty,
    /// An event's length is not that of its packet.
    #[error("an event of type {kind} ends elsewhere than its packet")]
    Length {
        /// The type's number.
        kind: u8,
    },
    /// An event is shorter than the header and checksum that it must have.
    #[error("an event of type {kind} says that it has {len} bytes")]
    TooShort {
        /// The type's number.
        kind: u8,
        /// The event's length in its header.
        len: u32,
    },
    /// The CRC-32 at the end of an event is not that of its bytes.
    #[error("wrong checksum of an event of type {kind}")]
    Checksum {
        /// The type's number.
        kind: u8,
    },
    /// A format description that is not that of a supported server.
    #[error("unsupported format: {0}")]
    Format(&'static str),
    /// An event of a known type does not have that type's fields.
    #[error("event of type {kind}: {error}")]
    Event {
        /// The type's number.
        kind: u8,
        /// What is wrong with its body.
        error: WireError,
    },
    /// Uncompressed events of a compressed transaction are not whole. Never returned by
    /// [`Reader::feed`](crate::Reader::feed): there it is [`Event::Unreadable`](crate::Event).
    #[error("compressed transaction: {0}")]
    Payload(&'static str),
}

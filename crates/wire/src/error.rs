//! What can be wrong with bytes from the network.

/// Bytes that are not what the protocol allows at their place.
///
/// No variant owns memory, so that hostile input costs nothing to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the value does.
    #[error("truncated: {field} needs {needed} bytes, {left} left")]
    Truncated {
        /// The value that was being read.
        field: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that were left.
        left: usize,
    },
    /// The packet goes on after its last field.
    #[error("{0} bytes after the last field")]
    TrailingBytes(usize),
    /// A field has a value that the protocol does not define there.
    #[error("invalid {field}: {value:#x}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What it held.
        value: u64,
    },
    /// A text field is not UTF-8 where the protocol demands it.
    #[error("{0} is not valid UTF-8")]
    NotUtf8(&'static str),
    /// A packet carries another sequence id than the next one of its exchange.
    #[error("packets out of order: sequence id {got}, expected {expected}")]
    OutOfOrder {
        /// The next sequence id of the exchange.
        expected: u8,
        /// The one in the packet's header.
        got: u8,
    },
    /// A message is longer than the limit of the place that reads it.
    #[error("message of more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A frame of the compressed protocol does not hold what its header says.
    #[error("compressed frame: {0}")]
    BadFrame(&'static str),
    /// The peer sent a packet of another kind than this state of the exchange allows.
    #[error("unexpected {got}, waiting for {expected}")]
    Unexpected {
        /// What the state allows.
        expected: &'static str,
        /// What came.
        got: &'static str,
    },
}

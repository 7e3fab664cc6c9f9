//! The limits of this crate, each with its unit and its reason.

/// Bytes of an answer that are kept until its end has come, as it might be one that the client is
/// not to see. With what is read next they are no more than a worker's buffer holds.
pub(crate) const WITHHELD_MAX: usize = 32 * 1024;

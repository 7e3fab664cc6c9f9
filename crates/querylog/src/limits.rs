//! Every limit of the logs that is not a configured variable, with its unit and its reason.

use std::time::Duration;

/// Records that may wait for the writer: what workers log in some 50 ms at their fastest.
pub const QUEUE_RECORDS_MAX: usize = 8192;

/// Bytes that these may have together, so that long statements do not take the memory that short
/// ones would not.
pub const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Bytes of the records that are kept in memory for admins, whatever number of them is wanted.
pub(crate) const RECENT_BYTES_MAX: usize = 256 << 20;

/// Bytes that a record takes besides its texts, roughly.
pub(crate) const RECORD_BYTES: usize = 256;

/// Bytes that are written at once: few system calls, and no more memory than that.
pub(crate) const WRITE_BYTES: usize = 256 * 1024;

/// How long the writer rests between two turns, so that it is not woken for every statement of a
/// busy proxy.
pub(crate) const REST: Duration = Duration::from_millis(10);

/// How long it does not try again after a file could not be opened or written.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// Time between two messages about a file that cannot be written.
pub(crate) const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// Files of one log that are tried at most before the next number is given up as taken.
pub(crate) const NUMBERS_TRIED_MAX: u32 = 100;

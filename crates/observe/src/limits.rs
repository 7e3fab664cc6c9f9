//! Limits of what is counted and shown, each with its unit and its reason.

use std::time::Duration;

/// Bytes of a running statement that are kept to be shown in lists of sessions. Copied for every
/// statement.
pub const SHOWN_BYTES_MAX: usize = 1024;

/// Buffers for these that a worker keeps for the next statements: as many as may run at a time
/// without allocating any.
pub const SHOWN_BUFFERS_MAX: usize = 1024;

/// Kinds of errors of servers that a worker counts, by server, user, schema and number; others are
/// not counted.
pub const ERRORS_MAX: usize = 1000;

/// Bytes of an error's message that are kept.
pub const ERROR_MESSAGE_BYTES_MAX: usize = 512;

/// Hostgroups whose times a worker counts, each in 224 bytes; those of others are not counted.
pub const HOSTGROUPS_TIMED_MAX: usize = 256;

/// Time between two messages of one worker about something that anybody on the network can cause.
pub const LOG_INTERVAL: Duration = Duration::from_secs(1);

//! Limits of clients that have no session, each with its unit and its reason.

use std::time::Duration;

/// How often is looked whether a client that waits for a place has left.
pub(crate) const QUEUE_LOOK: Duration = Duration::from_millis(100);

/// What is left of the time for a login when a client is told that there was no place for it in
/// time.
pub(crate) const LOGIN_REST: Duration = Duration::from_millis(250);

/// How long a session that ends with an error waits for the client to read it and to close. Closing
/// at once while the client still sends would make its kernel throw the error away.
pub const LINGER_MAX: Duration = Duration::from_secs(2);

/// Bytes of a refused command that are read and thrown away while lingering.
pub const LINGER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Connections that the kernel queues for a listener before it is accepted from.
pub(crate) const LISTEN_BACKLOG: i32 = 4096;

/// Wait after `accept` failed for want of file descriptors or memory, before it is tried again.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Refused logins that are logged one by one within [`REFUSALS_INTERVAL`]; the others are counted.
/// Enough to see who tries what, too few to fill a disk.
pub(crate) const REFUSALS_LOGGED_MAX: u32 = 20;

/// See [`REFUSALS_LOGGED_MAX`].
pub(crate) const REFUSALS_INTERVAL: Duration = Duration::from_secs(10);

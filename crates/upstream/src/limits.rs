//! Limits of connections to servers, each with its unit and its reason.

use std::time::Duration;

/// Prepared statements that a worker copies in one turn of its loop.
pub(crate) const STATEMENTS_PER_TURN: usize = 64;

/// Bytes of their texts behind which it copies no more in that turn.
pub(crate) const STATEMENT_BYTES_PER_TURN: usize = 64 * 1024;

/// Prepared statements that are shown: what lies beyond is only counted.
pub(crate) const STATEMENTS_SHOWN_MAX: usize = 100_000;

/// Bytes of the texts of statements that are shown.
pub(crate) const STATEMENTS_SHOWN_BYTES_MAX: usize = 32 << 20;

/// Scratch fills that one session may forward before the worker looks after the others (256 KiB).
pub const FILLS_PER_TURN: usize = 4;

/// How long each server may take that is asked for its collations: it keeps the thread of the admin
/// port waiting.
pub(crate) const COLLATIONS_TIME_MAX: Duration = Duration::from_secs(1);

/// Servers that are asked for them, until one answers.
pub(crate) const COLLATIONS_SERVERS_MAX: usize = 4;

/// Users as whom a server is asked for something of the proxy's own, until it lets one in.
pub(crate) const LOGIN_USERS_MAX: usize = 4;

/// Collations that a server may list. MariaDB 11 has fewer than 1,000, MySQL 9 some 300.
pub(crate) const COLLATIONS_MAX: usize = 10_000;

/// How long a client's greeting waits for servers that are being asked what they can do, which they
/// are at start. A server that is there answers in milliseconds; for one that is not, no client
/// should wait.
pub(crate) const PROBE_WAIT_MAX: Duration = Duration::from_millis(250);

/// Parts of the books of sessions and of servers' threads, each with a lock of its own: workers
/// that open or close connections at the same time hardly ever meet.
pub const BOOK_SHARDS: usize = 16;

/// How long a connection for mirrored statements is kept for the next one: longer than the pause
/// between two of a stream, short for a place at a server that others may need.
pub(crate) const COPY_IDLE_MAX: Duration = Duration::from_secs(10);

/// Connections for mirrored statements that a worker keeps while they have nothing to do.
pub(crate) const COPY_IDLE_CONNECTIONS_MAX: usize = 64;

/// Bytes of the answer to a statement that the proxy prepares by itself: one of 65,535 columns with
/// long names fits.
pub(crate) const INTERNAL_BYTES_MAX: usize = 32 << 20;

/// Most bytes of a reply that are read and dropped. Beyond them a new connection is cheaper.
pub(crate) const DRAINED_BYTES_MAX: usize = 1 << 20;

/// Connections that a session looks at, to find one that is as it would have it. With more of them,
/// one of the next best kinds is cheaper than the search.
pub(crate) const LOOKS_MAX: usize = 32;

/// Bytes of all commands that go out together: sockets take so much at once, and the first one is
/// not answered before the last is sent.
pub(crate) const BATCH_BYTES_MAX: usize = 16 * 1024;

/// How long sessions that have sent statements together over one connection wait while none of
/// these is answered. What goes out that way is done in no time, so something is in their way then,
/// and they look for other ones.
pub(crate) const STANDSTILL_MAX: Duration = Duration::from_millis(100);

/// How long a session waits for a connection of its own worker before an idle one is closed for it
/// elsewhere. Those of its worker come back sooner, mostly, and the session that has released one
/// may be about to use it again.
pub(crate) const MOVE_WAIT: Duration = Duration::from_millis(10);

/// How much later than the one who waits longest a session may have come that gets a connection
/// which another one of its worker does not need any more. A new connection for that one costs as
/// much as some dozens of statements.
pub(crate) const AHEAD_MAX: Duration = Duration::from_millis(100);

/// Connections which were others' that a session tries to make its own; if that fails, it opens
/// one.
pub(crate) const LENT_MAX: u32 = 2;

/// Commands of the proxy's own that a worker knows to be taken by a server: with 64 bytes each, a
/// quarter of a megabyte.
pub(crate) const TAKEN_MAX: usize = 4_096;

/// Time for which a server that does nothing at logins (`init_connect`) is known to do nothing
/// there.
pub(crate) const QUIET_LOGINS: Duration = Duration::from_secs(10);

/// Time for which what a login has told of an account's limits (`MAX_STATEMENT_TIME`) is said
/// behind resets of the connection. Behind it the next one logs in anew.
pub(crate) const ACCOUNT_LIMITS_AGE_MAX: Duration = Duration::from_mins(1);

/// Time for which an idle connection is not too many: work comes in bursts.
pub(crate) const KEPT_IDLE: Duration = Duration::from_secs(5);

/// Time for which connections are not opened ahead to a server that has not let their user in.
pub(crate) const GUEST_REFUSED: Duration = Duration::from_mins(1);

/// Descriptors that sessions and their connections to servers leave to the admin port, the monitor,
/// and the files of logs, of certificates and of the saved configuration.
pub const DESCRIPTORS_RESERVED: u64 = 16;

/// Clients leave one in so many of all descriptors to connections to servers: without any, clients
/// would be of no use.
pub(crate) const DESCRIPTORS_FOR_SERVERS_SHARE: u64 = 8;

//! Every limit of the admin port that is not a configured variable, with its unit and its reason.

use std::time::Duration;

/// Clients of the admin port at once. People, monitoring and peers; each may hold one answer in
/// memory.
pub(crate) const CLIENTS_MAX: usize = 1_000;

/// Statements that wait for the thread that owns SQLite. Every client has at most one, so that all
/// of them fit.
pub(crate) const QUEUE_MAX: usize = CLIENTS_MAX + 64;

/// Bytes of one statement: what Connector/J is told by `max_allowed_packet`.
pub(crate) const STATEMENT_BYTES_MAX: usize = 4 << 20;

/// The same for accounts that may only read statistics: its parsed form takes fifty times as much.
pub(crate) const STATISTICS_STATEMENT_BYTES_MAX: usize = 64 << 10;

/// Bytes of one message during a login: 64 KiB of connection attributes, the largest field, and 8
/// KiB for the rest.
pub(crate) const LOGIN_BYTES_MAX: usize = 72 * 1024;

/// Bytes that are read from a client at once.
pub(crate) const READ_BYTES: usize = 16 * 1024;

/// Bytes of an answer that are collected before they are written.
pub(crate) const WRITE_BYTES: usize = 64 * 1024;

/// How long a login may take, TLS included: as `mysql-connect_timeout_client`.
pub(crate) const LOGIN_TIME_MAX: Duration = Duration::from_secs(10);

/// Wrong logins of one address within [`TRIES_WINDOW`]; more are refused unread.
pub(crate) const TRIES_MAX: u32 = 5;

/// Logins of one address whose password is looked at or waits for that; more are refused unread.
pub(crate) const TRIES_AT_ONCE_MAX: u32 = 16;

/// See [`TRIES_MAX`].
pub(crate) const TRIES_WINDOW: Duration = Duration::from_mins(1);

/// Addresses whose wrong logins are counted; the oldest makes room.
pub(crate) const TRIES_ADDRESSES_MAX: usize = 4096;

/// How long a login waits for the outcome of others that may all be wrong.
pub(crate) const TRY_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long a client may say nothing: as `mysql-wait_timeout`, 8 hours.
pub(crate) const IDLE_TIME_MAX: Duration = Duration::from_hours(8);

/// How long a client may take to read [`WRITE_BYTES`].
pub(crate) const SEND_TIME_MAX: Duration = Duration::from_mins(1);

/// How long a client that is told an error and let go has for reading it, and how much it may still
/// send.
pub(crate) const LINGER_TIME_MAX: Duration = Duration::from_secs(2);

/// How long the end of the process waits for admins to be gone, and the end of a connection for its
/// socket to take the last word.
pub(crate) const PART_TIME_MAX: Duration = Duration::from_millis(250);

/// See [`LINGER_TIME_MAX`]; in bytes.
pub(crate) const LINGER_BYTES_MAX: usize = 64 << 20;

/// Connections that the kernel queues for a listener.
pub(crate) const LISTEN_BACKLOG: i32 = 1024;

/// Wait after `accept` failed for want of file descriptors or memory. Each failure is logged, so it
/// bounds the log as well.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Wait before a listener of REST or health checks is tried again that could not be had.
pub(crate) const LISTEN_AGAIN: Duration = Duration::from_millis(250);

/// Tries of a listener of the admin port whose address is in use. No admin can connect meanwhile,
/// so that all of them take 200 ms.
pub(crate) const LISTEN_NOW_TRIES: u32 = 20;

/// Wait between them: longer than a program needs that is started just now.
pub(crate) const LISTEN_NOW_PAUSE: Duration = Duration::from_millis(10);

/// Clients that wait at once for a new version of the servers (`PULL VERSION`).
pub(crate) const PULLS_MAX: usize = 1_000;

/// Programs of the scheduler that run at once; more wait for a place.
pub(crate) const PROGRAMS_MAX: usize = 64;

/// How long a program of the scheduler may run. ProxySQL has no limit; an hour is more than
/// monitoring scripts need, and keeps one that hangs from being the last run of its job.
pub(crate) const PROGRAM_TIME_MAX: Duration = Duration::from_hours(1);

/// How long a program that is told to end (SIGTERM) may take before it is killed: as in ProxySQL.
pub(crate) const TERM_TIME_MAX: Duration = Duration::from_secs(3);

/// How long what a program has written is waited for once it has ended: it may have started others
/// that hold its output open.
pub(crate) const OUTPUT_WAIT_MAX: Duration = Duration::from_secs(1);

/// Bytes of a program's output that are kept, of each stream.
pub(crate) const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// Bytes of it that are logged.
pub(crate) const OUTPUT_LOGGED_BYTES_MAX: usize = 2048;

/// Connections to the REST port at once; more wait in the kernel's queue.
pub(crate) const REST_CLIENTS_MAX: usize = 100;

/// Bytes of the body of a REST request.
pub(crate) const REST_BODY_BYTES_MAX: usize = 1 << 20;

/// Health checks at once; more wait in the kernel's queue. Each takes a few milliseconds.
pub(crate) const HEALTH_CLIENTS_MAX: usize = 64;

/// How long a health check may take, from its connection to its answer: more than those who ask
/// wait for one.
pub(crate) const HEALTH_TIME_MAX: Duration = Duration::from_secs(5);

/// Bytes that are kept of a health check's headers; hyper takes no less.
pub(crate) const HEALTH_HEADER_BYTES_MAX: usize = 8 * 1024;

/// The nice value of the thread that executes statements: next to busy workers it gets about a
/// tenth of a processor.
pub(crate) const NICE: i32 = 10;

/// The longest that this thread runs while another one wants its processor, as far as the kernel
/// can be told: the least that it takes.
pub(crate) const SLICE: Duration = Duration::from_micros(100);

/// By how much the kernel may let this thread sleep longer than it asks for, in ns: not at all.
/// Unless told, it takes 50 us, as much as the thread's rests themselves.
pub(crate) const TIMER_SLACK_NS: std::num::NonZeroU64 = std::num::NonZeroU64::MIN;

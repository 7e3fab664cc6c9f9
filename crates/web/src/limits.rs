//! Every limit of the page, with its unit and its reason.

use std::time::Duration;

/// Connections at once; more wait in the kernel's queue. Browsers open at most six.
pub(crate) const CLIENTS_MAX: usize = 128;

/// Connections at once of an address that is not on this machine; more are closed. A few browsers
/// may share an address.
pub(crate) const ADDRESS_CLIENTS_MAX: usize = 32;

/// Viewers of the stream at once. Each has one event in memory.
pub(crate) const VIEWERS_MAX: usize = 32;

/// Bytes of a request's head, and of what hyper keeps to be written.
pub(crate) const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the body of a request.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// How long a client may take for TLS, for the head of a request and for its body.
pub(crate) const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a socket may take no byte of a reply.
pub(crate) const WRITE_TIME_MAX: Duration = Duration::from_secs(10);

/// Silence after which a viewer gets a comment, so that programs between do not close the stream.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a login lasts.
pub(crate) const LOGIN_TIME_MAX: Duration = Duration::from_hours(12);

/// Logins at once; the oldest makes room.
pub(crate) const LOGINS_MAX: usize = 256;

/// Logins of one account at once; its oldest makes room.
pub(crate) const ACCOUNT_LOGINS_MAX: usize = 16;

/// Time between two samples.
pub(crate) const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Points that are kept: 15 minutes.
pub(crate) const POINTS_MAX: usize = 900;

/// How far the timeline of servers reaches back, in milliseconds: as far as the points.
pub(crate) const TIMELINE_MS: u64 = 900_000;

/// How far the records reach back, in milliseconds: 24 hours.
pub(crate) const RECORD_TIME_MS: u64 = 86_400_000;

/// Bytes of all records.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// Records that are one second apart: 15 minutes.
pub(crate) const RECORD_FINE_MAX: usize = 900;

/// Milliseconds between two records before that.
pub(crate) const RECORD_STEP_MS: u64 = 10_000;

/// Samples for the record alone take one part in so many of a processor.
pub(crate) const RECORD_SHARE: u32 = 200;

/// The longest time between two samples for the record, whatever they cost: that of old records.
pub(crate) const RECORD_PAUSE_MAX: Duration = Duration::from_millis(RECORD_STEP_MS);

/// How much longer the layers of the configuration are not looked at while there is no viewer.
pub(crate) const FACTS_UNSEEN: Duration = Duration::from_mins(1);

/// Time between two looks at what is costly to read: digests, users, prepared statements.
pub(crate) const SLOW_INTERVAL: Duration = Duration::from_secs(5);

/// Time between two looks at the layers of the configuration.
pub(crate) const FACTS_INTERVAL: Duration = Duration::from_secs(10);

/// The layers are looked at for at most one part in so many of the admin thread's time.
pub(crate) const FACTS_SHARE: u32 = 50;

/// How long a reply waits for another look where there is an older one.
pub(crate) const FACTS_WAIT_MAX: Duration = Duration::from_secs(2);

/// How long a reply waits for the admin thread or for a sample.
pub(crate) const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Values of a sparkline, one for each [`SLOW_INTERVAL`].
pub(crate) const SPARK_VALUES: usize = 24;

/// Values of a sparkline that are recent: a minute.
pub(crate) const RECENT_VALUES: usize = 12;

/// Rows of the view of statements.
pub(crate) const STATEMENTS_MAX: usize = 100;

/// Rows of a list that a viewer filters or sorts.
pub(crate) const LISTED_MAX: usize = 500;

/// Rows of the view of sessions.
pub(crate) const SESSIONS_MAX: usize = 200;

/// Rows of shorter lists: transactions, users, prepared statements.
pub(crate) const LIST_MAX: usize = 50;

/// Users, and rules, on the map of servers.
pub(crate) const NODES_MAX: usize = 200;

/// Edges of the map of servers.
pub(crate) const EDGES_MAX: usize = 1_000;

/// Errors, events and differences that are shown.
pub(crate) const ROWS_MAX: usize = 200;

/// Versions of modules that are shown.
pub(crate) const VERSIONS_MAX: usize = 100;

/// Characters of a statement that are shown.
pub(crate) const STATEMENT_CHARS_MAX: usize = 200;

/// Bytes of a statement that EXPLAIN ROUTE takes.
pub(crate) const EXPLAIN_BYTES_MAX: usize = 16 * 1024;

/// The nice value of the thread that samples: next to busy workers it gets a tenth of a processor.
pub(crate) const NICE: i32 = 10;

/// The longest that this thread runs while another one wants its processor.
pub(crate) const SLICE: Duration = Duration::from_micros(100);

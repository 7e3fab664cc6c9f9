//! Every limit of the data plane that is not a configured variable, with its unit and its reason.

use std::time::Duration;

pub use front::limits::{LINGER_BYTES_MAX, LINGER_MAX};
pub use observe::limits::ERROR_MESSAGE_BYTES_MAX;

/// Values of one kind that sessions of a worker share, in case the next one has the same: as many
/// as there are users and schemas in most places.
pub const INTERNED_MAX: usize = 32;

/// Sessions with different settings whose part of the cache's keys a worker remembers.
pub const CACHE_CLASSES_MAX: usize = 64;

/// Texts that a worker remembers because they were answered from the query cache.
pub const CACHE_KNOWN_MAX: usize = 1024;

/// How long what was found out about a text holds, in milliseconds: definitions and proofs get old.
pub const CACHE_KNOWN_AGE_MAX_MS: u64 = 10_000;

/// Bytes of the longest of them: a worker has 1 MiB of them at most.
pub const CACHE_KNOWN_BYTES_MAX: usize = 1024;

/// Time between two turns in which a worker copies digests for who reads the statistics: workers
/// have most of their time for their clients, also while 100,000 digests are read.
pub const DIGESTS_PAUSE: Duration = Duration::from_micros(100);

/// How long a reader may take to answer whether it has writes, besides `causal_wait_ms`. Then the
/// writer does the read.
pub const CAUSAL_ANSWER_MAX: Duration = Duration::from_secs(1);

/// How long a reader has at least to end a reply that is dropped, where its question has taken the
/// time that it may take. Then the connection is closed.
pub const CAUSAL_DROP_MIN: Duration = Duration::from_millis(5);

/// How long a client that changes its user waits for the server to undo what the old user has left.
pub const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// Commands that a client may have on their way to a server before it has read the first answer;
/// more wait in the proxy. Drivers that pipeline send a prepare and an execute, or a batch of
/// statements.
pub const PIPELINE_MAX: usize = 128;

/// Descriptors that a worker has by itself, and its part of those that the process has.
pub const DESCRIPTORS_OF_THREAD: u64 = 8;

/// How long a caller that asks workers for something waits, for all of them together. They answer
/// between two turns of their loops, in microseconds; a worker that does not is stuck, and the
/// caller must not be stuck with it.
pub const ASK_WAIT_MAX: Duration = Duration::from_secs(5);

/// How long a request for new files of the query log waits: the disk may be slow, and the request
/// is carried out later then.
pub const FLUSH_LOGS_MAX: Duration = Duration::from_secs(2);

/// How long the end of the process waits for what is in the query log's queue.
pub const END_LOGS_MAX: Duration = Duration::from_secs(2);

/// How long all sessions together have for their ends when the process is to end at once.
pub const CUT_OFF_MAX: Duration = Duration::from_millis(250);

/// How often a worker looks for sessions that have been idle, or in a transaction, for too long.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of an `EXPLAIN ROUTE` with the statement that it is about: about as many as decide where
/// that goes.
pub const EXPLAINED_BYTES_MAX: u32 = 64 * 1024;

/// Connections that one worker has open to servers in order to kill something there, beside those
/// that the servers' `max_connections` allow. A KILL that finds none of them free waits in line.
pub const KILLS_MAX: usize = 16;

/// How long a KILL may take, from the line to the server's answer.
pub const KILL_TIME_MAX: Duration = Duration::from_secs(10);

/// How long the session that has sent a KILL waits for what comes of it: the session that the KILL
/// names may have to end a login before it looks.
pub const KILL_ANSWER_MAX: Duration = Duration::from_secs(25);

/// How long a session whose connection was killed at its server has for the rest of its answer.
pub const KILL_GRACE: Duration = Duration::from_secs(2);

/// Bytes of mirrored statements that wait on one worker: `mysql-mirror_max_queue_length` alone
/// would allow gigabytes.
pub const COPIES_WAITING_BYTES_MAX: usize = 16 << 20;

/// How long a mirrored statement may take, from looking for a connection to the end of its answer.
/// It holds one of few places.
pub const COPY_TIME_MAX: Duration = Duration::from_mins(10);

/// How often a client may be refused as another user and go on as the one that it was. As many as
/// MariaDB allows, which then answers `COM_CHANGE_USER` with error 1047.
pub const CHANGES_REFUSED_MAX: u8 = 3;

/// Views and triggers behind one name that are looked at: a table with more counts as one that
/// hides something.
pub const RELATION_ROWS_MAX: usize = 64;

/// Bytes of a routine's definition that is looked through.
pub const ROUTINE_BYTES_MAX: usize = 16 << 10;

/// Connections that may be lost while they are being prepared for a command, until the client hears
/// of it: servers that die do not take all the time of a session.
pub const INTERNAL_LOST_MAX: u8 = 5;

/// Bytes of the statements that a session has prepared and that the proxy could prepare elsewhere,
/// and of their digests; a statement that does not fit is executed where it was prepared, and is
/// not counted by its digest.
pub const PREPARED_BYTES_MAX: usize = 8 << 20;

/// Length of the text of a prepared statement that may stay at a connection when that becomes
/// another session's.
pub const LEFT_TEXT_MAX: usize = 4 << 10;

/// Bytes of values that are kept of one statement which its server could not prepare when they
/// came.
pub const PARTS_BYTES_MAX: usize = 1 << 20;

/// Bytes of the statements that all sessions have prepared, each text once for those of a worker,
/// and of what is known of who has them: what does not fit is executed where it was prepared, or
/// not shown.
pub const PREPARED_BYTES_OF_ALL_MAX: usize = 256 << 20;

/// How often a statement is prepared again for one execution because its server asks for that: as
/// often as MySQL itself tries.
pub const RENEWALS_MAX: u8 = 3;

/// Of so many returns of a worker's sessions to their idle connections one chooses a server anew. A
/// prime number: sessions that take turns are not always the same ones then.
pub const RETURNS_MAX: u8 = 61;

/// Longest command of a batch, with its header.
pub const BATCHED_BYTES_MAX: usize = 4 * 1024;

/// Most bytes of commands that go out behind setup commands: all fit into the buffer of any socket,
/// so that the server reads all of them.
pub const BEHIND_SETUP_MAX: usize = 16 * 1_024;

/// For how long it is told again who has the connections of a hostgroup, before all sessions are
/// asked anew.
pub const HOLDERS_AGE_MAX: Duration = Duration::from_millis(500);

/// How long other workers have to say who has some: longer than a turn of their loops takes, short
/// for one who has waited in vain.
pub const HOLDERS_WAIT_MAX: Duration = Duration::from_millis(100);

/// How long other workers have to name their sessions for a list of threads.
pub const SESSIONS_WAIT_MAX: Duration = Duration::from_millis(100);

/// Sessions of a worker, and of all, that such a list may have besides the server's threads: some
/// 10 ms of a worker's time, and 1 MiB.
pub const SESSIONS_LISTED_MAX: usize = 10_000;

/// Reasons for having a connection that an error names.
pub const HOLDERS_SHOWN_MAX: usize = 4;

/// How often all sessions are looked at, whether one of them can have taken too long or not.
pub const SESSIONS_LOOK: Duration = Duration::from_mins(1);

/// Flights that a worker keeps for the next commands: as many commands at once allocate none.
pub const FLIGHTS_KEPT_MAX: usize = 128;

/// Queries that are followed at a time for advice about caching, in one worker: one in 25 of
/// those that run.
pub const FOLLOWED_MAX: usize = 64;

/// Bytes of the keys of rows that a change with ORDER BY and LIMIT names at several shards, as a
/// reply has them.
pub const KEYS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a line of a file that is split over shards: it is kept until its end has come.
pub const LOAD_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of what a worker knows of sharded tables.
pub const DEFINITIONS_BYTES_MAX: usize = 32 << 20;

/// How long all servers together may take that are asked for the tables of a layout: the thread of
/// the admin port waits for them.
pub const DEFINITIONS_WAIT_MAX: Duration = Duration::from_secs(5);

/// Hostgroups that are asked for the tables of a layout at a time.
pub const HOSTGROUPS_ASKED_MAX: usize = 64;

/// Definitions that have not come to their ends.
pub const DDL_RECORDS_MAX: usize = 256;

/// Bytes of the record of one: 16,384 nodes with a statement of 1 KiB, or fewer with longer ones.
pub const DDL_RECORD_BYTES_MAX: usize = 32 << 20;

/// How long an admin's order to go on with one may take: large tables take hours.
pub const DDL_RESUMED_MAX: Duration = Duration::from_hours(24);

/// How long a statement waits for ids that another session asks a counter for.
pub const IDS_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long the definition of a sharded table holds. A change that comes through the proxy counts
/// at once.
pub const DEFINITION_AGE_MAX: Duration = Duration::from_mins(1);

/// Tables and routines that are looked at for one statement, with those that they use in turn.
pub const STORED_BEHIND_MAX: usize = 64;

/// Plans over sharded tables that a worker remembers. Beyond, it forgets all.
pub const TEMPLATES_MAX: usize = 1_024;

/// Bytes of the texts for shards in one of these plans. Longer ones are not remembered.
pub const REPEATED_BYTES_MAX: usize = 8 * 1024;

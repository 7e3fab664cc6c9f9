//! Every limit of the spans that is not a configured variable, with its unit and its reason.

use std::time::Duration;

/// Spans that may wait for the thread that sends them. With the longest texts they have 20 MiB.
pub(crate) const QUEUE_SPANS_MAX: usize = 4096;

/// Bytes of a digest's text that a span keeps.
pub const SPAN_TEXT_BYTES_MAX: usize = 4096;

/// Bytes of a span's name.
pub(crate) const NAME_BYTES_MAX: usize = 128;

/// Statements of one request.
pub(crate) const BATCH_SPANS_MAX: usize = 512;

/// How long a span waits for others of its batch.
pub(crate) const BATCH_WAIT: Duration = Duration::from_secs(1);

/// How long one request may take, from the connection to the reply.
pub(crate) const POST_TIME_MAX: Duration = Duration::from_secs(5);

/// The least of this that one address of a name gets to accept a connection.
pub(crate) const CONNECT_SHARE_MIN: Duration = Duration::from_millis(1);

/// How long another collector has the spans before the better ones are tried again. Where those
/// do not answer, each try takes [`POST_TIME_MAX`].
pub(crate) const BETTER_INTERVAL: Duration = Duration::from_mins(1);

/// Time between two tries to give the order to flush while the queue is full.
pub(crate) const FLUSH_INTERVAL: Duration = Duration::from_millis(10);

/// Bytes of a reply that are read.
pub(crate) const REPLY_BYTES_MAX: usize = 16 * 1024;

/// Time between two messages about a collector that takes no spans.
pub(crate) const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

//! What was read of a reply in one go.

use wire::command::Kind;
use wire::reply::{Event, Outcome};

/// Segments that were read in one go.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// What comes behind it.
    pub(super) event: Event,
    pub(super) bytes: &'a [u8],
    /// It is the whole answer to the only statement that was sent.
    pub(super) is_whole: bool,
    /// The kind of the command that was worked at when it began, and its bytes.
    pub(super) runs: (Option<Kind>, Option<usize>),
    /// The end that is not counted yet, because the statement may be sent again.
    pub(in crate::session) untold: Option<LastOf<'a>>,
}

/// How an answer has ended, and its last bytes, if they begin with a packet.
type LastOf<'a> = (Outcome, Option<&'a [u8]>);

//! What was read of a reply in one go.

use wire::command::Kind;
use wire::reply::{Event, Outcome};

/// Segments that were read in one go.
#[derive(Debug)]
pub struct Part<'a> {
    /// What comes behind it.
    pub event: Event,
    /// What was read.
    pub bytes: &'a [u8],
    /// It is the whole answer to the only statement that was sent.
    pub is_whole: bool,
    /// The kind of the command that was worked at when it began, and its bytes.
    pub runs: (Option<Kind>, Option<usize>),
    /// The end that is not counted yet, because the statement may be sent again.
    pub untold: Option<LastOf<'a>>,
}

/// How an answer has ended, and its last bytes, if they begin with a packet.
type LastOf<'a> = (Outcome, Option<&'a [u8]>);

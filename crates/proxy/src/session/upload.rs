//! A command that is not sent as a whole yet.

use wire::frame::MessageScanner;
use wire::reply::Answer;

/// A command of which a part is on its way.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) scanner: MessageScanner,
    pub(super) complete: bool,
    pub(super) answer: Answer,
}

impl Upload {
    /// The sequence id that the answer begins with.
    pub(super) const fn next_seq(&self) -> u8 {
        self.scanner.next_seq()
    }
}

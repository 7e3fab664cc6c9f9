//! A command that is not sent as a whole yet.

use wire::frame::MessageScanner;
use wire::reply::Answer;

/// A command of which a part is on its way.
#[derive(Debug)]
pub struct Upload {
    /// What finds its end.
    pub scanner: MessageScanner,
    /// Whether all of it was sent.
    pub complete: bool,
    /// The reply that it gets.
    pub answer: Answer,
}

impl Upload {
    /// The sequence id that the answer begins with.
    pub const fn next_seq(&self) -> u8 {
        self.scanner.next_seq()
    }
}

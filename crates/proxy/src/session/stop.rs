//! Why a command goes no further before it is sent.

use crate::ending::Ending;

/// What has become of a command that is not sent now.
#[derive(Debug)]
pub(super) enum Stop {
    /// The client has its reply. A command that is still in the backlog is decided about anew.
    Answered,
    /// It is carried out again, at another connection.
    Elsewhere,
    /// It goes to another hostgroup, for which it is set up again.
    Redirected,
    /// The session ends.
    Over(Ending),
}

impl From<Ending> for Stop {
    fn from(ending: Ending) -> Self {
        Self::Over(ending)
    }
}

/// The client was given a reply.
impl From<Result<(), Ending>> for Stop {
    fn from(replied: Result<(), Ending>) -> Self {
        replied.map_or_else(Self::Over, |()| Self::Answered)
    }
}

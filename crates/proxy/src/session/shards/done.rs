//! What has come of a command that was looked at for shards.

use legs::facts::asking::NoReply;
use legs::state::SessionState;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::facts::payload_of;
use crate::session::shards::inner::error_of;

/// What has come of a command that was looked at for shards.
#[derive(Debug)]
pub(super) enum Done {
    /// It runs at home.
    Home,
    /// The client has its reply.
    Over,
    /// It is over, and has no reply.
    Skipped,
    /// The client gets these packets.
    Told(Vec<u8>),
}

/// Why a command that was looked at for shards goes no further.
#[derive(Debug)]
pub(super) enum Halt {
    /// It is planned again: tables were defined meanwhile.
    Outdated,
    /// The client gets this error.
    Refused(ClientError),
    /// The client gets the payload of a server's error.
    Answered(Vec<u8>),
    /// The session ends.
    Over(Ending),
}

impl Halt {
    /// Nothing, unless a reply begins with an error.
    pub(super) fn of_reply(reply: &[u8]) -> Result<(), Self> {
        error_of(reply).map_or(Ok(()), |error| Err(Self::Answered(error)))
    }

    /// The payload of the error that the client gets; if it gets none, the same again.
    pub(super) fn into_error(self, state: &SessionState) -> Result<Vec<u8>, Self> {
        match self {
            Self::Refused(error) => Ok(payload_of(state, &error)),
            Self::Answered(error) => Ok(error),
            halt @ (Self::Outdated | Self::Over(_)) => Err(halt),
        }
    }
}

impl From<NoReply> for Halt {
    fn from(why: NoReply) -> Self {
        match why {
            NoReply::Lost(error) => Self::Refused(*error),
            NoReply::Over(ending) => Self::Over(ending),
        }
    }
}

impl From<Ending> for Halt {
    fn from(ending: Ending) -> Self {
        Self::Over(ending)
    }
}

impl From<std::io::Error> for Halt {
    /// An error of the client's socket.
    fn from(error: std::io::Error) -> Self {
        Self::Over(error.into())
    }
}

impl From<ClientError> for Halt {
    fn from(error: ClientError) -> Self {
        Self::Refused(error)
    }
}

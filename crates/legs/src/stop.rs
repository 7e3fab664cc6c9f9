//! Why a command goes no further before it is sent.

use front::ending::Ending;
use runtime::invariant::broken;
use session::error::ClientError;
use upstream::AcquireError;

use crate::facts::asking::NoReply;

/// What becomes of a command that is not sent now.
#[derive(Debug)]
pub enum Stop {
    /// It is carried out again, at another connection.
    Elsewhere,
    /// It goes to another hostgroup, for which it is set up again.
    Redirected,
    /// The client gets this error.
    Refused(Box<ClientError>),
    /// The same, and may ask about it as about a server's.
    Kept(Box<ClientError>),
    /// The connection could not be set up. The client gets a stale answer, or this error.
    Failed(Box<ClientError>),
    /// There is no connection. The client gets a stale answer, or hears why.
    Unreached(AcquireError),
    /// The proxy prepares the statement for the client.
    Prepared,
    /// The client gets this payload.
    Told(Vec<u8>),
    /// It has no reply, and is dropped.
    Dropped {
        /// Its server is to forget what it has said to it.
        is_to_forget: bool,
    },
    /// The session ends.
    Over(Ending),
}

impl Stop {
    /// The client gets this error.
    pub fn refused(error: ClientError) -> Self {
        Self::Refused(Box::new(error))
    }

    /// The same, and may ask about it as about a server's.
    pub fn kept(error: ClientError) -> Self {
        Self::Kept(Box::new(error))
    }

    /// Why there is no connection, of what has looked for one.
    pub fn unreached(self) -> Result<AcquireError, Ending> {
        match self {
            Self::Unreached(why) => Ok(why),
            Self::Over(ending) => Err(ending),
            _ => Err(broken("a search that decides about a command")),
        }
    }
}

impl From<AcquireError> for Stop {
    fn from(why: AcquireError) -> Self {
        Self::Unreached(why)
    }
}

impl From<NoReply> for Stop {
    /// Of a connection that was not reached.
    fn from(why: NoReply) -> Self {
        match why {
            NoReply::Lost(error) => Self::Unreached(AcquireError::Proxy(*error)),
            NoReply::Over(ending) => Self::Over(ending),
        }
    }
}

impl From<Ending> for Stop {
    fn from(ending: Ending) -> Self {
        Self::Over(ending)
    }
}

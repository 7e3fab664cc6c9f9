//! What has come of a command that was looked at for shards.

use crate::error::ClientError;
use crate::session::shards::gated::Barred;

/// What has come of a command that was looked at for shards.
#[derive(Debug)]
pub(super) enum Done {
    /// It runs at home.
    Home,
    /// It is planned again: tables were defined meanwhile.
    Outdated,
    /// The client has its reply.
    Over,
    /// It is over, and has no reply.
    Skipped,
    /// The client gets this error.
    Refused(ClientError),
    /// The client gets this payload.
    Answered(Vec<u8>),
    /// The client gets these packets.
    Told(Vec<u8>),
}

impl From<Barred> for Done {
    fn from(barred: Barred) -> Self {
        match barred {
            Barred::Refused(error) => Self::Refused(error),
            Barred::Outdated => Self::Outdated,
        }
    }
}

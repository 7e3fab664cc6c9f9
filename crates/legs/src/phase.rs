//! What a session does, step after step: the phases of a command.

use wire::command::Kind;
use wire::reply::Answer;

/// What a session does next.
#[derive(Debug, Clone, Copy)]
pub enum Phase {
    /// It reads a command, or looks again at the one in the backlog.
    Reading,
    /// The command in the backlog waits in line for a connection.
    InLine,
    /// The command in the backlog takes more than forwarding: it is answered here, or gets a route.
    Routing(Kind),
    /// The command in the backlog waits for its delay, and for places under limits.
    Waiting(Kind),
    /// A connection is found, and set up for the command in the backlog.
    SettingUp(Kind),
    /// That is done: the command in the backlog is sent.
    Sending(Kind),
    /// The rest of a large command is sent, as it comes.
    Uploading,
    /// The client gets replies, of which the first begins with this sequence id.
    Relaying(u8),
    /// The client gets the rest of a reply that is all there.
    Answered,
    /// Internal queries behind a reply.
    FollowUp,
    /// A reply was withheld: its command is sent again, or the client gets an error.
    Retrying,
    /// The command is over.
    Over,
    /// The last error alone binds the idle session to its connection, and is kept without it.
    KeepingError,
    /// The command in the backlog may be about sharded tables.
    Sharded(Kind),
    /// There is no such command as that in the backlog.
    Refusing,
    /// The reply has no end: bytes are copied.
    Tunnel,
    /// The proxy does not look at the commands of the user: bytes are copied.
    FastForward,
}

impl Phase {
    /// What comes behind a command that was sent, and is answered like this; nothing if it has no
    /// reply. The reply begins with sequence id `seq`.
    pub const fn after(answer: Answer, seq: u8) -> Option<Self> {
        match answer {
            Answer::None => None,
            Answer::Endless => Some(Self::Tunnel),
            _ => Some(Self::Relaying(seq)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle session has one.
    #[test]
    fn a_phase_stays_small() {
        assert!(size_of::<Phase>() <= 2, "it has {} bytes", size_of::<Phase>());
    }
}

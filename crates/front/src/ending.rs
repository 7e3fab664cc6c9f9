//! How a session ends, and what the client hears of it.

use std::io;

use observe::broken::Broken;
use wire::Capabilities;
use wire::frame::{HEADER_LEN, MessageScanner};

use crate::limits::{LINGER_BYTES_MAX, LINGER_MAX};
use net::sock::Sock;
use session::error::{ClientError, Gone};

/// Why a session is over.
#[derive(Debug)]
pub enum Ending {
    /// The client said so or went away.
    ClientLeft,
    /// The client is sending a command that is too large; this is how far it has come.
    TooLarge(MessageScanner),
    /// The backend has said something that was not asked for. If the client was sending a command,
    /// this is the sequence id of the answer that it would have listened for.
    BackendSpoke {
        /// See above; `None` between commands.
        answer_seq: Option<u8>,
    },
    /// The server of the connection in use is lost, and the client has seen nothing of the answer
    /// that it owes: the session goes on.
    ServerLost(Gone),
    /// The session is in a state that cannot be.
    Broken(Broken),
    /// Nothing may be said: an answer was cut in the middle, or the time is up.
    Silent,
    /// The client is told something.
    Say {
        /// Packets, ready to be sent.
        packets: Box<[u8]>,
        /// Whether the client may be sending: then the connection stays open until it has read
        /// this.
        linger: bool,
    },
    /// There was no place for the client, which has done nothing wrong: these packets tell it.
    NoPlace(Box<[u8]>),
}

impl Ending {
    /// The client, which waits for this, is told `error` in a packet with sequence id `seq`.
    pub fn tell(error: &ClientError, seq: u8, caps: Capabilities) -> Self {
        Self::say(error, seq, caps, false)
    }

    /// The same for a client that gets no place because others have all of them.
    pub fn no_place(error: &ClientError, seq: u8, caps: Capabilities) -> Self {
        match Self::tell(error, seq, caps) {
            Self::Say { packets, .. } => Self::NoPlace(packets),
            ending => ending,
        }
    }

    /// What the client is told.
    pub const fn packets(&self) -> Option<&[u8]> {
        match self {
            Self::Say { packets, .. } | Self::NoPlace(packets) => Some(packets),
            _ => None,
        }
    }

    /// The client, which may still be sending, is told `error` in a packet with sequence id `seq`.
    pub fn interrupt(error: &ClientError, seq: u8, caps: Capabilities) -> Self {
        Self::say(error, seq, caps, true)
    }

    /// The same for a client that has got a part of a reply: it would take words for another part.
    #[must_use]
    pub fn within_reply(self) -> Self {
        if matches!(self, Self::Say { .. }) { Self::Silent } else { self }
    }

    /// The same behind these bytes, which the client has not taken yet.
    #[must_use]
    pub fn behind(self, mut bytes: Vec<u8>) -> Self {
        let Self::Say { packets, linger } = self else { return self };
        bytes.extend_from_slice(&packets);
        Self::Say { packets: bytes.into(), linger }
    }

    /// The same for a client that has got nothing of the reply to its command yet.
    #[must_use]
    pub fn at_first(mut self) -> Self {
        if let Self::Say { packets, .. } = &mut self
            && let Some(seq) = packets.get_mut(HEADER_LEN - 1)
        {
            *seq = 1;
        }
        self
    }

    /// MariaDB's client library takes an error with one of its own numbers for a malformed packet
    /// (2027), so it is told nothing: a connection that ends is 2013 to it, as when a server goes
    /// away.
    fn say(error: &ClientError, seq: u8, caps: Capabilities, linger: bool) -> Self {
        if error.is_of_client_library() && !caps.contains(Capabilities::LONG_PASSWORD) {
            return Self::Silent;
        }
        Self::Say { packets: error.to_packet(seq, caps).into_boxed_slice(), linger }
    }
}

impl From<io::Error> for Ending {
    /// An error of the client's socket.
    fn from(_: io::Error) -> Self {
        Self::ClientLeft
    }
}

/// Says what there is to say and closes the connection so that the client can read it.
pub async fn say_goodbye(net: &net::Local, mut sock: Sock, ending: Ending) {
    let (packets, linger) = match ending {
        Ending::Say { packets, linger } => (packets, linger),
        Ending::NoPlace(packets) => (packets, false),
        _ => return,
    };
    let last_words = async {
        sock.write_all(&packets).await?;
        sock.shutdown_write()?;
        // Reads what the client still sends until it closes, too.
        let mut left = if linger { LINGER_BYTES_MAX } else { 0 };
        while left > 0 {
            let read = std::future::poll_fn(|cx| {
                let mut scratch = net.scratch.borrow_mut();
                sock.poll_read(cx, &mut scratch)
            });
            match read.await? {
                0 => break,
                n => left = left.saturating_sub(n),
            }
        }
        io::Result::Ok(())
    };
    // Whatever goes wrong now, the connection is over anyway.
    let _ = tokio::time::timeout(LINGER_MAX, last_words).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_mariadb_are_not_told_errors_of_their_own_library() {
        let (ours, mysql) =
            (Capabilities::PROTOCOL_41, Capabilities::PROTOCOL_41 | Capabilities::LONG_PASSWORD);
        let lost = ClientError::server_lost(&"db");
        assert!(matches!(Ending::tell(&lost, 1, ours), Ending::Silent));
        assert!(matches!(Ending::tell(&lost, 1, mysql), Ending::Say { .. }));
        assert!(matches!(
            Ending::interrupt(&ClientError::Shutdown, 1, ours),
            Ending::Say { linger: true, .. }
        ));
    }
}

//! The client's end of a session: its socket, and bytes on their way from and to it.

use crate::relay::Parked;
use crate::sock::Sock;
use crate::throttle::Throttle;

/// What a session has as long as its client is connected.
#[derive(Debug)]
pub(super) struct Io {
    pub(super) sock: Sock,
    /// Bytes that the client has sent and that were not looked at: commands that came before the
    /// reply to the one before them, or the beginning of one.
    pub(super) backlog: Vec<u8>,
    /// Bytes that the client has not taken yet.
    pub(super) unsent: Parked,
    /// Whether the client was seen to have sent more while a reply was on its way. It is not looked
    /// for again until the reply is over.
    pub(super) has_more: bool,
    /// What the client has got too fast, where that is limited.
    pub(super) throttle: Option<Box<Throttle>>,
}

impl Io {
    /// The client, of which these bytes were read before.
    pub(super) fn new(sock: Sock, backlog: Vec<u8>) -> Self {
        Self { sock, backlog, unsent: Parked::default(), has_more: false, throttle: None }
    }
}

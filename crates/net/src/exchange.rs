//! Whole messages back and forth over one socket: how logins talk, on either side of the proxy.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use webpki::EndEntityCert;
use wire::WireError;
use wire::auth::Transport;
use wire::frame::{MessageReader, put_message};

use crate::Local;
use crate::limits::LOGIN_MESSAGE_BYTES_MAX;
use crate::sock::tls::{HandshakeError, Role};
use crate::sock::{Input, Sock, garbled};

/// A conversation in messages.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// What the sockets of its worker share.
    pub net: &'a Local,
    /// The socket. What is read there directly passes by messages.
    pub sock: &'a mut Sock,
    messages: MessageReader,
}

/// Why there is no next message.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The peer closed the connection, or it broke.
    #[error("the connection was closed")]
    Closed,
    /// The peer sent something else than messages.
    #[error(transparent)]
    Malformed(#[from] WireError),
}

impl<'a> Exchange<'a> {
    /// A conversation that begins with sequence id 0.
    pub fn new(net: &'a Local, sock: &'a mut Sock) -> Self {
        Self { net, sock, messages: MessageReader::new(LOGIN_MESSAGE_BYTES_MAX) }
    }

    /// The same, with bytes that were read already and the sequence id that they begin with.
    pub fn resume(net: &'a Local, sock: &'a mut Sock, seq: u8, bytes: &[u8]) -> Self {
        let mut exchange = Self::new(net, sock);
        exchange.messages.expect(seq);
        exchange.messages.feed(bytes);
        exchange
    }

    /// The peer's next message.
    pub async fn receive(&mut self) -> Result<Vec<u8>, ReceiveError> {
        loop {
            if let Some(payload) = self.messages.message()? {
                return Ok(payload);
            }
            let read = poll_fn(|cx| {
                let mut scratch = self.net.scratch.borrow_mut();
                let n = ready!(self.sock.poll_read(cx, &mut scratch))?;
                self.messages.feed(scratch.get(..n).unwrap_or_default());
                Poll::Ready(io::Result::Ok(n))
            });
            match read.await {
                Ok(0) => return Err(ReceiveError::Closed),
                Err(error) => {
                    return Err(garbled(&error).map_or(ReceiveError::Closed, ReceiveError::Malformed));
                }
                Ok(_) => {}
            }
        }
    }

    /// Whether the peer has closed the connection, as far as can be seen; who asks is woken when it
    /// does.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.sock.poll_input(cx) {
            Poll::Ready(Input::End) => Poll::Ready(()),
            Poll::Ready(Input::Bytes) | Poll::Pending => Poll::Pending,
        }
    }

    /// Sends one message with the next sequence id.
    pub async fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut out = Vec::new();
        let next = put_message(&mut out, self.messages.next_seq(), payload);
        self.messages.expect(next);
        self.sock.write_all(&out).await
    }

    /// Speaks TLS from here on, after a message that agreed to do so; what came behind that belongs
    /// to the handshake. Sequence ids go on.
    pub async fn start_tls(&mut self, role: Role) -> Result<(), HandshakeError> {
        let seq = self.messages.next_seq();
        let before = std::mem::replace(&mut self.messages, MessageReader::new(LOGIN_MESSAGE_BYTES_MAX));
        self.messages.expect(seq);
        self.sock.start_tls(self.net, role, before.into_unread()).await
    }

    /// The sequence id of the next packet, of either side.
    pub fn next_seq(&self) -> u8 {
        self.messages.next_seq()
    }

    /// Who else can read what is sent.
    pub const fn transport(&self) -> Transport {
        match (self.sock.is_encrypted(), self.sock.is_private()) {
            (true, _) => Transport::Secure,
            (false, true) => Transport::Local,
            (false, false) => Transport::Plain,
        }
    }

    /// The URIs in the certificate that the peer has shown, and that was verified; none if there
    /// was none.
    pub fn certificate_uris(&self) -> impl Iterator<Item = &str> {
        let certificate = self.sock.certificate().and_then(|der| EndEntityCert::try_from(der).ok());
        let uris: Vec<&str> =
            certificate.map_or_else(Vec::new, |certificate| certificate.valid_uri_names().collect());
        uris.into_iter()
    }

    /// Bytes that came behind the last message.
    pub fn into_unread(self) -> Vec<u8> {
        self.messages.into_unread()
    }
}

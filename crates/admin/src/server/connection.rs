//! A client's connection: whole messages in, packets out, every wait with a deadline.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};
use wire::auth::Transport;
use wire::frame::{MessageReader, put_message, put_packet};
use wire::{Capabilities, WireError, packet};

use super::prefixed::Prefixed;
use crate::answer::AdminError;
use crate::limits::{
    LINGER_BYTES_MAX, LINGER_TIME_MAX, LOGIN_BYTES_MAX, PART_TIME_MAX, READ_BYTES, SEND_TIME_MAX,
    STATEMENT_BYTES_MAX, STATISTICS_STATEMENT_BYTES_MAX,
};
use crate::who::Rights;

/// A TCP or Unix socket, with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Any of them.
pub(super) type BoxedStream = Box<dyn Stream>;

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// At this address.
    Tcp(SocketAddr),
    /// On this machine, at a Unix socket.
    Local,
}

impl Peer {
    /// Whether it is on this machine.
    pub(super) const fn is_local(self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Local => true,
        }
    }
}

impl Peer {
    /// The address under which its wrong logins are counted: Unix sockets have one of their own.
    pub(super) const fn counted_as(self) -> IpAddr {
        match self {
            Self::Tcp(address) => address.ip(),
            Self::Local => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.ip().fmt(f),
            Self::Local => f.write_str("localhost"),
        }
    }
}

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReceiveError {
    /// The client has closed the connection, or it broke.
    #[error("the client is gone")]
    Gone,
    /// It said nothing for too long.
    #[error("the client said nothing for too long")]
    Late,
    /// It sent what no client sends, or too much.
    #[error(transparent)]
    Malformed(#[from] WireError),
}

/// One client's connection.
pub(super) struct Connection {
    stream: BoxedStream,
    reader: MessageReader,
    pub(super) peer: Peer,
    /// What both sides can do; nothing before the login.
    pub(super) capabilities: Capabilities,
    encrypted: bool,
    /// Bytes of the longest statement.
    pub(super) statement_max: usize,
}

impl Connection {
    pub(super) fn new(stream: BoxedStream, peer: Peer) -> Self {
        let reader = MessageReader::new(LOGIN_BYTES_MAX);
        Self {
            stream,
            reader,
            peer,
            capabilities: Capabilities::empty(),
            encrypted: false,
            statement_max: STATEMENT_BYTES_MAX,
        }
    }

    /// What passwords travel over.
    pub(super) const fn transport(&self) -> Transport {
        match (self.encrypted, self.peer) {
            (true, _) => Transport::Secure,
            (false, Peer::Local) => Transport::Local,
            (false, Peer::Tcp(_)) => Transport::Plain,
        }
    }

    /// The next message, within `wait`.
    pub(super) async fn receive(&mut self, wait: Duration) -> Result<Vec<u8>, ReceiveError> {
        let deadline = Instant::now() + wait;
        loop {
            match self.reader.message() {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => {
                    // What is said about a packet that was not taken comes behind it all the same.
                    self.reader.expect(self.reader.next_seq().wrapping_add(1));
                    return Err(error.into());
                }
            }
            match timeout_at(deadline, self.read()).await {
                Ok(result) => result?,
                Err(_) => return Err(ReceiveError::Late),
            }
        }
    }

    /// Waits until the client is gone. What it sends meanwhile is kept, up to one statement; then
    /// it is not read.
    pub(super) async fn gone(&mut self) {
        while self.reader.unread().len() <= self.statement_max {
            if self.read().await.is_err() {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    async fn read(&mut self) -> Result<(), ReceiveError> {
        let mut bytes = Vec::with_capacity(READ_BYTES);
        match self.stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => Err(ReceiveError::Gone),
            Ok(_) => {
                self.reader.feed(&bytes);
                Ok(())
            }
        }
    }

    /// The next command: its sequence id is 0, and it may be as long as a statement.
    pub(super) async fn receive_command(&mut self, wait: Duration) -> Result<Vec<u8>, ReceiveError> {
        self.reader.expect(0);
        self.receive(wait).await
    }

    /// Ends a login: messages as long as an account with these rights may send are allowed from
    /// here on.
    pub(super) fn allow_statements(&mut self, rights: Rights) {
        self.statement_max = match rights {
            Rights::Admin => STATEMENT_BYTES_MAX,
            Rights::Stats => STATISTICS_STATEMENT_BYTES_MAX,
        };
        // A change of the user comes as a message that may be long as well.
        let max = self.statement_max.max(LOGIN_BYTES_MAX);
        let login = std::mem::replace(&mut self.reader, MessageReader::new(1 + max));
        self.reader.feed(&login.into_unread());
    }

    /// The sequence id of the next packet to send.
    pub(super) const fn next_seq(&self) -> u8 {
        self.reader.next_seq()
    }

    /// Sends one packet, to which the client answers.
    pub(super) async fn ask(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut out = Vec::new();
        let next = put_message(&mut out, self.next_seq(), payload);
        self.reader.expect(next);
        self.send(&out).await
    }

    /// Sends bytes; the client has some time to read them.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let send = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        timeout(SEND_TIME_MAX, send).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Tells an error and lets the client go, once it has had time to read it.
    pub(super) async fn send_off(&mut self, error: &AdminError) {
        let packet = error_packet(error, self.next_seq(), self.capabilities | Capabilities::PROTOCOL_41);
        if self.send(&packet).await.is_ok() {
            let _ = timeout(LINGER_TIME_MAX, self.linger()).await;
        }
    }

    /// Ends it, so that its client does not take the end for an attack: TLS has a word for it.
    pub(super) async fn part(&mut self) {
        let _ = timeout(PART_TIME_MAX, self.stream.shutdown()).await;
    }

    /// Reads and forgets: closing while the client sends would make its kernel throw the error
    /// away.
    async fn linger(&mut self) {
        let _ = self.stream.shutdown().await;
        let mut bytes = vec![0; READ_BYTES];
        let mut left = LINGER_BYTES_MAX;
        while let Ok(len @ 1..) = self.stream.read(&mut bytes).await {
            left = left.saturating_sub(len);
            if left == 0 {
                return;
            }
        }
    }

    /// Continues over TLS, with which the client may have begun behind its request. Nothing that it
    /// has sent unencrypted is read as anything else.
    pub(super) async fn start_tls(self, tls: std::sync::Arc<rustls::ServerConfig>) -> Option<Self> {
        let next = self.reader.next_seq();
        let stream = Prefixed::new(self.reader.into_unread(), self.stream);
        let mut reader = MessageReader::new(LOGIN_BYTES_MAX);
        reader.expect(next);
        match tokio_rustls::TlsAcceptor::from(tls).accept(stream).await {
            Ok(stream) => {
                let stream = Box::new(stream);
                Some(Self {
                    stream,
                    reader,
                    peer: self.peer,
                    capabilities: self.capabilities,
                    encrypted: true,
                    statement_max: self.statement_max,
                })
            }
            Err(error) => {
                tracing::debug!(peer = %self.peer, %error, "an admin gets no TLS");
                None
            }
        }
    }
}

/// An error as one packet.
pub(super) fn error_packet(error: &AdminError, seq: u8, capabilities: Capabilities) -> Vec<u8> {
    let sql_state = capabilities.contains(Capabilities::PROTOCOL_41).then_some(error.state);
    let packet = packet::Err { code: error.code, sql_state, message: error.message.as_bytes() };
    let mut out = Vec::new();
    put_packet(&mut out, seq, &packet, capabilities);
    out
}

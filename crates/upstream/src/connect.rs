//! Opening a socket to a server.

use std::io;
use std::sync::Arc;

use config::Endpoint;
use net::exchange::ReceiveError;
use net::names::{Blamed, Keeping, Names, TooMany};
use net::sock::Sock;
use net::tune;
use session::error::TooFew;
use socket2::SockRef;
use tokio::net::UnixStream;

use crate::choosing::is_about_session;
use crate::configuration::Configuration;
use crate::descriptors::{self, Purpose};
use crate::failures::SERVER_FULL;

/// A test's way to a server.
#[cfg(feature = "memory")]
type Dial = dyn Fn(&Endpoint) -> io::Result<Sock>;

/// What servers say to bytes that are no login: `ER_HANDSHAKE_ERROR`, `ER_UNKNOWN_COM_ERROR`,
/// `ER_NET_PACKETS_OUT_OF_ORDER`, `ER_MALFORMED_PACKET`.
const NOT_UNDERSTOOD: [u16; 4] = [1043, 1047, 1156, 1835];

/// What the system says when this machine has no more memory, files, ports or buffers for another
/// connection, to whatever server: `ENOMEM`, `ENFILE`, `EMFILE`, `EADDRNOTAVAIL`, `ENOBUFS`, as
/// Linux has them.
const NOTHING_LEFT: [i32; 5] = [12, 23, 24, 99, 105];

/// How a worker reaches servers.
pub enum Dialer {
    /// By the network, with descriptors for this.
    Network(Purpose),
    /// By a test's function.
    #[cfg(feature = "memory")]
    Scripted(Box<Dial>),
}

/// Why a backend could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No connection.
    #[error("{0}")]
    Unreachable(#[from] io::Error),
    /// The server refused the login.
    #[error("error {code}: {}", String::from_utf8_lossy(.message))]
    Refused {
        /// Number of the error.
        code: u16,
        /// Text of the error.
        message: Vec<u8>,
        /// Payload of the ERR packet.
        payload: Vec<u8>,
    },
    /// The server's side of the login makes no sense, or asks for what the proxy does not have.
    #[error("{0}")]
    Login(String),
}

/// What is said to a failure at a server that was sent a PROXY header.
const HEADER_HINT: &str =
    "it was sent a PROXY header (pointsman_servers.proxy_protocol), does it accept one from this address?";

impl OpenError {
    /// Whether it says that the server is not well, and not something about who asked.
    pub(crate) fn is_servers(&self) -> bool {
        match self {
            Self::Unreachable(error) => !is_ours(error),
            // One that is full is well.
            Self::Refused { code, .. } => !is_about_session(*code) && *code != SERVER_FULL,
            Self::Login(_) => false,
        }
    }

    /// Whether the server has said something.
    pub(crate) const fn is_answer(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }

    /// Whether, and why, it is the process that has too few descriptors for a connection.
    pub(crate) fn too_few_descriptors(&self) -> Option<TooFew> {
        match self {
            Self::Unreachable(error) => descriptors::lacking(error),
            Self::Refused { .. } | Self::Login(_) => None,
        }
    }

    /// Whether it is this machine that can open no connection, to whatever server.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Unreachable(error) if is_ours(error))
    }

    /// The same failure of a login that began with a PROXY header. A server that does not know
    /// headers takes it for a broken packet: it closes the connection, or says that packets are out
    /// of order.
    pub(crate) fn behind_header(self) -> Self {
        match self {
            Self::Unreachable(error) => {
                Self::Unreachable(io::Error::new(error.kind(), format!("{error}; {HEADER_HINT}")))
            }
            Self::Login(why) => Self::Login(format!("{why}; {HEADER_HINT}")),
            Self::Refused { code, message, .. } if NOT_UNDERSTOOD.contains(&code) => {
                let message = String::from_utf8_lossy(&message);
                Self::Login(format!("error {code}: {message}; {HEADER_HINT}"))
            }
            refused @ Self::Refused { .. } => refused,
        }
    }
}

/// Whether it is this machine that can open no connection.
pub fn is_ours(error: &io::Error) -> bool {
    let has_none_left = error.raw_os_error().is_some_and(|code| NOTHING_LEFT.contains(&code));
    has_none_left || matches!(error.get_ref(), Some(cause) if cause.is::<TooMany>())
}

impl From<ReceiveError> for OpenError {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::Closed => Self::Unreachable(io::ErrorKind::UnexpectedEof.into()),
            ReceiveError::Malformed(error) => Self::Login(error.to_string()),
        }
    }
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dialer")
    }
}

impl Dialer {
    /// Connects to `endpoint`; the caller keeps the deadline.
    pub async fn connect(
        &self,
        names: &Arc<Names>,
        endpoint: &Endpoint,
        settings: &Configuration,
        blamed: Blamed,
    ) -> io::Result<Sock> {
        match (self, endpoint) {
            #[cfg(feature = "memory")]
            (Self::Scripted(dial), endpoint) => dial(endpoint),
            (Self::Network(purpose), Endpoint::Tcp { host, port }) => {
                purpose.check_before()?;
                let keeping = Keeping::new(settings.monitor());
                let stream = names.dial(host, *port, keeping, is_ours, blamed).await?;
                tune(&SockRef::from(&stream), &settings.variables)?;
                Ok(stream.into())
            }
            (Self::Network(purpose), Endpoint::Unix(path)) => {
                purpose.check_before()?;
                UnixStream::connect(path).await.map(Sock::from)
            }
        }
    }
}

//! What can go wrong for a client.

use std::io;

use wire::{Capabilities, Codec as _, WireError, packet};

use crate::packets::ReadError;

/// An ERR packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({sql_state}): {message}")]
pub struct ServerError {
    /// The error's number.
    pub code: u16,
    /// Its class in five characters, `HY000` if the packet had none.
    pub sql_state: String,
    /// What happened, for people.
    pub message: String,
}

/// Why a client got no answer, or not the one that it asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server answered with an error; the connection is as good as before, except during the
    /// login.
    #[error("server error {0}")]
    Server(#[from] ServerError),
    /// The connection broke, or ended where an answer should be.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// The server does not keep to the protocol.
    #[error("protocol: {0}")]
    Wire(#[from] WireError),
    /// The server sent something else than this place allows.
    #[error("the server sent {0}")]
    Unexpected(&'static str),
    /// The login cannot go on.
    #[error("login: {0}")]
    Login(String),
}

impl From<ReadError> for ClientError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Io(error),
            ReadError::Wire(error) => Self::Wire(error),
        }
    }
}

impl ClientError {
    /// The code of an error that the server sent.
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Server(error) => Some(error.code),
            _ => None,
        }
    }

    /// An ERR packet's content, or why it is none.
    pub(crate) fn from_packet(payload: &[u8], capabilities: Capabilities) -> Self {
        match packet::Err::decode(payload, capabilities) {
            Ok(error) => Self::Server(ServerError {
                code: error.code,
                sql_state: String::from_utf8_lossy(&error.sql_state.unwrap_or(*b"HY000")).into_owned(),
                message: String::from_utf8_lossy(error.message).into_owned(),
            }),
            Err(error) => Self::Wire(error),
        }
    }
}

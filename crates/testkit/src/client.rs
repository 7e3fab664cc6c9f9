//! A small MySQL client for tests and load: it does what it is told, and shows what came back.
//!
//! It reads answers packet by packet and so shares no code with the part of a proxy that finds the
//! end of an answer by looking at headers only: each checks the other.

mod error;
pub(crate) mod login;
mod options;
pub(crate) mod result;
mod statement;
pub(crate) mod tls;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

use crate::packets::Packets;

pub use error::{ClientError, ServerError};
pub use login::{ServerInfo, encrypt};
pub use options::{CAPABILITIES, Options, Target};
pub use result::{Column, QueryResult};
pub use statement::{Statement, Value};

/// A byte stream that a client can run over.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A logged-in connection. Dropping it closes the socket without a word, as a killed client does;
/// [`quit`](Client::quit) is the polite way.
pub struct Client<S = Box<dyn Io>> {
    packets: Packets<S>,
    server: ServerInfo,
    status: StatusFlags,
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`ClientError::Server`] when the server refuses, otherwise what broke.
    pub async fn connect(options: &Options) -> Result<Self, ClientError> {
        let stream: Box<dyn Io> = match &options.target {
            Target::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                if stream.local_addr()? == stream.peer_addr()? {
                    // Where no one listens, a connection from the very port leads to itself.
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
                }
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Target::Unix(path) => Box::new(UnixStream::connect(path).await?),
        };
        Self::over(stream, options).await
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Logs in over a stream that is connected already; the target in `options` only says whether
    /// clear passwords may travel (Unix sockets).
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn over(stream: S, options: &Options) -> Result<Self, ClientError> {
        let mut packets = Packets::new(stream);
        let server = login::read_greeting(&mut packets).await?;
        let status = login::login(&mut packets, &server, options).await?;
        Ok(Self { packets, server, status })
    }

    /// What the server's greeting said.
    pub const fn server(&self) -> &ServerInfo {
        &self.server
    }

    /// What both sides agreed on.
    pub const fn capabilities(&self) -> Capabilities {
        self.packets.capabilities()
    }

    /// The status flags of the last OK or EOF packet.
    pub const fn status(&self) -> StatusFlags {
        self.status
    }

    /// Runs one statement and returns its result, the last one if it has several.
    ///
    /// # Errors
    /// [`ClientError::Server`] when the statement fails, otherwise what broke.
    pub async fn query(&mut self, sql: &str) -> Result<QueryResult, ClientError> {
        self.query_all(sql).await.map(|mut results| results.pop().unwrap_or_default())
    }

    /// Runs statements and returns all of their results. There is at least one.
    ///
    /// # Errors
    /// As [`query`](Self::query), for the first statement that fails; the results before it are
    /// lost.
    pub async fn query_all(&mut self, sql: &str) -> Result<Vec<QueryResult>, ClientError> {
        self.send_command(Kind::Query, sql.as_bytes()).await?;
        let mut results = vec![self.read_result().await?];
        while self.status.contains(StatusFlags::MORE_RESULTS) {
            results.push(self.read_result().await?);
        }
        Ok(results)
    }

    /// Runs `LOAD DATA LOCAL` and answers the server's question for the file with `data`, in
    /// packets of `packet_len` bytes.
    ///
    /// # Errors
    /// As [`query`](Self::query); [`ClientError::Unexpected`] when the server does not ask for a
    /// file.
    pub async fn load_local(
        &mut self,
        sql: &str,
        data: &[u8],
        packet_len: usize,
    ) -> Result<QueryResult, ClientError> {
        self.send_command(Kind::Query, sql.as_bytes()).await?;
        match self.packets.read().await?.first() {
            Some(&wire::packet::LocalInfile::HEADER) => {}
            Some(&wire::packet::Err::HEADER) => {
                return Err(ClientError::Unexpected("an error, not a file request"));
            }
            _ => return Err(ClientError::Unexpected("a result, not a file request")),
        }
        for part in data.chunks(packet_len) {
            self.packets.write(part).await?;
        }
        self.packets.write(&[]).await?;
        self.read_result().await
    }

    /// `COM_PING`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub async fn ping(&mut self) -> Result<QueryResult, ClientError> {
        self.send_command(Kind::Ping, &[]).await?;
        self.read_result().await
    }

    /// Changes the current schema with `COM_INIT_DB`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub async fn init_db(&mut self, schema: &str) -> Result<QueryResult, ClientError> {
        self.send_command(Kind::InitDb, schema.as_bytes()).await?;
        self.read_result().await
    }

    /// Forgets all session state with `COM_RESET_CONNECTION`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub async fn reset_connection(&mut self) -> Result<QueryResult, ClientError> {
        self.send_command(Kind::ResetConnection, &[]).await?;
        self.read_result().await
    }

    /// Logs in as another user with `COM_CHANGE_USER`; the target in `options` is not used.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn change_user(&mut self, options: &Options) -> Result<(), ClientError> {
        self.status = login::change_user(&mut self.packets, &self.server, options).await?;
        Ok(())
    }

    /// Says goodbye with `COM_QUIT` and waits until the server has closed the connection.
    ///
    /// # Errors
    /// When the connection broke before.
    pub async fn quit(mut self) -> io::Result<()> {
        self.send_command(Kind::Quit, &[]).await?;
        while !self.packets.at_end().await? {}
        Ok(())
    }

    /// Sends a command and reads nothing. Read the answer with [`read_result`](Self::read_result)
    /// or packet by packet.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn send_command(&mut self, kind: Kind, body: &[u8]) -> io::Result<()> {
        let mut payload = Vec::with_capacity(body.len() + 1);
        payload.push(kind as u8);
        payload.extend_from_slice(body);
        self.packets.expect_seq(0);
        self.packets.write(&payload).await
    }

    /// Reads one result: an OK packet, or columns and rows as text. Whether another follows is in
    /// [`status`](Self::status).
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub async fn read_result(&mut self) -> Result<QueryResult, ClientError> {
        let result = result::read(&mut self.packets).await?;
        self.status = result.status;
        Ok(result)
    }

    /// The packets below, for what no method does.
    pub const fn packets(&mut self) -> &mut Packets<S> {
        &mut self.packets
    }
}

impl<S> std::fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

//! Peers that do exactly what a test says: [`ScriptedServer`] and [`ScriptedClient`], over any
//! stream.
//!
//! A script is a straight line of "send this" and "expect that". Whatever else happens, the script
//! panics with what it waited for and what came, so tests read as the exchange that they describe,
//! without error handling. Both peers share the [`Script`] below them, which speaks in bytes and
//! packets.
//!
//! A script waits for its peer for 30 s at most, on tokio's clock: the runtime needs time enabled.
//! With paused time, tests of longer deadlines set [`Script::patience`] above them.

mod client;
mod server;

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use wire::{Capabilities, Codec};

use crate::packets::{Packets, ReadError};

pub use client::ScriptedClient;
pub use server::{CAPABILITIES, LoginSeen, NONCE, ScriptedServer};

/// How long a script waits for its peer unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// One end of a scripted connection.
#[derive(Debug)]
pub struct Script<S> {
    packets: Packets<S>,
    patience: Duration,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Script<S> {
    /// A script over this stream; nothing is sent yet.
    pub fn new(stream: S) -> Self {
        Self { packets: Packets::new(stream), patience: PATIENCE }
    }

    /// Waits this long for the peer, from now on.
    pub const fn patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The packets below: sequence ids and capabilities can be read and set there.
    pub const fn packets(&mut self) -> &mut Packets<S> {
        &mut self.packets
    }

    /// What both sides agreed on.
    pub const fn capabilities(&self) -> Capabilities {
        self.packets.capabilities()
    }

    /// The stream below.
    pub const fn stream(&mut self) -> &mut S {
        self.packets.stream()
    }

    /// Sends a message with the next sequence id.
    pub async fn send(&mut self, payload: &[u8]) {
        let patience = self.patience;
        done("send a message", timeout(patience, self.packets.write(payload)).await);
    }

    /// Sends a message with this sequence id, right or wrong.
    pub async fn send_at(&mut self, seq: u8, payload: &[u8]) {
        self.packets.expect_seq(seq);
        self.send(payload).await;
    }

    /// Sends a packet type with the next sequence id.
    pub async fn send_packet<'a>(&mut self, packet: &impl Codec<'a>) {
        let payload = packet.encode(self.capabilities());
        self.send(&payload).await;
    }

    /// Sends bytes as they are.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let patience = self.patience;
        done("send bytes", timeout(patience, self.packets.write_bytes(bytes)).await);
    }

    /// Says that nothing more will be sent; the other direction stays open.
    pub async fn shut_down(&mut self) {
        let patience = self.patience;
        done("shut down", timeout(patience, self.stream().shutdown()).await);
    }

    /// Reads the next message, whatever it is.
    pub async fn read(&mut self) -> Vec<u8> {
        done("a message", timeout(self.patience, self.packets.read()).await)
    }

    /// Reads the next message, which must be this one.
    pub async fn expect(&mut self, payload: &[u8]) {
        let message = self.read().await;
        assert!(message == payload, "expected the message {}, got {}", show(payload), show(&message));
    }

    /// Reads raw bytes, without regard to packets. To be called where no message was read ahead.
    pub async fn read_bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        done("bytes", timeout(self.patience, self.packets.stream().read_exact(&mut bytes)).await);
        bytes
    }

    /// Waits until the peer has closed its side; nothing may come before that.
    pub async fn expect_end(&mut self) {
        let end = done("the end", timeout(self.patience, self.packets.at_end()).await);
        assert!(end, "expected the end of the connection, got bytes: {}", self.peek().await);
    }

    /// Waits until the peer is gone, by a close or a reset, whatever it sends before that.
    pub async fn expect_gone(&mut self) {
        let drain = async {
            let mut chunk = [0; 1024];
            while self.packets.stream().read(&mut chunk).await.is_ok_and(|len| len > 0) {}
        };
        done("the end", timeout(self.patience, drain).await.map(io::Result::Ok));
    }

    async fn peek(&mut self) -> String {
        match timeout(self.patience, self.packets.read()).await {
            Ok(Ok(message)) => show(&message),
            other => format!("{other:?}"),
        }
    }
}

/// A message for people.
fn show(payload: &[u8]) -> String {
    format!("{:?} ({} bytes)", payload.escape_ascii().to_string(), payload.len())
}

/// What came in time and without an error; panics otherwise.
fn done<T, E: Debug>(what: &str, result: Result<Result<T, E>, tokio::time::error::Elapsed>) -> T {
    match result {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => panic!("script: cannot get {what}: {error:?}"),
        Err(elapsed) => panic!("script: waited in vain for {what}: {elapsed}"),
    }
}

/// Whether reading failed because the peer has closed the connection.
fn is_end(error: &ReadError) -> bool {
    matches!(error, ReadError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof)
}

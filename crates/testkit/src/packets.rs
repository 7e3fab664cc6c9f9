//! Packets over any byte stream: what the client and the scripted peers share.

mod frames;

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use wire::compress::{Method, Peer};
use wire::frame::{MessageReader, put_message};
use wire::{Capabilities, Codec, WireError};

use frames::Frames;

/// Longest message that is read, in bytes. Servers stop at 1 GiB.
const MESSAGE_LEN_MAX: usize = 1 << 31;
/// Bytes read at once.
const READ_LEN: usize = 16 << 10;

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream broke, or ended where a message should be ([`io::ErrorKind::UnexpectedEof`]).
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// The peer does not keep to the protocol.
    #[error("protocol: {0}")]
    Wire(#[from] WireError),
}

/// Reads and writes messages, and counts the sequence ids of both directions.
#[derive(Debug)]
pub struct Packets<S> {
    stream: S,
    reader: MessageReader,
    chunk: Vec<u8>,
    capabilities: Capabilities,
    frames: Option<Frames>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Packets<S> {
    /// The next message, in either direction, has sequence id 0.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            reader: MessageReader::new(MESSAGE_LEN_MAX),
            chunk: vec![0; READ_LEN],
            capabilities: Capabilities::PROTOCOL_41,
            frames: None,
        }
    }

    /// What both sides agreed on, as set with [`set_capabilities`](Self::set_capabilities).
    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Sets what both sides agreed on: packets are written and read accordingly.
    pub const fn set_capabilities(&mut self, capabilities: Capabilities) {
        self.capabilities = capabilities;
    }

    /// Speaks the compressed protocol with `peer` from here on, behind a login.
    ///
    /// # Errors
    /// When something came behind the login that is not.
    pub fn compress(&mut self, peer: Peer, method: Method) -> Result<(), ReadError> {
        let mut frames = Frames::new(peer, method);
        let reader = std::mem::replace(&mut self.reader, MessageReader::new(MESSAGE_LEN_MAX));
        self.reader.feed(&frames.receive(&reader.into_unread())?);
        self.frames = Some(frames);
        Ok(())
    }

    /// Whether the compressed protocol is spoken.
    pub const fn is_compressed(&self) -> bool {
        self.frames.is_some()
    }

    /// The next message, read or written, has this sequence id, and so has the next frame.
    pub fn expect_seq(&mut self, seq: u8) {
        self.reader.expect(seq);
        // What was received already has come in frames of its own.
        if let Some(frames) = &mut self.frames
            && self.reader.unread().is_empty()
        {
            frames.expect(seq);
        }
    }

    /// The sequence id of the next message, read or written.
    pub const fn next_seq(&self) -> u8 {
        self.reader.next_seq()
    }

    /// Reads one message.
    ///
    /// # Errors
    /// When the stream ends before the message does, or a sequence id is wrong.
    pub async fn read(&mut self) -> Result<Vec<u8>, ReadError> {
        loop {
            if let Some(message) = self.reader.message()? {
                return Ok(message);
            }
            let len = self.stream.read(&mut self.chunk).await?;
            if len == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.feed(len)?;
        }
    }

    /// Takes note of what was read into the chunk.
    fn feed(&mut self, len: usize) -> Result<(), WireError> {
        let bytes = self.chunk.get(..len).unwrap_or_default();
        match &mut self.frames {
            None => self.reader.feed(bytes),
            Some(frames) => self.reader.feed(&frames.receive(bytes)?),
        }
        Ok(())
    }

    /// Writes one message with the next sequence id.
    ///
    /// # Errors
    /// When the stream is broken.
    pub async fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(payload.len() + wire::frame::HEADER_LEN);
        let next = put_message(&mut bytes, self.next_seq(), payload);
        self.reader.expect(next);
        if let Some(frames) = &mut self.frames {
            bytes = frames.send(bytes);
        }
        self.write_bytes(&bytes).await
    }

    /// Writes one packet type with the next sequence id.
    ///
    /// # Errors
    /// When the stream is broken.
    pub async fn write_packet<'a>(&mut self, packet: &impl Codec<'a>) -> io::Result<()> {
        let payload = packet.encode(self.capabilities);
        self.write(&payload).await
    }

    /// Writes bytes as they are, compressed or not.
    ///
    /// # Errors
    /// When the stream is broken.
    pub async fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Whether the peer has closed its side and everything before was read. Waits for one or the
    /// other.
    ///
    /// # Errors
    /// When the stream is broken, for example reset.
    pub async fn at_end(&mut self) -> io::Result<bool> {
        if !self.reader.unread().is_empty() {
            return Ok(false);
        }
        let len = self.stream.read(&mut self.chunk).await?;
        self.feed(len).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(len == 0)
    }

    /// The stream below.
    pub const fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The stream, and what was read from it and belongs to no message that was taken.
    pub fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.reader.into_unread())
    }
}

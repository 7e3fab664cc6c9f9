//! Transcripts: a hash of all bytes that passed at clients, and one of those at servers.
//!
//! Bytes are hashed by connection and direction, in the order in which connections were opened, so
//! that neither the size of reads nor the order in which connections are served is in it. A
//! client's login is left out: the proxy's nonce is random.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use proxy::memory::End;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is hashed of one connection.
#[derive(Debug)]
pub(super) struct Tape {
    runs: Cell<bool>,
    read: Cell<u64>,
    written: Cell<u64>,
}

/// The connections of one side, clients or servers.
#[derive(Debug, Default)]
pub(super) struct Tapes(RefCell<Vec<Rc<Tape>>>);

/// A connection whose bytes are hashed.
#[derive(Debug)]
pub(super) struct Taped {
    end: End,
    tape: Rc<Tape>,
}

/// The hashes of one seed: what its clients, and what its servers read and wrote.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) clients: u64,
    pub(super) servers: u64,
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clients {:016x} servers {:016x}", self.clients, self.servers)
    }
}

/// FNV-1a of nothing.
pub(super) const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of more bytes.
pub(super) fn add(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Tapes {
    /// Another connection; its bytes count from the first one on if `runs`, else from when
    /// [`Tape::start`] is called.
    pub(super) fn tape(&self, end: End, runs: bool) -> Taped {
        let tape = Tape { runs: Cell::new(runs), read: Cell::new(BASIS), written: Cell::new(BASIS) };
        let tape = Rc::new(tape);
        self.0.borrow_mut().push(Rc::clone(&tape));
        Taped { end, tape }
    }

    /// The hash of all connections.
    pub(super) fn hash(&self) -> u64 {
        let tapes = self.0.borrow();
        let numbers = tapes.iter().flat_map(|tape| [tape.read.get(), tape.written.get()]);
        numbers.fold(BASIS, |hash, number| add(hash, &number.to_le_bytes()))
    }
}

impl Tape {
    /// From here on bytes count: the login is over.
    pub(super) fn start(&self) {
        self.runs.set(true);
    }

    /// Another login begins.
    pub(super) fn pause(&self) {
        self.runs.set(false);
    }
}

impl Taped {
    pub(super) fn tape(&self) -> Rc<Tape> {
        Rc::clone(&self.tape)
    }
}

impl AsyncRead for Taped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.end).poll_read(cx, into);
        if self.tape.runs.get() {
            self.tape.read.set(add(self.tape.read.get(), &into.filled()[before..]));
        }
        polled
    }
}

impl AsyncWrite for Taped {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.end).poll_write(cx, bytes);
        if let Poll::Ready(Ok(n)) = polled
            && self.tape.runs.get()
        {
            self.tape.written.set(add(self.tape.written.get(), &bytes[..n]));
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.end).poll_shutdown(cx)
    }
}

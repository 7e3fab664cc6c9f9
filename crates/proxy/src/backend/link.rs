//! A connection to a server, and the id that the server knows it by.

use std::ops::{Deref, DerefMut};

use crate::sock::Sock;
use crate::threads::Thread;

/// A connection to a server. Used like the socket that it is.
#[derive(Debug)]
pub(crate) struct Link {
    sock: Sock,
    /// `None` at layer 4, where nobody has read the greeting.
    thread: Option<Thread>,
}

impl Link {
    /// A connection that has logged in; `thread` is its place among the server's threads.
    pub(crate) const fn new(sock: Sock, thread: Thread) -> Self {
        Self { sock, thread: Some(thread) }
    }

    /// What the server calls the connection, as in its `KILL`.
    pub(crate) fn thread_id(&self) -> Option<u32> {
        self.thread.as_ref().map(Thread::id)
    }
}

impl From<Sock> for Link {
    /// A connection of which nothing is known.
    fn from(sock: Sock) -> Self {
        Self { sock, thread: None }
    }
}

impl Deref for Link {
    type Target = Sock;

    fn deref(&self) -> &Sock {
        &self.sock
    }
}

impl DerefMut for Link {
    fn deref_mut(&mut self) -> &mut Sock {
        &mut self.sock
    }
}

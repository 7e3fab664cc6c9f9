//! How other threads reach a worker.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use super::Worker;
use crate::mail::{Request, Seat};
use front::{Arrival, ClientInbox};

/// What other threads tell a worker.
#[derive(Debug)]
pub enum Message {
    /// A client has connected; the worker serves it from now on.
    Client(Arrival),
    /// End sessions as they become idle, and all of them when the time is over.
    Drain(Duration),
    /// Something of this session is to be killed.
    Kill(Seat, Request),
    /// A caller wants something done, or to know something; the worker does it between two turns of
    /// its loop.
    Ask(Question),
}

/// What a worker is asked; the answer goes the way that the question knows.
pub struct Question(pub(super) Box<Asking>);

type Asking = dyn FnOnce(&Rc<Worker>) + Send;

impl Question {
    /// A question, which the worker answers on its thread.
    pub fn new(question: impl FnOnce(&Rc<Worker>) + Send + 'static) -> Self {
        Self(Box::new(question))
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Question")
    }
}

/// The sending side of a worker, with the number of sessions that it has.
#[derive(Debug, Clone)]
pub struct Inbox {
    sender: mpsc::UnboundedSender<Message>,
    sessions: Arc<AtomicUsize>,
}

impl Inbox {
    /// The way to a worker that has so many sessions.
    pub const fn new(sender: mpsc::UnboundedSender<Message>, sessions: Arc<AtomicUsize>) -> Self {
        Self { sender, sessions }
    }

    /// Hands a message over. The queue is bounded by `mysql-max_connections`: a client in it has
    /// its place.
    pub fn send(&self, message: Message) {
        if matches!(message, Message::Client(_)) {
            self.sessions.fetch_add(1, Ordering::Relaxed);
        }
        if let Err(mpsc::error::SendError(Message::Client(arrival))) = self.sender.send(message) {
            self.sessions.fetch_sub(1, Ordering::Relaxed);
            // Workers end when the proxy drains, or by a bug that has been reported on standard
            // error.
            tracing::error!(peer = %arrival.guest.peer, "a client came to a worker that has ended");
        }
    }
}

impl ClientInbox for Inbox {
    fn is_alive(&self) -> bool {
        !self.sender.is_closed()
    }

    fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    fn send_client(&self, arrival: Arrival) {
        self.send(Message::Client(arrival));
    }
}

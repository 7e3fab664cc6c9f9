//! The workers of a proxy, as they reach each other: for the rare moment when one needs what another one could do without.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::WeakUnboundedSender;

use crate::worker::{Message, Question};

/// The ways to all workers.
#[derive(Debug, Default)]
pub(crate) struct Siblings(Mutex<Vec<WeakUnboundedSender<Message>>>);

impl Siblings {
    /// Adds a worker.
    pub(crate) fn add(&self, inbox: WeakUnboundedSender<Message>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(inbox);
    }

    /// Has the sessions of all of them look whether they have connections to servers that are of no use any more.
    pub(crate) fn recall(&self) {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in inboxes.iter().filter_map(WeakUnboundedSender::upgrade) {
            // A worker that has ended has no sessions.
            let _ = inbox.send(Message::Ask(Question::new(|worker| worker.recall())));
        }
    }

    /// Has each of them end a connection of this hostgroup that nobody uses there: a session waits for its place.
    pub(crate) fn make_room(&self, hostgroup: u32) {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in inboxes.iter().filter_map(WeakUnboundedSender::upgrade) {
            let question = Question::new(move |worker| worker.kept.make_room(worker, hostgroup));
            // A worker that has ended keeps nothing.
            let _ = inbox.send(Message::Ask(question));
        }
    }
}

//! The workers of a proxy, as they reach each other: for the rare moment when one needs what
//! another one could do without.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use pool::Quota;
use tokio::sync::mpsc::{self, WeakUnboundedSender};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::limits::MOVE_WAIT;
use crate::worker::{Message, Question, Worker};

/// The ways to all workers.
#[derive(Debug, Default)]
pub(crate) struct Siblings(Mutex<Vec<WeakUnboundedSender<Message>>>);

/// When a worker has asked the others for room last, by hostgroup. Sessions that wait for the same
/// need not all ask.
#[derive(Debug, Default)]
pub(crate) struct Requests(RefCell<HashMap<u32, Instant>>);

impl Requests {
    /// Whether to ask for room in this hostgroup at `now`; if not, it was asked for just before.
    pub(crate) fn admit(&self, hostgroup: u32, now: Instant) -> bool {
        let mut asked = self.0.borrow_mut();
        asked.retain(|_, at| now.saturating_duration_since(*at) < MOVE_WAIT);
        let admits = !asked.contains_key(&hostgroup);
        asked.entry(hostgroup).or_insert(now);
        admits
    }
}

impl Siblings {
    /// Adds a worker.
    pub(crate) fn add(&self, inbox: WeakUnboundedSender<Message>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(inbox);
    }

    /// Has the sessions of all of them look whether they have connections to servers that are of no
    /// use any more.
    pub(crate) fn recall(&self) {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in inboxes.iter().filter_map(WeakUnboundedSender::upgrade) {
            // A worker that has ended has no sessions.
            let _ = inbox.send(Message::Ask(Question::new(|worker| worker.recall())));
        }
    }

    /// Has each of them end one of these connections, if nobody uses it there: a session of their
    /// user waits for another one.
    pub(crate) fn make_room_among(&self, quota: &Arc<Quota>) {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in inboxes.iter().filter_map(WeakUnboundedSender::upgrade) {
            let quota = Arc::clone(quota);
            let question = Question::new(move |worker| worker.kept.make_room_among(worker, &quota));
            let _ = inbox.send(Message::Ask(question));
        }
    }

    /// Asks all of them, but for the one with the number `own`. Who has ended, or is stuck, answers
    /// nothing.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        own: u16,
        question: impl Fn(&Rc<Worker>) -> T + Clone + Send + 'static,
    ) -> Vec<oneshot::Receiver<T>> {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = |inbox: mpsc::UnboundedSender<Message>| {
            let (sender, receiver) = oneshot::channel();
            let question = question.clone();
            let question = Question::new(move |worker| {
                if worker.index() != own {
                    let _ = sender.send(question(worker));
                }
            });
            let _ = inbox.send(Message::Ask(question));
            receiver
        };
        inboxes.iter().filter_map(WeakUnboundedSender::upgrade).map(ask).collect()
    }

    /// Has each of them end a connection of this hostgroup that nobody uses there: a session waits
    /// for its place.
    pub(crate) fn make_room(&self, hostgroup: u32) {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in inboxes.iter().filter_map(WeakUnboundedSender::upgrade) {
            let question = Question::new(move |worker| {
                worker.kept.make_room(worker, hostgroup);
            });
            // A worker that has ended keeps nothing.
            let _ = inbox.send(Message::Ask(question));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_wait_ask_for_room_together() {
        let (requests, start) = (Requests::default(), Instant::now());
        assert!(requests.admit(0, start) && requests.admit(1, start));
        assert!(!requests.admit(0, start) && !requests.admit(1, start + MOVE_WAIT / 2));
        assert!(requests.admit(0, start + MOVE_WAIT));
        assert_eq!(requests.0.borrow().len(), 1, "what is long ago is forgotten");
    }
}

//! The workers of a proxy, as they reach each other: for the rare moment when one needs what
//! another one could do without.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use net::lock;
use pool::Quota;
use tokio::sync::mpsc::{self, WeakUnboundedSender};
use tokio::sync::oneshot;

use crate::worker::{Message, Question, Worker};

/// The ways to all workers.
#[derive(Debug, Default)]
pub struct Siblings(Mutex<Vec<WeakUnboundedSender<Message>>>);

impl Siblings {
    /// Adds a worker.
    pub fn add(&self, inbox: WeakUnboundedSender<Message>) {
        lock(&self.0).push(inbox);
    }

    /// Asks all of them, but for the one with the number `own`. Who has ended, or is stuck, answers
    /// nothing.
    pub fn ask<T: Send + 'static>(
        &self,
        own: u16,
        question: impl Fn(&Rc<Worker>) -> T + Clone + Send + 'static,
    ) -> Vec<oneshot::Receiver<T>> {
        let inboxes = lock(&self.0);
        let ask = |inbox: mpsc::UnboundedSender<Message>| {
            let (sender, receiver) = oneshot::channel();
            let question = question.clone();
            let question = Question::new(move |worker| {
                if worker.index != own {
                    let _ = sender.send(question(worker));
                }
            });
            let _ = inbox.send(Message::Ask(question));
            receiver
        };
        inboxes.iter().filter_map(WeakUnboundedSender::upgrade).map(ask).collect()
    }

    /// Has all of them do something. A worker that has ended keeps nothing, and has no sessions.
    fn tell(&self, what: impl Fn(&Rc<Worker>) + Clone + Send + 'static) {
        let inboxes = lock(&self.0);
        for inbox in inboxes.iter().filter_map(WeakUnboundedSender::upgrade) {
            let _ = inbox.send(Message::Ask(Question::new(what.clone())));
        }
    }
}

impl upstream::Siblings for Siblings {
    fn make_room(&self, hostgroup: u32) {
        self.tell(move |worker| {
            worker.upstream.kept.make_room(&worker.upstream, hostgroup);
        });
    }

    fn make_room_among(&self, quota: &Arc<Quota>) {
        let quota = Arc::clone(quota);
        self.tell(move |worker| worker.upstream.kept.make_room_among(&worker.upstream, &quota));
    }

    fn recall(&self) {
        self.tell(|worker| worker.recall());
    }
}

//! What becomes of a session's connections to servers when its client has said goodbye.

use std::future::poll_fn;
use std::task::Poll;

use wire::StatusFlags;

use super::Session;
use crate::backend::{Backend, Passport, QUIT, hand_back};

impl Session {
    /// The client has said goodbye: its connections are kept for others, or end.
    pub(super) async fn leave_servers(&mut self) {
        let is_sent =
            self.backend.as_ref().is_some_and(|backend| self.to_backend.is_sent(backend.connection()));
        if let Some(backend) = self.backend.take() {
            if is_sent && self.may_hand_back(&backend, self.status) {
                self.hand_back(self.course.hostgroup, backend);
            } else {
                self.backend = Some(backend);
            }
        }
        for other in std::mem::take(&mut self.course.others) {
            if self.may_hand_back(&other.backend, other.status) {
                self.hand_back(other.hostgroup, other.backend);
            } else {
                self.course.others.push(other);
            }
        }
        self.say_quit().await;
    }

    /// Whether a connection that the session has, with this status, would be kept, and can be made one that another session may
    /// have.
    fn may_hand_back(&self, backend: &Backend, status: StatusFlags) -> bool {
        // A KILL that is on its way must not meet somebody else.
        !self.worker.is_draining()
            && backend.connection().version() == self.worker.version()
            && backend.could_rest()
            && !status.contains(StatusFlags::IN_TRANSACTION)
            && !self.control.is_held()
            && !self.past.is_replica
            && self.course.can_be_reset(&self.identity)
    }

    fn hand_back(&self, hostgroup: u32, backend: Backend) {
        let passport = Passport::new(backend.connection(), hostgroup, &self.identity);
        hand_back(&self.worker, passport, backend);
    }

    /// Passes the client's goodbye on.
    async fn say_quit(&mut self) {
        // What a full socket does not take now is not worth waiting for.
        let _ = poll_fn(|cx| Poll::Ready(self.send_to_backend(cx, &QUIT))).await;
        self.leave_others().await;
    }
}

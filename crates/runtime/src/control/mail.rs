//! What others want killed in a session, until the session looks.

use std::cell::RefCell;

use crate::mail::Request;
use crate::statement::kill::What;

/// Requests that wait. There are never more than other sessions: each waits for the answer to its
/// own.
#[derive(Debug, Default)]
pub struct Mail {
    requests: RefCell<Vec<Request>>,
}

impl Mail {
    /// Whether a KILL of the session or its statement is there.
    pub fn is_there(&self) -> bool {
        !self.requests.borrow().is_empty()
    }

    pub(super) fn put(&self, request: Request) {
        self.requests.borrow_mut().push(request);
    }

    /// What is to be killed.
    pub fn take(&self) -> Vec<Request> {
        self.requests.take()
    }

    /// Whether the session shall end: its own user says so.
    pub(super) fn is_final(&self) -> bool {
        let is_final =
            |request: &Request| request.kill.what == What::Connection && request.stranger.is_none();
        self.requests.borrow().iter().any(is_final)
    }
}

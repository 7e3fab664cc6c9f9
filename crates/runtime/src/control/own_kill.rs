//! KILLs of the proxy's own: of statements that take too long, and of parts of killed statements.

use tokio::sync::oneshot;

use super::Control;
use crate::mail::{Request, Verdict};
use crate::statement::Kill;
use crate::statement::kill::{Force, What};

impl Control {
    /// Has the statement that runs killed: it is a part of one that was killed.
    pub fn interrupt(&self) {
        self.mail.put(own_request(self.id));
        self.wake();
    }
}

/// A KILL of the statement of the session `id` by the proxy. That it could not be killed is said in
/// the log.
pub(super) fn own_request(id: u32) -> Request {
    let (reply, verdict) = oneshot::channel();
    tokio::task::spawn_local(async move {
        match verdict.await {
            Ok(Verdict::Done | Verdict::Unknown) | Err(_) => {}
            Ok(verdict) => {
                tracing::warn!(connection = id, %verdict, "a statement cannot be killed");
            }
        }
    });
    let kill = Kill { id: id.into(), what: What::Query, force: Force::Unsaid };
    Request { kill, stranger: None, reply }
}

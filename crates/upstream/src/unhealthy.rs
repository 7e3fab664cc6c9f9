//! Idle connections that turn out to be of no use: a line of the log, now and then.

use net::sock::Input;
use tokio::time::Instant;

use crate::Backend;
use crate::Worker;

/// What is wrong with such a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Complaint {
    /// Its server has ended it.
    Closed,
    /// Its server has said something, mostly why it ends it.
    Spoke,
    /// Its server did not answer a ping in time, or not as it should.
    Silent,
}

impl From<Input> for Complaint {
    fn from(input: Input) -> Self {
        match input {
            Input::End => Self::Closed,
            Input::Bytes => Self::Spoke,
        }
    }
}

impl Complaint {
    const fn text(self) -> &'static str {
        match self {
            Self::Closed => "its server has closed it",
            Self::Spoke => {
                "its server has said something that nobody has asked for, as servers do that end a connection"
            }
            Self::Silent => "its server has not answered a ping",
        }
    }
}

/// Logs that `backend` is dropped, if `mysql-log_unhealthy_connections` says so.
#[cold]
pub(crate) fn log(worker: &Worker, backend: &Backend, complaint: Complaint) {
    if !worker.settings().variables.log_unhealthy_connections {
        return;
    }
    let Some(hidden) = worker.unhealthy.admit(Instant::now()) else { return };
    let (server, link) = (backend.server(), backend.connection());
    let (hostgroup, thread) = (server.hostgroup(), link.thread_id().unwrap_or_default());
    let (age_s, why) = (link.opened().elapsed().as_secs(), complaint.text());
    tracing::warn!(hostgroup, server = %server.endpoint(), thread, age_s, why, hidden, "an idle connection is dropped");
}

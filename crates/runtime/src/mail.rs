//! A KILL on its way to the session that it names, and what comes of it.

use tokio::sync::oneshot;

use crate::error::ClientError;
use crate::statement::Kill;
use session::identity::Stranger;

/// One login of one session. Whatever is addressed to it does not reach another login or another
/// session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The session's index on its worker, where another session may have it later.
    pub key: usize,
    /// The connection id.
    pub id: u32,
    /// How often the session has changed its user before.
    pub login: u32,
}

/// A KILL on its way to the session that it names.
#[derive(Debug)]
pub struct Request {
    /// What is to end.
    pub kill: Kill,
    /// Who wants it, if that is another user: whether he may is for the session's server to say.
    pub stranger: Option<Box<Stranger>>,
    pub(crate) reply: oneshot::Sender<Verdict>,
}

/// What has become of it.
#[derive(Debug)]
pub enum Verdict {
    /// It was killed, or there was nothing to kill.
    Done,
    /// There is no such session.
    Unknown,
    /// It may run on.
    Failed(ClientError),
    /// The server says no: the payload of its ERR packet, with the session's id in place of its
    /// thread's.
    Refused(Vec<u8>),
}

impl Request {
    /// Tells the killer, if it is still there.
    pub fn answer(self, verdict: Verdict) {
        let _ = self.reply.send(verdict);
    }
}

//! KILL by another user of a session that has no connection to a server at the moment.
//!
//! Whether he may is for a server to say, and servers say it only of threads that they have: a
//! connection of the session's user is opened, which stands in for the one that the session does
//! not have, and is killed in its place.

use std::rc::Rc;

use super::{Shot, Victim, in_time};
use crate::control::Signal;
use crate::mail::{Request, Seat, Verdict};
use crate::statement::Kill;
use crate::statement::kill::What;
use crate::worker::Worker;
use session::identity::Identity;
use upstream::{OpenError, Target, open};

/// Connections that this takes: that of the stand-in, and that of the one who kills it.
const PLACES: u32 = 2;

/// Who is opened and killed where.
#[derive(Debug)]
pub struct StandIn {
    /// Who kills.
    pub worker: Rc<Worker>,
    /// The server.
    pub target: Target,
    /// The session's user.
    pub identity: Box<Identity>,
    /// Who wants the session killed.
    pub stranger: Box<Identity>,
    /// The login that is meant.
    pub seat: Option<Seat>,
}

impl StandIn {
    /// Finds out whether the request may be granted, grants it, and answers it. Of a session that
    /// does nothing, a `KILL QUERY` kills nothing.
    pub async fn ask(self, victim: Victim, request: Request) {
        let (target, seat) = (self.target.clone(), self.seat);
        let verdict = in_time(request.kill, &target, self.try_to_ask(request.kill)).await;
        let is_granted = matches!(verdict, Verdict::Done) && request.kill.what == What::Connection;
        if is_granted && victim.control.seat() == seat {
            victim.control.send(Signal::Kill);
        }
        request.answer(verdict);
    }

    async fn try_to_ask(self, kill: Kill) -> Result<Verdict, OpenError> {
        // Never closed.
        let worker = Rc::clone(&self.worker);
        let _places = worker.kills.acquire_many(PLACES).await;
        let link = open(&self.worker.upstream, &self.target, &self.identity).await?;
        let Some(thread_id) = link.thread_id() else { return Ok(Verdict::Unknown) };
        let Self { worker, target, stranger: identity, .. } = self;
        let shot = Shot { worker, kill, target, thread_id, identity };
        let verdict = shot.hit(None).await?;
        link.quit().await;
        Ok(verdict.unwrap_or(Verdict::Unknown))
    }
}

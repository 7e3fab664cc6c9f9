//! `SHOW PROCESSLIST` and `COM_PROCESS_INFO`: before the server is asked for its threads, the
//! workers are asked for their sessions, of which some have no thread there.

use std::pin::pin;
use std::rc::Rc;

use legs::facts::orders::while_waiting;
use legs::reply::refuse_here;
use observe::rows::SessionStats;
use reply::listing::Absent;
use runtime::limits::{SESSIONS_LISTED_MAX, SESSIONS_WAIT_MAX};
use runtime::worker::Worker;
use tokio::time::{Instant, timeout_at};
use wire::command::Kind;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;

impl Cx<'_> {
    /// Asks all workers for their sessions, for the statement in the backlog.
    pub(crate) async fn ask_for_sessions(&mut self, kind: Kind, is_full: bool) -> Result<(), Ending> {
        let worker = Rc::clone(&self.entry.worker);
        let asking = pin!(sessions(&worker));
        let sessions = while_waiting(
            &self.entry.control,
            &mut self.io.client,
            self.leg.state.identity.capabilities,
            asking,
        )
        .await?;
        let Some(sessions) = sessions else {
            return refuse_here(self.entry, self.io, self.leg, kind, &ClientError::Interrupted).await;
        };
        let user = String::from_utf8_lossy(&self.leg.state.identity.account.user.name).into_owned();
        let absent = Absent::new(sessions, self.leg.state.identity.connection_id, user, is_full);
        self.leg.flight.begin().absent = Some(Box::new(absent));
        Ok(())
    }
}

/// The sessions of all workers that answer in time, by their ids.
async fn sessions(worker: &Rc<Worker>) -> Vec<SessionStats> {
    let ask = |sibling: &Rc<Worker>| sibling.seated(SESSIONS_LISTED_MAX);
    let answers = worker.shared.siblings.ask(worker.index, ask);
    let mut all = worker.seated(SESSIONS_LISTED_MAX);
    let deadline = Instant::now() + SESSIONS_WAIT_MAX;
    for answer in answers {
        if let Ok(Ok(sessions)) = timeout_at(deadline, answer).await {
            all.extend(sessions);
        }
    }
    all.truncate(SESSIONS_LISTED_MAX);
    all.sort_unstable_by_key(|session| session.id);
    all
}

//! Answers that are older than their time to live, for the case that no server answers
//! (`stale_if_error_ms`).

use cache::Hit;
use runtime::cached::asked::Asked;
use runtime::decided::Decided;
use runtime::worker::Worker;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::facts::cache::take_stale;
use crate::session::stage::cache::begin_hit;

impl Cx<'_> {
    /// Answers the command in the backlog with a stale answer, since `error` says that no server
    /// answers. False if there is none.
    pub(crate) async fn answer_stale(
        &mut self,
        error: &ClientError,
        decided: &Decided,
    ) -> Result<bool, Ending> {
        if !error.is_no_answer() {
            return Ok(false);
        }
        let command = self.io.command(self.leg.state.identity.capabilities).map(|command| command.copied());
        let Some(command) = command else { return Ok(false) };
        let found = take_stale(&self.entry.worker, &self.leg.state, &mut self.leg.flight, error);
        let Some(found) = found else { return Ok(false) };
        begin_hit(self.entry, self.leg, command.command(), decided, found);
        self.give_answer(found.0).await
    }
}

pub(crate) fn find_stale(worker: &Worker, asked: &Asked, now_ms: u64) -> Option<Hit> {
    if asked.how.policy.mode.sees_all_writes() {
        return None;
    }
    let cache = &worker.shared.cache;
    let allows = |moment| cache.versions.allows(&asked.said.scope, moment);
    cache.store.get_stale(asked.key, now_ms, asked.life, allows)
}

/// Whether there is a stale answer for a query that no server answers.
pub(crate) fn has_stale(worker: &Worker, asked: &Asked, now_ms: u64) -> bool {
    asked.life.stale_ms > 0 && find_stale(worker, asked, now_ms).is_some()
}

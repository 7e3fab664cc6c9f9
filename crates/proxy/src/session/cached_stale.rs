//! Answers that are older than their time to live, for the case that no server answers
//! (`stale_if_error_ms`).

use cache::Hit;

use super::Session;
use super::cached_answer::Stale;
use super::cached_asked::Asked;
use super::decided::Decided;
use super::facts::cache::take_stale;
use crate::counted::{Ended, note_time};
use crate::ending::Ending;
use crate::error::ClientError;
use crate::state::substitute::Counted;
use crate::worker::Worker;

impl Session {
    /// Answers the command in the backlog with a stale answer, since `error` says that no server
    /// answers. False if there is none.
    pub(super) async fn answer_stale(
        &mut self,
        error: &ClientError,
        decided: &Decided,
    ) -> Result<bool, Ending> {
        if !error.is_no_answer() {
            return Ok(false);
        }
        let command = self.io.command(self.state.identity.capabilities).map(|command| command.copied());
        let Some(command) = command else { return Ok(false) };
        let Some(Stale { packets, rows }) =
            take_stale(&self.entry.worker, &self.state, &mut self.flight, error)
        else {
            return Ok(false);
        };
        self.begin_hit(command.command(), decided, (rows, packets.len()));
        self.skip_command().await?;
        self.write_to_client(&packets).await?;
        self.entry.end_hit(rows);
        Ok(true)
    }

    /// Answers the command that runs with a stale answer: its server was lost.
    pub(super) async fn reply_stale(&mut self, stale: Stale) -> Result<(), Ending> {
        let Stale { packets, rows } = stale;
        self.entry.control.running.add_answered(packets.len());
        self.write_to_client(&packets).await?;
        self.links.hide_last_result(&mut self.state);
        self.state.last.counted = Counted { changed: -1, found: rows.found.into() };
        note_time(&self.entry.worker, &self.entry.control, Ended::FromCache { rows: rows.sent.into() });
        self.entry.end_running(&self.links);
        Ok(())
    }
}

impl Worker {
    pub(super) fn find_stale(&self, asked: &Asked, now_ms: u64) -> Option<Hit> {
        if asked.how.policy.mode.sees_all_writes() {
            return None;
        }
        let cache = &self.shared.cache;
        let allows = |moment| cache.versions.allows(&asked.said.scope, moment);
        cache.store.get_stale(asked.key, now_ms, asked.life, allows)
    }

    /// Whether there is a stale answer for a query that no server answers.
    pub(super) fn has_stale(&self, asked: &Asked, now_ms: u64) -> bool {
        asked.life.stale_ms > 0 && self.find_stale(asked, now_ms).is_some()
    }
}

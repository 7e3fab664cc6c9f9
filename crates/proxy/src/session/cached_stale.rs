//! Answers that are older than their time to live, for the case that no server answers
//! (`stale_if_error_ms`).

use cache::{Hit, RowCounts};

use super::Session;
use super::cached_answer::Stale;
use super::cached_asked::Asked;
use super::decided::Decided;
use crate::counted::{Ended, note_time};
use crate::ending::Ending;
use crate::error::ClientError;
use crate::state::substitute::Counted;
use crate::worker::Worker;

impl Session {
    /// Writes the stale answer for a query that no server has answered lately into the worker's
    /// buffer, if there is one. Returns the numbers of its rows and bytes.
    pub(super) fn look_stale(&self, asked: &Asked, now_ms: u64) -> Option<(RowCounts, usize)> {
        let hit = self.worker.find_stale(asked, now_ms)?;
        self.worker.cached.write(&hit, self.style(None));
        Some((hit.answer.rows(), self.worker.cached.written().len()))
    }

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
        let Some(Stale { packets, rows }) = self.take_stale(error) else { return Ok(false) };
        self.begin_hit(command.command(), decided, rows, packets.len());
        self.skip_command().await?;
        self.write_to_client(&packets).await?;
        self.end_hit(rows);
        Ok(true)
    }

    /// Answers the command that runs with a stale answer: its server was lost.
    pub(super) async fn reply_stale(&mut self, stale: Stale) -> Result<(), Ending> {
        let Stale { packets, rows } = stale;
        self.control.running.add_answered(packets.len());
        self.write_to_client(&packets).await?;
        self.links.hide_last_result(&mut self.state);
        self.state.last.counted = Counted { changed: -1, found: rows.found.into() };
        note_time(&self.worker, &self.control, Ended::FromCache { rows: rows.sent.into() });
        self.end_running();
        Ok(())
    }

    /// The stale answer for the command whose reply was to be stored. Those that wait for the reply
    /// get the same.
    pub(super) fn take_stale(&mut self, error: &ClientError) -> Option<Stale> {
        let now_ms = self.worker.uptime_ms();
        let taps = &mut self.flight.as_mut()?.taps;
        let Hit { answer, age_ms, .. } = taps.fill()?.stale(now_ms)?;
        taps.take_fill()?.end_stale(now_ms);
        let (connection, error) = (self.state.identity.connection_id, error.logged());
        tracing::warn!(connection, %error, age_ms, "no server answers: the client gets a stale answer");
        let mut packets = Vec::new();
        self.style(None).write(&answer, age_ms, &mut packets);
        Some(Stale { packets, rows: answer.rows() })
    }
}

impl Worker {
    fn find_stale(&self, asked: &Asked, now_ms: u64) -> Option<Hit> {
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

//! Questions to servers about acknowledged writes, and what is remembered of the answers.

use std::time::Duration;

use front::ending::Ending;
use gtid::{Gtid, Highest};
use observe::counts::Counter;
use runtime::causal::machine;
use runtime::decided::Decided;
use runtime::limits::CAUSAL_ANSWER_MAX;
use runtime::worker::Worker;
use session::causal::applied::Machine;
use session::causal::question::Reply;
use session::causal::{lost, untold};
use tokio::time::Instant;
use wire::reply::Answer;

use crate::entry::BookEntry;
use crate::facts::asking::{NoReply, ask_besides, ask_text, internal_query_within, packet_of};
use crate::facts::causal::{Awaited, note_answer, question_for};
use crate::leg::Leg;
use crate::links::Links;
use crate::state::SessionState;
use crate::stop::Stop;

impl Leg {
    /// Asks for the transaction that the reply has hidden. The end of that, for the client.
    pub async fn ask_what_was_written(&mut self, entry: &BookEntry) -> Result<Vec<u8>, Ending> {
        let Some(end) = self.state.gtids.as_mut().and_then(|gtids| gtids.untold.take()) else {
            return Ok(Vec::new());
        };
        if self.links.in_use.is_some() && !self.links.is_promised() {
            let is_mariadb = self.links.is_mariadb();
            self.links.note_ran(&mut self.state);
            let question = (packet_of(&self.state, untold::question(is_mariadb).as_bytes()), Answer::Result);
            let replies = ask_besides(entry, self, &[question]).await?;
            self.links.hide_last_result(&mut self.state);
            let told = replies.first().and_then(upstream::Reply::only_row);
            let told = told.map(|row| untold::told(row, is_mariadb)).unwrap_or_default();
            let hostgroup = self.state.here;
            let cluster = entry.worker.cluster_of(hostgroup);
            for gtid in told.iter() {
                if let Some(gtids) = &mut self.state.gtids {
                    gtids.note(hostgroup, cluster, *gtid);
                }
            }
        }
        Ok(end)
    }
}

impl Leg {
    /// Asks the server of the connection in use, which waits as long as this. One that does not
    /// answer in time lacks them, and the connection is given up. The packets of the client's
    /// command may be sent [`behind`](upstream::ask_in_front) the question.
    pub(crate) async fn ask_reader(
        &mut self,
        entry: &BookEntry,
        awaited: &Awaited,
        wait: Duration,
        behind: Option<(&[u8], Answer, bool)>,
        decided: &mut Decided,
    ) -> Result<Reply, Stop> {
        let wait = wait.min(entry.worker.settings().variables.connect_timeout_server_max / 2);
        let Some(question) = question_for(self, awaited, wait) else { return Ok(Reply::Lacks) };
        let is_bound = self.session().is_bound_to(decided.hostgroup());
        let limit =
            limit_of_answer(&entry.worker, behind.map_or(wait, |_| entry.worker.settings().causal.wait));
        let asked = Instant::now().into_std();
        match internal_query_within(entry, self, limit, &[question], behind).await {
            Ok(replies) => {
                let reply = replies.first();
                Ok(reply
                    .map_or(Reply::Lacks, |reply| note_answer(&entry.worker, self, awaited, asked, reply)))
            }
            Err(NoReply::Lost(_)) if !is_bound && !self.flight.internal_lost => Ok(Reply::Lacks),
            Err(why) => Err(self.set_up_failed(why, decided)),
        }
    }

    /// Replaces tokens that the writer, which the command has got to, does not have, by what it
    /// has: a new primary had never got them, and no replica will. With several writers that may
    /// not be so, nor with one that is down.
    pub(crate) async fn replace_lost(
        &mut self,
        entry: &BookEntry,
        awaited: &Awaited,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        if entry.worker.shared.upstream.pool.configured(awaited.writer) != 1 {
            return Ok(());
        }
        let Some((machine, opened)) = self.links.asked_server() else { return Ok(()) };
        let is_mariadb = self.links.is_mariadb();
        let applied = &entry.worker.shared.causal.applied;
        let tokens = lost::of_kind(&awaited.tokens, is_mariadb);
        if applied.has(&machine, opened, tokens.iter()) {
            return Ok(());
        }
        let asked = Instant::now().into_std();
        let row = self.ask_writer(entry, &lost::question(&tokens, is_mariadb), decided).await?;
        let Some(row) = row else { return Ok(()) };
        let Some(lacked) = lost::lacked(&tokens, is_mariadb, &row) else { return Ok(()) };
        let had: Highest = tokens.iter().filter(|token| !lacked.contains(token)).copied().collect();
        if !had.is_empty() {
            entry.worker.shared.causal.applied.prove(&machine, opened, asked, &had);
        }
        if lacked.is_empty() {
            return Ok(());
        }
        let row =
            if is_mariadb { Some(row) } else { self.ask_writer(entry, lost::EXECUTED, decided).await? };
        for token in &lacked {
            if let Some(left) = row.as_deref().and_then(|row| lost::left(token, row)) {
                note_lost(&entry.worker, &self.state, awaited.writer, token, left);
            }
        }
        Ok(())
    }

    /// Asks the server of the connection in use for one row; nothing if it has none for that.
    async fn ask_writer(
        &mut self,
        entry: &BookEntry,
        text: &str,
        decided: &mut Decided,
    ) -> Result<Option<Vec<u8>>, Stop> {
        let reply = ask_text(entry, self, text.as_bytes()).await;
        let reply = reply.map_err(|why| self.set_up_failed(why, decided))?;
        Ok(reply.only_row().map(<[u8]>::to_vec))
    }
}

fn note_lost(worker: &Worker, state: &SessionState, cluster: u32, token: &Gtid, left: Option<Gtid>) {
    if state.own().is_some_and(|own| own.replace_lost(cluster, token, left)) {
        worker.counts.note(Counter::CausalLost);
        tracing::warn!(%token, "the writer lacks a transaction that was acknowledged; reads do not wait for it");
    }
}

impl Links {
    /// Whether the reader of the connection in use lacked writes when it was asked last.
    pub(crate) fn is_reader_late(&self, worker: &Worker) -> bool {
        let applied = &worker.shared.causal.applied;
        self.asked_server().is_some_and(|(machine, ..)| applied.is_late(&machine))
    }
}

impl SessionState {
    /// Whether the server has to be asked for what the statement that was answered has written.
    #[inline]
    pub fn hides_write(&self) -> bool {
        self.gtids.as_ref().is_some_and(|gtids| gtids.untold.is_some())
    }
}

impl Links {
    /// The machine of the connection in use, and when that was opened.
    pub(crate) fn asked_server(&self) -> Option<(Machine, std::time::Instant)> {
        let backend = self.in_use.as_ref()?;
        let link = backend.connection();
        Some((machine(&backend.server().endpoint().endpoint, link), link.opened().into_std()))
    }
}

/// How long a reader may take to answer a question with which it waits so long.
pub(crate) fn limit_of_answer(worker: &Worker, wait: Duration) -> Duration {
    (wait + CAUSAL_ANSWER_MAX).min(worker.settings().variables.connect_timeout_server_max)
}

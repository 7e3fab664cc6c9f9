//! Internal queries over the session's connection to a server; the client sees nothing of them.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use tokio::time::{Duration, Instant, timeout};
use wire::frame::HEADER_LEN;

use super::Session;
use super::trace::Part;
use crate::causal::cluster_of;
use crate::control::Signal;
use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::invariant::in_use;
use crate::state::trackers::told_in;
use upstream::{InternalQuery, Reply, internal_query};

impl Session {
    /// Has the backend carry out commands, given as payloads, one after the other. An error of the
    /// server is an answer; if there is none in time the backend is given up, and the reason is
    /// what the client is to hear: that its transaction is lost, if one is.
    pub(super) async fn internal_query(
        &mut self,
        commands: &[InternalQuery],
    ) -> Result<Result<Vec<Reply>, ClientError>, Ending> {
        let limit = self.worker.settings().variables.connect_timeout_server_max;
        self.internal_query_within(limit, commands).await
    }

    /// The same with another limit for all replies.
    pub(super) async fn internal_query_within(
        &mut self,
        limit: Duration,
        commands: &[InternalQuery],
    ) -> Result<Result<Vec<Reply>, ClientError>, Ending> {
        let backend = in_use(self.links.in_use.as_ref())?;
        let watched = Arc::clone(backend.server());
        let server = watched.endpoint();
        let control = Rc::clone(&self.control);
        let begun = Instant::now();
        let outcome = {
            let mut work = pin!(async {
                self.links.flush().await?;
                let Some(backend) = &mut self.links.in_use else { return Err("the connection is gone") };
                let link = backend.connection_mut();
                internal_query(&self.worker.upstream, link, self.identity.capabilities, commands).await
            });
            // The session is woken when its server is found to be down.
            let work = poll_fn(|cx| match watched.off() {
                Some(off) if off.breaks_off() => Poll::Ready(Err("it is of no use any more")),
                _ => work.as_mut().poll(cx),
            });
            control.until(Signal::Stop, timeout(limit, work)).await
        };
        self.state.trace(|trace| trace.add(Part::Sync, begun.elapsed()));
        self.flight().internal_lost = false;
        let why = match outcome {
            Err(_) => return Err(Ending::Silent),
            Ok(Ok(Ok(replies))) => {
                for reply in &replies {
                    self.state.note_status(reply.outcome);
                    self.collect(reply);
                    self.state.overhear(&self.identity, &reply.bytes, reply.outcome);
                }
                return Ok(Ok(replies));
            }
            Ok(Ok(Err(why))) => Err(why),
            Ok(Err(_)) => Ok("no answer in time"),
        };
        let gone = watched.off().map_or(Gone::Closed, Gone::Off);
        let rolled_back = self.lose_backend_for(gone)?;
        // Without an answer another server would not be tried in time.
        self.flight().internal_lost = why.is_err() && rolled_back.is_none();
        let (Ok(why) | Err(why)) = why;
        Ok(Err(rolled_back.unwrap_or_else(|| ClientError::setup_failed(server, &why))))
    }

    /// Takes note of a transaction that an answer tells.
    fn collect(&mut self, reply: &Reply) {
        let Some(gtids) = &mut self.state.gtids else { return };
        if let Some(gtid) = reply.bytes.get(HEADER_LEN..).and_then(told_in) {
            let hostgroup = self.state.link.hostgroup;
            gtids.note(hostgroup, cluster_of(&self.worker, hostgroup), gtid);
            self.worker.counts.note(Counter::GtidCollected);
        }
    }
}

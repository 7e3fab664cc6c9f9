//! Internal queries over the session's connection to a server; the client sees nothing of them.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use tokio::time::{Duration, Instant, timeout};

use super::Session;
use super::facts::leases::lose_backend_for;
use super::facts::records::note_internal;
use super::trace::Part;
use crate::control::Signal;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::invariant::in_use;
use upstream::{Connection, InternalQuery, Reply, internal_query};

/// Why a connection has not done what it was to do.
#[derive(Debug, Clone, Copy)]
pub(super) enum NoAnswer {
    /// It was lost, for this reason.
    Lost(&'static str),
    /// It has not answered in time.
    Late,
}

impl Session {
    /// Has the backend carry out commands, given as payloads, one after the other. An error of the
    /// server is an answer; if there is none in time the backend is given up, and the reason is
    /// what the client is to hear: that its transaction is lost, if one is.
    pub(super) async fn ask_server(
        &mut self,
        commands: &[InternalQuery],
    ) -> Result<Result<Vec<Reply>, ClientError>, Ending> {
        let limit = self.entry.worker.settings().variables.connect_timeout_server_max;
        self.internal_query_within(limit, commands).await
    }

    /// The same where the command in the backlog, or the next one, does not need the replies: there
    /// are none if the backend was given up. If a transaction was lost with it, the client hears of
    /// that with its next statement.
    pub(super) async fn ask_besides(&mut self, commands: &[InternalQuery]) -> Result<Vec<Reply>, Ending> {
        Ok(self.ask_server(commands).await?.unwrap_or_else(|error| {
            if matches!(error, ClientError::TransactionLost { .. }) {
                self.state.transaction.rolled_back = Some(Box::new(error));
            }
            Vec::new()
        }))
    }

    /// The same with another limit for all replies.
    pub(super) async fn internal_query_within(
        &mut self,
        limit: Duration,
        commands: &[InternalQuery],
    ) -> Result<Result<Vec<Reply>, ClientError>, Ending> {
        let capabilities = self.state.identity.capabilities;
        let asked = self.over_connection(limit, async |worker, link| {
            internal_query(worker, link, capabilities, commands).await
        });
        match asked.await? {
            Ok(replies) => {
                for reply in &replies {
                    note_internal(&self.entry.worker, &mut self.state, &mut self.links, reply);
                }
                Ok(Ok(replies))
            }
            Err(why) => Ok(Err(self.give_up_unanswered(why)?)),
        }
    }

    /// Does `work` over the connection in use, which has to be done in time and while the server is
    /// of use. Else the error says why the connection is of no more use.
    pub(super) async fn over_connection<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&upstream::Worker, &mut Connection) -> Result<T, &'static str>,
    ) -> Result<Result<T, NoAnswer>, Ending> {
        let watched = Arc::clone(in_use(self.links.in_use.as_ref())?.server());
        let control = Rc::clone(&self.entry.control);
        let begun = Instant::now();
        let outcome = {
            let mut work = pin!(async {
                self.links.flush().await?;
                let Some(backend) = &mut self.links.in_use else { return Err("the connection is gone") };
                work(&self.entry.worker.upstream, backend.connection_mut()).await
            });
            // The session is woken when its server is found to be down.
            let work = poll_fn(|cx| match watched.off() {
                Some(off) if off.breaks_off() => Poll::Ready(Err("it is of no use any more")),
                // A KILL that is on its way must not hit it.
                _ if control.is_held() => Poll::Pending,
                _ => work.as_mut().poll(cx),
            });
            control.until(Signal::Stop, timeout(limit, work)).await
        };
        self.state.trace(|trace| trace.add(Part::Sync, begun.elapsed()));
        self.flight.begin().internal_lost = false;
        match outcome {
            Err(_) => Err(Ending::Silent),
            Ok(Ok(done)) => Ok(done.map_err(NoAnswer::Lost)),
            Ok(Err(_)) => Ok(Err(NoAnswer::Late)),
        }
    }

    /// Gives up the connection in use, which has not done what it was to do. Returns what the
    /// client is to hear: that its transaction is lost, if one is.
    pub(super) fn give_up_unanswered(&mut self, why: NoAnswer) -> Result<ClientError, Ending> {
        let watched = Arc::clone(in_use(self.links.in_use.as_ref())?.server());
        let gone = watched.off().map_or(Gone::Closed, Gone::Off);
        let rolled_back = lose_backend_for(&self.entry, &mut self.state, &mut self.links, gone)?;
        // Without an answer another server would not be tried in time.
        self.flight.begin().internal_lost = matches!(why, NoAnswer::Lost(_)) && rolled_back.is_none();
        let why = match why {
            NoAnswer::Lost(why) => why,
            NoAnswer::Late => "no answer in time",
        };
        Ok(rolled_back.unwrap_or_else(|| ClientError::setup_failed(watched.endpoint(), &why)))
    }
}

//! Statements that have to wait before they are sent: because of a delay, or because of a limit of their user or of a rule.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wire::command::Kind;

use super::Session;
use super::kill::killed_here;
use crate::control::Signal;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::limit::{Limit, Place};
use crate::routing::Orders;
use crate::sock::Input;

/// Whether a command runs a statement.
const fn runs(kind: Kind) -> bool {
    matches!(kind, Kind::Query | Kind::StmtExecute | Kind::StmtBulkExecute)
}

impl Session {
    /// Whether such a command waits whatever rules say about it.
    pub(super) fn has_to_wait(&self, kind: Kind) -> bool {
        runs(kind)
            && (self.identity.account.user.limit.is_some()
                || !self.worker.settings().variables.default_query_delay.is_zero())
    }

    /// Waits until the command in the backlog may be sent. If it may not be, it is answered with the reason; then it is
    /// false.
    pub(super) async fn wait_for_turn(
        &mut self,
        kind: Kind,
        orders: Option<&Orders>,
    ) -> Result<bool, Ending> {
        if !runs(kind) {
            return Ok(true);
        }
        let settings = self.worker.settings();
        let ordered = orders.and_then(|orders| orders.verdict.delay).unwrap_or_default();
        let delay = settings.variables.default_query_delay.saturating_add(ordered);
        let of_rules = orders.map(|orders| settings.limits.of(&orders.verdict)).unwrap_or_default();
        let user = std::sync::Arc::clone(&self.identity.account.user);
        // That of the user first, and those of rules in their order: so nobody waits for one who waits for him.
        let limits: Vec<&Limit> = user.limit.iter().chain(of_rules).collect();
        if delay.is_zero() && limits.is_empty() {
            return Ok(true);
        }
        self.show_waiting();
        let longest = settings.variables.connect_timeout_server_max;
        let waited = {
            let mut waiting = pin!(places(delay, &limits, longest));
            poll_fn(|cx| match self.client.poll_input(cx) {
                _ if killed_here(&self.control, self.identity.capabilities, true)? => {
                    Poll::Ready(Ok(Err(ClientError::interrupted())))
                }
                _ if self.control.signal() >= Signal::Stop => Poll::Ready(Err(Ending::Silent)),
                Poll::Ready(Input::End) => Poll::Ready(Err(Ending::ClientLeft)),
                _ => waiting.as_mut().poll(cx).map(Ok),
            })
            .await?
        };
        self.end_running();
        match waited {
            Ok(places) => {
                self.course.places = places;
                Ok(true)
            }
            Err(error) => self.refuse_here(kind, &error).await.map(|()| false),
        }
    }

    /// A command is over: if it had places under limits, others may have them.
    pub(super) fn leave_places(&mut self) {
        self.course.log = None;
        if !self.course.places.is_empty() {
            self.course.places = Vec::new();
        }
    }
}

/// Lets `delay` go by, and takes a place under each of these limits. All of them together may take as long as `longest`.
async fn places(delay: Duration, limits: &[&Limit], longest: Duration) -> Result<Vec<Place>, ClientError> {
    if !delay.is_zero() {
        sleep(delay).await;
    }
    let deadline = Instant::now() + longest;
    let mut places = Vec::with_capacity(limits.len());
    for limit in limits {
        places.push(limit.enter(deadline).await?);
    }
    Ok(places)
}

//! Statements that have to wait before they are sent: because of a delay, or because of a limit of
//! their user or of a rule.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wire::command::Kind;

use super::cx::{Cx, watched};
use super::entry::BookEntry;
use super::facts::orders::while_wanted;
use super::facts::places::runs;
use super::facts::sharing::take_back;
use super::facts::shown::show_waiting;
use super::leg::Leg;
use super::phase::Phase;
use super::trace::Part;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::limit::{Limit, Place};
use crate::limited::enter;
use crate::routing::Orders;

impl Cx<'_> {
    /// Waits until the command in the backlog may be sent. If it may not be, it is answered with
    /// the reason.
    pub(super) async fn wait(&mut self, kind: Kind) -> Result<Phase, Ending> {
        let decided = self.leg.flight.as_mut().and_then(|flight| flight.decided.take());
        let orders = decided.as_ref().and_then(|decided| decided.orders.as_deref());
        self.lend_command();
        let places = {
            let work = pin!(self.leg.wait_for_turn(self.entry, kind, orders));
            watched(&self.entry.control, &mut self.io.client, work).await
        };
        self.take_command_back();
        match places? {
            Ok(places) => {
                let flight = self.leg.flight.begin();
                (flight.places, flight.decided) = (Some(places.into()), decided);
                Ok(Phase::SettingUp(kind))
            }
            Err(error) => {
                self.refuse_here(kind, &error).await?;
                Ok(self.next_phase())
            }
        }
    }
}

impl Leg {
    /// Waits for its delay, and for the places that it gets.
    async fn wait_for_turn(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        orders: Option<&Orders>,
    ) -> Result<Result<Vec<Place>, ClientError>, Ending> {
        if !runs(kind) {
            return Ok(Ok(Vec::new()));
        }
        let settings = entry.worker.settings();
        let ordered = orders.and_then(|orders| orders.verdict.delay).unwrap_or_default();
        let delay = settings.variables.default_query_delay.saturating_add(ordered);
        let of_rules = orders.map(|orders| settings.limits.of(&orders.verdict)).unwrap_or_default();
        let user = std::sync::Arc::clone(&self.state.identity.account.user);
        // The limit of the user first, then those of rules in their order: so no session waits for
        // another session that waits for it.
        let limits: Vec<&Limit> = user.limit.iter().chain(of_rules).collect();
        if delay.is_zero() && limits.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        self.release_to_wait(entry);
        let command = self.flight.command(self.state.identity.capabilities);
        show_waiting(entry, &self.state, &self.flight, command);
        entry.control.delayed.set(true);
        let longest = settings.variables.connect_timeout_server_max;
        let begun = Instant::now();
        let waited = {
            let waiting = pin!(places(delay, &limits, longest));
            while_wanted(&entry.control, self.state.identity.capabilities, waiting).await?
        };
        entry.control.delayed.set(false);
        self.state.trace(|trace| trace.add(Part::Queue, begun.elapsed()));
        entry.end_running(&self.links);
        take_back(entry, &mut self.state, &mut self.links);
        Ok(waited.unwrap_or_else(|| Err(ClientError::Interrupted)))
    }
}

/// Lets `delay` go by, however long it is, and takes a place under each of these limits, in their
/// order. To wait for the places may take as long as `longest`, all of them together; if it takes
/// longer, the error says for which limit.
async fn places(delay: Duration, limits: &[&Limit], longest: Duration) -> Result<Vec<Place>, ClientError> {
    if !delay.is_zero() {
        sleep(delay).await;
    }
    let deadline = Instant::now() + longest;
    let mut places = Vec::with_capacity(limits.len());
    for limit in limits {
        places.push(enter(limit, deadline).await?);
    }
    Ok(places)
}

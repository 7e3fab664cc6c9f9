//! The turn of a statement: its delay goes by, and it gets places under the limits of its user and
//! of rules.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use legs::client::watched;
use legs::entry::BookEntry;
use legs::facts::orders::while_wanted;
use legs::facts::places::runs;
use legs::facts::sharing::take_back;
use legs::facts::shown::show_waiting;
use legs::leg::Leg;
use legs::phase::Phase;
use legs::reply::refuse_here;
use legs::state::SessionState;
use legs::trace::Part;
use runtime::limited::enter;
use runtime::routing::Orders;
use runtime::snapshot::Settings;
use runtime::worker::Worker;
use session::users::User;
use tokio::time::{Instant, sleep};
use wire::command::Kind;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::limit::{Limit, Place};
use crate::session::cx::Cx;

/// What a statement waits for before it is sent.
struct Wait<'a> {
    delay: Duration,
    of_user: Option<&'a Limit>,
    of_rules: Vec<&'a Limit>,
}

impl<'a> Wait<'a> {
    /// What one of such a client waits for, about which rules have said this.
    fn of(settings: &'a Settings, user: &'a User, orders: Option<&Orders>) -> Self {
        let ordered = orders.and_then(|orders| orders.verdict.delay).unwrap_or_default();
        Self {
            delay: settings.variables.default_query_delay.saturating_add(ordered),
            of_user: user.limit.as_ref(),
            of_rules: orders.map(|orders| settings.limits.of(&orders.verdict)).unwrap_or_default(),
        }
    }

    fn is_nothing(&self) -> bool {
        self.delay.is_zero() && self.of_user.is_none() && self.of_rules.is_empty()
    }

    /// Lets the delay go by, however long it is, and takes a place under each limit. To wait for
    /// the places may take as long as `longest`, all of them together; if it takes longer, the
    /// error says for which limit.
    async fn places(&self, longest: Duration) -> Result<Vec<Place>, ClientError> {
        if !self.delay.is_zero() {
            sleep(self.delay).await;
        }
        let deadline = Instant::now() + longest;
        let mut places = Vec::with_capacity(self.of_rules.len() + 1);
        // The limit of the user first, then those of rules in their order: so no session waits for
        // another session that waits for it.
        for limit in self.of_user.iter().chain(&self.of_rules) {
            places.push(enter(limit, deadline).await?);
        }
        Ok(places)
    }
}

/// Whether such a command, about which rules have said this, waits before it is sent.
pub(crate) fn is_due(worker: &Worker, state: &SessionState, kind: Kind, orders: Option<&Orders>) -> bool {
    runs(kind) && !Wait::of(&worker.settings(), &state.identity.account.user, orders).is_nothing()
}

impl Cx<'_> {
    /// Waits until the command in the backlog may be sent. If it may not be, it is answered with
    /// the reason.
    pub(crate) async fn wait(&mut self, kind: Kind) -> Result<Phase, Ending> {
        let decided = self.leg.flight.as_mut().and_then(|flight| flight.decided.take());
        let orders = decided.as_ref().and_then(|decided| decided.orders.as_deref());
        self.lend_command();
        let places = {
            let work = pin!(wait_for_turn(self.entry, self.leg, orders));
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
                refuse_here(self.entry, self.io, self.leg, kind, &error).await?;
                Ok(self.next_phase())
            }
        }
    }
}

/// Waits for its delay, and for the places that it gets.
async fn wait_for_turn(
    entry: &BookEntry,
    leg: &mut Leg,
    orders: Option<&Orders>,
) -> Result<Result<Vec<Place>, ClientError>, Ending> {
    let (settings, user) = (entry.worker.settings(), Arc::clone(&leg.state.identity.account.user));
    let wait = Wait::of(&settings, &user, orders);
    leg.release_to_wait(entry);
    show_waiting(entry, leg);
    entry.control.delayed.set(true);
    let longest = settings.variables.connect_timeout_server_max;
    let begun = Instant::now();
    let waited = {
        let waiting = pin!(wait.places(longest));
        while_wanted(&entry.control, leg.state.identity.capabilities, waiting).await?
    };
    entry.control.delayed.set(false);
    leg.state.trace(|trace| trace.add(Part::Queue, begun.elapsed()));
    entry.end_running(&leg.links);
    take_back(entry, leg);
    Ok(waited.unwrap_or_else(|| Err(ClientError::Interrupted)))
}

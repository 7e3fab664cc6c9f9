//! A connection that fits a command: it is reached, and has what the command needs in front of it.

use runtime::decided::Decided;
use runtime::limits::{BEHIND_SETUP_MAX, INTERNAL_LOST_MAX};
use upstream::{AcquireError, Ahead, Full};
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::facts::asking::NoReply;
use crate::facts::causal::must_see;
use crate::facts::executions::rewrite;
use crate::facts::sharing::makes_way_for_new;
use crate::flight::Flight;
use crate::io::Io;
use crate::last;
use crate::leg::Leg;
use crate::prepare::prepare_before;
use crate::state::SessionState;
use crate::stop::Stop;

impl Leg {
    /// Sets a connection up for the command.
    pub async fn make_fit(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        self.flight.begin().wants_new =
            decided.wants_new() && makes_way_for_new(entry, self, decided.hostgroup());
        // Boxed: most must see nothing.
        let (reached, has_seen) = match must_see(&entry.worker, self, kind, decided) {
            Some(fresh) => (Box::pin(self.reach_seeing(entry, fresh, decided)).await, true),
            None => (self.reach(entry, decided).await, false),
        };
        let asks_ahead = match reached {
            // The connection in use may have been exchanged for one that has proven nothing.
            Ok(()) if has_seen || must_see(&entry.worker, self, kind, decided).is_some() => {
                Box::pin(self.see_awaited(entry, kind, decided)).await
            }
            reached => reached.map(|()| false),
        };
        let flight = self.flight.begin();
        (flight.ahead, flight.wants_new) = (Ahead::Nothing, false);
        let asks_ahead = asks_ahead?;
        last::bring_id(entry, self, decided).await?;
        let kept = &entry.worker.upstream.kept;
        let due = |command| self.links.due_before(kept, &self.state, command, decided);
        if let Some(due) = self.command().map(due).filter(|due| !due.is_empty()) {
            let prepared = Box::pin(prepare_before(entry, self, due)).await;
            prepared.map_err(|why| self.set_up_failed(why, decided))?;
        }
        check_connected(self, decided)?;
        if last::tell(entry, self, kind, decided).await? {
            check_connected(self, decided)?;
        }
        self.bring_statement(entry, decided).await?;
        if asks_ahead {
            // Boxed: most must see nothing.
            Box::pin(self.ask_ahead(entry, kind, decided)).await?;
        }
        Ok(())
    }

    /// Gets to where the command in the backlog was decided to go. A read that the split sends to a
    /// reader does without it: if there is none, or it lacks what the session needs, the writer
    /// does it; so it is for a listener that falls back.
    pub(crate) async fn reach(&mut self, entry: &BookEntry, decided: &mut Decided) -> Result<(), Stop> {
        // Boxed, as the other ways are: mostly there is a server.
        if self.state.begins_later() {
            return Box::pin(self.reach_with_begin(entry, decided)).await;
        }
        let hostgroup = decided.hostgroup();
        let full = self.state.full(hostgroup, Some(decided));
        let why = match self.go_to(entry, hostgroup, full).await {
            Err(Stop::Unreached(why)) => why,
            reached => return reached,
        };
        Box::pin(self.reach_instead(entry, why, decided)).await
    }

    /// Goes on with a command that has found no server where it was to go, because of `why`.
    async fn reach_instead(
        &mut self,
        entry: &BookEntry,
        why: AcquireError,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let instead = self.state.instead_of(decided.hostgroup(), decided.is_split());
        let is_lack = match &why {
            AcquireError::Proxy(error) => error.is_lack_of_server(),
            AcquireError::Server(_) => true,
        };
        let is_about_schema = why.is_about_schema() && self.state.may_leave_schema();
        if is_lack && instead.is_none() && decided.may_need_no_writer() && !is_about_schema {
            return self.reach_without_writer(entry, why, decided).await;
        }
        // Without a schema it is done where it was to be done, if nowhere else.
        let here = is_about_schema.then(|| decided.hostgroup());
        let Some(writer) = instead.filter(|_| is_lack).or(here) else {
            return Err(self.unreached(why.into(), decided));
        };
        self.leave_to(entry, writer, decided).await
    }

    /// The connection could not be set up for the command: it is carried out elsewhere, or refused.
    pub(crate) fn set_up_failed(&mut self, why: NoReply, decided: &mut Decided) -> Stop {
        match why {
            NoReply::Over(ending) => Stop::Over(ending),
            NoReply::Lost(_) if self.flight.tries_again(decided) => Stop::Elsewhere,
            NoReply::Lost(error) => Stop::Failed(error),
        }
    }
}

impl Io {
    /// Does what rules want done with the command in the backlog: its text is replaced, and the
    /// next command meets other rules.
    pub fn obey_orders(&mut self, state: &mut SessionState, decided: &mut Decided) {
        let Some(orders) = &mut decided.orders else { return };
        if let Some(flag) = orders.verdict.next_query_flag_in {
            state.flag_in = flag;
        }
        if let Some(text) = orders.text.take() {
            rewrite(&mut self.backlog, state.identity.capabilities, &text);
        }
    }

    /// What may be said in front of the command in the backlog without waiting for an answer.
    pub fn ahead(&self, state: &SessionState, kind: Kind, decided: &Decided) -> Ahead {
        let is_simple = matches!(kind, Kind::Query | Kind::StmtPrepare | Kind::StmtExecute);
        let is_short = self.backlog.len() <= BEHIND_SETUP_MAX && self.whole_front().is_some();
        match (is_simple && is_short && state.trace.is_none(), decided.is_plain_read()) {
            (false, _) => Ahead::Nothing,
            (true, false) => Ahead::Settings,
            (true, true) => Ahead::All,
        }
    }
}

impl Flight {
    /// Whether the command in the backlog, which was not sent, is brought to another connection
    /// because an internal query has lost the one in use.
    pub fn tries_again(&mut self, decided: &mut Decided) -> bool {
        let is_lost = std::mem::take(&mut self.begin().internal_lost);
        let tries = is_lost && decided.lost < INTERNAL_LOST_MAX;
        decided.lost += u8::from(tries);
        tries
    }
}

impl SessionState {
    /// Whether the search for a server of this hostgroup waits for servers that do not work: not if
    /// another hostgroup may do in its place.
    pub fn full(&self, hostgroup: u32, decided: Option<&Decided>) -> Full {
        let is_split = decided.is_some_and(Decided::is_split);
        let has_instead = self.instead_of(hostgroup, is_split).is_some()
            || decided.is_some_and(Decided::may_need_no_writer);
        if has_instead { Full::Elsewhere } else { Full::TryAgain }
    }
}

/// What was asked for the command in the backlog may have lost the connection. With nothing
/// else lost the command goes elsewhere.
fn check_connected(leg: &mut Leg, decided: &mut Decided) -> Result<(), Stop> {
    if leg.links.in_use.is_some() {
        return Ok(());
    }
    if let Some(error) = leg.state.transaction.rolled_back.take() {
        return Err(leg.set_up_failed(NoReply::Lost(error), decided));
    }
    leg.flight.tries_again(decided);
    Err(Stop::Elsewhere)
}

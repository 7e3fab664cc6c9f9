//! Statements over tables that are split over servers.
//!
//! A session has one [leg](super::leg::Leg) at home, and one for each shard's hostgroup that its
//! statements have used. They run commands by the same functions: each leg has its own connections,
//! splits reads from writes at its shard, and outlives its servers. Those of one statement run at
//! the same time, for clients that are not there. A statement that names no sharded table runs at
//! home as if there were no shards.
//!
//! - [`inner`]: legs at shards, and having one run a command;
//! - [`plan`](mod@plan): where a statement goes, [`way`]: and what is done with it;
//!   [`definitions`]: learning what its tables are, [`stored`]: and what is behind its names;
//! - [`defining`]: definitions of tables of several nodes; [`naming`]: what texts name;
//! - [`command`]: what shards get; [`one`]: statements for one shard, [`straight`]: those that come
//!   again, [`many`]: for several shards ([`scattered`], [`runners`], [`relaying`],
//!   [`moment`], [`gated`]), [`limited`]: changes of their first rows, [`load`]: files;
//! - [`prepared`]: prepared statements, [`execute`]: commands about them, [`values`]: their values;
//! - [`explain`]: where a statement goes, written down; [`fields`]: `COM_FIELD_LIST`;
//!   [`warnings`]: what `SHOW WARNINGS` tells of several shards;
//!   [`ids`]: ids of sequences, [`last_id`]: what `LAST_INSERT_ID()` is;
//! - [`transaction`]: transactions that reach shards, [`savepoints`]: those within them,
//!   [`lost`]: those that end unasked, [`autocommit`]: what does not end them;
//! - [`done`]: what has come of a command; [`role`]: what a session has at shards, [`facts`]: what
//!   statements need to know of it.

mod autocommit;
mod command;
mod defining;
mod definitions;
mod done;
mod execute;
mod explain;
mod facts;
mod fields;
mod gated;
mod ids;
mod inner;
mod last_id;
mod limited;
mod load;
mod lost;
mod many;
mod moment;
mod naming;
mod one;
mod plan;
mod prepared;
mod relaying;
pub(super) mod role;
mod runners;
mod savepoints;
pub(crate) mod scattered;
mod stored;
mod straight;
mod transaction;
mod values;
mod warnings;
mod way;

use std::sync::Arc;

use planner::seen::Names;
use wire::command::Kind;

use super::cx::Cx;
use super::leg::Leg;
use super::phase::Phase;
use super::state::{Past, SessionState};
use crate::ending::Ending;
use crate::error::ClientError;

use super::entry::BookEntry;
use super::facts::replies::write_to_client;
use super::facts::shown::begin_own;
use super::links::Links;
use super::shards::facts::{may_write, note_written_at_home};
use super::shards::transaction::roll_back_at_shards;
use crate::worker::Worker;
use ::command::is_about_transactions;
use command::Command;
pub(crate) use defining::error_text;
use done::Done;
use inner::Inner;
use lost::was_rolled_back;
pub(crate) use naming::shard_hint;
use prepared::names_one;
use role::{Place, Role};
use scattered::Scattered;
use transaction::is_about_transaction;
use way::Way;

impl Cx<'_> {
    /// Finds out where the command in the backlog goes, and has it run there.
    pub(super) async fn at_shards(&mut self, kind: Kind) -> Result<Phase, Ending> {
        self.entry.control.set_busy();
        if !self.entry.worker.has_shards() && !self.leg.links.away.role.has_transaction() {
            // There are no sharded tables any more.
            leave_shards(self.entry, &self.leg.state, &mut self.leg.links).await?;
            return Ok(Phase::Reading);
        }
        if self.leg.state.past.replace(Past::ROLLED_BACK, false) {
            // Home was rolled back. What is open there now came behind that.
            roll_back_at_shards(self.entry, &self.leg.state, &mut self.leg.links).await?;
        }
        if is_about_transactions(kind) {
            self.leg.heed_lost_shards(self.entry).await?;
            if self.leg.state.transaction.rolled_back.is_some() {
                // The client is told so: it has lost what it did at shards, too.
                roll_back_at_shards(self.entry, &self.leg.state, &mut self.leg.links).await?;
                if matches!(kind, Kind::ResetConnection | Kind::ChangeUser) {
                    leave_shards(self.entry, &self.leg.state, &mut self.leg.links).await?;
                }
                return Ok(self.leg.links.stay_home(kind));
            }
        }
        if matches!(kind, Kind::Query | Kind::StmtPrepare) {
            self.complete_front().await?;
        }
        if self.leg.is_ours(self.entry, self.io.command(self.leg.state.identity.capabilities)) {
            return Ok(self.leg.links.stay_home(kind));
        }
        let done = match kind {
            Kind::Query => self.query_at_shards().await,
            Kind::StmtPrepare => {
                let text = self.io.whole_front().and_then(|payload| payload.get(1..)).map(<[u8]>::to_vec);
                self.leg.prepare_at_shards(self.entry, text).await
            }
            Kind::FieldList => {
                self.complete_front().await?;
                let payload = self.io.whole_front().map(<[u8]>::to_vec).unwrap_or_default();
                self.leg.list_fields(self.entry, &payload).await
            }
            kind if names_one(kind) => self.statement_at_shards(kind).await,
            Kind::ResetConnection | Kind::ChangeUser | Kind::Quit => {
                leave_shards(self.entry, &self.leg.state, &mut self.leg.links).await?;
                Ok(Done::Home)
            }
            _ => Ok(Done::Home),
        }?;
        let phase = self.follow_up_at_shards(kind, done).await?;
        if self.leg.state.past.replace(Past::ROLLED_BACK, false) {
            self.leg.roll_back_everywhere(self.entry).await?;
            self.leg.state.transaction.rolled_back = None;
        }
        Ok(phase)
    }

    /// Tells the client what has come of the command in the backlog, unless it has heard that.
    async fn follow_up_at_shards(&mut self, kind: Kind, done: Done) -> Result<Phase, Ending> {
        match done {
            Done::Home => return Ok(self.leg.links.stay_home(kind)),
            Done::Outdated => return Ok(Phase::Sharded(kind)),
            Done::Over => {}
            Done::Skipped => drop(self.skip_command().await?),
            Done::Refused(error) => {
                self.leg.links.away.role.shards().last = Place::Home;
                // Of a transaction that was lost at a question about the statement, the client
                // hears first.
                let lost = self.leg.state.transaction.rolled_back.take();
                self.refuse_here(kind, lost.as_deref().unwrap_or(&error)).await?;
            }
            Done::Answered(payload) => self.answer_here(kind, &payload).await?,
            Done::Told(packets) => {
                begin_own(self.entry, self.io, &mut self.leg.state, &mut self.leg.flight, kind);
                self.skip_command().await?;
                write_to_client(self.entry, self.io, &mut self.leg.state, &packets).await?;
                self.entry.answered_here(&self.leg.links, 0);
            }
        }
        Ok(Phase::Over)
    }

    async fn query_at_shards(&mut self) -> Result<Done, Ending> {
        let command =
            self.io.command(self.leg.state.identity.capabilities).filter(::command::Command::is_whole);
        let Some((payload, text)) = command.map(|all| (all.payload().to_vec(), all.text().to_vec())) else {
            return Ok(Done::Refused(too_long()));
        };
        let what = self.entry.worker.routing.borrow_mut().look(&text, self.leg.state.reading());
        if is_about_transaction(what) {
            return self.leg.change_transaction(self.entry, what, &text).await;
        }
        self.run_command(Command::query(payload, text, what)).await
    }

    /// Runs a command, which the backlog begins with, where its statement goes. It is planned again
    /// if its tables are defined in between.
    async fn run_command(&mut self, mut command: Command) -> Result<Done, Ending> {
        loop {
            match self.run_planned(&mut command).await? {
                Done::Outdated => {}
                done => return Ok(done),
            }
        }
    }

    async fn run_planned(&mut self, command: &mut Command) -> Result<Done, Ending> {
        if self.leg.leave_old_layout(self.entry).await? {
            // There the client hears that its transaction is over.
            return Ok(Done::Home);
        }
        let way = self.leg.way_of(self.entry, command).await?;
        if way.enters_shards() {
            // They do not come into a transaction that an error has ended at home.
            was_rolled_back(self.entry, self.leg).await?;
            if self.leg.state.transaction.rolled_back.is_some() {
                return Ok(Done::Home);
            }
        }
        match way {
            Way::Home => self.leg.run_at_home(self.entry, command).await,
            Way::At(place) => self.run_where(place, command).await,
            Way::One { branch, is_single }
                if branch.text.is_none()
                    && !command.defines()
                    && self.entry.worker.names_at(branch.hostgroup).is_empty() =>
            {
                self.run_one(command, &branch, is_single).await
            }
            Way::One { branch, is_single } => {
                command.close_cursor();
                let one = Scattered { is_single, ..vec![branch].into() };
                self.run_many(command, one).await
            }
            Way::Many(scattered) => {
                command.close_cursor();
                self.run_many(command, *scattered).await
            }
            Way::Limited(limited, tables) => {
                command.close_cursor();
                self.run_limited(command, &limited, tables).await
            }
            Way::Load(load, tables) => self.run_load(command, &load, tables).await,
            Way::NeedsIds(_) => {
                let error = ClientError::not_sharded("a statement", "it needs ids again");
                Ok(Done::Refused(error))
            }
            Way::Refused(error) => Ok(Done::Refused(error)),
        }
    }
}

impl Leg {
    /// The command in the backlog runs at home: what shards and the next statements are to know of
    /// it.
    async fn run_at_home(&mut self, entry: &BookEntry, command: &Command) -> Result<Done, Ending> {
        if command.needs_last_id() {
            self.learn_last_id(entry).await?;
        }
        if let Some(error) = self.leave_transaction(entry, command).await? {
            return Ok(Done::Answered(error));
        }
        if command.writes() {
            if let Err(error) = may_write(&entry.worker, &self.state, &mut self.links, Place::Home) {
                return Ok(Done::Refused(error));
            }
            note_written_at_home(&self.state, &mut self.links);
        }
        Ok(Done::Home)
    }
}

/// Ends what the session has at shards.
async fn leave_shards(entry: &BookEntry, state: &SessionState, links: &mut Links) -> Result<(), Ending> {
    if links.away.role.0.is_some() {
        roll_back_at_shards(entry, state, links).await?;
    }
    links.away.role = Role::default();
    Ok(())
}

impl Links {
    /// The command in the backlog runs in the outer session.
    fn stay_home(&mut self, kind: Kind) -> Phase {
        let shards = self.away.role.shards();
        (shards.stays_home, shards.last) = (true, shards.last.behind(kind));
        Phase::Reading
    }
}

impl Worker {
    /// What the physical names at a hostgroup are to clients.
    fn names_at(&self, hostgroup: u32) -> Arc<Names> {
        let settings = self.settings();
        let names = |layout| self.shards.names(layout, hostgroup);
        settings.shards.as_deref().map(names).unwrap_or_default()
    }
}

/// The refusal of a command that is too long to be looked at.
fn too_long() -> ClientError {
    ClientError::not_sharded("a statement", "it is longer than one packet (16 MB)")
}

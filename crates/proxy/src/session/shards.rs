//! Statements over tables that are split over servers.
//!
//! Beside the session of the client, the *outer* session, there is one *inner* session for each
//! shard's hostgroup that its statements have used. An inner session is a session like any other:
//! it has its own connections, splits reads from writes at its shard, and outlives its servers. Its
//! client is the outer session. A statement that names no sharded table runs in the outer session
//! as if there were no shards: that is its home.
//!
//! - [`inner`]: inner sessions, and having one run a command;
//! - [`plan`](mod@plan): where a statement goes; [`definitions`]: learning what its tables are,
//!   [`stored`]: and what is behind its names, [`rows`]: reading replies for that;
//! - [`defining`]: definitions of tables of several nodes; [`naming`]: what texts name;
//! - [`command`]: what shards get; [`one`]: statements for one shard, [`straight`]: those that come
//!   again, [`many`]: for several shards ([`scattered`], [`runners`], [`relaying`],
//!   [`moment`], [`gated`]), [`limited`]: changes of their first rows, [`load`]: files;
//! - [`prepared`]: prepared statements, [`execute`]: commands about them, [`values`]: their values;
//! - [`explain`]: where a statement goes, written down; [`fields`]: `COM_FIELD_LIST`;
//!   [`warnings`]: what `SHOW WARNINGS` tells of several shards;
//!   [`ids`]: ids of sequences, [`last_id`]: what `LAST_INSERT_ID()` is;
//! - [`transaction`]: transactions that reach shards, [`savepoints`]: those within them,
//!   [`lost`]: those that end unasked, [`autocommit`]: what does not end them.

mod autocommit;
mod command;
mod defining;
mod definitions;
mod execute;
mod explain;
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
mod runners;
mod savepoints;
pub(crate) mod scattered;
mod stored;
mod straight;
mod transaction;
mod values;
mod warnings;

use std::rc::Rc;
use std::sync::Arc;

use planner::seen::Names;
use shard::Layout;
use wire::command::Kind;

use super::Session;
use super::lost::is_about_transactions;
use super::phase::Phase;
use super::state::Past;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::state::Settings;

use super::links::Links;
use crate::worker::Worker;
use command::Command;
pub(crate) use defining::error_text;
use inner::Inner;
pub(crate) use naming::shard_hint;
use plan::Way;
use prepared::{Statements, names_one};
use scattered::Scattered;
use transaction::{Transaction, is_about_transaction};
use warnings::Warnings;

/// The part of a session in statements over sharded tables. Most have none, and all pay for its
/// size.
#[derive(Debug, Default)]
pub(super) struct Role(Option<Box<Part>>);

#[derive(Debug)]
enum Part {
    /// A client's session. What it has at shards.
    Outer(Shards),
    /// A session at a shard, whose client is an outer session. If it has taken the place of the
    /// outer session: where that is parked, as the session of this one.
    Inner(Option<Inner>),
}

/// What an outer session has at shards.
#[derive(Debug, Default)]
pub(super) struct Shards {
    /// Those that it has used.
    inner: Vec<Inner>,
    /// How many it has made.
    made: u64,
    /// The transaction that is open.
    transaction: Transaction,
    /// What it has prepared.
    statements: Statements,
    /// Where its last statement has run.
    last: Place,
    /// The warnings of the last statement that had some at several shards.
    warnings: Box<Warnings>,
    /// The command in the backlog runs at home.
    stays_home: bool,
    /// The layout with which the open transaction has reached its first shard.
    layout: Option<Arc<Layout>>,
    /// The inner session, by its serial number, whose server knows what `LAST_INSERT_ID()` is.
    last_id: Option<u64>,
    /// How many definitions there had been when the last statement was planned.
    planned_at: u64,
    /// The version of definitions when a statement was first prepared at home.
    prepared_at: Option<u64>,
    /// Settings for inner sessions of the execution that runs, if they are not those of now.
    as_then: Option<Rc<Settings>>,
}

impl Shards {
    /// Keeps the warnings of the last statement.
    fn keep_warnings(&mut self, warnings: Warnings) {
        (*self.warnings, self.last) = (warnings, Place::Shards);
    }

    /// The next execution has the settings of now. Whether an inner session that ends knows what
    /// `LAST_INSERT_ID()` is.
    fn end_as_then(&mut self) -> bool {
        self.as_then = None;
        let last = self.last_id;
        self.inner.iter().any(|inner| inner.is_for_once && Some(inner.serial) == last)
    }

    /// Drops the inner sessions that were for one execution.
    fn forget_for_once(&mut self) {
        let gone: Vec<_> = self.inner.extract_if(.., |inner| inner.is_for_once).collect();
        self.statements.forget_sites(|serial| gone.iter().any(|inner| inner.serial == serial));
    }
}

/// Where a statement runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// In the outer session.
    #[default]
    Home,
    /// In the inner session of this hostgroup.
    Shard(u32),
    /// In several inner sessions. It has had warnings, which are kept.
    Shards,
}

impl Role {
    /// That of a session at a shard.
    fn inner() -> Self {
        Self(Some(Box::new(Part::Inner(None))))
    }

    /// Whether the session stops when it has run a command.
    pub(super) fn is_inner(&self) -> bool {
        matches!(self.0.as_deref(), Some(Part::Inner(_)))
    }

    /// Whether the next command may be about sharded tables: there are some, or the session has
    /// used some. If it was looked at, it is not.
    pub(super) fn looks(&mut self, worker: &Worker) -> bool {
        match self.0.as_deref_mut() {
            Some(Part::Outer(shards)) => !std::mem::take(&mut shards.stays_home),
            Some(Part::Inner(_)) => false,
            None => worker.has_shards(),
        }
    }

    /// The session has taken the place of an outer one, which is in `outer`.
    fn park(&mut self, outer: Inner) {
        if let Some(Part::Inner(parked)) = self.0.as_deref_mut() {
            *parked = Some(outer);
        }
    }

    /// The outer session whose place this one has, if it has one's.
    fn take_parked(&mut self) -> Option<Inner> {
        if let Some(Part::Inner(parked)) = self.0.as_deref_mut() { parked.take() } else { None }
    }

    /// What it has at shards.
    fn shards(&mut self) -> &mut Shards {
        if !matches!(self.0.as_deref(), Some(Part::Outer(_))) {
            self.0 = Some(Box::new(Part::Outer(Shards::default())));
        }
        match self.0.as_deref_mut() {
            Some(Part::Outer(shards)) => shards,
            _ => unreachable!("it was made above"),
        }
    }
}

impl Session {
    /// Finds out where the command in the backlog goes, and has it run there.
    pub(super) async fn at_shards(&mut self, kind: Kind) -> Result<Phase, Ending> {
        self.control.set_busy();
        if !self.worker.has_shards() && !self.links.away.role.has_transaction() {
            // There are no sharded tables any more.
            self.leave_shards().await?;
            return Ok(Phase::Reading);
        }
        if self.state.past.replace(Past::ROLLED_BACK, false) {
            // Home was rolled back. What is open there now came behind that.
            self.roll_back_at_shards().await?;
        }
        if is_about_transactions(kind) {
            self.heed_lost_shards().await?;
            if self.state.transaction.rolled_back.is_some() {
                // The client is told so: it has lost what it did at shards, too.
                self.roll_back_at_shards().await?;
                if matches!(kind, Kind::ResetConnection | Kind::ChangeUser) {
                    self.leave_shards().await?;
                }
                return Ok(self.links.stay_home());
            }
        }
        if matches!(kind, Kind::Query | Kind::StmtPrepare) {
            self.complete_front().await?;
        }
        if self.is_ours() {
            return Ok(self.links.stay_home());
        }
        let phase = match kind {
            Kind::Query => self.query_at_shards().await,
            Kind::StmtPrepare => self.prepare_at_shards().await,
            Kind::FieldList => self.list_fields().await,
            kind if names_one(kind) => self.statement_at_shards(kind).await,
            Kind::ResetConnection | Kind::ChangeUser | Kind::Quit => {
                self.leave_shards().await?;
                Ok(self.links.stay_home())
            }
            _ => Ok(self.links.stay_home()),
        }?;
        if self.state.past.replace(Past::ROLLED_BACK, false) {
            self.roll_back_everywhere().await?;
            self.state.transaction.rolled_back = None;
        }
        Ok(phase)
    }

    async fn query_at_shards(&mut self) -> Result<Phase, Ending> {
        let command = self.io.command(self.state.identity.capabilities).filter(::command::Command::is_whole);
        let Some((payload, text)) = command.map(|all| (all.payload().to_vec(), all.text().to_vec())) else {
            return self.refuse_long(Kind::Query).await;
        };
        let what = self.worker.routing.borrow_mut().look(&text, self.state.reading());
        if is_about_transaction(what) {
            return self.change_transaction(Kind::Query, what, &text).await;
        }
        self.run_command(Command::query(payload, text, what)).await
    }

    /// Runs a command, which the backlog begins with, where its statement goes. It is planned again
    /// if its tables are defined in between.
    async fn run_command(&mut self, mut command: Command) -> Result<Phase, Ending> {
        loop {
            match self.run_planned(&mut command).await? {
                Phase::Sharded(_) => {}
                phase => return Ok(phase),
            }
        }
    }

    async fn run_planned(&mut self, command: &mut Command) -> Result<Phase, Ending> {
        if self.leave_old_layout().await? {
            // There the client hears that its transaction is over.
            return Ok(self.links.stay_home());
        }
        match self.way_of(command).await? {
            Way::Home => self.run_at_home(command).await,
            Way::At(place) => self.run_where(place, command).await,
            Way::One { branch, is_single }
                if branch.text.is_none()
                    && !command.defines()
                    && self.worker.names_at(branch.hostgroup).is_empty() =>
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
                self.refuse_at_shards(command.kind, &error).await
            }
            Way::Refused(error) => self.refuse_at_shards(command.kind, &error).await,
        }
    }

    /// The command in the backlog runs at home: what shards and the next statements are to know of
    /// it.
    async fn run_at_home(&mut self, command: &Command) -> Result<Phase, Ending> {
        if command.needs_last_id() {
            self.learn_last_id().await?;
        }
        if let Some(error) = self.leave_transaction(command).await? {
            return self.answer_over(command.kind, &error).await;
        }
        if command.writes() {
            if let Err(error) = self.may_write(Place::Home) {
                return self.refuse_at_shards(command.kind, &error).await;
            }
            self.note_written_at_home();
        }
        Ok(self.links.stay_home())
    }

    async fn refuse_at_shards(&mut self, kind: Kind, error: &ClientError) -> Result<Phase, Ending> {
        self.links.away.role.shards().last = Place::Home;
        // Of a transaction that was lost at a question about the statement, the client hears first.
        let lost = self.state.transaction.rolled_back.take();
        self.refuse_here(kind, lost.as_deref().unwrap_or(error)).await?;
        Ok(Phase::Over)
    }

    /// Refuses the command in the backlog, which is too long to be looked at.
    async fn refuse_long(&mut self, kind: Kind) -> Result<Phase, Ending> {
        if kind == Kind::SendLongData {
            // There is no reply to it: the execution is refused.
            if let Some(id) = self.links.away.role.shards().statements.named(self.io.front())
                && let Some(statement) = self.links.away.role.shards().statements.get(id)
            {
                statement.is_cut = true;
            }
            self.skip_command().await?;
            return Ok(Phase::Over);
        }
        let error = ClientError::not_sharded("a statement", "it is longer than one packet (16 MB)");
        self.refuse_at_shards(kind, &error).await
    }

    /// Gives the client a reply of an inner session to the command in the backlog.
    async fn give_reply(&mut self, kind: Kind, reply: &[u8]) -> Result<Phase, Ending> {
        self.begin_own(kind);
        self.skip_command().await?;
        self.write_to_client(reply).await?;
        self.answered_here(0);
        Ok(Phase::Over)
    }

    /// Ends what the session has at shards.
    async fn leave_shards(&mut self) -> Result<(), Ending> {
        if self.links.away.role.0.is_some() {
            self.roll_back_at_shards().await?;
        }
        self.links.away.role = Role::default();
        Ok(())
    }
}

impl Links {
    /// The command in the backlog runs in the outer session.
    fn stay_home(&mut self) -> Phase {
        let shards = self.away.role.shards();
        (shards.stays_home, shards.last) = (true, Place::Home);
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

//! What was decided about a command.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use command::Patch;
use route::{Answer, Multiplex, Route, StatementPlan, Target, Verdict};
use session::change::Change;
use session::unanswered::NOT_HARMLESS;
use session::unjudged::Unseen;
use sql::StatementKind;
use sql::shape::Effects;

use crate::error::ClientError;
use crate::prepared::Preparing;
use crate::routing::{Orders, Screened};

/// What was decided about a command. It is moved a few times for each: what is rare is boxed.
#[derive(Debug, Clone)]
pub struct Decided {
    /// Where it goes.
    pub route: Route<Box<Reply>>,
    /// What follows from its shape.
    pub plan: StatementPlan,
    /// The hash of its digest; there is none of 0.
    pub digest: Option<NonZeroU64>,
    /// What rules and hints say of it.
    pub orders: Option<Box<Orders>>,
    /// What of it the firewall judges, and what it says.
    pub screened: Screened,
    /// What it changes if it succeeds.
    pub change: Option<Box<Change>>,
    /// What is to be done for it next.
    pub next: Next,
    /// It was counted as a command of the client.
    pub is_counted: bool,
    /// A rule has rewritten its text: its digest is that of another one.
    pub is_rewritten: bool,
    /// How often a connection was lost before it could be sent.
    pub lost: u8,
    /// What the backend in use gets otherwise than it is in the backlog.
    pub patch: Option<Patch>,
}

/// What is to be done next for a command, before a connection is set up for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// To commit the open transaction: the statement begins another one.
    Commit,
    /// To wait for its delay, and for places under limits.
    Turn,
    /// To get a connection, and to set that up.
    SetUp,
}

impl Decided {
    /// It belongs to this application, whatever a hint says.
    pub fn name_application(&mut self, name: &str) {
        let orders = self.orders.get_or_insert_with(|| Box::new(Orders::of(Verdict::default())));
        orders.verdict.causal_scope = Some(name.into());
    }

    /// All that rules and hints say, if that is not nothing.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.orders.as_ref().map(|orders| &orders.verdict)
    }

    /// How long it may run, and how often it may be sent again, if a rule or a hint says so.
    pub fn limits(&self) -> (Option<Duration>, Option<u32>) {
        let Some(verdict) = self.verdict() else { return (None, None) };
        (verdict.timeout.filter(|timeout| !timeout.is_zero()), verdict.retries)
    }

    /// A command that goes to this hostgroup and changes nothing.
    pub const fn plainly_to(hostgroup: u32) -> Self {
        Self {
            route: Route::to(hostgroup),
            plan: StatementPlan::COMMAND,
            digest: None,
            orders: None,
            screened: Screened::PASSED,
            change: None,
            next: Next::Turn,
            is_counted: false,
            is_rewritten: false,
            lost: 0,
            patch: None,
        }
    }

    /// The same for a command that was sent before, and goes on.
    #[must_use]
    pub const fn after_its_turn(mut self) -> Self {
        self.next = Next::SetUp;
        self
    }

    /// The hostgroup whose reply the client gets; nothing if the proxy answers itself.
    pub fn target(&self) -> Option<u32> {
        self.route.target().map(|target| target.hostgroup)
    }

    /// The same of a command that goes to a server.
    pub fn hostgroup(&self) -> u32 {
        debug_assert!(self.target().is_some(), "a command that the proxy answers has no hostgroup");
        self.target().unwrap_or_default()
    }

    /// Whether the query cache may answer it.
    pub const fn is_cached(&self) -> bool {
        matches!(self.route, Route::Cached(_))
    }

    /// The same for a command whose reply is no answer to a query.
    #[must_use]
    pub fn never_cached(mut self) -> Self {
        if let Route::Cached(target) = self.route {
            self.route = Route::One(target);
        }
        if let Some(orders) = &mut self.orders {
            orders.cached = None;
        }
        self
    }

    /// Whether it goes there because of the split.
    pub fn is_split(&self) -> bool {
        self.route.target().is_some_and(|target| target.is_split)
    }

    /// It goes to another hostgroup, without the split. Its copies stay as they are.
    pub fn redirect(&mut self, hostgroup: u32) {
        match &mut self.route {
            Route::Many(branches) => branches.target = Target { hostgroup, is_split: false },
            route => *route = Route::to(hostgroup),
        }
    }

    /// The server gets this text in the place of the client's.
    pub fn rewrite(&mut self, text: Vec<u8>) {
        self.orders.get_or_insert_with(|| Box::new(Orders::of(Verdict::default()))).text = Some(text);
        self.is_rewritten = true;
    }

    /// The proxy answers it with this error.
    pub fn refuse(&mut self, error: ClientError) {
        self.route = Route::Local(Box::new(Reply::Error(error)));
    }

    /// The hash of its digest.
    pub fn digest(&self) -> Option<u64> {
        self.digest.map(NonZeroU64::get)
    }

    /// Whether a rule has `multiplex = 2`: effects that the proxy cannot see leave nothing behind.
    pub fn is_believed(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.multiplex == Some(Multiplex::NotByThis))
    }

    /// What a rule says about logging it.
    pub fn log(&self) -> Option<bool> {
        self.verdict().and_then(|verdict| verdict.log)
    }

    /// Whether a hint wants a connection for it that no session has had.
    pub fn wants_new(&self) -> bool {
        self.verdict().is_some_and(|verdict| verdict.create_new_connection)
    }

    /// What may be behind its tables, if that is not nothing.
    pub fn unseen(&self) -> Option<&Unseen> {
        self.change.as_ref()?.unseen.as_ref()
    }

    /// Whether it asks about the statement before in words that may be put in other words.
    pub fn asks_for_last(&self) -> bool {
        self.plan.effects.intersects(Effects::READS_LAST)
    }

    /// Whether what is known here alone may be written into its text.
    pub fn may_be_told(&self) -> bool {
        self.asks_for_last() || self.may_have_tables()
    }

    /// Whether it is not certain that it has tables, or that it has none.
    pub fn may_have_tables(&self) -> bool {
        let is_by_name =
            matches!(self.plan.statement(), Some(StatementKind::Prepare | StatementKind::Execute));
        is_by_name || self.plan.effects.intersects(Effects::FUNCTION.union(Effects::UNKNOWN))
    }

    /// Whether it is one statement that reads, and leaves nothing behind.
    pub fn is_plain_read(&self) -> bool {
        let reads = matches!(self.plan.statement(), Some(StatementKind::Select | StatementKind::Show));
        reads && !self.plan.several && !self.plan.effects.intersects(NOT_HARMLESS)
    }

    /// The same for a statement that was prepared as this.
    #[must_use]
    pub fn prepared_as(mut self, what: &Preparing) -> Self {
        (self.digest, self.plan) = (what.digest.and_then(NonZeroU64::new), what.plan);
        self.is_rewritten = what.is_rewritten;
        self
    }

    /// The same with what is to be done with `other`.
    #[must_use]
    pub fn with_orders_of(self, other: &mut Self) -> Self {
        let is_rewritten = self.is_rewritten || other.is_rewritten;
        Self { digest: other.digest, next: other.next, orders: other.orders.take(), is_rewritten, ..self }
    }
}

/// What a statement is answered with that goes to no server.
#[derive(Debug, Clone)]
pub enum Reply {
    /// OK and this text.
    Ok(Arc<str>),
    /// An error.
    Error(ClientError),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Ok(text) => Self::Ok(text),
            Answer::Error(text) => Self::Error(ClientError::ByRule(text)),
            Answer::Locked { locked_on, hostgroup } => {
                Self::Error(ClientError::Locked { locked_on, hostgroup })
            }
        }
    }
}

impl Decided {
    /// Whether the command may be one that needs no writer. This is a quick look.
    pub fn may_need_no_writer(&self) -> bool {
        match self.plan.statement() {
            // Commands that are no statements.
            None => true,
            Some(
                StatementKind::Set
                | StatementKind::Use
                | StatementKind::Select
                | StatementKind::Show
                | StatementKind::Begin
                | StatementKind::StartTransaction
                | StatementKind::StartReadOnly
                | StatementKind::Commit
                | StatementKind::Rollback,
            ) => self.is_split() && !self.plan.several,
            Some(_) => false,
        }
    }
}

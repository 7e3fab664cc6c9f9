//! Where a session's statements go: its connections to servers, what it has set and left there,
//! what it has prepared.
//!
//! A session has at most one connection in each hostgroup. The one in use is the session's
//! `backend`; the others wait here ([`others`](SessionState::others)). What the client sets is said
//! again at a server that does not know it yet ([`Settings`]); what cannot be said again keeps the
//! session where it is.
//!
//! - [`change`](mod@change): what a statement changes for those behind it; [`settle`]: whether it
//!   has;
//! - [`prepared`]: prepared statements; [`said`]: settings as commands.

pub(super) mod change;
pub(super) mod prepared;
mod said;
pub(super) mod settle;
pub(super) mod unjudged;

use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;

use observe::digests::Who;
use pool::ShelfTicket;
use route::{Account, Caller, Destination, StatementPlan, Why};
use sql::shape::Effects;
use sql::{Condition, StatementKind};
use tokio::time::Instant;
use wire::StatusFlags;

use crate::alike::Beginning;
use crate::backend::{Ahead, Asker, Backend, Candidate, Execution, Left, Passport};
use crate::client::login::Identity;
use crate::error::ClientError;
use crate::routing::{Judged, Reading};
use crate::state::gtids::Gtids;
use crate::state::overheard::Overheard;
use crate::state::substitute::Counted;
use crate::state::{Mark, Pin, Pins, Results, Setting, Settings};

use super::decided::{Decided, Next, Reply};
use super::kept_error::Errors;
use super::ran::Ran;
use super::trace::Trace;
use change::{At, Change};
use prepared::Registry;
pub(super) use said::Said;
use unjudged::{Calls, Unjudged, is_of_code};

/// Character sets of which the second byte of a character may be a quote or a backslash.
const TWO_BYTE_QUOTES: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

/// Their collations.
const TWO_BYTE_QUOTE_COLLATIONS: [u16; 11] = [1, 13, 28, 84, 87, 88, 95, 96, 248, 249, 250];

/// MariaDB's collations without padding have the number of the one with padding, and this more.
const NOPAD: u16 = 1024;

/// What a `SET` may do that is not understood.
const SETS_LAST_ID: Effects = Effects::LAST_INSERT_ID.union(Effects::SETS_LAST_INSERT_ID);

/// What a session knows about where its statements go.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(super) struct SessionState {
    /// Whom the rules see.
    pub(super) caller: Arc<Caller>,
    /// The client's address, without its port.
    pub(super) client_addr: Box<str>,
    /// What the user's row says.
    pub(super) account: Rc<Account>,
    /// Whether the user's hints count.
    pub(super) hints: bool,
    /// The state that rules start in (`next_query_flagIN`).
    pub(super) flag_in: u32,
    /// The hostgroup of the backend in use, or of the one that was asked for last.
    pub(super) hostgroup: u32,
    /// The version of the settings that the backend in use has.
    pub(super) applied: u64,
    /// Connections that are not in use, and that others cannot have.
    pub(super) others: Vec<Other>,
    /// Those that others may have meanwhile.
    pub(super) aside: Vec<Aside>,
    /// For whom they are good.
    pub(super) passport: Rc<Passport>,
    /// A server has let the session in.
    pub(super) is_admitted: bool,
    /// Its client has reset its connection.
    pub(super) was_reset: bool,
    /// What statements have run since the connection in use was taken.
    pub(super) ran: Ran,
    /// What later ones may ask about.
    pub(super) results: Rc<Results>,
    /// How many rows the last one had.
    pub(super) counted: Counted,
    /// The number of the connection over which the last statement ran; 0 if none has run.
    pub(super) ran_on: u64,
    /// The same of the last statement that has counted rows for `FOUND_ROWS()`.
    pub(super) found_on: u64,
    /// The hostgroup of the statement that ran last.
    pub(super) last: Option<u32>,
    /// What it has left where.
    pub(super) pins: Pins,
    /// It is in a transaction.
    in_transaction: bool,
    /// It is in a transaction that only reads.
    reads_only: bool,
    two_byte_quotes: bool,
    settings: Rc<Settings>,
    /// Whose statements are counted.
    pub(super) who: Option<Arc<Who>>,
    pub(super) prepared: Option<Box<Registry>>,
    /// What is kept of the last statement, if the client wants that.
    pub(super) trace: Option<Box<Trace>>,
    /// What the client is to be told of its transaction with the next OK packet.
    pub(super) overheard: Option<Box<Overheard>>,
    /// Routines that bind the session as long as nobody has said what they leave.
    pub(super) unjudged: Option<Box<Unjudged>>,
    /// What is known of errors that clients may ask about.
    pub(super) errors: Option<Box<Errors>>,
    /// The client's transaction is lost, and it has not been told yet: this.
    pub(super) rolled_back: Option<Box<ClientError>>,
    /// The client has begun a transaction of which no server knows yet. There is no connection in
    /// use then, and the status says that the session is in a transaction.
    pub(super) begins_later: bool,
    /// The transactions that servers have told, where anybody wants to know.
    pub(super) gtids: Option<Box<Gtids>>,
}

/// What a session loses with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// Nothing that another one could not be told.
    Nothing,
    /// Its transaction.
    Transaction,
    /// What the client relies on, and what no error tells it to do again.
    Session(Pin),
}

/// A connection that is not in use.
#[derive(Debug)]
pub(super) struct Other {
    pub(super) hostgroup: u32,
    pub(super) backend: Backend,
    pub(super) applied: u64,
    /// The connection's status, as the server told it last.
    pub(super) status: StatusFlags,
}

/// A connection that others may have until the session needs it again.
#[derive(Debug)]
pub(super) struct Aside {
    pub(super) hostgroup: u32,
    pub(super) ticket: ShelfTicket,
    pub(super) applied: u64,
    /// The connection's status, as the server told it last.
    pub(super) status: StatusFlags,
}

impl SessionState {
    /// The beginning: the client has just logged in.
    pub(super) fn new(identity: &Identity, beginning: Beginning) -> Self {
        let Beginning { account, caller, passport, settings } = beginning;
        let user = &identity.account.user;
        Self {
            caller,
            client_addr: identity.peer.ip().map(|ip| ip.to_string()).unwrap_or_default().into(),
            hints: user.hints,
            flag_in: 0,
            hostgroup: account.hostgroup(),
            account,
            applied: 0,
            others: Vec::new(),
            aside: Vec::new(),
            passport,
            is_admitted: false,
            was_reset: false,
            ran: Ran::default(),
            results: Rc::default(),
            counted: Counted::default(),
            ran_on: 0,
            found_on: 0,
            last: None,
            pins: Pins::default(),
            in_transaction: false,
            reads_only: false,
            two_byte_quotes: TWO_BYTE_QUOTE_COLLATIONS.contains(&(identity.collation % NOPAD)),
            settings,
            who: None,
            prepared: None,
            trace: None,
            overheard: None,
            unjudged: None,
            errors: None,
            rolled_back: None,
            begins_later: false,
            gtids: identity.tracking().by_default.then(|| Box::new(Gtids::new(identity.keeps(false)))),
        }
    }

    /// An answer begins. Whether anybody wants to know which transactions it tells.
    pub(super) fn begin_answer(&mut self) {
        if let Some(gtids) = &mut self.gtids {
            gtids.trackers.begin();
        }
    }

    /// Bytes of an answer have come.
    pub(super) fn note_bytes(&self) {
        if let Some(trace) = &self.trace {
            trace.answers(Instant::now());
        }
    }

    /// What the session is in the middle of, if `status` is what the backend in use has said last.
    pub(super) fn session(&self, status: StatusFlags) -> route::Session {
        let open = |status: StatusFlags| status.contains(StatusFlags::IN_TRANSACTION);
        let elsewhere = || self.others.iter().find(|other| open(other.status)).map(|other| other.hostgroup);
        route::Session {
            transaction: if open(status) { Some(self.hostgroup) } else { elsewhere() },
            autocommit: status.contains(StatusFlags::AUTOCOMMIT),
            locked_on: self.pins.locked_on(),
            hold: self.pins.hold(),
            last_hostgroup: self.last,
        }
    }

    /// How the session's texts are to be read.
    pub(super) const fn reading(&self, status: StatusFlags) -> Reading {
        Reading {
            two_byte_quotes: self.two_byte_quotes,
            no_backslash_escapes: status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
        }
    }

    /// What the session loses with its connection to this hostgroup; `status` is what the server
    /// has said last there.
    pub(super) fn loss_at(&self, hostgroup: u32, status: StatusFlags) -> Loss {
        let statement = || self.has_statement_bound_to(hostgroup).then_some(Pin::Statement);
        match self.pins.missed_at(hostgroup).or_else(statement) {
            Some(pin) => Loss::Session(pin),
            None if status.contains(StatusFlags::IN_TRANSACTION) => Loss::Transaction,
            None => Loss::Nothing,
        }
    }

    /// The connection to this hostgroup is gone, and what was left there with it.
    pub(super) fn forget_left_at(&mut self, hostgroup: u32) {
        self.pins.forget(hostgroup);
        self.in_transaction = false;
        if let Some(registry) = &mut self.prepared {
            registry.forget_hostgroup(hostgroup);
        }
    }

    /// What binds the session to its idle connection to this hostgroup, so that no other may have
    /// it.
    pub(super) fn pin_at(&self, hostgroup: u32, status: StatusFlags) -> Option<Pin> {
        if status.contains(StatusFlags::IN_TRANSACTION) {
            return Some(Pin::Transaction);
        }
        let statement = || self.has_statement_bound_to(hostgroup).then_some(Pin::Statement);
        self.pins.at(hostgroup).or_else(statement)
    }

    fn has_statement_bound_to(&self, hostgroup: u32) -> bool {
        self.prepared.as_ref().is_some_and(|all| all.is_bound_to(hostgroup, self.modes()))
    }

    /// What is to be done with a statement that was judged, with the text that came.
    pub(super) fn decide(&self, judged: Judged, text: &[u8], status: StatusFlags) -> Decided {
        let Judged { digest, mut plan, destination, screened, orders } = judged;
        // Rules may have made another statement of it.
        let text = orders.as_ref().and_then(|orders| orders.text.as_deref()).unwrap_or(text);
        let conditional = Condition::of(text);
        let text = match conditional {
            // A comment that no server executes may stand in front.
            Some((inside, _)) if StatementKind::of(inside) == StatementKind::Set => {
                plan.kind = StatementKind::Set;
                inside
            }
            // Not every server executes it: nothing ends by it for certain.
            Some((_, condition)) if !condition.holds_everywhere() => {
                plan.kind = StatementKind::Unknown;
                text
            }
            _ => text,
        };
        let StatementPlan { kind, effects, several, .. } = plan;
        let at = At { schema: self.caller.schema(), two_byte_quotes: self.two_byte_quotes };
        let mut change =
            if several { Change::of_several(effects, kind, text) } else { Change::of_one(plan, text, at) };
        if !several && conditional.is_none() {
            change.calls = self.calls(&change, kind, text, status);
        }
        let change = match conditional {
            Some((_, condition)) if !change.is_empty() => Change::within(condition, change),
            _ => change,
        };
        // It may be that variable which is set.
        let is_unknown_setting = change.marks.contains(&Mark::begin(Pin::Setting));
        if is_unknown_setting {
            plan.effects |= SETS_LAST_ID;
        }
        let change = (!change.is_empty()).then(|| Box::new(change));
        let (hostgroup, is_split, answer) = match destination {
            Destination::Hostgroup { hostgroup, why } => (hostgroup, matches!(why, Why::Split(_)), None),
            Destination::Ok(text) => (self.hostgroup, false, Some(Reply::Ok(text))),
            Destination::Error(text) => {
                (self.hostgroup, false, Some(Reply::Error(ClientError::ByRule(text))))
            }
            Destination::Locked { locked_on, hostgroup } => {
                (hostgroup, false, Some(Reply::Error(ClientError::Locked { locked_on, hostgroup })))
            }
        };
        // Servers commit a transaction when another one begins. One that only reads may have been
        // at a reader.
        let commits_first = kind.begins()
            && status.contains(StatusFlags::IN_TRANSACTION)
            && self.hostgroup != self.account.hostgroup()
            && self.pins.locked_on().is_none();
        Decided {
            hostgroup,
            is_split,
            answer: answer.map(Box::new),
            plan,
            digest: digest.and_then(NonZeroU64::new),
            orders,
            screened,
            change,
            next: if commits_first { Next::Commit } else { Next::Turn },
            is_counted: false,
            lost: 0,
            renamed: None,
        }
    }

    /// The routines that a statement of this kind calls, if they are all that nobody sees of what
    /// it does.
    fn calls(
        &self,
        change: &Change,
        kind: StatementKind,
        text: &[u8],
        status: StatusFlags,
    ) -> Option<Box<Calls>> {
        let is_known = kind == StatementKind::Call || !change.runs_stored_code();
        // Who may be in another schema than is known is bound by that, too.
        if !is_known || !change.marks.iter().any(is_of_code) || self.pins.locked_on().is_some() {
            return None;
        }
        Calls::of(text, self.caller.schema(), self.reading(status))
    }

    /// Who the session is when it asks for a connection that others have laid aside.
    pub(super) fn asker<'a>(
        &'a self,
        identity: &'a Identity,
        status: StatusFlags,
        ahead: Ahead,
    ) -> Asker<'a> {
        Asker {
            identity,
            passport: &self.passport,
            caller: &self.caller,
            settings: &self.settings,
            was_reset: self.was_reset,
            is_admitted: self.is_admitted,
            status,
            ahead,
        }
    }

    /// What the session would send with these packets, and what its connection has to be like.
    pub(super) fn candidate(&self, command: Rc<[u8]>, execution: Option<Rc<Execution>>) -> Candidate {
        let (caller, settings) = (Arc::clone(&self.caller), Rc::clone(&self.settings));
        Candidate { command, execution, caller, settings, was_reset: self.was_reset }
    }

    /// What the session leaves on the connection with this number, whose server has told this
    /// status last.
    pub(super) fn left(&self, connection: u64, status: StatusFlags) -> Left {
        Left {
            caller: Arc::clone(&self.caller),
            settings: Rc::clone(&self.settings),
            was_reset: self.was_reset,
            status,
            asks: self.results.last_id().is_at(connection),
            results: Rc::clone(&self.results),
            asking: None,
        }
    }

    /// What the client has set, in the order in which it was set: variables, or words that none is
    /// called, and the statements that set them.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.settings.since(0).map(|setting| (&*setting.key, &*setting.text))
    }

    /// An answer is over.
    pub(super) fn note_answered(&mut self) {
        if let Some(trace) = &self.trace {
            trace.answered(Instant::now());
        }
    }

    /// How long the client may be idle by what it has set, in seconds.
    pub(super) fn wait_timeout(&self) -> Option<u32> {
        self.settings.wait_timeout()
    }

    /// Whether values are read as they were when the settings had this version.
    pub(super) fn reads_as_at(&self, version: u64) -> bool {
        !self.settings.since(version).any(Setting::is_charset)
    }

    /// Changes with everything that decides what a text means.
    pub(super) fn modes(&self) -> u64 {
        self.settings.modes()
    }

    /// What texts mean at this hostgroup, now and in other sessions; nothing if it is not certain
    /// in which schema that is.
    pub(super) fn meaning_at(&self, hostgroup: u32) -> Option<(u64, u64)> {
        let is_certain = !self.pins.holds(Pin::Schema, hostgroup);
        is_certain.then(|| (self.modes(), self.settings.meaning(self.caller.schema())))
    }

    /// The version of the settings that a server has that knows all of them.
    pub(super) fn version(&self) -> u64 {
        self.settings.version()
    }

    /// What the backend in use has not heard yet, in order: commands of their own.
    pub(super) fn missing(&self) -> Vec<Said> {
        self.settings.since(self.applied).map(Said::of).collect()
    }

    /// What a new backend has to hear before it is reset, and the version that it has then.
    pub(super) fn before_reset(&self) -> (Vec<Said>, u64) {
        (self.settings.before_reset().map(Said::of).collect(), self.settings.version_of_reset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of clients have one and wait. The allocator's next size is a fifth larger.
    #[test]
    fn a_state_stays_small() {
        assert!(size_of::<SessionState>() <= 320, "it has {} bytes", size_of::<SessionState>());
    }
}

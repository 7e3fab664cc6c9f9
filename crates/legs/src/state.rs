//! What a session has set and left at servers, what it has prepared, and what its client may ask
//! about.
//!
//! What the client sets is said again at a server that does not know it yet ([`Settings`]); what
//! cannot be said again keeps the session where it is ([`Pins`](session::state::Pins)). Connections
//! are not here, but in [`links`](crate::links).
//!
//! - [`settle`]: whether what a statement [changes](session::change) for those behind it has
//!   happened;
//! - [`charset`]: how texts are read; [`statements`]: prepared statements that commands name;
//!   [`said`]: settings as commands.

pub mod charset;
pub mod said;
pub mod settle;
pub mod statements;

use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;

use ::session::change::At;
use ::session::change::Change;
use ::session::unjudged::Calls;
use ::session::unjudged::Unjudged;
use ::session::unjudged::is_of_code;
use bitflags::bitflags;
use observe::digests::Who;
use route::Account;
use route::Caller;
use route::StatementPlan;
use runtime::decided::Decided;
use runtime::decided::Next;
use runtime::decided::Reply;
use runtime::interning::Beginning;
use runtime::interning::caller;
use runtime::prepared::Registry;
use runtime::routing::Judged;
use runtime::routing::Reading;
use session::identity::Identity;
use session::link::LinkState;
use sql::Condition;
use sql::StatementKind;
use sql::shape::Effects;
use upstream::Candidate;
use upstream::Connection;
use upstream::Execution;
use wire::StatusFlags;

use crate::retold::Errors;
pub(crate) use crate::state::charset::ClientCharset;
pub(crate) use crate::state::said::Said;
use crate::trace::Trace;
pub(crate) use ::session::last::LastResults;
use session::error::ClientError;
use session::state::Mark;
use session::state::Pin;
use session::state::Setting;
use session::state::Settings;
use session::state::gtids::Gtids;
use session::state::substitute::without_socket;
use session::state::tracked::Tracked;

/// What a `SET` may do that is not understood.
const SETS_LAST_ID: Effects = Effects::LAST_INSERT_ID.union(Effects::SETS_LAST_INSERT_ID);

/// What a session has set and left at servers, and what its client may ask about.
#[derive(Debug)]
pub struct SessionState {
    /// Who the client is.
    pub identity: Rc<Identity>,
    /// The account that rules see.
    pub caller: Arc<Caller>,
    /// The client's address, without its port.
    pub client_addr: Box<str>,
    /// What the user's row says.
    pub account: Rc<Account>,
    /// The state that rules start in (`next_query_flagIN`).
    pub flag_in: u32,
    /// The hostgroup of the connection in use; without one, that of the last one.
    pub here: u32,
    /// The status that the client knows.
    pub status: StatusFlags,
    /// What it has done.
    pub past: Past,
    /// What later statements may ask about.
    pub last: LastResults,
    /// The transaction that is open.
    pub transaction: Transaction,
    /// The character set of its texts.
    pub charset: ClientCharset,
    settings: Rc<Settings>,
    /// The names that its statements are counted by.
    pub(crate) who: Option<Arc<Who>>,
    /// Its prepared statements.
    pub prepared: Option<Box<Registry>>,
    /// What is kept of the last statement, if the client wants that.
    pub trace: Option<Box<Trace>>,
    /// Routines that bind the session as long as it is unknown what they leave.
    pub(crate) unjudged: Option<Box<Unjudged>>,
    /// What is known of errors that clients may ask about.
    pub(crate) errors: Option<Box<Errors>>,
    /// The transactions that servers have told, where anybody wants to know.
    pub gtids: Option<Box<Gtids>>,
}

bitflags! {
    /// What the session has done, or is in, that matters for later commands.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Past: u16 {
        /// It has prepared a statement that may ask the client for a file.
        const PREPARED_LOAD = 1;
        /// It has prepared a KILL that may be of a session of the proxy.
        const PREPARED_KILL = 1 << 1;
        /// It has called itself a replica, which its server remembers as long as the connection
        /// lasts.
        const REPLICA = 1 << 2;
        /// Its client has reset its connection.
        const RESET = 1 << 3;
        /// It is in a transaction, by what was answered last.
        const IN_TRANSACTION = 1 << 4;
        /// It is in a transaction that only reads.
        const READS_ONLY = 1 << 5;
        /// The client has begun a transaction of which no server knows yet. There is no connection
        /// in use then, and the status says that the session is in a transaction.
        const BEGINS_LATER = 1 << 6;
        /// It has written in the transaction that is open.
        const WROTE = 1 << 7;
        /// It may have prepared by name a statement that changes privileges.
        const PREPARED_PRIVILEGES = 1 << 8;
        /// The last reply was an error, which tells nothing of the status: a transaction may be
        /// open that the status does not have.
        const UNSURE = 1 << 9;
        /// A write runs that the query cache has not been told of, as there were no answers.
        const UNWATCHED = 1 << 10;
        /// No server lets it into its schema: its connections are in none.
        const LACKS_SCHEMA = 1 << 11;
        /// It has ended a transaction, and itself with it: `COMMIT RELEASE`.
        const RELEASED = 1 << 12;
        /// It has written: pins of other connections that stand for a wait are to end.
        const ENDS_WAITING = 1 << 13;
        /// Its client has got error 1213: what is open of the transaction is to be rolled back.
        const ROLLED_BACK = 1 << 14;
    }
}

impl Past {
    /// Sets or clears `flag`. Whether it was set before.
    pub fn replace(&mut self, flag: Self, is_set: bool) -> bool {
        let before = self.contains(flag);
        self.set(flag, is_set);
        before
    }
}

/// What the client is still to be told of its transaction.
#[derive(Debug, Default)]
pub struct Transaction {
    /// It is lost, and the client has not been told yet: this.
    pub rolled_back: Option<Box<ClientError>>,
    /// What the client is to be told of it with the next OK packet.
    pub tracked: Option<Box<Tracked>>,
}

impl Transaction {
    /// The client is told with its next statement that the transaction is lost, if the error says
    /// so.
    pub fn owe(&mut self, error: Option<ClientError>) {
        if let Some(error @ ClientError::TransactionLost { .. }) = error {
            self.rolled_back = Some(Box::new(error));
        }
    }
}

/// The status flags that follow from what a session has set: they do not end with a connection.
pub const OF_SESSION: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::NO_BACKSLASH_ESCAPES);

impl SessionState {
    /// The beginning: the client has just logged in.
    pub fn new(identity: Rc<Identity>, beginning: Beginning) -> Self {
        let Beginning { account, caller, settings } = beginning;
        Self {
            caller,
            client_addr: identity.peer.ip().map(|ip| ip.to_string()).unwrap_or_default().into(),
            flag_in: 0,
            here: account.hostgroup(),
            status: StatusFlags::AUTOCOMMIT,
            account,
            past: Past::empty(),
            last: LastResults::default(),
            transaction: Transaction::default(),
            charset: ClientCharset::of_collation(identity.collation),
            settings,
            who: None,
            prepared: None,
            trace: None,
            unjudged: None,
            errors: None,
            gtids: identity.tracking().by_default.then(|| Box::new(gtids(&identity))),
            identity,
        }
    }

    /// A connection says this of the session. A transaction that has not begun at a server is open
    /// for its client.
    pub fn set_status(&mut self, status: StatusFlags) {
        self.status = if self.begins_later() { status | StatusFlags::IN_TRANSACTION } else { status };
    }

    /// Takes the status of a connection over. As long as settings are to be said there, it does not
    /// tell what follows from them.
    pub(crate) fn hear_status(&mut self, link: &LinkState) {
        let kept = if link.applied == self.version() { StatusFlags::empty() } else { OF_SESSION };
        self.set_status((link.status - kept) | (self.status & kept));
    }

    /// The session begins to use a connection.
    pub fn begin_at(&mut self, connection: &Connection) {
        self.hear_status(connection.state());
        if connection.tells_ages() {
            // What its server tells of the ages of answers is taken out.
            self.gtids.get_or_insert_with(|| Box::new(gtids(&self.identity)));
        }
    }

    /// Whether a transaction is open over the connection in use or begins later.
    pub const fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::IN_TRANSACTION)
    }

    /// An answer begins. Whether anybody wants to know which transactions it tells.
    pub fn begin_answer(&mut self) {
        if let Some(gtids) = &mut self.gtids {
            gtids.trackers.begin();
        }
    }

    /// Has the trace take its times, if there is one.
    pub fn trace(&self, take: impl FnOnce(&Trace)) {
        if let Some(trace) = &self.trace {
            take(trace);
        }
    }

    /// How the session's texts are to be read.
    pub fn reading(&self) -> Reading {
        Reading {
            two_byte_quotes: self.charset.has_two_byte_quotes(),
            no_backslash_escapes: self.status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
        }
    }

    /// What is to be done with a statement that was judged, with the text that came. Where the
    /// session `is_locked`, it cannot leave its hostgroup.
    pub fn decide(&self, judged: Judged, text: &[u8], is_locked: bool) -> Decided {
        let Judged { digest, mut plan, route, screened, orders } = judged;
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
        let at = At { schema: self.caller.schema(), two_byte_quotes: self.charset.has_two_byte_quotes() };
        let mut change =
            if several { Change::of_several(effects, kind, text) } else { Change::of_one(plan, text, at) };
        if !several && conditional.is_none() {
            change.calls = self.calls(&change, kind, text, is_locked);
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
        // Servers commit a transaction when another one begins. One that only reads may have been
        // at a reader.
        let commits_first =
            kind.begins() && self.in_transaction() && self.here != self.account.hostgroup() && !is_locked;
        let asks = kind.is_select() && effects.intersects(Effects::READS_SYSTEM_VARIABLES);
        let told = if asks && conditional.is_none() { without_socket(text) } else { None };
        let is_rewritten = orders.as_ref().is_some_and(|orders| orders.text.is_some());
        let mut decided = Decided {
            route: route.map_local(|answer| Box::new(Reply::from(answer))),
            plan,
            digest: digest.and_then(NonZeroU64::new),
            is_rewritten,
            orders,
            screened,
            change,
            next: if commits_first { Next::Commit } else { Next::Turn },
            is_counted: false,
            lost: 0,
            patch: None,
        };
        if let Some(told) = told {
            decided.rewrite(told);
        }
        decided
    }

    /// The routines that a statement of this kind calls, if the proxy can see all else that it
    /// does.
    fn calls(
        &self,
        change: &Change,
        kind: StatementKind,
        text: &[u8],
        is_locked: bool,
    ) -> Option<Box<Calls>> {
        let is_known = kind == StatementKind::Call || !change.runs_stored_code();
        // Who may be in another schema than is known is bound by that, too.
        if !is_known || !change.marks.iter().any(is_of_code) || is_locked {
            return None;
        }
        Calls::of(text, self.caller.schema(), self.reading())
    }

    /// What the session would send with these packets, and what its connection has to be like.
    pub(crate) fn candidate(&self, command: Rc<[u8]>, execution: Option<Rc<Execution>>) -> Candidate {
        let (caller, settings) = (Arc::clone(&self.caller), Rc::clone(&self.settings));
        Candidate { command, execution, caller, settings, was_reset: self.was_reset() }
    }

    /// The beginning of a session of the same client at a shard.
    #[must_use]
    pub fn at_shard(&self, identity: Rc<Identity>, account: Account) -> Self {
        let beginning = Beginning {
            account: Rc::new(account),
            caller: Arc::clone(&self.caller),
            settings: Rc::clone(&self.settings),
        };
        Self::new(identity, beginning)
    }

    /// The session is in this schema.
    pub fn go_to_schema(&mut self, schema: &[u8]) {
        self.caller = Arc::new(caller(&self.identity, schema));
    }

    /// Takes over what another session of the same client has set, numbered by that session.
    pub fn take_settings(&mut self, settings: Rc<Settings>, charset: ClientCharset) {
        (self.settings, self.charset) = (settings, charset);
    }

    /// The settings, which sessions that have set the same share.
    pub const fn shared_settings(&self) -> &Rc<Settings> {
        &self.settings
    }

    /// What the client has set, in the order in which it was set: variables, or words that none is
    /// called, and the statements that set them.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.settings.since(0).map(|setting| (&*setting.key, &*setting.text))
    }

    pub(crate) fn instead_of(&self, hostgroup: u32, is_split: bool) -> Option<u32> {
        self.account.instead_of(hostgroup, is_split)
    }

    /// Whether the transaction of the session has not begun at a server.
    pub fn begins_later(&self) -> bool {
        self.past.contains(Past::BEGINS_LATER)
    }

    /// Whether the client has reset its connection.
    pub const fn was_reset(&self) -> bool {
        self.past.contains(Past::RESET)
    }

    /// How long the client may be idle by what it has set, in seconds.
    pub(crate) fn wait_timeout(&self) -> Option<u32> {
        self.settings.wait_timeout()
    }

    /// Whether values are read as they were when the settings had this version.
    pub(crate) fn reads_as_at(&self, version: u64) -> bool {
        !self.settings.since(version).any(Setting::is_charset)
    }

    /// Changes with everything that decides what a text means.
    pub fn modes(&self) -> u64 {
        self.settings.modes()
    }

    /// What texts mean over this connection, now and in other sessions; nothing if the schema is
    /// not certain.
    pub(crate) fn meaning_at(&self, link: Option<&LinkState>) -> Option<(u64, u64)> {
        let is_certain = !link.is_some_and(|link| link.pins.holds(Pin::Schema));
        is_certain.then(|| (self.modes(), self.settings.meaning(self.caller.schema())))
    }

    /// The version of the settings that a server has that knows all of them.
    pub(crate) fn version(&self) -> u64 {
        self.settings.version()
    }

    /// What a server has not heard yet that has the settings of this version, in order: commands of
    /// their own.
    pub(crate) fn missing(&self, applied: u64) -> Vec<Said> {
        let mut missing: Vec<_> = self.settings.since(applied).map(Said::of).collect();
        if self.lacks_schema() && !self.settings.was_schema_reset() {
            self.add_schema(&mut missing);
        }
        missing
    }

    /// What a new backend has to hear before it is reset, and the version that it has then.
    pub(crate) fn before_reset(&self) -> (Vec<Said>, u64) {
        let mut said: Vec<_> = self.settings.before_reset().map(Said::of).collect();
        if self.lacks_schema() && self.settings.was_schema_reset() {
            self.add_schema(&mut said);
        }
        (said, self.settings.version_of_reset())
    }
}

/// What is told to a session that has asked for nothing.
fn gtids(identity: &Identity) -> Gtids {
    Gtids::new(identity.keeps(false), identity.tier.keeps_ages())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of clients have one and wait. The allocator's next size is a fifth larger.
    #[test]
    fn a_state_stays_small() {
        assert!(size_of::<SessionState>() <= 256, "it has {} bytes", size_of::<SessionState>());
    }
}

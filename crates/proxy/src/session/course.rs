//! Where a session's statements go: its connections to servers, what it has set and left there, what it has prepared.
//!
//! A session has at most one connection in each hostgroup. The one in use is the session's `backend`; the others wait here
//! ([`others`](Course::others)). What the client sets is said again at a server that does not know it yet
//! ([`settings`]); what cannot be said again keeps the session where it is.

pub(super) mod prepared;
mod settings;

use std::sync::Arc;

use route::{Account, Caller, Destination, Effects, Hold, Why};
use tokio::time::Instant;
use wire::StatusFlags;
use wire::reply::{End, Outcome};

use crate::arrival::Peer;
use crate::backend::Backend;
use crate::client::login::Identity;
use crate::counts::digests::Who;
use crate::error::ClientError;
use crate::limit::Place;
use crate::mirror::comparison::Watched;
use crate::routing::{Judged, Orders, Reading};
use crate::statement::class::{Class, classify, used_schema};
use crate::statement::{Xa, xa};

use super::again::Refused;
use super::trace::Trace;
use prepared::{Preparing, Registry};
use settings::{Setting, Settings};

/// The key of the setting that is the current schema.
const SCHEMA: &str = "use";

/// The key of the setting that is `COM_SET_OPTION`.
const OPTION: &str = "option";

/// Character sets of which the second byte of a character may be a quote or a backslash.
const TWO_BYTE_QUOTES: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

/// Their collations.
const TWO_BYTE_QUOTE_COLLATIONS: [u16; 11] = [1, 13, 28, 84, 87, 88, 95, 96, 248, 249, 250];

/// MariaDB's collations without padding have the number of the one with padding, and this more.
const NOPAD: u16 = 1024;

/// What a session knows about where its statements go.
#[derive(Debug)]
pub(super) struct Course {
    /// Whom the rules see.
    pub(super) caller: Arc<Caller>,
    /// The client's address, without its port.
    pub(super) client_addr: Box<str>,
    /// What the user's row says.
    pub(super) account: Account,
    /// Whether the user's hints count.
    pub(super) hints: bool,
    /// The state that rules start in (`next_query_flagIN`).
    pub(super) flag_in: u32,
    /// The hostgroup of the backend in use, or of the one that was asked for last.
    pub(super) hostgroup: u32,
    /// The version of the settings that the backend in use has.
    pub(super) applied: u64,
    /// Connections that are not in use.
    pub(super) others: Vec<Other>,
    /// The hostgroup of the statement that ran last.
    pub(super) last: Option<u32>,
    /// The hostgroup that the session cannot leave.
    locked_on: Option<u32>,
    /// Where the session has left something that lasts.
    hold: Option<(Hold, u32)>,
    /// Where it has locked tables.
    locked_tables: Option<u32>,
    /// Where an XA transaction is. After an error no flag of the server tells of it.
    xa: Option<u32>,
    /// Where a `SET TRANSACTION` waits for its transaction.
    next_transaction: Option<u32>,
    two_byte_quotes: bool,
    settings: Settings,
    /// What the statement that runs changes if it succeeds.
    proposed: Option<Change>,
    /// Whose statements are counted, and whether the client's address is a part of that.
    pub(super) who: Option<(Arc<Who>, bool)>,
    /// What was decided about the command in the backlog.
    pub(super) decided: Option<Decided>,
    pub(super) prepared: Option<Box<Registry>>,
    /// What is kept of the last statement, if the client wants that.
    pub(super) trace: Option<Box<Trace>>,
    /// The places of the statement that runs under limits.
    pub(super) places: Vec<Place>,
    /// What a rule says about logging the command in the backlog.
    pub(super) log: Option<bool>,
    /// When the statement that runs is to be killed, if a rule or a hint says so.
    pub(super) deadline: Option<Instant>,
    /// The answer that is on its way, if it is compared with another one.
    pub(super) watched: Option<Box<Watched>>,
    /// A statement that was refused by a server that takes no writes any more.
    pub(super) refused: Option<Box<Refused>>,
    /// How long that may be said again.
    pub(super) again_until: Option<Instant>,
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

/// What was decided about a command. It is moved a few times for each: what is rare is boxed.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(super) struct Decided {
    /// The hostgroup that it goes to.
    pub(super) hostgroup: u32,
    /// It goes there because of the split.
    pub(super) is_split: bool,
    /// What it is answered with, if it goes nowhere.
    pub(super) answer: Option<Box<Reply>>,
    /// The hash of its digest.
    pub(super) digest: Option<u64>,
    /// `None` if it is no statement, or one that was prepared before.
    pub(super) class: Option<Class>,
    pub(super) orders: Option<Box<Orders>>,
    /// What it changes if it succeeds.
    pub(super) change: Option<Box<Change>>,
    /// It has had its delay, and has its places under limits.
    pub(super) had_its_turn: bool,
    /// All is done that has to be done before it is sent.
    pub(super) is_ready: bool,
    /// The transaction that is open is to be committed first: the statement begins another one.
    pub(super) commits_first: bool,
}

impl Decided {
    /// The same for a statement that was prepared as this.
    pub(super) const fn with_digest_of(mut self, what: &Preparing) -> Self {
        self.digest = what.digest;
        self
    }

    /// The same with what is to be done with `other`.
    pub(super) fn with_orders_of(self, other: &mut Self) -> Self {
        let (digest, had_its_turn) = (other.digest, other.had_its_turn);
        Self { digest, had_its_turn, orders: other.orders.take(), ..self }
    }
}

/// What a statement is answered with that goes to no server.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// OK and this text.
    Ok(Arc<str>),
    Error(ClientError),
}

/// What a statement changes for those behind it.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Settings(Vec<Setting>),
    NextTransaction,
    Hold(Hold),
    Release,
    Xa(Xa),
    /// The session cannot leave the server any more.
    Lock,
    /// The same also if an error is answered: the statements in front of that one have had their effects.
    LockAnyway,
    Reset,
}

impl Course {
    /// The beginning: the client has just logged in.
    pub(super) fn new(identity: &Identity, account: Account) -> Self {
        let user = &identity.account.user;
        Self {
            caller: caller(identity, identity.account.schema.as_deref().unwrap_or_default()),
            client_addr: identity.peer.ip().map(|ip| ip.to_string()).unwrap_or_default().into(),
            account,
            hints: user.hints,
            flag_in: 0,
            hostgroup: account.hostgroup(),
            applied: 0,
            others: Vec::new(),
            last: None,
            locked_on: None,
            hold: None,
            locked_tables: None,
            xa: None,
            next_transaction: None,
            two_byte_quotes: TWO_BYTE_QUOTE_COLLATIONS.contains(&(identity.collation % NOPAD)),
            settings: Settings::default(),
            proposed: None,
            who: None,
            decided: None,
            prepared: None,
            trace: None,
            places: Vec::new(),
            log: None,
            deadline: None,
            watched: None,
            refused: None,
            again_until: None,
        }
    }

    /// What the session is in the middle of, if `status` is what the backend in use has said last.
    pub(super) fn session(&self, status: StatusFlags) -> route::Session {
        let open = |status: StatusFlags| status.contains(StatusFlags::IN_TRANSACTION);
        let elsewhere = || self.others.iter().find(|other| open(other.status)).map(|other| other.hostgroup);
        route::Session {
            transaction: if open(status) { Some(self.hostgroup) } else { elsewhere() },
            autocommit: status.contains(StatusFlags::AUTOCOMMIT),
            locked_on: self.locked_on,
            hold: self.held(),
            last_hostgroup: self.last,
        }
    }

    /// What keeps reads where the session is, and where that is.
    fn held(&self) -> Option<(Hold, u32)> {
        let locked = self.locked_tables.map(|hostgroup| (Hold::LockedTables, hostgroup));
        let next = self.next_transaction.map(|hostgroup| (Hold::Unknown, hostgroup));
        let xa = self.xa.map(|hostgroup| (Hold::Unknown, hostgroup));
        self.hold.or(locked).or(xa).or(next)
    }

    /// How the session's texts are to be read.
    pub(super) const fn reading(&self, status: StatusFlags) -> Reading {
        Reading {
            two_byte_quotes: self.two_byte_quotes,
            no_backslash_escapes: status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
        }
    }

    /// Whether nothing would be lost with the backend in use, which is idle: it is one of those that the session reads
    /// from.
    pub(super) fn can_lose_backend(&self, status: StatusFlags) -> bool {
        self.hostgroup != self.account.hostgroup() && self.can_do_without(self.hostgroup, status)
    }

    /// Whether the session has left nothing at its idle connection to this hostgroup that another one could not be told;
    /// `status` is what the server has said last there.
    pub(super) fn can_do_without(&self, hostgroup: u32, status: StatusFlags) -> bool {
        let is_bound = |to: Option<u32>| to == Some(hostgroup);
        !(status.contains(StatusFlags::IN_TRANSACTION)
            || is_bound(self.locked_on)
            || is_bound(self.held().map(|(_, hostgroup)| hostgroup))
            || self.prepared.as_ref().is_some_and(|registry| registry.is_bound_to(hostgroup)))
    }

    /// Whether a reset of the session's connections, and what a login says, leave nothing of it there.
    pub(super) fn can_be_reset(&self, identity: &Identity) -> bool {
        // A client that was in no schema at its login has chosen one: no command leaves all schemas.
        let is_in_schema = self.settings.has(SCHEMA) && identity.account.schema.is_none();
        // What is not known may be a role. A reset leaves what `COM_SET_OPTION` has set.
        !(self.locked_on.is_some()
            || self.xa.is_some()
            || matches!(self.hold, Some((Hold::Unknown, _)))
            || self.settings.has(OPTION)
            || is_in_schema)
    }

    /// What is to be done with a statement that was judged, with the text that came.
    pub(super) fn decide(&self, judged: Judged, text: &[u8], status: StatusFlags) -> Decided {
        let Judged { digest, facts, several, destination, orders } = judged;
        // Rules may have made another statement of it.
        let text = orders.as_ref().and_then(|orders| orders.text.as_deref()).unwrap_or(text);
        let class = classify(text);
        let change = if several {
            change_of_several(facts.effects, class)
        } else {
            self.change(facts.effects, class, text)
        };
        let change = change.map(Box::new);
        let (hostgroup, is_split, answer) = match destination {
            Destination::Hostgroup { hostgroup, why } => (hostgroup, matches!(why, Why::Split(_)), None),
            Destination::Ok(text) => (self.hostgroup, false, Some(Reply::Ok(text))),
            Destination::Error(text) => {
                (self.hostgroup, false, Some(Reply::Error(ClientError::by_rule(&text))))
            }
            Destination::Locked { locked_on, hostgroup } => {
                (hostgroup, false, Some(Reply::Error(ClientError::locked(locked_on, hostgroup))))
            }
        };
        // Servers commit a transaction when another one begins. One that only reads may have been at a reader.
        let commits_first = matches!(facts.kind, route::Kind::Begin { .. })
            && status.contains(StatusFlags::IN_TRANSACTION)
            && self.hostgroup != self.account.hostgroup()
            && self.locked_on.is_none();
        Decided {
            hostgroup,
            is_split,
            answer: answer.map(Box::new),
            digest,
            class: Some(class),
            orders,
            change,
            had_its_turn: false,
            is_ready: false,
            commits_first,
        }
    }

    /// A command that goes to this hostgroup and changes nothing.
    pub(super) const fn plainly_to(hostgroup: u32) -> Decided {
        Decided {
            hostgroup,
            is_split: false,
            answer: None,
            digest: None,
            class: None,
            orders: None,
            change: None,
            had_its_turn: false,
            is_ready: false,
            commits_first: false,
        }
    }

    /// What a statement changes if it succeeds.
    fn change(&self, effects: Effects, class: Class, text: &[u8]) -> Option<Change> {
        match class {
            Class::Set if self.two_byte_quotes && !text.is_ascii() => return Some(Change::Lock),
            Class::Set => {
                return match settings::change(text) {
                    settings::Change::Settings(settings) => Some(Change::Settings(settings)),
                    settings::Change::NextTransaction => Some(Change::NextTransaction),
                    settings::Change::Nothing => None,
                    settings::Change::Unknown => Some(Change::Lock),
                };
            }
            Class::Use => {
                return Some(used_schema(text).map_or(Change::Lock, schema_change));
            }
            Class::LockTable => return Some(Change::Hold(Hold::LockedTables)),
            // With read lock.
            Class::Flush if effects.any_of(Effects::LOCKS) => return Some(Change::Hold(Hold::LockedTables)),
            Class::UnlockTables => return Some(Change::Release),
            _ => {}
        }
        if effects.any_of(Effects::TEMPORARY_TABLE) {
            return Some(Change::Hold(Hold::TemporaryTables));
        }
        if effects.any_of(Effects::SESSION) {
            return Some(Change::Lock);
        }
        if class == Class::Unknown
            && let Some(xa) = xa(text)
        {
            return Some(Change::Xa(xa));
        }
        // What stored code does nobody sees. A function in a query is not expected to leave anything behind.
        let runs_code = matches!(class, Class::Call | Class::Execute | Class::Unknown);
        (runs_code && effects.any_of(Effects::UNKNOWN)).then_some(Change::Hold(Hold::Unknown))
    }

    /// A command that changes this is on its way.
    pub(super) fn propose_change(&mut self, change: Option<Change>) {
        // The one before has not been answered. That it is in vain to stay does no harm.
        if let Some(Change::Hold(hold)) = self.proposed.take() {
            self.keep(hold);
        }
        self.proposed = change;
    }

    /// A statement is on its way that was decided about.
    pub(super) fn propose(&mut self, decided: &mut Decided) {
        let change = decided.change.take();
        self.propose_change(change.map(|change| *change));
    }

    /// A statement is being sent: if it is one that can be the next transaction, or begin it, a `SET TRANSACTION` is for none
    /// behind it.
    pub(super) fn note_statement(&mut self) {
        if !matches!(self.proposed, Some(Change::Settings(_) | Change::NextTransaction)) {
            self.next_transaction = None;
        }
    }

    /// Whether what is on its way changes something for those behind it.
    pub(super) const fn is_changing(&self) -> bool {
        !matches!(self.proposed, None | Some(Change::Hold(_)))
    }

    /// The schema that the client has asked for will be another one.
    pub(super) fn propose_schema(&mut self, schema: &[u8]) {
        self.propose_change(Some(schema_change(schema)));
    }

    /// What `COM_SET_OPTION` says, with its payload.
    pub(super) fn propose_option(&mut self, payload: &[u8]) {
        self.propose_change(Some(Change::Settings(vec![Setting {
            key: OPTION.into(),
            text: payload.into(),
        }])));
    }

    /// The session will be as after its login, in the schema that it is in.
    pub(super) fn propose_reset(&mut self) {
        self.propose_change(Some(Change::Reset));
    }

    /// The statement that ran is over. Returns whether the other connections are of no use any more.
    pub(super) fn settle(&mut self, identity: &Identity, outcome: Outcome) -> bool {
        self.last = Some(self.hostgroup);
        let change = self.proposed.take();
        if matches!(change, Some(Change::LockAnyway)) {
            self.locked_on = Some(self.hostgroup);
        }
        let Some(change) = change.filter(|_| !matches!(outcome.end, End::Err { .. })) else { return false };
        match change {
            Change::Settings(settings) => self.set(identity, settings),
            Change::NextTransaction => self.next_transaction = Some(self.hostgroup),
            Change::Hold(hold) => self.keep(hold),
            Change::Release => self.locked_tables = None,
            Change::Xa(Xa::Begins) => self.xa = Some(self.hostgroup),
            Change::Xa(Xa::Ends) => self.xa = None,
            Change::Lock | Change::LockAnyway => self.locked_on = Some(self.hostgroup),
            Change::Reset => {
                let (caller, hostgroup) = (Arc::clone(&self.caller), self.hostgroup);
                let others = std::mem::take(&mut self.others);
                let mut settings = std::mem::take(&mut self.settings);
                settings.keep_only(SCHEMA);
                let applied = settings.version();
                *self = Self {
                    caller,
                    hostgroup,
                    applied,
                    others,
                    settings,
                    ..Self::new(identity, self.account)
                };
                return true;
            }
        }
        false
    }

    fn keep(&mut self, hold: Hold) {
        match hold {
            Hold::LockedTables => self.locked_tables = Some(self.hostgroup),
            _ => self.hold = Some((hold, self.hostgroup)),
        }
    }

    fn set(&mut self, identity: &Identity, settings: Vec<Setting>) {
        for setting in settings {
            if &*setting.key == SCHEMA {
                self.caller = caller(identity, &setting.text);
                self.who = None;
            }
            if matches!(&*setting.key, "names" | "character_set_client") {
                let text = String::from_utf8_lossy(&setting.text).to_ascii_lowercase();
                let is_one = |word: &str| TWO_BYTE_QUOTES.contains(&word) || word == "default";
                self.two_byte_quotes = text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_one);
            }
            if !self.settings.set(setting) {
                self.locked_on = Some(self.hostgroup);
            }
        }
        // The backend in use has it by what the client said.
        self.applied = self.settings.version();
    }

    /// What the client has set, in the order in which it was set: variables, or words that none is called, and the statements
    /// that set them.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.settings.since(0).map(|setting| (&*setting.key, &*setting.text))
    }

    /// The version of the settings that a server has that knows all of them.
    pub(super) const fn version(&self) -> u64 {
        self.settings.version()
    }

    /// What the backend in use has not heard yet, in order: commands of their own.
    pub(super) fn missing(&self) -> Vec<Said> {
        let said = |setting: &Setting| match &*setting.key {
            SCHEMA => Said::Schema(setting.text.to_vec()),
            OPTION => Said::Option(setting.text.to_vec()),
            _ => Said::Statement(setting.text.to_vec()),
        };
        self.settings.since(self.applied).map(said).collect()
    }
}

/// A setting as a command.
#[derive(Debug)]
pub(super) enum Said {
    /// The name of the schema to be in.
    Schema(Vec<u8>),
    /// The payload of a `COM_SET_OPTION`.
    Option(Vec<u8>),
    /// The text of a statement.
    Statement(Vec<u8>),
}

/// What several statements in one text change, of which the first has this class: what each does is not told apart.
fn change_of_several(effects: Effects, first: Class) -> Option<Change> {
    // Locks of tables commit. Those of rows end with the transaction, of which servers tell.
    let locks_tables = effects.any_of(Effects::LOCKS) && effects.any_of(Effects::IMPLICIT_COMMIT);
    let lasts = effects.any_of(Effects::SESSION.with(Effects::TEMPORARY_TABLE));
    // What could not be understood.
    let may_last =
        effects.any_of(Effects::UNKNOWN) && matches!(first, Class::Set | Class::Use | Class::LockTable);
    if locks_tables || lasts || may_last {
        return Some(Change::LockAnyway);
    }
    effects.any_of(Effects::UNKNOWN).then_some(Change::Hold(Hold::Unknown))
}

/// What it changes to be in this schema.
fn schema_change(schema: &[u8]) -> Change {
    // What other letters mean depends on the character set of that moment.
    if schema.is_ascii() {
        Change::Settings(vec![Setting { key: SCHEMA.into(), text: schema.into() }])
    } else {
        Change::Lock
    }
}

/// Whom the rules see in a client that is in this schema.
fn caller(identity: &Identity, schema: &[u8]) -> Arc<Caller> {
    let user = &identity.account.user.name;
    let (address, port) = match identity.peer {
        Peer::Tcp(addresses) => {
            let listener = addresses.destination();
            (listener.ip().to_canonical().to_string(), listener.port())
        }
        Peer::Local => (String::new(), 0),
    };
    Arc::new(Caller::new(user, schema, &address, port))
}

//! What has become of a statement, and what that means for those behind it: settings that hold,
//! pins that begin and end.

use std::rc::Rc;
use std::sync::Arc;

use runtime::interning::{Beginning, caller, with_first};
use session::change::{ACCESS_MODE, Change, ISOLATION_LEVEL};
use session::link::LinkState;
use session::ran::Ran;
use session::state::gtids::{Gtids, TRACK_GTIDS, Tracking, names_last_gtid, replaces_tracked};
use session::state::tracked::Tracked;
use session::state::{Mark, Pin, SCHEMA, Setting};
use session::unjudged::{CODE, Calls, Unjudged, is_of_code};
use sql::shape::Effects;
use sql::{Dialect, StatementKind};
use wire::reply::{End, Outcome};
use wire::{Capabilities, StatusFlags};

use crate::state::{ClientCharset, LastResults, Past, SessionState};

/// A statement is none; of one that runs stored code this may be said of what that has run.
const ER_PARSE_ERROR: u16 = 1064;

/// The transaction was the victim of a deadlock.
const ER_LOCK_DEADLOCK: u16 = 1213;

/// What may leave the diagnostics area as it is.
const KEEPS_DIAGNOSTICS: Effects = Effects::READS_LAST.union(Effects::UNKNOWN);

/// What is known of the connection over which a statement has run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RanAt {
    /// Which comments its server executes.
    pub dialect: Option<Dialect>,
    /// There are warnings of what the proxy has said there.
    pub has_own_warnings: bool,
    /// There were warnings in front of the last packet.
    pub warned: bool,
}

/// What follows from the end of a command besides the session's new state.
#[derive(Debug, Default)]
pub struct Settled {
    /// The client has reset its connection: the other ones are of no use any more.
    pub is_reset: bool,
    /// The one in use is neither: it may have what a reset does not take back.
    pub closes: bool,
}

impl SessionState {
    /// The command that ran is over, at this place; `proposed` is what it changes if it has
    /// succeeded.
    pub fn settle(
        &mut self,
        proposed: Option<Box<Change>>,
        outcome: Outcome,
        (link, place): (&mut LinkState, RanAt),
    ) -> Settled {
        self.last.hostgroup = Some(self.here);
        let is_statement = self.last.ran.is_unanswered;
        let ends_rows = outcome.ends_rows || proposed.as_ref().is_some_and(|change| change.is_option());
        self.last.note_end(Outcome { ends_rows, ..outcome });
        // MySQL's answer to a COM_PING counts the warnings that there are.
        let counts_own = place.has_own_warnings && !is_statement;
        let clears = place.dialect.is_some_and(Dialect::clears_diagnostics);
        self.note_end(outcome, is_statement, (counts_own, clears), link);
        self.note_savepoint(outcome, link);
        self.note_transaction(outcome, link);
        if self.last.ran.sent.statement.is_some_and(StatementKind::begins)
            && matches!(outcome.end, End::Ok { .. })
        {
            link.pins.unlock_tables();
        }
        if is_statement && outcome.status().is_some_and(|status| status.contains(StatusFlags::CURSOR_EXISTS))
        {
            // The reply has none of its rows.
            link.pins.note(Mark::begin(Pin::FoundRows));
        }
        if place.warned {
            self.begin_warnings(link);
        }
        let change = proposed.map(|change| change.at(place.dialect));
        if self.releases(change.as_ref().and_then(|change| change.releases), outcome) {
            self.past.insert(Past::RELEASED);
        }
        let settled = change.map(|change| self.apply(change, outcome, link)).unwrap_or_default();
        self.note_status(outcome, link);
        settled
    }

    /// Whether the statement that ran has ended the transaction and the session, of which its own
    /// text may have said whether it does.
    fn releases(&self, says: Option<bool>, outcome: Outcome) -> bool {
        let sent = self.last.ran.sent;
        matches!(sent.statement, Some(StatementKind::Commit | StatementKind::Rollback))
            && !sent.several
            && matches!(outcome.end, End::Ok { .. })
            && says.unwrap_or_else(|| self.settings.releases())
    }

    /// The command that changes this, if it succeeds, has ended.
    fn apply(&mut self, change: Change, outcome: Outcome, link: &mut LinkState) -> Settled {
        if let End::Err { code } = outcome.end
            && !change.anyway
        {
            if change.sets_user_variables() {
                // They exist from then on, and are NULL of another type than those that do not.
                link.pins.note(Mark::begin(Pin::UserVariable));
            }
            self.note_before_error(code, (change.marks, change.calls), link);
            return Settled::default();
        }
        if change.resets {
            let closes = self.reset(link);
            // Whatever the session's settings begin with, its server tells what it goes on with.
            self.status = outcome.status().unwrap_or(self.status);
            return Settled { is_reset: true, closes };
        }
        if change.sets_charset() {
            self.charset = ClientCharset::Unknown;
        }
        if !change.settings.is_empty() {
            self.set(change.settings, link);
        }
        if change.passed > 0 && outcome.rows > 0 {
            self.last.counted.found = self.last.counted.found.saturating_add(change.passed);
        } else if change.passed > 0 {
            // There are fewer than it passes by, and only the server knows how many.
            link.pins.note(Mark::begin(Pin::FoundRows));
        }
        // A setting of which its server is asked is a setting until then, and binds.
        self.note_calling(change.marks, change.calls, link);
        Settled::default()
    }

    /// What the end of a reply says about the session's status.
    pub(crate) fn note_status(&mut self, outcome: Outcome, link: &mut LinkState) {
        let status = self.status;
        // Of a transaction that was rolled back an ERR packet carries no status.
        let is_over = matches!(outcome.end, End::Err { code } if self.note_error_code(Some(code)));
        let ended = if is_over { StatusFlags::IN_TRANSACTION } else { StatusFlags::empty() };
        // That the session has changed is said of one packet.
        let told = outcome.status().unwrap_or(status - ended) - StatusFlags::SESSION_STATE_CHANGED;
        // Without `autocommit`, a savepoint is a transaction of which servers do not tell.
        let has_savepoint = link.pins.holds(Pin::Transaction);
        link.status = if has_savepoint { told | StatusFlags::IN_TRANSACTION } else { told };
        self.hear_status(link);
        self.past.set(Past::UNSURE, outcome.status().is_none() && !is_over);
    }

    /// The client gets an error with this code. Whether its transaction is over.
    pub fn note_error_code(&mut self, code: Option<u16>) -> bool {
        let is_over = code == Some(ER_LOCK_DEADLOCK);
        self.past |= if is_over { Past::ROLLED_BACK } else { Past::empty() };
        is_over
    }

    /// The client has reset its connection: only where it is, and whom the servers know, stays.
    /// Whether the connection in use is to be closed.
    fn reset(&mut self, link: &mut LinkState) -> bool {
        let mut settings = std::mem::take(&mut self.settings);
        let closes = link.pins.reset();
        Rc::make_mut(&mut settings).reset();
        link.applied = settings.version();
        if let Some(first) = with_first(&self.identity, &settings) {
            settings = Rc::new(first);
        }
        let gtids = self.gtids.take().map(|mut gtids| {
            gtids.trackers.keep(self.identity.keeps(false));
            gtids
        });
        let beginning =
            Beginning { account: Rc::clone(&self.account), caller: Arc::clone(&self.caller), settings };
        *self = Self {
            here: self.here,
            status: self.status,
            past: Past::RESET | self.past & Past::LACKS_SCHEMA,
            last: LastResults::of_command(),
            gtids,
            ..Self::new(Rc::clone(&self.identity), beginning)
        };
        closes
    }

    /// A statement has ended with this error, which would have left these marks: the functions that
    /// it has called before, and what stored code has done, are not taken back.
    fn note_before_error(
        &mut self,
        code: u16,
        (mut marks, calls): (Vec<Mark>, Option<Box<Calls>>),
        link: &mut LinkState,
    ) {
        let is_code =
            matches!(self.last.ran.sent.statement, Some(StatementKind::Call | StatementKind::Execute));
        marks.retain(|mark| match mark {
            Mark::Begin(Pin::Function | Pin::NamedLock, _) => is_code || code != ER_PARSE_ERROR,
            Mark::Begin(Pin::StoredCode, _) => is_code,
            _ => false,
        });
        self.note_calling(marks, calls, link);
    }

    /// A command that is no statement has ended with an error of the server, which the client may
    /// ask about.
    pub fn note_error(&mut self, link: Option<&mut LinkState>) {
        (self.last.counted.changed, self.last.ran) = (-1, Ran::command());
        self.begin_warnings(link.unwrap_or(&mut LinkState::default()));
    }

    /// The server has something to say of the statement that ran. Of the one before it has nothing
    /// any more.
    fn begin_warnings(&mut self, link: &mut LinkState) {
        self.forget_released_error();
        link.pins.note(Mark::begin(Pin::Warnings));
    }

    /// How a statement has ended, or a command that is none: what that begins, and what it ends.
    /// Where it `counts_own`, warnings in its answer are the proxy's. `clears` says that the server
    /// clears the diagnostics area with each statement.
    fn note_end(
        &mut self,
        outcome: Outcome,
        is_statement: bool,
        (counts_own, clears): (bool, bool),
        link: &mut LinkState,
    ) {
        let end = outcome.end;
        let has_warnings = match end {
            End::Err { .. } => true,
            End::Ok { warnings, .. } | End::Eof { warnings, .. } => warnings > 0 && !counts_own,
            End::Other => false,
        };
        if has_warnings {
            self.begin_warnings(link);
        }
        if let Some(status) = outcome.status() {
            let reads_only = status.contains(StatusFlags::IN_TRANSACTION_READONLY);
            // MariaDB: behind a `SET autocommit = 1` that commits a transaction, the next one may
            // only read as well.
            if self.past.replace(Past::READS_ONLY, reads_only) && !reads_only && !self.ends_transaction() {
                link.pins.note(Mark::Begin(Pin::NextTransaction, ACCESS_MODE.into()));
            }
        }
        let has_nothing = link.pins.is_empty() && self.errors.is_none();
        let sent = self.last.ran.sent;
        if !is_statement || sent.several || matches!(end, End::Err { .. }) {
            return;
        }
        if self.writes() {
            // What was waited for is older than this, also at other servers.
            link.pins.note(Mark::EndAll(Pin::Waited));
            self.past.insert(Past::ENDS_WAITING);
        }
        if has_nothing {
            return;
        }
        let begins = sent.statement.is_some_and(StatementKind::begins) || sent.tables;
        if begins {
            link.pins.note(Mark::End(Pin::NextTransaction, ISOLATION_LEVEL.into()));
        }
        let is_over = outcome.status().is_some_and(|status| !status.contains(StatusFlags::IN_TRANSACTION));
        // At MariaDB they outlive statements without tables.
        let clears = sent.tables || clears && !sent.effects.intersects(KEEPS_DIAGNOSTICS);
        let is_clear = clears && !has_warnings;
        if is_clear {
            self.errors = None;
        }
        let ends = [
            (is_clear, Pin::Warnings),
            (is_over && self.ends_transaction(), Pin::NextTransaction),
            (sent.statement.is_some_and(StatementKind::is_select), Pin::FoundRows),
        ];
        for (_, pin) in ends.into_iter().filter(|(ends, _)| *ends) {
            link.pins.note(Mark::EndAll(pin));
        }
    }

    /// Whether a transaction is open, and what the server has still to say of it, or of one that
    /// had no tables that know transactions. Behind an error that has ended one, the server has
    /// told no session tracker of it; to a client whose rows end without trackers it does so with
    /// the next OK, over this connection.
    fn note_transaction(&mut self, outcome: Outcome, link: &mut LinkState) {
        let Some(status) = outcome.status() else { return };
        let is_open = status.contains(StatusFlags::IN_TRANSACTION);
        let is_over = self.past.replace(Past::IN_TRANSACTION, is_open) && !is_open;
        // A rollback warns of what it could not roll back.
        let may_write = self.writes() || self.last.ran.sent.statement == Some(StatementKind::Execute);
        let could_not = !is_open && !status.contains(StatusFlags::AUTOCOMMIT) && may_write;
        let has_trackers = self.identity.capabilities.contains(Capabilities::SESSION_TRACK)
            && !self.identity.capabilities.contains(Capabilities::DEPRECATE_EOF);
        // At MySQL a `SET` of `autocommit` that commits leaves it to the next transaction what was
        // said of all of them meanwhile.
        let is_late = is_over
            && matches!(self.last.ran.sent.statement, Some(StatementKind::Set))
            && self.settings.has_access_mode();
        let is_untold = is_over && has_trackers && matches!(outcome.end, End::Eof { .. });
        if is_untold || could_not || is_late {
            link.pins.note(Mark::Begin(Pin::NextTransaction, ACCESS_MODE.into()));
        }
    }

    /// Without `autocommit`, a savepoint is there until the transaction ends, and no status flag
    /// says so before a table is used. From then on the session is in a transaction: see
    /// [`note_status`](Self::note_status).
    fn note_savepoint(&self, outcome: Outcome, link: &mut LinkState) {
        let sets = self.last.ran.sent.effects.intersects(Effects::SAVEPOINT);
        if !sets && !link.pins.holds(Pin::Transaction) {
            return;
        }
        let begins = |status: StatusFlags| {
            sets && !status.intersects(StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION)
        };
        let ends = |status: StatusFlags| {
            let is_over =
                self.past.contains(Past::IN_TRANSACTION) && !status.contains(StatusFlags::IN_TRANSACTION);
            let is_end =
                matches!(self.last.ran.sent.statement, Some(StatementKind::Commit | StatementKind::Rollback));
            is_over || is_end || status.contains(StatusFlags::AUTOCOMMIT)
        };
        let mark = match (outcome.end, outcome.status()) {
            (End::Err { code: ER_LOCK_DEADLOCK }, _) => Mark::EndAll(Pin::Transaction),
            (_, Some(status)) if begins(status) => Mark::begin(Pin::Transaction),
            (_, Some(status)) if ends(status) => Mark::EndAll(Pin::Transaction),
            _ => return,
        };
        link.pins.note(mark);
    }

    /// A server has answered a command of the proxy's own. If a transaction is over that was open,
    /// an error has ended it, and of that the server has told here rather than to the client.
    pub(crate) fn note_tracked(&mut self, reply: &[u8], outcome: Outcome) {
        let is_over = |status: StatusFlags| {
            self.past.contains(Past::IN_TRANSACTION) && !status.contains(StatusFlags::IN_TRANSACTION)
        };
        let caps = self.identity.capabilities;
        if caps.contains(Capabilities::SESSION_TRACK)
            && outcome.status().is_some_and(is_over)
            && let Some(tracked) = Tracked::in_answer(reply, caps)
        {
            self.past.remove(Past::IN_TRANSACTION);
            self.transaction.tracked = Some(Box::new(tracked));
        }
    }

    /// Whether the statement that ran, one alone, ends a transaction or was one. Reads may not have
    /// been: at MariaDB those of tables that know none leave it to the next one that it may only
    /// read.
    fn ends_transaction(&self) -> bool {
        // At MariaDB a `SET` of `autocommit`, which commits, leaves what was said of the next
        // transaction. Where no tables are locked, nothing is committed when they are unlocked.
        let is_not_certain =
            matches!(self.last.ran.sent.statement, Some(StatementKind::Set | StatementKind::UnlockTables));
        let commits = self.last.ran.sent.effects.intersects(Effects::COMMITS) && !is_not_certain;
        matches!(self.last.ran.sent.statement, Some(StatementKind::Commit | StatementKind::Rollback))
            || commits
            || self.writes()
    }

    /// Whether it writes rows.
    const fn writes(&self) -> bool {
        let statement = self.last.ran.sent.statement;
        self.last.ran.sent.tables
            && matches!(
                statement,
                Some(
                    StatementKind::Insert
                        | StatementKind::Replace
                        | StatementKind::Update
                        | StatementKind::Delete
                        | StatementKind::Load
                )
            )
    }

    /// A statement has left this that calls these routines; `None` if it is unknown which.
    pub(crate) fn note_calling(&mut self, marks: Vec<Mark>, calls: Option<Box<Calls>>, link: &mut LinkState) {
        if marks.iter().any(is_of_code) {
            let is_bound = link.pins.has_any(&CODE);
            self.unjudged = Unjudged::and(self.unjudged.take(), calls, is_bound, self.here);
        }
        for mark in marks {
            link.pins.note(mark);
        }
    }

    /// Its server has told what was set; all of it, or what is missing binds the session.
    pub fn note_told(&mut self, settings: Vec<Setting>, link: &mut LinkState) {
        self.set(settings, link);
        link.pins.stay_unknown();
    }

    fn set(&mut self, settings: Vec<Setting>, link: &mut LinkState) {
        let mut besides = None;
        for mut setting in settings {
            // Whatever it was before.
            link.pins.note(Mark::End(Pin::Setting, setting.key.as_bytes().into()));
            if &*setting.key == TRACK_GTIDS {
                (setting, besides) = self.track(setting);
            }
            if replaces_tracked(&setting.key)
                && let Some(gtids) = self.gtids.as_mut().filter(|_| self.identity.tracking().by_default)
            {
                gtids.trackers.keep_last_gtid(names_last_gtid(&setting.text));
                besides = Some(Tracking::first());
            }
            if &*setting.key == SCHEMA {
                self.caller = Arc::new(caller(&self.identity, &setting.text));
                self.who = None;
                self.past.remove(Past::LACKS_SCHEMA);
                link.lacks_schema = false;
                link.pins.note(Mark::EndAll(Pin::Schema));
            }
            if matches!(&*setting.key, "names" | "character_set_client") {
                self.charset = ClientCharset::of_statement(&setting.text);
            }
            // Texts in them have the collation of their moment, which is over.
            if setting.is_charset()
                && &*setting.key != "character_set_results"
                && self.settings.has_user_variables()
            {
                link.pins.note(Mark::begin(Pin::UserVariable));
            }
            let pin = if setting.key.starts_with('@') { Pin::UserVariable } else { Pin::Setting };
            if !Rc::make_mut(&mut self.settings).set(setting) {
                link.pins.note(Mark::begin(pin));
            }
        }
        // The backend in use has it by what the client said.
        link.applied = self.settings.version();
        if let Some(setting) = besides {
            Rc::make_mut(&mut self.settings).set(setting);
        }
    }

    /// The client has set whether it wants to be told GTIDs. The setting as it is kept, and another
    /// one that servers are to hear behind it.
    fn track(&mut self, setting: Setting) -> (Setting, Option<Setting>) {
        let (asks, kept, besides) = self.identity.tracking().judge(setting);
        let keeps = self.identity.keeps(asks);
        if asks || self.gtids.is_some() {
            let keeps_ages = self.identity.tier.keeps_ages();
            let gtids = self.gtids.get_or_insert_with(|| Box::new(Gtids::new(keeps, keeps_ages)));
            gtids.trackers.keep(keeps);
        }
        (kept, besides)
    }
}

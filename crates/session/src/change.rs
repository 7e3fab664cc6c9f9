//! What a statement changes for those behind it: what it sets, and what it leaves at its server or
//! takes away from there.

use route::StatementPlan;
use route::limits::JUDGED_BYTES_MAX;
use route::reader::{Reading, plan};
use sql::shape::Effects;
use sql::{Condition, Dialect, FoundRows, Modes, Offset, StatementKind};

use crate::state::ids::{Ids, told};
use crate::state::marks::{
    by_name, drops_schema, executes_prepared, flushes_status, has, is_handler, is_of_threads, marks,
    prepared_text,
};
use crate::state::setting::RESOLVED;
use crate::state::{Mark, OPTION, Pin, SCHEMA, Setting, set};
use crate::statement::set_use::used_schema;
use crate::statement::{Xa, xa};
use crate::unjudged::{Calls, Unseen};

/// What leaves something at a server, or takes it away from there.
pub(super) const TRACES: Effects = Effects::SESSION
    .union(Effects::TEMPORARY_TABLE)
    .union(Effects::SETS_USER_VARIABLES)
    .union(Effects::NAMED_LOCKS)
    .union(Effects::COUNTS_ROWS)
    .union(Effects::FUNCTION)
    .union(Effects::SEQUENCE)
    .union(Effects::WAITS_FOR_POSITION)
    .union(Effects::SERVER)
    .union(Effects::UNKNOWN);

/// What may show ids of the server's threads.
const SHOWS_THREADS: Effects = Effects::SERVER.union(Effects::NAMED_LOCKS);

/// Whether a statement of this kind may call functions; `text` is not understood.
fn calls(kind: StatementKind, text: &[u8]) -> bool {
    let selects = || has(text, "select");
    let writes = matches!(
        kind,
        StatementKind::Insert | StatementKind::Replace | StatementKind::Update | StatementKind::Delete
    );
    let reads = matches!(kind, StatementKind::Select | StatementKind::SelectForUpdate);
    writes
        || reads
        || matches!(kind, StatementKind::CreateTable | StatementKind::CreateTemporary) && selects()
}

/// Whether a statement of this kind, which is not understood, may be stored code, or run it.
fn runs_code(kind: StatementKind) -> bool {
    matches!(kind.command(), StatementKind::Call | StatementKind::Execute | StatementKind::Unknown)
}

/// Where a statement is said.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The session's schema.
    pub schema: &'a [u8],
    /// The second byte of a character may be a quote or a backslash.
    pub two_byte_quotes: bool,
}

impl At<'_> {
    /// Whether it is certain how a text is split into tokens.
    const fn is_certain(self, text: &[u8]) -> bool {
        !self.two_byte_quotes || text.is_ascii()
    }
}

/// Whether an execution of a statement that is prepared by name leaves nothing, and asks nothing
/// about the statement before. What `INSERT ... RETURNING` answers looks like that of a `SELECT`.
fn is_plain(text: &[u8]) -> bool {
    let StatementPlan { kind, effects, several, .. } = plan::of(text, true, Reading::default());
    let is_usual = matches!(
        kind,
        StatementKind::Select
            | StatementKind::Insert
            | StatementKind::Replace
            | StatementKind::Update
            | StatementKind::Delete
    );
    let does_more = effects.intersects(TRACES.union(Effects::READS_LAST))
        || has(text, "returning")
        || is_of_threads(text, b"");
    is_usual && !several && !does_more
}

/// What a statement changes for those behind it.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// What it sets.
    pub settings: Vec<Setting>,
    /// What it leaves at the server, or takes away there.
    pub marks: Vec<Mark>,
    /// The session is as after its login.
    pub resets: bool,
    /// All this also if an error is answered: the statements in front of that one have had their
    /// effects.
    pub anyway: bool,
    /// What it sets is not known, and may be what decides what texts mean.
    may_set_modes: bool,
    /// The routines that it calls, if these are all that it hides.
    pub calls: Option<Box<Calls>>,
    /// What is behind the names of its tables, if that may be something.
    pub unseen: Option<Unseen>,
    /// What of its rows is the id of a thread, which the client gets otherwise.
    pub ids: Option<Ids>,
    /// Of a statement that ends a transaction: whether it ends the session with it, if its text
    /// says that (`COMMIT RELEASE`, `COMMIT NO RELEASE`).
    pub releases: Option<bool>,
    /// How many rows it passes by, which `FOUND_ROWS()` counts, too, where it has rows behind them.
    pub passed: u64,
    /// The parameter of an execution that says so, from 0 on.
    pub passed_by: Option<u16>,
    /// It stands in a comment, and is nothing to servers that do not execute that.
    pub within: Option<Condition>,
}

/// What `SET TRANSACTION` says of the next transaction.
pub const ISOLATION_LEVEL: &[u8] = b"isolation level";
/// The same, if that is whether it may write.
pub const ACCESS_MODE: &[u8] = b"access mode";

/// Whether a text may name something that decides what others mean: an SQL mode, character sets.
fn names_mode(text: &[u8]) -> bool {
    let mut names = ["sql_mode", "names", "char", "collation"].into_iter().chain(RESOLVED);
    names.any(|name| has(text, name))
}

impl Change {
    fn of(settings: Vec<Setting>) -> Self {
        Self { settings, ..Self::default() }
    }

    fn marked(marks: Vec<Mark>) -> Self {
        Self { marks, ..Self::default() }
    }

    /// A statement that leaves nothing but this.
    pub fn pinned(pin: Pin) -> Self {
        Self::marked(vec![Mark::begin(pin)])
    }

    /// Whether it changes nothing.
    pub const fn is_empty(&self) -> bool {
        self.settings.is_empty()
            && self.marks.is_empty()
            && !self.resets
            && self.ids.is_none()
            && self.releases.is_none()
            && self.passed == 0
            && self.passed_by.is_none()
    }

    /// Whether it makes settings, and nothing else.
    pub fn only_sets(&self) -> bool {
        !self.settings.is_empty() && self.marks.is_empty() && !self.resets
    }

    /// Whether it sets user variables, to whatever value.
    pub fn sets_user_variables(&self) -> bool {
        let pin = Mark::begin(Pin::UserVariable);
        self.marks.contains(&pin) || self.settings.iter().any(|setting| setting.key.starts_with('@'))
    }

    /// Whether its server is asked what it has set.
    fn asks(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark, Mark::Begin(Pin::Setting, name) if !name.is_empty()))
    }

    /// Whether texts may mean something else behind it.
    pub fn sets_modes(&self) -> bool {
        let is_schema = |mark: &Mark| matches!(mark, Mark::Begin(Pin::Schema, _));
        self.may_set_modes || self.settings.iter().any(Setting::is_mode) || self.marks.iter().any(is_schema)
    }

    /// Whether it sets the character set of later texts to one that is not written there.
    pub fn sets_charset(&self) -> bool {
        let is_it = |name: &[u8]| matches!(name, b"names" | b"character_set_client");
        self.marks.iter().any(|mark| matches!(mark, Mark::Begin(Pin::Setting, name) if is_it(name)))
    }

    /// Whether it is code that the proxy does not see, and that may set anything.
    pub fn runs_stored_code(&self) -> bool {
        self.marks.contains(&Mark::begin(Pin::StoredCode))
    }

    /// Whether statements behind it need not wait for it.
    pub fn is_quiet(&self) -> bool {
        self.settings.is_empty()
            && !self.resets
            && self.ids.is_none()
            && self.within.is_none()
            && self.marks.iter().all(Mark::is_quiet)
    }

    /// What `COM_SET_OPTION` changes, with its payload.
    pub fn of_option(payload: &[u8]) -> Self {
        Self::of(vec![Setting { key: OPTION.into(), text: payload.into() }])
    }

    /// Whether it is what `COM_SET_OPTION` changes, which servers answer as they end rows.
    pub fn is_option(&self) -> bool {
        self.settings.iter().any(|setting| &*setting.key == OPTION)
    }

    /// What `COM_PROCESS_INFO` shows.
    pub fn of_process_info() -> Self {
        Self { ids: Some(Ids::FIRST), ..Self::default() }
    }

    /// What `COM_RESET_CONNECTION` changes.
    pub fn of_reset() -> Self {
        Self { resets: true, ..Self::default() }
    }

    /// What a statement changes that stands in a comment, where a server executes it.
    pub fn within(condition: Condition, change: Self) -> Self {
        Self { within: Some(condition), ..change }
    }

    /// The rule has `multiplex = 2`: its author vouches that unseen effects leave nothing behind.
    /// Drops the pins of stored code, functions, user variables and sequences.
    pub fn believe_harmless(&mut self) {
        let hidden = [Pin::StoredCode, Pin::Function, Pin::UserVariable, Pin::Sequence].map(Mark::begin);
        self.marks.retain(|mark| !hidden.contains(mark));
        self.calls = None;
    }

    /// The same at the server that has executed it, or has not.
    #[must_use]
    pub fn at(self, dialect: Option<Dialect>) -> Self {
        match self.within.map(|condition| condition.holds_at(dialect)) {
            Some(Some(false)) => Self::default(),
            // It is set, or is not.
            Some(None) if !self.settings.is_empty() || self.asks() => Self::pinned(Pin::Setting),
            // It is what it seems to be, or was taken for the worst already.
            _ => self,
        }
    }

    /// What a statement changes if it succeeds.
    pub fn of_one(plan: StatementPlan, text: &[u8], at: At<'_>) -> Self {
        let StatementPlan { kind, effects, .. } = plan;
        let ends = matches!(kind, StatementKind::Commit | StatementKind::Rollback) && has(text, "release");
        // Most do nothing of all this.
        let may_leave = match kind {
            StatementKind::DropTable | StatementKind::DropDatabase | StatementKind::Xa => true,
            StatementKind::Update => is_of_threads(text, at.schema),
            _ => ends || plan.counts_apart,
        };
        if !may_leave && !effects.intersects(TRACES) {
            return Self::default();
        }
        let is_unknown = effects.intersects(Effects::UNKNOWN);
        let mut change = Self::marked(marks(effects, kind, text, at.schema, plan.tables));
        change.add_ids(effects, text);
        change.add_found_rows(plan, text);
        match kind {
            _ if ends => change.releases = Some(effects.intersects(Effects::SESSION)),
            StatementKind::Set if !at.is_certain(text) => {
                return Self { may_set_modes: names_mode(text), ..Self::pinned(Pin::Setting) };
            }
            StatementKind::Set => change.add_set(text),
            StatementKind::Use => {
                return used_schema(text).map_or_else(|| Self::pinned(Pin::Schema), Self::of_schema);
            }
            StatementKind::LockTable => change.marks.push(Mark::tables_locked()),
            // With read lock: of tables, or of all there are, which is another lock.
            StatementKind::Flush if effects.intersects(Effects::LOCKS) => {
                let mark = if plan.tables { Mark::tables_locked() } else { Mark::begin(Pin::LockedTables) };
                change.marks.push(mark);
            }
            StatementKind::DropDatabase if drops_schema(text, at.schema) => {
                change.marks.push(Mark::begin(Pin::Schema));
            }
            StatementKind::Flush if flushes_status(text) => change.marks.push(Mark::begin(Pin::Status)),
            StatementKind::UnlockTables => change.marks.push(Mark::EndAll(Pin::LockedTables)),
            // A function in it may be anything. Of what is too large to be looked at that is not to
            // be expected.
            _ if is_unknown && calls(kind, text) && text.len() < JUDGED_BYTES_MAX => {
                change.marks.push(Mark::begin(Pin::Function));
            }
            _ if effects.intersects(Effects::TEMPORARY_TABLE) => {}
            // Their first words are certain where the rest is not.
            StatementKind::Prepare | StatementKind::Deallocate => {
                change.marks.push(by_name(text).unwrap_or_else(|| Mark::begin(Pin::Prepare)));
                let is_known =
                    || at.is_certain(text) && prepared_text(text).is_some_and(|text| is_plain(&text));
                if kind == StatementKind::Prepare && !is_known() {
                    // Its executions may do anything.
                    change.marks.push(Mark::begin(Pin::StoredCode));
                }
            }
            StatementKind::Load if is_unknown && text.contains(&b'@') => {
                change.marks.push(Mark::begin(Pin::UserVariable));
            }
            _ if effects.intersects(Effects::SESSION) => match by_name(text) {
                Some(mark) => change.marks.push(mark),
                None if is_handler(text) || at.is_certain(text) && executes_prepared(text) => {}
                None if kind == StatementKind::Execute => change.marks.push(Mark::begin(Pin::StoredCode)),
                None => change.marks.push(Mark::begin(Pin::Setting)),
            },
            StatementKind::Xa => change.marks.extend(mark_of_xa(text, is_unknown)),
            // The proxy does not see what stored code does.
            _ if is_unknown && runs_code(kind) => {
                change.marks.push(Mark::begin(Pin::StoredCode));
            }
            _ => {}
        }
        change
    }

    /// And what it shows of threads.
    fn add_ids(&mut self, effects: Effects, text: &[u8]) {
        let told = if effects.intersects(SHOWS_THREADS) { told(text) } else { return };
        self.ids = told.ids;
        if told.is_hidden {
            self.marks.push(Mark::begin(Pin::ConnectionId));
        }
    }

    /// The same of a statement whose client knows the columns already and is not told them again.
    pub fn without_definitions(&mut self) {
        let Some(ids) = self.ids.take() else { return };
        self.ids = ids.without_definitions();
        if self.ids != Some(ids) {
            self.marks.push(Mark::begin(Pin::ConnectionId));
        }
    }

    /// What several statements in one text change, of which the first has this kind: what each
    /// does is not told apart.
    pub fn of_several(effects: Effects, first: StatementKind, text: &[u8]) -> Self {
        let mut change = Self::default();
        let uses = effects.intersects(Effects::SESSION) && set::has_use(text);
        // Locks of tables commit. Those of rows end with the transaction, of which servers tell.
        let locks_tables = effects.intersects(Effects::LOCKS) && effects.intersects(Effects::COMMITS);
        let lasts = effects.intersects(Effects::SESSION.union(Effects::TEMPORARY_TABLE));
        // What could not be understood.
        let may_last = effects.intersects(Effects::UNKNOWN)
            && matches!(first, StatementKind::Set | StatementKind::Use | StatementKind::LockTable);
        let of = [
            (locks_tables || lasts || may_last, Pin::Setting),
            (uses, Pin::Schema),
            (effects.intersects(Effects::UNKNOWN), Pin::StoredCode),
            (effects.intersects(Effects::SETS_USER_VARIABLES), Pin::UserVariable),
            (effects.intersects(Effects::NAMED_LOCKS), Pin::NamedLock),
            (effects.intersects(Effects::FUNCTION), Pin::Function),
            // How many rows the last of them had is not told apart.
            (effects.intersects(Effects::COUNTS_ROWS) || has(text, "select"), Pin::FoundRows),
            (effects.intersects(Effects::SEQUENCE), Pin::Sequence),
            (effects.intersects(Effects::WAITS_FOR_POSITION), Pin::Waited),
        ];
        change.marks.extend(of.into_iter().filter(|(is_so, _)| *is_so).map(|(_, pin)| Mark::begin(pin)));
        change.anyway = !change.marks.is_empty();
        change.may_set_modes = change.marks.contains(&Mark::begin(Pin::Setting)) && names_mode(text);
        change
    }

    /// And what a query without `SQL_CALC_FOUND_ROWS` leaves for `FOUND_ROWS()`.
    fn add_found_rows(&mut self, plan: StatementPlan, text: &[u8]) {
        if !plan.counts_apart {
            return;
        }
        match FoundRows::of(text, Modes::default()) {
            FoundRows::Behind(Offset::Number(passed)) => self.passed = passed,
            FoundRows::Behind(Offset::Parameter(at)) => self.passed_by = Some(at),
            FoundRows::Unknown => self.marks.push(Mark::begin(Pin::FoundRows)),
            _ => {}
        }
    }

    /// The value of that parameter. If it is not known, neither is how many rows there were.
    pub fn set_passed(&mut self, value: Option<u64>) {
        self.passed_by = None;
        match value {
            Some(passed) => self.passed = passed,
            None => self.marks.push(Mark::begin(Pin::FoundRows)),
        }
    }

    /// And what a `SET` changes.
    fn add_set(&mut self, text: &[u8]) {
        match set::change(text) {
            set::Change::Sets(set::Sets { settings, asked, user_variables }) => {
                self.settings = settings;
                self.may_set_modes = !asked.is_empty() && names_mode(text);
                self.marks
                    .extend(asked.into_iter().map(|name| Mark::Begin(Pin::Setting, name.as_bytes().into())));
                self.marks.extend(user_variables.then(|| Mark::begin(Pin::UserVariable)));
            }
            set::Change::NextTransaction => {
                // READ ONLY or READ WRITE.
                let sets_access = has(text, "only") || has(text, "write");
                let name = if sets_access { ACCESS_MODE } else { ISOLATION_LEVEL };
                self.marks.push(Mark::Begin(Pin::NextTransaction, name.into()));
            }
            set::Change::Nothing => {}
            set::Change::Unknown => {
                self.marks.push(Mark::begin(Pin::Setting));
                self.may_set_modes = names_mode(text);
            }
        }
    }

    /// What it changes to be in this schema.
    pub fn of_schema(schema: &[u8]) -> Self {
        // What other letters mean depends on the character set of that moment.
        if schema.is_ascii() {
            Self::of(vec![Setting { key: SCHEMA.into(), text: schema.into() }])
        } else {
            Self::pinned(Pin::Schema)
        }
    }
}

/// What an XA statement begins or ends; one that is not understood may be anything.
fn mark_of_xa(text: &[u8], is_unknown: bool) -> Option<Mark> {
    match xa(text) {
        Some(Xa::Begins) => Some(Mark::begin(Pin::Xa)),
        Some(Xa::Ends) => Some(Mark::EndAll(Pin::Xa)),
        None => is_unknown.then(|| Mark::begin(Pin::StoredCode)),
    }
}

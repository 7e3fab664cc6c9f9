//! What a server does, in values: sessions with their state, and tables of ids.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;
use wire::StatusFlags;

use super::changes::{Changes, TRACKED};
use super::handles::Handles;
use super::last::Last;
use super::pinned::{Pinned, Pins};
use super::replication::answer;
use super::sharding::is_sharded;
use super::statement::Statement;

/// The character set that a login brings, and a reset brings back.
const LOGIN_CHARSET: &str = "utf8mb4";

/// The rows of the table `t`, and of the sharded one, and what has been done to them.
#[derive(Debug, Default)]
pub(super) struct Database {
    pub(super) committed: BTreeSet<u64>,
    /// How often each row has been inserted, committed or not.
    pub(super) inserted: HashMap<u64, u32>,
    /// Transactions that have written, in their order.
    pub(super) log: Vec<(Instant, Vec<u64>)>,
}

/// Ids that an owner has.
pub(super) const PER_OWNER: u64 = 1_000_000;

/// Whose row this is.
pub(super) const fn owner(id: u64) -> u64 {
    id / PER_OWNER
}

/// What a statement or command comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Ok { affected: u64, last_id: u64 },
    Rows { columns: Vec<String>, rows: Vec<Vec<Option<String>>> },
    Error { code: u16, message: String },
}

impl Answer {
    pub(super) const OK: Self = Self::Ok { affected: 0, last_id: 0 };
}

/// A session at a server.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) schema: Option<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) user_variables: BTreeMap<String, String>,
    pub(super) autocommit: bool,
    pub(super) in_transaction: bool,
    /// What it has inserted and not committed.
    pub(super) pending: Vec<u64>,
    pub(super) last_id: u64,
    pub(super) prepared: Handles,
    pub(super) pins: Pins,
    pub(super) last: Last,
    pub(super) changes: Changes,
    /// How late its server gets transactions; nothing at the writer.
    pub(super) lag: Duration,
}

impl Session {
    /// One that has just logged in.
    pub(super) fn new(schema: Option<String>) -> Self {
        let mut session = Self {
            schema,
            variables: BTreeMap::new(),
            user_variables: BTreeMap::new(),
            autocommit: true,
            in_transaction: false,
            pending: Vec::new(),
            last_id: 0,
            prepared: Handles::default(),
            pins: Pins::default(),
            last: Last::default(),
            changes: Changes::default(),
            lag: Duration::ZERO,
        };
        session.set_names(LOGIN_CHARSET);
        session.changes.clear();
        session
    }

    pub(super) fn status(&self) -> StatusFlags {
        let mut status = StatusFlags::default();
        if self.autocommit {
            status |= StatusFlags::AUTOCOMMIT;
        }
        if self.in_transaction {
            status |= StatusFlags::IN_TRANSACTION;
        }
        status
    }

    /// Whether what it writes now is there for good at once.
    pub(super) const fn commits_at_once(&self) -> bool {
        self.autocommit && !self.in_transaction
    }

    /// What its last command has left to be asked for.
    pub(super) const fn last(&self) -> &Last {
        &self.last
    }

    /// The last statement had these rows, as it turns out.
    pub(super) fn found(&mut self, answer: &Answer) {
        if let Answer::Rows { rows, .. } = answer {
            self.last.found_rows = rows.len() as u64;
        }
    }

    /// `COM_RESET_CONNECTION`.
    pub(super) fn reset(&mut self) {
        let prepared = self.prepared.cleared();
        *self = Self { prepared, lag: self.lag, ..Self::new(self.schema.take()) };
    }

    /// `COM_INIT_DB`.
    pub(super) fn enter(&mut self, schema: &str) {
        self.last.note_command();
        self.set_schema(schema.to_owned());
    }

    /// `COM_STMT_PREPARE`.
    pub(super) fn prepare(&mut self, text: &str) -> u32 {
        self.last.note_prepared();
        self.prepared.add(text)
    }

    /// A command without a statement has succeeded.
    pub(super) fn succeed(&mut self) {
        self.last.note_command();
    }

    /// `COM_PING`.
    pub(super) fn ping(&mut self) {
        self.last.note_ping();
    }

    /// A statement has failed with an error of the proxy's own.
    pub(super) fn fail(&mut self, code: u16, message: &str) {
        self.last.note(&Answer::Error { code, message: message.to_owned() });
    }

    /// Carries out a statement. `KILL` is not a session's matter.
    pub(super) fn run(&mut self, database: &mut Database, statement: Statement) -> Answer {
        let shows = statement == Statement::Warnings;
        self.changes.clear();
        let answer = self.carry_out(database, statement);
        if shows {
            self.last.note_shown();
        } else {
            self.last.note(&answer);
        }
        answer
    }

    fn carry_out(&mut self, database: &mut Database, statement: Statement) -> Answer {
        match statement {
            Statement::Warnings => return self.last.show(),
            Statement::Pinned(pinned) => return self.pinned(database, &pinned),
            Statement::Assign { name, value } => {
                let column = format!("{name} := {value}");
                let value = value.trim_matches('\'').to_owned();
                self.user_variables.insert(name, value.clone());
                return Answer::Rows { columns: vec![column], rows: vec![vec![Some(value)]] };
            }
            Statement::Signal { code, message } => return Answer::Error { code, message },
            Statement::Begin => {
                self.commit(database);
                self.pins.unlock_tables();
                self.in_transaction = true;
            }
            Statement::Commit => self.commit(database),
            Statement::Rollback => self.roll_back(),
            Statement::Use(schema) => self.set_schema(schema),
            Statement::Set(all) => {
                for (name, value) in all {
                    self.set(database, &name, value);
                }
            }
            Statement::Select { columns, expressions } => return self.select(columns, &expressions),
            Statement::Rows(of) => return self.rows(database, of),
            Statement::Insert(id) => return self.insert(database, id),
            Statement::Sharded(sharded) => return self.sharded(database, &sharded),
            Statement::Nothing => return Answer::Rows { columns: vec!["1".to_owned()], rows: Vec::new() },
            Statement::Replication(question) => {
                let had = database.applied(self.lag);
                return answer(&question, had, had);
            }
            Statement::Definition => return super::values::definition(),
            Statement::Kill { .. } | Statement::ShardDefinition => {}
        }
        Answer::OK
    }

    fn set_schema(&mut self, schema: String) {
        self.changes.note_schema(&schema);
        self.schema = Some(schema);
    }

    fn set(&mut self, database: &mut Database, name: &str, value: String) {
        match name {
            "names" => self.set_names(&value),
            "autocommit" => {
                self.changes.note_variable(name, &value);
                self.autocommit = value == "1" || value.eq_ignore_ascii_case("ON");
                if self.autocommit {
                    self.commit(database);
                }
            }
            "last_insert_id" => self.last_id = value.parse().unwrap_or_default(),
            _ if name.starts_with('@') => self.set_user_variable(name, value),
            _ => {
                let adds_gtid = value.starts_with("CONCAT_WS(");
                let value = if adds_gtid { format!("{TRACKED},last_gtid") } else { value };
                // Collations of logins travel as numbers.
                let value = if value == "45" { LOGIN_CHARSET.to_owned() } else { value };
                self.changes.note_variable(name, &value);
                self.variables.insert(name.to_owned(), value);
            }
        }
    }

    /// What an answer tells of the session, as bytes.
    pub(super) fn told(&self) -> Option<Vec<u8>> {
        let variable = |name: &str| self.variables.get(name).map(String::as_str);
        let has_gtids = variable("session_track_gtids").is_some_and(|value| value != "OFF");
        self.changes.encode(variable("session_track_system_variables"), has_gtids)
    }

    fn set_names(&mut self, charset: &str) {
        for name in ["character_set_client", "character_set_results", "collation_connection"] {
            self.variables.insert(name.to_owned(), charset.to_owned());
        }
        for name in ["character_set_client", "character_set_connection", "character_set_results"] {
            self.changes.note_variable(name, charset);
        }
    }

    pub(super) fn commit(&mut self, database: &mut Database) {
        if !self.pending.is_empty() {
            database.log.push((Instant::now(), self.pending.clone()));
            self.changes.note_committed(database.log.len() as u64);
        }
        database.committed.extend(self.pending.drain(..));
        self.pins.forget_savepoints();
        self.in_transaction = false;
    }

    /// Also what becomes of it when its connection ends.
    pub(super) fn roll_back(&mut self) {
        self.pending.clear();
        self.pins.forget_savepoints();
        self.in_transaction = false;
    }

    fn pinned(&mut self, database: &mut Database, pinned: &Pinned) -> Answer {
        if pinned.commits(&self.pins) {
            self.commit(database);
        }
        let may_be_open = !self.commits_at_once();
        self.pins.run(pinned, &mut self.pending, may_be_open)
    }

    fn rows(&mut self, database: &Database, of: u64) -> Answer {
        self.open_transaction();
        let late = usize::try_from(database.applied(self.lag)).unwrap_or(usize::MAX);
        let applied = database.log.iter().take(late).flat_map(|(_, rows)| rows);
        let all: BTreeSet<u64> = applied.chain(&self.pending).copied().collect();
        let own = all.into_iter().filter(|id| owner(*id) == of && !is_sharded(*id));
        let rows = own.map(|id| vec![Some(id.to_string())]).collect();
        Answer::Rows { columns: vec!["id".to_owned()], rows }
    }

    fn insert(&mut self, database: &mut Database, id: u64) -> Answer {
        if self.pins.has_locked_tables() {
            let message = "Table 't' was locked with a READ lock and can't be updated".to_owned();
            return Answer::Error { code: 1099, message };
        }
        self.open_transaction();
        *database.inserted.entry(id).or_default() += 1;
        self.pending.push(id);
        if self.commits_at_once() {
            self.commit(database);
        }
        self.last_id = id + 7;
        Answer::Ok { affected: 1, last_id: self.last_id }
    }

    /// What reads or writes a table opens one without autocommit.
    pub(super) const fn open_transaction(&mut self) {
        self.in_transaction |= !self.autocommit;
    }
}

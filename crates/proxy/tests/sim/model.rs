//! What a server does, in values: sessions with their state, and one table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wire::StatusFlags;

use super::handles::Handles;
use super::statement::Statement;

/// The character set that a login brings, and a reset brings back.
const LOGIN_CHARSET: &str = "utf8mb4";

/// The table `t`, and what has been done to it.
#[derive(Debug, Default)]
pub(super) struct Database {
    pub(super) committed: BTreeSet<u64>,
    /// How often each row has been inserted, committed or not.
    pub(super) inserted: HashMap<u64, u32>,
}

/// Whose row this is.
pub(super) const fn owner(id: u64) -> u64 {
    id / 1_000_000
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
    schema: Option<String>,
    variables: BTreeMap<String, String>,
    user_variables: BTreeMap<String, String>,
    autocommit: bool,
    in_transaction: bool,
    /// What it has inserted and not committed.
    pub(super) pending: Vec<u64>,
    last_id: u64,
    pub(super) prepared: Handles,
    /// The error of the last statement.
    error: Option<(u16, String)>,
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
            error: None,
        };
        session.set_names(LOGIN_CHARSET);
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

    /// Whether its last statement has.
    pub(super) const fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// `COM_RESET_CONNECTION`.
    pub(super) fn reset(&mut self) {
        let prepared = self.prepared.cleared();
        *self = Self { prepared, ..Self::new(self.schema.take()) };
    }

    /// `COM_INIT_DB`.
    pub(super) fn enter(&mut self, schema: &str) {
        self.error = None;
        self.schema = Some(schema.to_owned());
    }

    /// `COM_STMT_PREPARE`.
    pub(super) fn prepare(&mut self, text: &str) -> u32 {
        self.error = None;
        self.prepared.add(text)
    }

    /// What succeeds and leaves no error behind, as a ping.
    pub(super) fn succeed(&mut self) {
        self.error = None;
    }

    /// A statement has failed with an error of the proxy's own.
    pub(super) fn fail(&mut self, code: u16, message: &str) {
        self.error = Some((code, message.to_owned()));
    }

    /// Carries out a statement. `KILL` is not a session's matter.
    pub(super) fn run(&mut self, database: &mut Database, statement: Statement) -> Answer {
        let shows = statement == Statement::Warnings;
        let answer = self.carry_out(database, statement);
        if !shows {
            self.error = match &answer {
                Answer::Error { code, message } => Some((*code, message.clone())),
                _ => None,
            };
        }
        answer
    }

    fn carry_out(&mut self, database: &mut Database, statement: Statement) -> Answer {
        match statement {
            Statement::Warnings => return self.warnings(),
            Statement::Signal { code, message } => return Answer::Error { code, message },
            Statement::Begin => {
                self.commit(database);
                self.in_transaction = true;
            }
            Statement::Commit => self.commit(database),
            Statement::Rollback => self.roll_back(),
            Statement::Use(schema) => self.schema = Some(schema),
            Statement::Set(all) => {
                for (name, value) in all {
                    self.set(database, &name, value);
                }
            }
            Statement::Select { columns, expressions } => return self.select(columns, &expressions),
            Statement::Rows(of) => return self.rows(database, of),
            Statement::Insert(id) => return self.insert(database, id),
            Statement::Nothing => return Answer::Rows { columns: vec!["1".to_owned()], rows: Vec::new() },
            Statement::Kill { .. } => {}
        }
        Answer::OK
    }

    fn set(&mut self, database: &mut Database, name: &str, value: String) {
        match name {
            "names" => self.set_names(&value),
            "autocommit" => {
                self.autocommit = value == "1" || value.eq_ignore_ascii_case("ON");
                if self.autocommit {
                    self.commit(database);
                }
            }
            "last_insert_id" => self.last_id = value.parse().unwrap_or_default(),
            _ if name.starts_with('@') => drop(self.user_variables.insert(name.to_owned(), value)),
            _ => {
                // Collations of logins travel as numbers.
                let value = if value == "45" { LOGIN_CHARSET.to_owned() } else { value };
                self.variables.insert(name.to_owned(), value);
            }
        }
    }

    fn set_names(&mut self, charset: &str) {
        for name in ["character_set_client", "character_set_results", "collation_connection"] {
            self.variables.insert(name.to_owned(), charset.to_owned());
        }
    }

    fn commit(&mut self, database: &mut Database) {
        database.committed.extend(self.pending.drain(..));
        self.in_transaction = false;
    }

    /// Also what becomes of it when its connection ends.
    pub(super) fn roll_back(&mut self) {
        self.pending.clear();
        self.in_transaction = false;
    }

    fn select(&self, columns: Vec<String>, expressions: &[String]) -> Answer {
        let mut row = Vec::new();
        for expression in expressions {
            match self.value(expression) {
                Ok(value) => row.push(value),
                Err(answer) => return answer,
            }
        }
        Answer::Rows { columns, rows: vec![row] }
    }

    fn value(&self, expression: &str) -> Result<Option<String>, Answer> {
        if let Some(name) = expression.strip_prefix("@@") {
            let name = name.trim_start_matches("session.").trim_start_matches("SESSION.");
            return Ok(Some(match name.trim_start_matches("GLOBAL.") {
                "init_connect <> ''" => "0".to_owned(),
                "max_allowed_packet" => "16777216".to_owned(),
                "max_statement_time" => "0.000000".to_owned(),
                "last_insert_id" => self.last_id.to_string(),
                "autocommit" => u8::from(self.autocommit).to_string(),
                name => self.variables.get(name).cloned().unwrap_or_else(|| "DEFAULT".to_owned()),
            }));
        }
        match expression {
            "NULL" => Ok(None),
            "DATABASE()" => Ok(self.schema.clone()),
            "LAST_INSERT_ID()" => Ok(Some(self.last_id.to_string())),
            _ if expression.starts_with('@') => Ok(self.user_variables.get(expression).cloned()),
            _ if expression.starts_with('\'') => Ok(Some(expression.trim_matches('\'').to_owned())),
            _ => Err(Answer::Error {
                code: 1054,
                message: format!("Unknown column '{expression}' in 'SELECT'"),
            }),
        }
    }

    fn warnings(&self) -> Answer {
        let columns = ["Level", "Code", "Message"].map(str::to_owned).to_vec();
        let row = |(code, message): &(u16, String)| {
            vec![Some("Error".to_owned()), Some(code.to_string()), Some(message.clone())]
        };
        Answer::Rows { columns, rows: self.error.iter().map(row).collect() }
    }

    fn rows(&mut self, database: &Database, of: u64) -> Answer {
        self.open_transaction();
        let all: BTreeSet<u64> = database.committed.iter().chain(&self.pending).copied().collect();
        let own = all.into_iter().filter(|id| owner(*id) == of);
        let rows = own.map(|id| vec![Some(id.to_string())]).collect();
        Answer::Rows { columns: vec!["id".to_owned()], rows }
    }

    fn insert(&mut self, database: &mut Database, id: u64) -> Answer {
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
    const fn open_transaction(&mut self) {
        self.in_transaction |= !self.autocommit;
    }
}

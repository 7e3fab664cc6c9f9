//! Statements that keep a connection to its session, and what they leave there.

use std::collections::BTreeMap;

use super::model::Answer;

/// A statement whose effect cannot be set again at another connection, or is not by literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pinned {
    CreateTemporary,
    DropTemporary,
    InsertTemporary(u64),
    /// The rows of the temporary table.
    Temporary,
    GetLock(String),
    ReleaseLock(String),
    ReleaseAllLocks,
    LockTables,
    UnlockTables,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
}

/// What such statements have left in a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Pins {
    /// Rows of the temporary table `tmp`, if there is one. It knows no transactions.
    temporary: Option<Vec<u64>>,
    /// Locks by name, and how often each was taken.
    locks: BTreeMap<String, u32>,
    /// The table `t` is locked for reading.
    is_locked: bool,
    /// Savepoints, and how many rows were pending at each.
    savepoints: Vec<(String, usize)>,
}

/// What this text says, if it is such a statement.
pub(super) fn parse(text: &str) -> Option<Pinned> {
    let call = |name: &str| {
        let argument = text.strip_prefix("SELECT ")?.strip_prefix(name)?.strip_suffix(')')?;
        Some(argument.split(',').next()?.trim_matches('\'').to_owned())
    };
    match text {
        "CREATE TEMPORARY TABLE tmp (id BIGINT) ENGINE = MEMORY" => return Some(Pinned::CreateTemporary),
        "DROP TEMPORARY TABLE tmp" => return Some(Pinned::DropTemporary),
        "SELECT id FROM tmp" => return Some(Pinned::Temporary),
        "SELECT RELEASE_ALL_LOCKS()" => return Some(Pinned::ReleaseAllLocks),
        "LOCK TABLES t READ" => return Some(Pinned::LockTables),
        "UNLOCK TABLES" => return Some(Pinned::UnlockTables),
        _ => {}
    }
    if let Some(id) = text.strip_prefix("INSERT INTO tmp VALUES (") {
        return id.strip_suffix(')')?.parse().ok().map(Pinned::InsertTemporary);
    }
    if let Some(name) = call("GET_LOCK(") {
        return Some(Pinned::GetLock(name));
    }
    if let Some(name) = call("RELEASE_LOCK(") {
        return Some(Pinned::ReleaseLock(name));
    }
    let (first, name) = text.rsplit_once(' ')?;
    let name = name.trim_matches('`').to_owned();
    match first {
        "SAVEPOINT" => Some(Pinned::Savepoint(name)),
        "ROLLBACK TO SAVEPOINT" | "ROLLBACK TO" => Some(Pinned::RollbackTo(name)),
        "RELEASE SAVEPOINT" => Some(Pinned::Release(name)),
        _ => None,
    }
}

impl Pinned {
    /// Whether it ends a transaction of a session, whose tables may be `locked`.
    pub(super) fn commits(&self, pins: &Pins) -> bool {
        *self == Self::LockTables || *self == Self::UnlockTables && pins.is_locked
    }

    /// Name of the column of the rows that it answers.
    pub(super) fn column(&self) -> Option<String> {
        match self {
            Self::Temporary => Some("id".to_owned()),
            Self::GetLock(name) => Some(format!("GET_LOCK('{name}', 0)")),
            Self::ReleaseLock(name) => Some(format!("RELEASE_LOCK('{name}')")),
            Self::ReleaseAllLocks => Some("RELEASE_ALL_LOCKS()".to_owned()),
            _ => None,
        }
    }
}

impl Pins {
    pub(super) const fn has_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    pub(super) const fn has_locked_tables(&self) -> bool {
        self.is_locked
    }

    /// A transaction has begun or ended.
    pub(super) fn forget_savepoints(&mut self) {
        self.savepoints.clear();
    }

    pub(super) const fn unlock_tables(&mut self) {
        self.is_locked = false;
    }

    /// Carries out a statement of a session with these rows `pending`, where savepoints are kept if
    /// a transaction `may_be_open`.
    pub(super) fn run(&mut self, statement: &Pinned, pending: &mut Vec<u64>, may_be_open: bool) -> Answer {
        let done = match statement {
            Pinned::CreateTemporary => self.create(),
            Pinned::DropTemporary => match self.temporary.take() {
                Some(_) => Ok(Answer::OK),
                None => Err((1051, "Unknown table 'tmp'".to_owned())),
            },
            Pinned::InsertTemporary(id) => self.table().map(|rows| {
                rows.push(*id);
                Answer::Ok { affected: 1, last_id: 0 }
            }),
            Pinned::Temporary => self.table().map(|rows| {
                let rows = rows.iter().map(|id| vec![Some(id.to_string())]).collect();
                Answer::Rows { columns: vec!["id".to_owned()], rows }
            }),
            Pinned::GetLock(_) | Pinned::ReleaseLock(_) | Pinned::ReleaseAllLocks => {
                let row = vec![self.locked(statement)];
                let columns = statement.column().into_iter().collect();
                Ok(Answer::Rows { columns, rows: vec![row] })
            }
            Pinned::LockTables | Pinned::UnlockTables => {
                self.is_locked = *statement == Pinned::LockTables;
                Ok(Answer::OK)
            }
            Pinned::Savepoint(name) => {
                self.savepoints.retain(|(one, _)| one != name);
                if may_be_open {
                    self.savepoints.push((name.clone(), pending.len()));
                }
                Ok(Answer::OK)
            }
            Pinned::RollbackTo(name) => self.place(name).map(|at| {
                pending.truncate(self.savepoints[at].1);
                self.savepoints.truncate(at + 1);
                Answer::OK
            }),
            Pinned::Release(name) => self.place(name).map(|at| {
                self.savepoints.truncate(at);
                Answer::OK
            }),
        };
        done.unwrap_or_else(|(code, message)| Answer::Error { code, message })
    }

    fn create(&mut self) -> Result<Answer, (u16, String)> {
        if self.temporary.is_some() {
            return Err((1050, "Table 'tmp' already exists".to_owned()));
        }
        self.temporary = Some(Vec::new());
        Ok(Answer::OK)
    }

    fn table(&mut self) -> Result<&mut Vec<u64>, (u16, String)> {
        self.temporary.as_mut().ok_or_else(|| (1146, "Table 'tmp' doesn't exist".to_owned()))
    }

    fn place(&self, name: &str) -> Result<usize, (u16, String)> {
        let at = self.savepoints.iter().position(|(one, _)| one == name);
        at.ok_or_else(|| (1305, format!("SAVEPOINT {name} does not exist")))
    }

    /// What a function of locks by name gives. Each session has names of its own.
    fn locked(&mut self, statement: &Pinned) -> Option<String> {
        match statement {
            Pinned::GetLock(name) => *self.locks.entry(name.clone()).or_default() += 1,
            Pinned::ReleaseLock(name) => {
                let times = self.locks.get_mut(name)?;
                *times -= 1;
                if *times == 0 {
                    self.locks.remove(name);
                }
            }
            _ => {
                let all: u32 = self.locks.values().sum();
                self.locks.clear();
                return Some(all.to_string());
            }
        }
        Some("1".to_owned())
    }
}

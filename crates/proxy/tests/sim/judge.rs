//! Answers beside those of a client's own server.

use std::collections::BTreeSet;
use std::fmt::Display;

use testkit::client::{ClientError, QueryResult};
use wire::StatusFlags;

use super::client::{Pair, Player, Then};
use super::encode::{binary, text};
use super::model::{Answer, Session, owner};
use super::sharded::Sharded;
use super::sharded_judge::REFUSED;
use super::sharding::is_sharded;
use super::statement::Statement;

/// `ER_QUERY_INTERRUPTED`, `ER_LOCK_DEADLOCK` (what is to be tried again).
const KILLED: u16 = 1317;
const DEADLOCK: u16 = 1213;
/// Errors that the model has: `ER_BAD_FIELD_ERROR`, `ER_TABLE_EXISTS_ERROR`, `ER_BAD_TABLE_ERROR`,
/// `ER_NO_SUCH_TABLE`, `ER_SP_DOES_NOT_EXIST`, `ER_TABLE_NOT_LOCKED_FOR_WRITE`, `ER_DUP_ENTRY`, and
/// what several shards do not do.
const EXPECTED: [u16; 8] = [1054, 1050, 1051, 1146, 1305, 1099, 1062, REFUSED];
/// The proxy's own: none could be had in time.
const NO_CONNECTION: u16 = 9001;
/// What the proxy says of a lost server below 2000, where client libraries have their own numbers:
/// the above, `ER_SERVER_SHUTDOWN`, and `ER_UNKNOWN_ERROR` of a KILL that could not be sent.
const LOST: [u16; 3] = [DEADLOCK, 1053, 1105];

/// Rows that are asked for at once with a cursor.
const FETCHED: u32 = 2;

impl Player {
    /// Compares an answer with the one of the client's own server.
    pub(super) fn judge(
        &mut self,
        twin: &mut Session,
        statement: Option<Statement>,
        what: &str,
        mut got: Result<QueryResult, ClientError>,
        is_binary: bool,
    ) -> Then {
        let Some(statement) = statement else {
            self.fail(format!("the model does not know {what}"));
            return Then::Leave;
        };
        match &got {
            // The statement has done nothing.
            Err(ClientError::Server(error)) if error.code == KILLED && self.is_aimed_at() => return Then::Go,
            // The transaction is rolled back, or there was none and the statement has done nothing:
            // so it is said.
            Err(ClientError::Server(error))
                if error.code == DEADLOCK && self.world.faults.explain_errors() =>
            {
                self.world.note(format!("c{}: {what}: {error}", self.me));
                twin.roll_back();
                return Then::Go;
            }
            Err(ClientError::Server(error)) if self.tells_parts(error) => {
                self.commit_in_part(twin, statement, error);
                return Then::Go;
            }
            // It has done nothing, and the transaction stays open.
            Err(ClientError::Server(error)) if self.is_refused_at_shards(error, &statement) => {
                self.note_refused(twin, error);
                return Then::Go;
            }
            Err(ClientError::Server(error)) if EXPECTED.contains(&error.code) => {}
            Err(error) => return self.explain(error, what),
            Ok(_) => {}
        }
        let read =
            if let Statement::Sharded(Sharded::Read(read)) = &statement { Some(read.clone()) } else { None };
        let rows_of = if let Statement::Rows(of) = statement { Some(of) } else { None };
        let commits_at_once = twin.commits_at_once();
        let mut expected = twin.run(&mut self.database, statement);
        self.world.acknowledged.note(&self.database.committed);
        if let (Some(of), Ok(result)) = (rows_of, &got) {
            let may_be_old = self.world.scopes.age();
            if of == self.me && (may_be_old.is_none() || !commits_at_once) {
                self.admit(&mut expected, result, is_binary);
            } else {
                self.bound(&mut expected, result, (of, commits_at_once), is_binary);
            }
            twin.found(&expected);
        }
        if let (Some(read), Ok(result), Answer::Rows { .. }) = (read, &mut got, &expected) {
            expected = self.expected_at_shards(twin, &read, result, is_binary);
            twin.found(&expected);
        }
        if self.compare(&expected, twin.status(), &got, what, is_binary) == Then::Leave {
            return Then::Leave;
        }
        if let Err(ClientError::Server(error)) = &got
            && error.code == REFUSED
        {
            self.note_refused(twin, error);
        }
        self.compare_rest(twin, got.ok().as_ref(), what);
        Then::Go
    }

    /// Compares the number of warnings, and what an OK tells of the session.
    fn compare_rest(&self, twin: &Session, got: Option<&QueryResult>, what: &str) {
        let Some(result) = got else { return };
        if result.warnings != twin.last().warnings {
            self.fail(format!("{what}: {} warnings, not {}", result.warnings, twin.last().warnings));
        }
        let own = twin.told().unwrap_or_default();
        if result.columns.is_empty() && result.session_state != own {
            let (told, own) = (result.session_state.escape_ascii(), own.escape_ascii());
            self.fail(format!("{what}: changes {told}, not {own}"));
        }
    }

    /// Compares the rows of a cursor, of which `fetches` times some are asked for.
    pub(super) async fn judge_cursor(
        &mut self,
        pair: &mut Pair,
        (statement, text): (Option<Statement>, &str),
        got: Result<QueryResult, ClientError>,
        fetches: u32,
    ) -> Then {
        let what = format!("a cursor of {text}");
        let mut result = match (got, pair.handles.get(text)) {
            (Ok(result), Some(_)) if result.status.contains(StatusFlags::CURSOR_EXISTS) => result,
            (got, _) => return self.judge(&mut pair.twin, statement, &what, got, true),
        };
        for _ in 0..fetches {
            let handle = &pair.handles[text].prepared;
            match self.in_time(pair.client.fetch(handle, FETCHED)).await {
                Ok(part) => {
                    result.rows.extend(part.rows);
                    result.status = part.status;
                }
                Err(error) => return self.explain(&error, &what),
            }
            if result.status.contains(StatusFlags::LAST_ROW_SENT) {
                break;
            }
        }
        let Some(statement) = statement else { return Then::Leave };
        let mut expected = pair.twin.run(&mut self.database, statement);
        self.admit(&mut expected, &result, true);
        pair.twin.found(&expected);
        let is_over = result.status.contains(StatusFlags::LAST_ROW_SENT);
        if !is_over && let Answer::Rows { rows, .. } = &mut expected {
            rows.truncate(result.rows.len().max(fetches as usize * FETCHED as usize));
        }
        let flag = if is_over { StatusFlags::LAST_ROW_SENT } else { StatusFlags::CURSOR_EXISTS };
        self.compare(&expected, pair.twin.status() | flag, &Ok(result), &what, true)
    }

    /// Rows that may be there are expected if they are.
    fn admit(&self, expected: &mut Answer, got: &QueryResult, is_binary: bool) {
        let Answer::Rows { columns, rows } = expected else { return };
        if columns != &["id"] {
            return;
        }
        let mut all: BTreeSet<u64> =
            rows.iter().filter_map(|row| row.first()?.as_deref()?.parse().ok()).collect();
        let has = |id: u64| got.rows.contains(&row_of(id, is_binary));
        all.extend(self.maybe.iter().copied().filter(|id| has(*id)));
        *rows = all.into_iter().map(|id| vec![Some(id.to_string())]).collect();
    }

    /// Rows are expected as they are, if those of this owner are among them that have to be there,
    /// and no others than those that are. Outside of transactions they may come from a cache.
    fn bound(
        &self,
        expected: &mut Answer,
        got: &QueryResult,
        (of, commits_at_once): (u64, bool),
        is_binary: bool,
    ) {
        let Answer::Rows { rows, .. } = expected else { return };
        let database = self.world.database.borrow();
        let age = self.world.scopes.age().filter(|_| commits_at_once);
        let has = |id: &u64| got.rows.contains(&row_of(*id, is_binary));
        let there = database.committed.iter().copied().filter(|id| owner(*id) == of && has(id));
        let promised = self.world.acknowledged.before(of, self.sent, age);
        let all: BTreeSet<u64> = there.chain(promised).filter(|id| !is_sharded(*id)).collect();
        *rows = all.into_iter().map(|id| vec![Some(id.to_string())]).collect();
    }

    pub(super) fn compare(
        &self,
        expected: &Answer,
        status: StatusFlags,
        got: &Result<QueryResult, ClientError>,
        what: &str,
        is_binary: bool,
    ) -> Then {
        let has_status = |result| self.has_status(result, status);
        let is_same = match (expected, got) {
            (Answer::Error { code, message }, Err(ClientError::Server(error))) => {
                (*code, message.as_str()) == (error.code, error.message.as_str())
            }
            (Answer::Rows { columns, rows }, Ok(result)) if is_binary => {
                let names: Vec<&String> = result.columns.iter().map(|column| &column.name).collect();
                let rows: Vec<Vec<u8>> = rows.iter().map(|row| binary(row)).collect();
                names == columns.iter().collect::<Vec<_>>() && rows == result.rows && has_status(result)
            }
            (expected, Ok(result)) => *expected == shown(result) && has_status(result),
            _ => false,
        };
        if !is_same {
            let got = got.as_ref().map(|result| (shown(result), told(result)));
            self.fail(format!("{what}: expected {expected:?} with {status:?}, got {got:?}"));
            return Then::Leave;
        }
        Then::Go
    }

    /// An error that the client's own server would not have answered: what has caused it.
    pub(super) fn explain(&self, error: &ClientError, what: &str) -> Then {
        let is_aimed_at = self.is_aimed_at();
        let may_fail = self.may_lose();
        let is_explained = match error {
            // With one connection to each of two servers, one session may have the first and wait
            // for the second, and another one the other way round. A server that takes fewer
            // connections than before, or whose statements are slow, may be busy for as long.
            ClientError::Server(error) if error.code == NO_CONNECTION && self.world.may_be_full() => true,
            ClientError::Server(error) if self.is_about_unknown(error) => true,
            ClientError::Server(error) => {
                may_fail && (LOST.contains(&error.code) || error.code >= 2000) || is_aimed_at
            }
            ClientError::Io(_) => may_fail || is_aimed_at,
            _ => false,
        };
        self.world.note(format!("c{}: {what}: {error}", self.me));
        if !is_explained {
            self.note_stage();
            self.fail(format!("{what}: nothing explains: {error}"));
        }
        Then::Leave
    }

    /// Takes note of who has and who wants what, to show with a failure.
    pub(super) fn note_stage(&self) {
        for session in self.stage.processes() {
            let statement = session.statement.map(|text| String::from_utf8_lossy(&text).into_owned());
            let (id, time, server) = (session.id, session.time, session.server);
            let note =
                format!("session {id}: {statement:?} for {time:?}, at {server:?}, pin {:?}", session.pin);
            self.world.note(note);
        }
        for free in self.stage.free_connections() {
            self.world.note(format!("free: {free:?}"));
        }
    }

    /// Whether servers may be lost.
    pub(super) fn may_lose(&self) -> bool {
        self.world.faults.explain_errors() || self.world.is_draining.get()
    }

    fn is_aimed_at(&self) -> bool {
        self.world.aimed_at.borrow().contains(&self.me)
    }

    pub(super) fn fail(&self, what: impl Display) {
        self.world.fail(format!("c{}: {what}", self.me));
    }
}

/// The flags of a result, without the one that says what else is in it.
fn told(result: &QueryResult) -> StatusFlags {
    result.status - StatusFlags::SESSION_STATE_CHANGED
}

/// A result as the model has it.
fn shown(got: &QueryResult) -> Answer {
    if got.columns.is_empty() {
        return Answer::Ok { affected: got.affected_rows, last_id: got.last_insert_id };
    }
    Answer::Rows {
        columns: got.columns.iter().map(|column| column.name.clone()).collect(),
        rows: got.text().unwrap_or_default(),
    }
}

pub(super) fn row_of(id: u64, is_binary: bool) -> Vec<u8> {
    let row = [Some(id.to_string())];
    if is_binary { binary(&row) } else { text(&row) }
}

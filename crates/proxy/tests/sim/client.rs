//! A client, which knows at every step what a server of its own would answer.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use proxy::stage::Stage;
use testkit::client::{Client, ClientError, Options, QueryResult, Statement as Prepared};
use tokio::time::{sleep, timeout};
use wire::StatusFlags;
use wire::command::Kind;

use super::author::{Step, next};
use super::model::{Answer, Database, Session, owner};
use super::server::binary;
use super::statement::{Statement, parse};
use super::tape::Taped;
use super::world::World;

/// What waits longer waits for ever. No deadline of the proxy is as long.
const PATIENCE: Duration = Duration::from_mins(10);

/// `ER_QUERY_INTERRUPTED`, `ER_LOCK_DEADLOCK` (what is to be tried again), `ER_BAD_FIELD_ERROR`.
const KILLED: u16 = 1317;
const DEADLOCK: u16 = 1213;
const UNKNOWN_COLUMN: u16 = 1054;
/// `ER_NEED_REPREPARE`.
const NEEDS_PREPARING: u16 = 1615;
/// The proxy's own: none could be had in time.
const NO_CONNECTION: u16 = 9001;
/// What the proxy says of a lost server below 2000, where client libraries have their own numbers:
/// the above, `ER_SERVER_SHUTDOWN`, and `ER_UNKNOWN_ERROR` of a KILL that could not be sent.
const LOST: [u16; 3] = [DEADLOCK, 1053, 1105];

/// A client's part in the simulation.
pub(super) struct Player {
    world: Rc<World>,
    stage: Rc<Stage>,
    me: u64,
    written: u64,
    /// What a server of its own holds: what is known to be written.
    database: Database,
    /// What may have been written by commands that it has had no answer to.
    maybe: BTreeSet<u64>,
}

/// A session, and its like at a server of its own.
struct Pair {
    client: Client<Taped>,
    twin: Session,
    handles: HashMap<String, Prepared>,
}

/// How a session goes on.
#[derive(PartialEq, Eq)]
enum Then {
    Go,
    Leave,
}

impl Player {
    pub(super) fn new(world: &Rc<World>, stage: &Rc<Stage>, me: u64) -> Self {
        let (world, stage) = (Rc::clone(world), Rc::clone(stage));
        Self { world, stage, me, written: 0, database: Database::default(), maybe: BTreeSet::new() }
    }

    /// Session after session, until all steps are done.
    pub(super) async fn play(mut self) {
        let mut left = self.world.steps;
        while left > 0 && !self.world.has_failed() {
            left -= 1;
            let Some(mut pair) = self.log_in().await else {
                sleep(self.world.dice.pause(1000)).await;
                continue;
            };
            while left > 0 && !self.world.has_failed() {
                left -= 1;
                let step = next(&self.world, self.me, &mut self.written, &pair.twin);
                if self.take(&mut pair, step).await == Then::Leave {
                    break;
                }
            }
            self.world.ids.borrow_mut().remove(&self.me);
        }
        self.check_rows();
    }

    async fn log_in(&self) -> Option<Pair> {
        let end = self.stage.client(self.world.capacity)?;
        let end = self.world.at_clients.tape(end, false);
        let start = end.starter();
        let options = Options::tcp(SocketAddr::from(([127, 0, 0, 1], 3306)), "app", "secret");
        self.world.aimed_at.borrow_mut().remove(&self.me);
        let client = match timeout(PATIENCE, Client::over(end, &options)).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                self.explain(&error, "the login");
                return None;
            }
            Err(_) => {
                self.fail("the login is never answered");
                return None;
            }
        };
        start();
        let id = client.server().connection_id;
        self.world.ids.borrow_mut().insert(self.me, id);
        self.world.note(format!("c{}: logged in as {id}", self.me));
        Some(Pair { client, twin: Session::new(None), handles: HashMap::new() })
    }

    async fn take(&mut self, pair: &mut Pair, step: Step) -> Then {
        self.world.note(format!("c{}: {step:?}", self.me));
        match step {
            Step::Pause(pause) => sleep(pause).await,
            Step::Texts(texts) => return self.texts(pair, &texts).await,
            Step::Prepared(text) => return self.prepared(pair, &text).await,
            Step::Close(text) => {
                if let Some(handle) = pair.handles.remove(&text) {
                    return self.sent(pair.client.close(handle).await.map_err(only_io));
                }
            }
            Step::Ping | Step::Enter(_) | Step::Reset => return self.command(pair, &step).await,
            Step::Reload => {
                if let Err(error) = self.stage.apply(self.world.other_config()) {
                    self.fail(error);
                }
            }
            Step::Kill { client, only_query } => return self.kill(pair, client, only_query).await,
            Step::Vanish { text, len } => {
                let statement = parse(&text);
                let mut bytes = Vec::new();
                wire::frame::put_message(&mut bytes, 0, &[&[Kind::Query as u8], text.as_bytes()].concat());
                let len = len.min(bytes.len());
                if len == bytes.len() {
                    self.doubt(&pair.twin, statement);
                }
                let _ = pair.client.packets().write_bytes(&bytes[..len]).await;
                return Then::Leave;
            }
        }
        Then::Go
    }

    /// Statements that are sent at once, and their answers.
    async fn texts(&mut self, pair: &mut Pair, texts: &[String]) -> Then {
        for text in texts {
            let sent = pair.client.send_command(Kind::Query, text.as_bytes()).await;
            if self.sent(sent) == Then::Leave {
                self.doubt(&pair.twin, texts.iter().filter_map(|text| parse(text)));
                return Then::Leave;
            }
        }
        for (index, text) in texts.iter().enumerate() {
            // Each answer counts its packets anew.
            pair.client.packets().expect_seq(1);
            let got = self.in_time(pair.client.read_result()).await;
            if self.judge(&mut pair.twin, text, got, false) == Then::Leave {
                self.doubt(&pair.twin, texts[index..].iter().filter_map(|text| parse(text)));
                return Then::Leave;
            }
        }
        Then::Go
    }

    /// A statement that is prepared, if it is not, and executed.
    async fn prepared(&mut self, pair: &mut Pair, text: &str) -> Then {
        if !pair.handles.contains_key(text) {
            match self.in_time(pair.client.prepare(text)).await {
                Ok(handle) => drop(pair.handles.insert(text.to_owned(), handle)),
                Err(error) => return self.explain(&error, text),
            }
        }
        let got = self.in_time(pair.client.execute(&pair.handles[text], &[])).await;
        if let Err(ClientError::Server(error)) = &got
            && error.code == NEEDS_PREPARING
            && self.world.is_split
            && let Some(handle) = pair.handles.remove(text)
        {
            self.world.note(format!("c{}: {text}: {error}", self.me));
            pair.twin.fail(error.code, &error.message);
            return self.sent(pair.client.close(handle).await.map_err(only_io));
        }
        let then = self.judge(&mut pair.twin, text, got, true);
        if then == Then::Leave {
            self.doubt(&pair.twin, parse(text));
        }
        then
    }

    async fn command(&self, pair: &mut Pair, step: &Step) -> Then {
        let got = match step {
            Step::Enter(schema) => self.in_time(pair.client.init_db(schema)).await,
            Step::Reset => self.in_time(pair.client.reset_connection()).await,
            _ => self.in_time(pair.client.ping()).await,
        };
        if let Err(error) = &got {
            return self.explain(error, "a command");
        }
        match step {
            Step::Enter(schema) => pair.twin.enter(schema),
            Step::Reset => {
                pair.twin.reset();
                pair.handles.clear();
            }
            _ => {}
        }
        // They do not tell that a transaction is lost, the next statement does; but the flag is
        // gone.
        if matches!(step, Step::Ping | Step::Enter(_)) && self.world.faults.lost > 0 {
            return Then::Go;
        }
        self.compare(&Answer::OK, pair.twin.status(), got, "a command", false)
    }

    async fn kill(&self, pair: &mut Pair, victim: u64, only_query: bool) -> Then {
        let Some(id) = self.world.ids.borrow().get(&victim).copied() else { return Then::Go };
        self.world.aimed_at.borrow_mut().insert(victim);
        let text = if only_query { format!("KILL QUERY {id}") } else { format!("KILL {id}") };
        match self.in_time(pair.client.query(&text)).await {
            Err(ClientError::Server(error)) if error.code == 1094 => Then::Go,
            Err(error) => self.explain(&error, &text),
            Ok(_) => Then::Go,
        }
    }

    async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        timeout(PATIENCE, answer).await.unwrap_or_else(|_| {
            self.note_stage();
            self.fail("a command is never answered");
            Err(io::Error::from(io::ErrorKind::TimedOut).into())
        })
    }

    /// Compares an answer with the one of the client's own server.
    fn judge(
        &mut self,
        twin: &mut Session,
        text: &str,
        got: Result<QueryResult, ClientError>,
        is_binary: bool,
    ) -> Then {
        let Some(statement) = parse(text) else {
            self.fail(format!("the model does not know {text:?}"));
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
                self.world.note(format!("c{}: {text}: {error}", self.me));
                twin.roll_back();
                return Then::Go;
            }
            Err(ClientError::Server(error)) if error.code == UNKNOWN_COLUMN => {}
            Err(error) => return self.explain(error, text),
            Ok(_) => {}
        }
        let reads_rows = matches!(statement, Statement::Rows(_));
        let mut expected = twin.run(&mut self.database, statement);
        if reads_rows && let Ok(result) = &got {
            self.admit(&mut expected, result, is_binary);
        }
        self.compare(&expected, twin.status(), got, text, is_binary)
    }

    /// Rows that may be there are expected if they are.
    fn admit(&self, expected: &mut Answer, got: &QueryResult, is_binary: bool) {
        let Answer::Rows { rows, .. } = expected else { return };
        let mut all: BTreeSet<u64> =
            rows.iter().filter_map(|row| row.first()?.as_deref()?.parse().ok()).collect();
        let has = |id: u64| got.rows.contains(&row_of(id, is_binary));
        all.extend(self.maybe.iter().copied().filter(|id| has(*id)));
        *rows = all.into_iter().map(|id| vec![Some(id.to_string())]).collect();
    }

    fn compare(
        &self,
        expected: &Answer,
        status: StatusFlags,
        got: Result<QueryResult, ClientError>,
        what: &str,
        is_binary: bool,
    ) -> Then {
        let shown = |got: &QueryResult| {
            if got.columns.is_empty() {
                return Answer::Ok { affected: got.affected_rows, last_id: got.last_insert_id };
            }
            Answer::Rows {
                columns: got.columns.iter().map(|column| column.name.clone()).collect(),
                rows: got.text().unwrap_or_default(),
            }
        };
        let is_same = match (expected, &got) {
            (Answer::Error { code, message }, Err(ClientError::Server(error))) => {
                (*code, message.as_str()) == (error.code, error.message.as_str())
            }
            (Answer::Rows { columns, rows }, Ok(result)) if is_binary => {
                let names: Vec<&String> = result.columns.iter().map(|column| &column.name).collect();
                let rows: Vec<Vec<u8>> = rows.iter().map(|row| binary(row)).collect();
                names == columns.iter().collect::<Vec<_>>() && rows == result.rows && result.status == status
            }
            (expected, Ok(result)) => *expected == shown(result) && result.status == status,
            _ => false,
        };
        if !is_same {
            let got = got.map(|result| (shown(&result), result.status));
            self.fail(format!("{what}: expected {expected:?} with {status:?}, got {got:?}"));
            return Then::Leave;
        }
        Then::Go
    }

    /// An error that the client's own server would not have answered: what has caused it.
    fn explain(&self, error: &ClientError, what: &str) -> Then {
        let is_aimed_at = self.is_aimed_at();
        let is_explained = match error {
            // With one connection to each of two servers, one session may have the first and wait
            // for the second, and another one the other way round. A server that takes fewer
            // connections than before, or whose statements are slow, may be busy for as long.
            ClientError::Server(error) if error.code == NO_CONNECTION && self.world.may_be_full() => true,
            ClientError::Server(error) => {
                self.world.faults.explain_errors() && (LOST.contains(&error.code) || error.code >= 2000)
                    || is_aimed_at
            }
            ClientError::Io(_) => self.world.faults.explain_errors() || is_aimed_at,
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
    fn note_stage(&self) {
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

    fn is_aimed_at(&self) -> bool {
        self.world.aimed_at.borrow().contains(&self.me)
    }

    fn sent(&self, sent: io::Result<()>) -> Then {
        match sent {
            Ok(()) => Then::Go,
            Err(error) => self.explain(&error.into(), "sending"),
        }
    }

    /// What these statements would write if all of them were carried out.
    fn doubt(&mut self, twin: &Session, statements: impl IntoIterator<Item = Statement>) {
        let (mut twin, mut scratch) = (twin.clone(), Database::default());
        for statement in statements {
            twin.run(&mut scratch, statement);
        }
        self.maybe.extend(scratch.committed);
    }

    /// At the end each row that was promised is there, each row at most once, and no other.
    fn check_rows(&self) {
        let database = self.world.database.borrow();
        let lost: Vec<_> = self.database.committed.difference(&database.committed).collect();
        if !lost.is_empty() {
            self.fail(format!("c09: rows that were promised are not there: {lost:?}"));
        }
        let own = database.committed.iter().filter(|id| owner(**id) == self.me);
        let strange: Vec<_> =
            own.filter(|id| !self.database.committed.contains(id) && !self.maybe.contains(id)).collect();
        if !strange.is_empty() {
            self.fail(format!("c09: rows of transactions that did not end are there: {strange:?}"));
        }
        if let Some((id, times)) = database.inserted.iter().find(|(_, times)| **times > 1) {
            self.fail(format!("c10: row {id} was inserted {times} times"));
        }
    }

    fn fail(&self, what: impl Display) {
        self.world.fail(format!("c{}: {what}", self.me));
    }
}

fn row_of(id: u64, is_binary: bool) -> Vec<u8> {
    let text = id.to_string();
    if is_binary {
        return binary(&[Some(text)]);
    }
    let mut payload = Vec::new();
    wire::packet::TextRow::put(&mut payload, [Some(text.as_str())]);
    payload
}

fn only_io(error: ClientError) -> io::Error {
    io::Error::other(error)
}

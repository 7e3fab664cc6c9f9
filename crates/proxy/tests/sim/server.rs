//! A server's side of one connection.

use std::rc::Rc;
use std::time::Duration;

use testkit::packets::Packets;
use testkit::script::NONCE;
use tokio::time::sleep;
use wire::command::Kind;
use wire::command::{StmtExecute, StmtFetch};
use wire::{Codec as _, StatusFlags, command, packet};

use super::encode::Encoder;
use super::handles::{params, unknown};
use super::model::{Answer, Session};
use super::replication::{Question, answer};
use super::sharding;
use super::statement::{Statement, bind, parse};
use super::swapped::swapped;
use super::tape::Taped;
use super::world::{Thread, World};

/// Longest time that a slow statement takes, in milliseconds.
const SLOW_MS: u64 = 3000;

/// How a conversation goes on.
enum Then {
    Go,
    /// The connection ends.
    End,
}

struct Connection {
    world: Rc<World>,
    name: String,
    id: u32,
    thread: Rc<Thread>,
    packets: Packets<Taped>,
    session: Session,
}

/// A connection to the server `name`, until one side ends it.
pub(super) async fn serve(world: Rc<World>, name: String, end: Taped) {
    let (id, thread) = world.thread(&name);
    let packets = Packets::new(end);
    let session = Session::new(None);
    let mut connection = Connection { world, name, id, thread, packets, session };
    if connection.log_in().await.is_some() {
        while let Then::Go = connection.turn().await {}
    }
    let Connection { world, id, mut session, .. } = connection;
    session.roll_back();
    world.threads.borrow_mut().remove(&id);
    world.note(format!("  [{id}] is closed"));
}

impl Connection {
    async fn log_in(&mut self) -> Option<()> {
        let capabilities = self.world.scopes.dialect.capabilities();
        let greeting = packet::Greeting {
            server_version: self.world.scopes.dialect.version().as_bytes(),
            connection_id: self.id,
            nonce: NONCE,
            capabilities,
            collation: 45,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"mysql_native_password",
        };
        self.packets.write_packet(&greeting).await.ok()?;
        let payload = self.packets.read().await.ok()?;
        let login = packet::Login::decode(&payload, capabilities).ok()?;
        self.packets.set_capabilities(login.capabilities);
        let schema = login.schema.map(|schema| String::from_utf8_lossy(schema).into_owned());
        self.session = self.fresh(schema);
        self.world.note(format!("  [{}] at {}: login", self.id, self.name));
        self.packets.write_packet(&packet::Ok::plain(self.session.status())).await.ok()
    }

    /// One command and its answer.
    async fn turn(&mut self) -> Then {
        self.packets.expect_seq(0);
        let command = tokio::select! {
            biased;
            command = self.packets.read() => command,
            () = async { while !self.thread.is_killed.get() { self.thread.woken.notified().await } } => return Then::End,
        };
        let Ok(command) = command else { return Then::End };
        let Some((&kind, body)) = command.split_first() else { return Then::End };
        self.world.note(format!("  [{}] at {}: {}", self.id, self.name, command.escape_ascii()));
        let Ok(kind) = Kind::try_from(kind) else { return Then::End };
        match kind {
            Kind::Quit => Then::End,
            Kind::StmtClose => {
                self.session.prepared.remove(handle(body));
                Then::Go
            }
            _ if self.world.loses() => self.lose(kind, body).await,
            _ => {
                let reply = self.reply(kind, body).await;
                self.send(&reply).await
            }
        }
    }

    /// The connection is lost before, in or behind the answer.
    async fn lose(&mut self, kind: Kind, body: &[u8]) -> Then {
        if self.world.dice.one_in(2) {
            let reply = self.reply(kind, body).await;
            let len = self.world.dice.place(reply.len() + 1);
            let _ = self.packets.write_bytes(&reply[..len]).await;
            self.world.note(format!("  [{}] is lost behind {len} bytes", self.id));
        } else {
            self.world.note(format!("  [{}] is lost before its answer", self.id));
        }
        Then::End
    }

    async fn send(&mut self, reply: &[u8]) -> Then {
        match self.packets.write_bytes(reply).await {
            Ok(()) => Then::Go,
            Err(_) => Then::End,
        }
    }

    /// The bytes that answer a command, which is carried out.
    async fn reply(&mut self, kind: Kind, body: &[u8]) -> Vec<u8> {
        let text = || String::from_utf8_lossy(body).into_owned();
        self.session.changes.clear();
        match kind {
            Kind::Ping => self.session.ping(),
            Kind::SetOption => self.session.succeed(),
            Kind::ResetConnection => self.session.reset(),
            Kind::ChangeUser => {
                let change = [&[kind as u8], body].concat();
                let change = command::ChangeUser::decode(&change, self.packets.capabilities()).ok();
                let schema = change.map(|change| String::from_utf8_lossy(change.schema).into_owned());
                self.session = self.fresh(schema.filter(|schema| !schema.is_empty()));
            }
            Kind::InitDb => self.session.enter(&text()),
            Kind::Query => {
                let query = [&[kind as u8], body].concat();
                let query = command::Query::decode(&query, self.packets.capabilities()).ok();
                let text = query.map(|query| String::from_utf8_lossy(query.text).into_owned());
                let answer = self.run(&text.unwrap_or_default()).await;
                return self.encoder().answer(&answer, false);
            }
            Kind::StmtPrepare => return self.prepared(&text()),
            Kind::StmtExecute => return self.execute(body).await,
            Kind::StmtFetch => return self.fetch(body),
            Kind::StmtReset => {
                if !self.session.prepared.reset(handle(body)) {
                    return self.encoder().answer(&unknown(), false);
                }
            }
            _ => {
                self.world.fail(format!("the model server does not know {kind:?}"));
                return Vec::new();
            }
        }
        self.encoder().answer(&Answer::OK, false)
    }

    /// A session that has just logged in.
    fn fresh(&self, schema: Option<String>) -> Session {
        let lag = if self.name.starts_with("reader") { self.world.scopes.lag() } else { Duration::ZERO };
        Session { lag, ..Session::new(schema) }
    }

    /// Waits for a transaction, as long as it is asked to.
    async fn replication(&self, question: &Question) -> Answer {
        let lag = self.session.lag;
        let had = self.world.database_at(&self.name).borrow().applied(lag);
        if let Question::Has { number, wait: Some(wait) } = question
            && *number > had
        {
            let left = self.world.database_at(&self.name).borrow().until_applied(*number, lag);
            sleep(left.unwrap_or(*wait).min(*wait)).await;
        }
        let database = self.world.database_at(&self.name).borrow();
        answer(question, had, database.applied(lag))
    }

    fn encoder(&self) -> Encoder {
        Encoder {
            capabilities: self.packets.capabilities(),
            status: self.session.status(),
            warnings: self.session.last().warnings,
            told: self.session.told(),
        }
    }

    async fn execute(&mut self, body: &[u8]) -> Vec<u8> {
        let payload = [&[Kind::StmtExecute as u8], body].concat();
        let answer = match self.session.prepared.execution(&payload, self.packets.capabilities()) {
            Ok(statement) => self.carry_out(statement).await,
            Err(answer) => answer,
        };
        let has_cursor = body.get(4).is_some_and(|flags| flags & StmtExecute::CURSOR_READ_ONLY != 0);
        match answer {
            Answer::Rows { columns, rows } if has_cursor => {
                let id = self.session.prepared.meant(handle(body));
                self.session.prepared.open_cursor(id, rows);
                self.encoder().cursor(&columns)
            }
            answer => self.encoder().answer(&answer, true),
        }
    }

    fn fetch(&mut self, body: &[u8]) -> Vec<u8> {
        let payload = [&[Kind::StmtFetch as u8], body].concat();
        let fetch = StmtFetch::decode(&payload, self.packets.capabilities()).ok();
        let fetched = fetch.and_then(|fetch| {
            self.session.prepared.fetch(fetch.statement_id, usize::try_from(fetch.rows).unwrap_or(usize::MAX))
        });
        if let Some((rows, is_over)) = fetched {
            return self.encoder().fetched(&rows, is_over);
        }
        let message = "The statement has no open cursor".to_owned();
        self.encoder().answer(&Answer::Error { code: 1421, message }, false)
    }

    async fn run(&mut self, text: &str) -> Answer {
        let Some(statement) = parse(text) else {
            self.world.fail(format!("the model server does not know {text:?}"));
            return Answer::OK;
        };
        self.carry_out(statement).await
    }

    async fn carry_out(&mut self, statement: Statement) -> Answer {
        if let Statement::Kill { thread, only_query } = statement {
            return self.kill(thread, only_query);
        }
        if let Statement::Replication(question) = &statement {
            return self.replication(question).await;
        }
        if self.world.happens(self.world.faults.slow) {
            let pause = self.world.dice.pause(SLOW_MS);
            self.world.note(format!("  [{}] takes {pause:?}", self.id));
            tokio::select! {
                biased;
                () = sleep(pause) => {}
                () = self.thread.woken.notified() => {}
            }
        }
        if self.thread.query_is_killed.take() {
            return Answer::Error { code: 1317, message: "Query execution was interrupted".to_owned() };
        }
        if statement == Statement::ShardDefinition {
            let answer = sharding::definition(self.world.scopes.dialect);
            self.session.last.note(&answer);
            return answer;
        }
        let swaps = self.world.swaps(&self.name, &statement);
        let mut database = self.world.database_at(&self.name).borrow_mut();
        let answer = self.session.run(&mut database, statement);
        match answer {
            Answer::Rows { columns, .. } if swaps => swapped(columns),
            _ => answer,
        }
    }

    fn kill(&self, thread: u32, only_query: bool) -> Answer {
        let threads = self.world.threads.borrow();
        let Some(thread) = threads.get(&thread) else {
            return Answer::Error { code: 1094, message: format!("Unknown thread id: {thread}") };
        };
        let flag = if only_query { &thread.query_is_killed } else { &thread.is_killed };
        flag.set(true);
        thread.woken.notify_one();
        Answer::OK
    }

    fn prepared(&mut self, text: &str) -> Vec<u8> {
        let params = params(text);
        let columns = match bind(text, &vec!["0".to_owned(); params.into()]) {
            Some(Statement::Select { columns, .. }) => columns,
            Some(Statement::Rows(_)) => vec!["id".to_owned()],
            Some(Statement::Sharded(sharded)) => sharded.columns(),
            Some(Statement::Pinned(pinned)) => pinned.column().into_iter().collect(),
            _ => Vec::new(),
        };
        let id = self.session.prepare(text);
        self.encoder().prepared(id, params, &columns)
    }
}

/// The number of a prepared statement.
fn handle(body: &[u8]) -> u32 {
    body.first_chunk().copied().map(u32::from_le_bytes).unwrap_or_default()
}

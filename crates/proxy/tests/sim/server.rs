//! A server's side of one connection.

use std::rc::Rc;

use testkit::packets::Packets;
use testkit::script::{CAPABILITIES, NONCE};
use tokio::time::sleep;
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Capabilities, Codec as _, StatusFlags, command, packet};

use super::model::{Answer, Session};
use super::statement::{Statement, parse};
use super::tape::Taped;
use super::world::{Thread, World};

/// `utf8mb4_general_ci`.
const UTF8MB4: u16 = 45;

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
    let (id, thread) = world.thread();
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
        let greeting = packet::Greeting {
            server_version: b"5.5.5-10.11.6-MariaDB-model",
            connection_id: self.id,
            nonce: NONCE,
            capabilities: CAPABILITIES,
            collation: 45,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"mysql_native_password",
        };
        self.packets.write_packet(&greeting).await.ok()?;
        let payload = self.packets.read().await.ok()?;
        let login = packet::Login::decode(&payload, CAPABILITIES).ok()?;
        self.packets.set_capabilities(login.capabilities);
        let schema = login.schema.map(|schema| String::from_utf8_lossy(schema).into_owned());
        self.session = Session::new(schema);
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
                self.session.close(handle(body));
                Then::Go
            }
            _ if self.world.happens(self.world.faults.lost) => self.lose(kind, body).await,
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
        match kind {
            Kind::Ping | Kind::SetOption => self.encode(&Answer::OK, false),
            Kind::ResetConnection => {
                self.session.reset();
                self.encode(&Answer::OK, false)
            }
            Kind::ChangeUser => {
                let change = [&[kind as u8], body].concat();
                let change = command::ChangeUser::decode(&change, self.packets.capabilities()).ok();
                let schema = change.map(|change| String::from_utf8_lossy(change.schema).into_owned());
                self.session = Session::new(schema.filter(|schema| !schema.is_empty()));
                self.encode(&Answer::OK, false)
            }
            Kind::InitDb => {
                self.session.enter(&text());
                self.encode(&Answer::OK, false)
            }
            Kind::Query => {
                let answer = self.run(&text()).await;
                self.encode(&answer, false)
            }
            Kind::StmtPrepare => self.prepared(&text()),
            Kind::StmtExecute => {
                let answer = match self.session.prepared(handle(body)) {
                    Some(text) => self.run(&text).await,
                    None => {
                        Answer::Error { code: 1243, message: "Unknown prepared statement handler".to_owned() }
                    }
                };
                self.encode(&answer, true)
            }
            _ => {
                self.world.fail(format!("the model server does not know {kind:?}"));
                Vec::new()
            }
        }
    }

    async fn run(&mut self, text: &str) -> Answer {
        let Some(statement) = parse(text) else {
            self.world.fail(format!("the model server does not know {text:?}"));
            return Answer::OK;
        };
        if let Statement::Kill { thread, only_query } = statement {
            return self.kill(thread, only_query);
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
        let mut database = self.world.database.borrow_mut();
        let answer = self.session.run(&mut database, statement);
        match answer {
            Answer::Rows { columns, .. } if self.world.happens(self.world.faults.swapped) => {
                let row = columns.iter().map(|_| Some("somebody else's".to_owned())).collect();
                Answer::Rows { columns, rows: vec![row] }
            }
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
        let columns = match parse(text) {
            Some(Statement::Select(columns)) => columns,
            Some(Statement::Rows(_)) => vec!["id".to_owned()],
            _ => Vec::new(),
        };
        let ok = packet::PrepareOk {
            statement_id: self.session.prepare(text),
            columns: columns.len().try_into().unwrap_or(u16::MAX),
            params: 0,
            warnings: 0,
            metadata_follows: None,
        };
        let capabilities = self.packets.capabilities();
        let mut payloads = vec![ok.encode(capabilities)];
        if !columns.is_empty() {
            self.put_columns(&mut payloads, &columns);
        }
        messages(&payloads)
    }

    fn encode(&self, answer: &Answer, is_binary: bool) -> Vec<u8> {
        let (capabilities, status) = (self.packets.capabilities(), self.session.status());
        let mut payloads = Vec::new();
        match answer {
            Answer::Ok { affected, last_id } => {
                let (affected_rows, last_insert_id) = (*affected, *last_id);
                let ok = packet::Ok { affected_rows, last_insert_id, ..packet::Ok::plain(status) };
                payloads.push(ok.encode(capabilities));
            }
            Answer::Error { code, message } => {
                let err =
                    packet::Err { code: *code, sql_state: Some(*b"HY000"), message: message.as_bytes() };
                payloads.push(err.encode(capabilities));
            }
            Answer::Rows { columns, rows } => {
                let count = packet::ColumnCount { count: columns.len() as u64, metadata_follows: None };
                payloads.push(count.encode(capabilities));
                self.put_columns(&mut payloads, columns);
                payloads.extend(rows.iter().map(|row| if is_binary { binary(row) } else { text(row) }));
                payloads.push(packet::end(status, capabilities));
            }
        }
        messages(&payloads)
    }

    fn put_columns(&self, payloads: &mut Vec<Vec<u8>>, columns: &[String]) {
        let capabilities = self.packets.capabilities();
        let text = |name: &String| packet::Column::text(name.as_bytes(), UTF8MB4).encode(capabilities);
        payloads.extend(columns.iter().map(text));
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            payloads.push(packet::Eof { warnings: 0, status: self.session.status() }.encode(capabilities));
        }
    }
}

fn messages(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
    bytes
}

/// The number of a prepared statement.
fn handle(body: &[u8]) -> u32 {
    body.first_chunk().copied().map(u32::from_le_bytes).unwrap_or_default()
}

fn text(row: &[Option<String>]) -> Vec<u8> {
    let mut payload = Vec::new();
    packet::TextRow::put(&mut payload, row.iter().map(Option::as_deref));
    payload
}

/// A row of strings, as executions of prepared statements have it.
pub(super) fn binary(row: &[Option<String>]) -> Vec<u8> {
    let mut payload = vec![0];
    let mut nulls = vec![0; (row.len() + 2).div_ceil(8)];
    for (index, _) in row.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
        nulls[(index + 2) / 8] |= 1 << ((index + 2) % 8);
    }
    payload.extend(nulls);
    for cell in row.iter().flatten() {
        wire::codec::put_lenenc_bytes(&mut payload, cell.as_bytes());
    }
    payload
}

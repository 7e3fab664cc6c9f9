//! A client, which knows at every step what a server of its own would answer.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use proxy::stage::Stage;
use testkit::client::{Client, ClientError, Options};
use tokio::time::{sleep, timeout};
use wire::command::Kind;

use super::author::{Step, next};
use super::command::Handle;
use super::freshness::Moment;
use super::model::{Answer, Database, Session};
use super::scopes::Scopes;
use super::statement::parse;
use super::tape::Taped;
use super::world::World;

/// What waits longer waits for ever. No deadline of the proxy is as long.
const PATIENCE: Duration = Duration::from_mins(10);

/// A client's part in the simulation.
pub(super) struct Player {
    pub(super) world: Rc<World>,
    pub(super) stage: Rc<Stage>,
    pub(super) me: u64,
    pub(super) written: u64,
    /// What a server of its own holds: what is known to be written.
    pub(super) database: Database,
    /// What may have been written by commands that it has had no answer to.
    pub(super) maybe: BTreeSet<u64>,
    /// When the commands were sent that are answered now.
    pub(super) sent: Moment,
}

/// A session, and its like at a server of its own.
pub(super) struct Pair {
    pub(super) client: Client<Taped>,
    pub(super) twin: Session,
    pub(super) handles: HashMap<String, Handle>,
}

/// How a session goes on.
#[derive(PartialEq, Eq)]
pub(super) enum Then {
    Go,
    Leave,
}

impl Player {
    pub(super) fn new(world: &Rc<World>, stage: &Rc<Stage>, me: u64) -> Self {
        let (world, stage) = (Rc::clone(world), Rc::clone(stage));
        let sent = world.acknowledged.now();
        let (database, maybe) = (Database::default(), BTreeSet::new());
        Self { world, stage, me, written: 0, database, maybe, sent }
    }

    /// Session after session, until all steps are done.
    pub(super) async fn play(mut self) {
        let mut left = self.world.steps;
        while left > 0 && !self.world.has_failed() {
            left -= 1;
            let Some(mut pair) = self.log_in().await else {
                if self.world.is_draining.get() {
                    break;
                }
                sleep(self.world.dice.pause(1000)).await;
                continue;
            };
            while left > 0 && !self.world.has_failed() {
                left -= 1;
                let id = pair.client.server().connection_id;
                let step = next(&self.world, (self.me, id), &mut self.written, &pair.twin);
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
        let tape = end.tape();
        self.world.aimed_at.borrow_mut().remove(&self.me);
        let client = match timeout(PATIENCE, Client::over(end, &options(&self.world.scopes))).await {
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
        tape.start();
        let id = client.server().connection_id;
        self.world.ids.borrow_mut().insert(self.me, id);
        self.world.note(format!("c{}: logged in as {id}", self.me));
        Some(Pair { client, twin: Session::new(self.world.scopes.schema()), handles: HashMap::new() })
    }

    async fn take(&mut self, pair: &mut Pair, step: Step) -> Then {
        self.world.note(format!("c{}: {step:?}", self.me));
        match step {
            Step::Pause(pause) => sleep(pause).await,
            Step::Commands(commands) => return self.commands(pair, &commands).await,
            Step::Cursor { execution, fetches } => return self.cursor(pair, &execution, fetches).await,
            Step::Close(text) => {
                if let Some(handle) = pair.handles.remove(&text) {
                    return self.close(pair, handle).await;
                }
            }
            Step::Enter(_) | Step::Reset => return self.command(pair, &step).await,
            Step::ChangeUser => return self.change_user(pair).await,
            Step::Outage(time) => self.world.cut_writer_off(time),
            Step::Drain => {
                self.world.is_draining.set(true);
                self.stage.drain();
            }
            Step::Reload => {
                if let Err(error) = self.stage.apply(self.world.other_config()) {
                    self.fail(format!("{error:?}"));
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

    async fn command(&self, pair: &mut Pair, step: &Step) -> Then {
        let got = match step {
            Step::Enter(schema) => self.in_time(pair.client.init_db(schema)).await,
            _ => self.in_time(pair.client.reset_connection()).await,
        };
        if let Err(error) = &got {
            return self.explain(error, "a command");
        }
        if let Step::Enter(schema) = step {
            pair.twin.enter(schema);
            // It does not tell that a transaction is lost, the next statement does; but the flag is
            // gone.
            if self.world.faults.loses_connections() {
                return Then::Go;
            }
        } else {
            pair.twin.reset();
            pair.handles.clear();
        }
        self.compare(&Answer::OK, pair.twin.status(), &got, "a command", false)
    }

    async fn change_user(&self, pair: &mut Pair) -> Then {
        let tape = pair.client.packets().stream().tape();
        tape.pause();
        let changed = self.in_time(pair.client.change_user(&options(&self.world.scopes))).await;
        tape.start();
        if let Err(error) = changed {
            return self.explain(&error, "COM_CHANGE_USER");
        }
        pair.twin = Session::new(self.world.scopes.schema());
        pair.handles.clear();
        Then::Go
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

    pub(super) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        timeout(PATIENCE, answer).await.unwrap_or_else(|_| {
            self.note_stage();
            self.fail("a command is never answered");
            Err(io::Error::from(io::ErrorKind::TimedOut).into())
        })
    }

    /// Gives up a handle. There is no answer to it.
    pub(super) async fn close(&self, pair: &mut Pair, handle: Handle) -> Then {
        let sent = pair.client.close(handle.prepared).await.map_err(only_io);
        self.sent(sent)
    }

    pub(super) fn sent(&self, sent: io::Result<()>) -> Then {
        match sent {
            Ok(()) => Then::Go,
            Err(error) => self.explain(&error.into(), "sending"),
        }
    }
}

/// How clients log in.
fn options(scopes: &Scopes) -> Options {
    let options = Options::tcp(SocketAddr::from(([127, 0, 0, 1], 3306)), "app", "secret");
    match scopes.schema() {
        Some(schema) => options.schema(&schema),
        None => options,
    }
}

fn only_io(error: ClientError) -> io::Error {
    io::Error::other(error)
}

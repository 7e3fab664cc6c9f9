//! What the thread that owns SQLite does with a statement: understands it, and does it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cache::Flush;
use config::Config;
use observe::plane::{DataPlane, Order, Question};
use rusqlite::types::Value;
use tokio::sync::{oneshot, watch};

use super::{Reply, Request};
use crate::answer::{AdminError, Answer};
use crate::chatter::{self, Chatter, Facts};
use crate::command::{Command, Proxysql, Statement};
use crate::events::Sink;
use crate::history::History;
use crate::layers::{Module, Move};
use crate::limits::PULLS_MAX;
use crate::settings::Settings;
use crate::store::{Known, Store};
use crate::who::Who;
use crate::{VERSION, events, hint, history, show, stats};

/// The state of the thread.
pub(super) struct Desk {
    store: Store,
    plane: Arc<dyn DataPlane>,
    settings: watch::Sender<Arc<Settings>>,
    known: watch::Sender<Arc<Known>>,
    pulls: Vec<Pull>,
    history: History,
}

/// A client that waits for a newer version of the servers.
struct Pull {
    version: u64,
    until: Instant,
    reply: oneshot::Sender<Reply>,
}

impl Desk {
    pub(super) fn new(mut store: Store, plane: Arc<dyn DataPlane>) -> Self {
        let settings = watch::Sender::new(Arc::new(Settings::of(&mut store)));
        let known = watch::Sender::default();
        let mut desk = Self { store, plane, settings, known, pulls: Vec::new(), history: History::default() };
        desk.renew_settings();
        desk.tell_known();
        desk
    }

    /// What its variables say from now on, and what else is known here only.
    pub(super) fn watched(&self) -> (watch::Receiver<Arc<Settings>>, watch::Receiver<Arc<Known>>) {
        (self.settings.subscribe(), self.known.subscribe())
    }

    /// Executes a statement and answers it.
    pub(super) fn serve(&mut self, request: Request) {
        let Request { who, text, reply, .. } = request;
        let statement = Statement::new(&text);
        if let Some(Command::PullVersion { version, wait_ms }) = Command::allowed(&statement, who.rights) {
            return self.pull(version, Duration::from_millis(wait_ms), reply);
        }
        let answer = self.survive(|desk| desk.execute(&who, &statement)).unwrap_or_else(Answer::from);
        // The client may wait for it no more.
        let _ = reply.send(Reply { answer, lease: None });
        self.look_at_pulls();
    }

    /// Does `work`, after which the next statement can be served even if it panics: one statement
    /// is lost by a bug then, and not the port for all. Nothing of it is left half done: SQLite
    /// takes back what was not committed, and what runs changes as a whole.
    fn survive<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Result<T, AdminError> {
        let result = catch_unwind(AssertUnwindSafe(|| work(self)));
        result.map_err(|_| {
            let connection = self.store.connection();
            if !connection.is_autocommit()
                && let Err(error) = connection.execute_batch("ROLLBACK")
            {
                tracing::warn!(%error, "a transaction of the admin port stays open");
            }
            met_bug()
        })
    }

    /// What the proxy runs with.
    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(self.store.config())
    }

    /// Saves what a first start has taken from the file.
    pub(super) fn save_first(&mut self) -> Result<(), AdminError> {
        self.survive(|desk| desk.store.save_first())?
    }

    /// Time has passed: it is `now`, in seconds of Unix time.
    pub(super) fn tick(&mut self, now: u64) {
        self.look_at_pulls();
        if let Err(error) = self.survive(|desk| desk.record(now)) {
            tracing::warn!(%error, "the history of the statistics has a gap");
        }
    }

    /// Writes into the history what is due at `now`.
    fn record(&mut self, now: u64) {
        let due = self.history.due(now);
        let written = if due.is_empty() {
            Ok(())
        } else {
            history::sample(self.store.connection(), &due, now, &*self.plane)
        };
        let rolled_up = if self.history.hour_begins(now) {
            history::roll_up(self.store.connection(), now)
        } else {
            Ok(())
        };
        if let Err(error) = written.and(rolled_up) {
            tracing::warn!(%error, "the history of the statistics has a gap");
        }
    }

    fn execute(&mut self, who: &Who, statement: &Statement<'_>) -> Answer {
        let facts = Facts { who, version: VERSION, read_only: self.settings.borrow().read_only };
        if let Some(chatter) = chatter::answer(statement, facts) {
            return match chatter {
                Chatter::Answer(answer) => answer,
                Chatter::Sql(sql) => self.query(&sql),
            };
        }
        if let Some(sql) = show::rewrite(statement, who.rights) {
            return self.query(&sql);
        }
        if statement.upper == "SHOW PROMETHEUS METRICS" {
            return stats::prometheus::show(&*self.plane, &self.known());
        }
        match Command::allowed(statement, who.rights) {
            Some(command) => {
                let answer = self.obey(who, command);
                self.tell_known();
                answer
            }
            None => hint::with_hint(self.query(&statement.text), statement, who.rights),
        }
    }

    /// Runs SQL, once the tables that it names are filled.
    fn query(&mut self, sql: &str) -> Answer {
        let names = stats::names(sql);
        if let Err(error) = self.fill(&names) {
            return error.into();
        }
        let answer = self.store.query(sql);
        self.store.forget_lists();
        if self.settings.borrow().vacuum_stats
            && let Some(names) = stats::to_clear(names)
            && let Err(error) = self.store.clear_stats(&names)
        {
            tracing::warn!(%error, "statistics that were read keep their memory");
        }
        answer
    }

    fn fill(&mut self, names: &[String]) -> Result<(), AdminError> {
        let needs_memory = names.iter().any(|name| stats::TELL_MEMORY.contains(&name.as_str()));
        let memory = if needs_memory { self.store.memory_rows() } else { HashMap::new() };
        stats::refresh(names, &mut self.store.filling(), &|name| memory.get(name).copied(), &*self.plane)?;
        stats::refresh_runtime(names, &mut self.store, &*self.plane)
    }

    /// What is known here only.
    fn known(&self) -> Known {
        self.store.known(stats::prometheus::variable_names())
    }

    /// Tells it to those who show it without this thread.
    fn tell_known(&self) {
        self.known.send_replace(Arc::new(self.known()));
    }

    /// The rows of `stats_mysql_query_events` without literals.
    pub(super) fn events(&self) -> Result<Vec<Vec<Value>>, AdminError> {
        Ok(events::without_literals(self.store.connection())?)
    }

    fn obey(&mut self, who: &Who, command: Command) -> Answer {
        match command {
            Command::Shift(module, by) => self.shift(module, by, &who.user),
            Command::LoadUser(name) => self.store.load_user(&name, &who.user),
            Command::ShowConfig => match self.store.config_text() {
                Ok(text) => single("Data", text),
                Err(error) => error.into(),
            },
            Command::SaveConfig(path) => self.store.save_config_to(Path::new(&path)),
            Command::Proxysql(order) => self.order(order),
            Command::FlushCache(Ok(flush)) => self.flush_cache(&flush),
            Command::FlushCache(Err(error)) => AdminError::new(error).into(),
            Command::Set { name, value } => self.store.set_variable(&name, &value, who.rights),
            Command::BadSet => AdminError::new("SET takes one variable at a time").into(),
            Command::Kill(id) => self.kill(&id),
            Command::Checksum { schema, table, title } => self.store.checksum(schema, table, title),
            Command::GlobalChecksum => self.store.global_checksum(),
            Command::LogEntry(text) => {
                tracing::info!(user = %who.user, "LOGENTRY: {text}");
                Answer::done()
            }
            Command::ExplainRoute(question, json) => explain(&*self.plane, &question, json),
            Command::BadExplain(why) | Command::Refused(why) => AdminError::new(why).into(),
            Command::Ignored(why) => Answer::Ok { affected: 0, info: format!("WARNING: {why}") },
            Command::SaveDigests => self.save_digests(),
            Command::DumpEvents(sink) => self.dump_events(sink),
            Command::TruncateDigests => self.carry_out(Order::ForgetDigests),
            // Workers need no waking.
            Command::SignalThreads => Answer::done(),
            Command::CacheAdvise => stats::advice::advise(&*self.plane),
            Command::CheckConfig => self.store.check_config(),
            Command::Diff(module) => self.store.diff(module),
            Command::Rollback(module, to) => {
                let answer = self.store.rollback(module, to, &who.user);
                self.renew_settings();
                answer
            }
            Command::ResumeDdl(id) => self.carry_out(Order::ResumeDdl(id)),
            Command::ForgetDdl(id) => self.carry_out(Order::ForgetDdl(id)),
            Command::PullVersion { .. } => AdminError::new("PULL VERSION waits elsewhere").into(),
        }
    }

    /// Moves the digests into the history.
    fn save_digests(&self) -> Answer {
        match history::save_digests(self.store.connection(), crate::store::now(), &*self.plane) {
            Ok(affected) => Answer::Ok { affected, info: String::new() },
            Err(error) => AdminError::from(error).into(),
        }
    }

    /// Moves the events that are kept in memory into tables.
    fn dump_events(&self, sink: Sink) -> Answer {
        let max = self.store.variable("mysql-eventslog_table_memory_size");
        let max = max.and_then(|max| max.parse().ok()).unwrap_or(i64::MAX);
        match events::dump(self.store.connection(), &*self.plane, sink, max) {
            Ok(affected) => Answer::Ok { affected, info: String::new() },
            Err(error) => AdminError::from(error).into(),
        }
    }

    fn shift(&mut self, module: Module, by: Move, user: &str) -> Answer {
        let answer = self.store.shift(module, by, user);
        if by == Move::MemoryToRuntime {
            self.renew_settings();
        }
        answer
    }

    /// Sends the values of the variables to all listeners, if they have changed.
    fn renew_settings(&mut self) {
        let settings = Settings::of(&mut self.store);
        let store = &self.store;
        self.history.set_intervals(|name| {
            store.variable(&format!("admin-{name}")).and_then(|value| value.parse().ok()).unwrap_or(0)
        });
        self.settings.send_if_modified(|current| {
            let differs = **current != settings;
            if differs {
                *current = Arc::new(settings);
            }
            differs
        });
    }

    fn order(&mut self, order: Proxysql) -> Answer {
        let refused = |text: &str| AdminError::new(text).into();
        match order {
            Proxysql::Start => refused("ProxySQL already started"),
            Proxysql::Stop => {
                refused("PROXYSQL STOP is not supported: PAUSE refuses new clients, SHUTDOWN SLOW ends")
            }
            Proxysql::Pause => self.listen(Order::Pause, "pause"),
            Proxysql::Resume => self.listen(Order::Resume, "resume"),
            Proxysql::Restart => self.end(Order::Restart),
            Proxysql::Kill => self.end(Order::Shutdown { slow: false }),
            Proxysql::ShutdownSlow => self.end(Order::Shutdown { slow: true }),
            Proxysql::FlushLogs => self.carry_out(Order::FlushLogs),
            Proxysql::FlushQueryCache => self.flush_cache(&Flush::All),
            Proxysql::FlushClientHosts => self.carry_out(Order::FlushClientHosts),
            Proxysql::FlushConfigdb => self.store.reopen_disk(),
            Proxysql::Readonly | Proxysql::Readwrite => self.set_read_only(order == Proxysql::Readonly),
            Proxysql::ReloadTls => match self.plane.order(Order::ReloadTls) {
                Ok(()) => Answer::done(),
                Err(error) => refused(&format!("RELOAD TLS failed: {error}")),
            },
            Proxysql::Coredump => {
                refused("core files are made by root with gcore, not by the process itself")
            }
            Proxysql::Memprofile => refused("the memory profiler is not part of this program"),
        }
    }

    fn flush_cache(&self, flush: &Flush) -> Answer {
        self.plane.flush_cache(flush);
        Answer::done()
    }

    /// OK, or why an order is not carried out.
    fn carry_out(&self, order: Order) -> Answer {
        match self.plane.order(order) {
            Ok(()) => Answer::done(),
            Err(error) => AdminError::new(error).into(),
        }
    }

    /// Closes or opens the listeners; an error of the data plane goes on after "it".
    fn listen(&self, order: Order, verb: &str) -> Answer {
        match self.plane.order(order) {
            Ok(()) => Answer::done(),
            Err(error) => {
                let state = error.strip_prefix("it ").unwrap_or(&error);
                AdminError::new(format!("ProxySQL MySQL module {state}, impossible to {verb}")).into()
            }
        }
    }

    /// An order that ends the process is not answered, unless it is refused.
    fn end(&self, order: Order) -> Answer {
        match self.carry_out(order) {
            Answer::Ok { .. } => Answer::Close,
            refused => refused,
        }
    }

    fn set_read_only(&mut self, read_only: bool) -> Answer {
        self.store.set_read_only(read_only);
        self.settings.send_modify(|current| {
            *current = Arc::new(Settings { read_only, ..Settings::clone(current) });
        });
        Answer::done()
    }

    fn kill(&self, id: &str) -> Answer {
        match id.parse() {
            Ok(number) if self.plane.kill(number) => Answer::done(),
            _ => AdminError::new(format!("Unknown thread id: {id}")).into(),
        }
    }

    fn global(&self, name: &str) -> u64 {
        self.plane.globals().iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value)
    }

    /// Has a client wait until the version of the servers is above `version`.
    fn pull(&mut self, version: u64, wait: Duration, reply: oneshot::Sender<Reply>) {
        if self.pulls.len() >= PULLS_MAX {
            let error = AdminError::new(format!("{PULLS_MAX} clients wait for a version already"));
            let _ = reply.send(Reply { answer: error.into(), lease: None });
            return;
        }
        let now = Instant::now();
        // What no clock can count to is for ever, as far as a client is concerned.
        let until = now.checked_add(wait).unwrap_or(now + crate::limits::IDLE_TIME_MAX);
        self.pulls.push(Pull { version, until, reply });
        self.look_at_pulls();
    }

    fn look_at_pulls(&mut self) {
        self.pulls.retain(|pull| !pull.reply.is_closed());
        if self.pulls.is_empty() {
            return;
        }
        let (version, now) = (self.global("Servers_table_version"), Instant::now());
        for pull in self.pulls.extract_if(.., |pull| version > pull.version || now >= pull.until) {
            let answer = single("version", version.to_string());
            let _ = pull.reply.send(Reply { answer, lease: None });
        }
    }
}

/// What a client is told whose statement has panicked.
pub(super) fn met_bug() -> AdminError {
    AdminError::new(
        "this statement met a bug of Pointsman and was given up; its log says where: please report it",
    )
}

/// `POINTSMAN EXPLAIN ROUTE`: the steps of the decision, or one cell of JSON.
pub(super) fn explain(plane: &dyn DataPlane, question: &Question, json: bool) -> Answer {
    match plane.explain(question) {
        Ok(explained) if json => single("EXPLAIN", explained.json),
        Ok(explained) => Answer::Rows {
            columns: ["step", "result", "detail"].map(str::to_owned).to_vec(),
            rows: explained
                .steps
                .into_iter()
                .map(|step| step.map(|cell| Some(cell.into_bytes())).into())
                .collect(),
        },
        Err(error) => AdminError::new(error).into(),
    }
}

/// A result of one cell.
fn single(column: &str, text: String) -> Answer {
    Answer::Rows { columns: vec![column.to_owned()], rows: vec![vec![Some(text.into_bytes())]] }
}

//! One server that is followed, from the first question to the loss of its log, again and again.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use binlog::request::Start;
use binlog::{Fact, Position};
use cache::{Cache, Definition, Following, Learnt, Scope, Sight, Source, question};
use sql::shape::Table;
use tokio::time::{Instant, sleep, timeout};
use upstream::{Target, Worker};

use super::changes;
use super::control::{Control, Lost};
use super::pace::{Ask, Next, Pace};
use super::probe::{Kind, Mark, Visible, place, read_end};
use super::stream::{Read, Stream};
use crate::question::Rows;

/// How long it takes until a log that was lost is asked for again.
const RETRY: Duration = Duration::from_secs(1);

/// A server has to answer within this time.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Definitions that are asked for at a time.
const DEFINITIONS_MAX: usize = 16;

/// Follows a server for ever.
pub(super) async fn follow(worker: Rc<Worker>, cache: Arc<Cache>, source: Arc<Source>, target: Target) {
    let mut complaint = String::new();
    loop {
        let Err(lost) = follow_once(&worker, &cache, &source, &target).await;
        let why = lost.to_string();
        source.count(|counters| counters.reason.clone_from(&why));
        if why != complaint {
            tracing::warn!(server = source.name(), %why, "a server's binary log is not followed; it is tried again");
            complaint = why;
        }
        sleep(RETRY).await;
    }
}

/// Questions on their way, over a connection that comes back with the answers.
type Asking<'a> = Pin<Box<dyn Future<Output = Result<(Control<'a>, Answers), Lost>> + 'a>>;

/// Follows a server until its log is lost.
async fn follow_once(
    worker: &Worker,
    cache: &Arc<Cache>,
    source: &Arc<Source>,
    target: &Target,
) -> Result<Infallible, Lost> {
    let begun = async {
        let mut control = Control::open(worker, target).await?;
        let identity = control.identity().await?;
        let (start, from) = start(&mut control).await?;
        let mut stream = Stream::open(worker, target, &start, &identity).await?;
        // An error comes behind the request.
        let mut first = Vec::new();
        stream.next(&mut first).await?;
        Ok::<_, Lost>((control, from, stream, first))
    };
    let (control, from, mut stream, mut read) = in_time(begun).await?;
    if let Some((Fact::Refused { code, message }, _)) = read.first() {
        return Err(Lost::Broken(format!("error {code}: {message}")));
    }
    // What was visible before is not in the log from there on, and is dropped from the cache.
    let following = Following::begin(cache, source, from);
    tracing::info!(server = source.name(), "a server's binary log is followed");
    let (pace, to_ask) = (Pace::default(), Vec::new());
    let asked_at = cache::Position::default();
    let mut log = Log { worker, cache, source, kind: control.kind, following, pace, to_ask, asked_at };
    read.drain(..).try_for_each(|read| log.take(read))?;
    let mut free = Some(control);
    let mut asking: Option<Asking<'_>> = None;
    loop {
        let answers = async {
            match asking.as_mut() {
                Some(asking) => asking.await,
                None => pending().await,
            }
        };
        let is_free = free.is_some();
        tokio::select! {
            got = stream.next(&mut read) => {
                got?;
                read.drain(..).try_for_each(|read| log.take(read))?;
                log.pace.resume();
            }
            answered = answers => {
                asking = None;
                let (control, answers) = answered?;
                free = Some(control);
                log.hear(answers)?;
            }
            ask = log.due(), if is_free => {
                if let Some(control) = free.take() {
                    let tables = log.take_tables();
                    log.asked_at = log.following.read();
                    asking = Some(Box::pin(in_time(questions(control, ask, tables))));
                }
            }
        }
    }
}

/// Does this in time, or the server is lost.
async fn in_time<T>(doing: impl Future<Output = Result<T, Lost>>) -> Result<T, Lost> {
    timeout(ANSWER_MAX, doing).await.unwrap_or(Err(Lost::Useless("the server does not answer in time")))
}

/// Where the log is followed from: behind all that is visible.
async fn start(control: &mut Control<'_>) -> Result<(Start, cache::Position), Lost> {
    const NO_LOG: Lost = Lost::Useless("the server has no binary log");
    if !logs_all(&control.ask(LOGGING).await?, control.kind) {
        return Err(Lost::Useless("the server does not log what it replicates (log_slave_updates)"));
    }
    let end = control.ask_end().await?;
    read_end(&end).ok_or(NO_LOG)?;
    let rows = control.ask(control.kind.visible()).await?;
    match control.kind.read_visible(&rows).ok_or(NO_LOG)? {
        Visible::Set(set) => {
            let mode = control.ask("SELECT @@global.gtid_mode AS mode").await?;
            if mode.text(0, "mode").is_none_or(|mode| !mode.eq_ignore_ascii_case("ON")) {
                return Err(Lost::Useless("the server has no GTIDs (gtid_mode = ON)"));
            }
            // The server says where that is when it has found it.
            Ok((Start::MySql(set), cache::Position::default()))
        }
        Visible::Before(position) => {
            let Position { file, offset } = &position;
            let quoted = file.replace(['\'', '\\'], "");
            let statement = format!("SELECT BINLOG_GTID_POS('{quoted}', {offset}) AS gtids");
            let rows = control.ask(&statement).await?;
            let gtids = rows.text(0, "gtids").and_then(|gtids| gtids.parse().ok());
            let gtids =
                gtids.ok_or(Lost::Useless("the server does not tell the GTIDs of a place in its log"))?;
            Ok((Start::MariaDb(gtids), place(&position).ok_or(NO_LOG)?))
        }
    }
}

/// Asks whether a server logs what it gets from others.
const LOGGING: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
    ('log_slave_updates', 'log_replica_updates', 'gtid_slave_pos', 'wsrep_on')";

/// Whether the answer says that the log has all that changes at the server.
fn logs_all(rows: &Rows, kind: Kind) -> bool {
    let value = |name: &str| {
        (0..rows.len()).find_map(|row| {
            let is_it = rows.text(row, "Variable_name")?.eq_ignore_ascii_case(name);
            is_it.then(|| rows.text(row, "Value")).flatten()
        })
    };
    let is_on = |name| value(name).is_some_and(|value| value.eq_ignore_ascii_case("ON"));
    let may_replicate = match kind {
        Kind::MySql { .. } => true,
        Kind::MariaDb => is_on("wsrep_on") || value("gtid_slave_pos").is_some_and(|gtids| !gtids.is_empty()),
    };
    !may_replicate || is_on("log_slave_updates") || is_on("log_replica_updates")
}

/// What a server was asked at once, and what it has said.
struct Answers {
    ask: Ask,
    /// When it was asked, in microseconds.
    at_us: u64,
    visible: Option<Visible>,
    end: Option<cache::Position>,
    definitions: Vec<Learnt>,
}

/// Tables whose definitions are asked for, and by whom.
struct Wanted<'a> {
    cache: &'a Cache,
    sight: Sight,
    tables: Vec<Table>,
}

async fn questions<'w>(
    mut control: Control<'w>,
    ask: Ask,
    wanted: Wanted<'_>,
) -> Result<(Control<'w>, Answers), Lost> {
    const NONSENSE: Lost = Lost::Useless("the server does not tell where its log ends, or what is visible");
    let at_us = now_us(control.worker);
    let kind = control.kind;
    let end = if ask.end { Some(read_end(&control.ask_end().await?).ok_or(NONSENSE)?) } else { None };
    let visible = if ask.visible {
        Some(kind.read_visible(&control.ask(kind.visible()).await?).ok_or(NONSENSE)?)
    } else {
        None
    };
    let mut definitions = Vec::new();
    for table in wanted.tables {
        // While a definition is being changed, what a server says is not certain.
        let Some(moment) = wanted.cache.versions.moment(&Scope::of_definitions()) else { break };
        let schema = table.schema.as_deref().unwrap_or_default();
        let definition = match control.ask(&question(schema, &table.name)).await {
            Ok(rows) => definition(schema, &rows).unwrap_or(Definition::unknown()),
            Err(Lost::Refused { .. }) => Definition::unknown(),
            Err(lost) => return Err(lost),
        };
        definitions.push(Learnt { whose: wanted.sight.whose, table, definition, moment });
    }
    Ok((control, Answers { ask, at_us, visible, end, definitions }))
}

/// The definition that rows tell of a table of `schema`.
fn definition(schema: &str, rows: &Rows) -> Option<Definition> {
    let values: Option<Vec<_>> = rows
        .cells()
        .map(|row| match row {
            [a, b, c] => Some([a.as_deref(), b.as_deref(), c.as_deref()]),
            _ => None,
        })
        .collect();
    Definition::of(schema, &values?)
}

fn now_us(worker: &Worker) -> u64 {
    u64::try_from(worker.shared.uptime().as_micros()).unwrap_or(u64::MAX)
}

/// The log of a server, and what is asked about it.
struct Log<'a> {
    worker: &'a Worker,
    cache: &'a Arc<Cache>,
    source: &'a Arc<Source>,
    kind: Kind,
    following: Following<Mark>,
    pace: Pace,
    /// Tables whose definitions would tell what transactions change.
    to_ask: Vec<Table>,
    /// Up to where the log was read when the server was asked last.
    asked_at: cache::Position,
}

impl<'a> Log<'a> {
    /// Something was read from the log.
    fn take(&mut self, (fact, at): Read) -> Result<(), Lost> {
        match fact {
            Fact::Transaction(transaction) => {
                let (change, to_ask) = changes::of(&transaction, self.cache, self.sight());
                self.want(to_ask);
                let mark = match self.kind {
                    Kind::MySql { .. } => transaction.gtid.map(Mark::Gtid),
                    Kind::MariaDb if transaction.is_xa => at.map(|at| Mark::XaEnd(at, now_us(self.worker))),
                    Kind::MariaDb => at.map(Mark::End),
                };
                let mark = mark.ok_or(Lost::Useless("a transaction has no GTID"))?;
                let counted = self.following.change(mark, &change);
                counted.map_err(|_| Lost::Useless("too many transactions are not visible yet"))?;
            }
            Fact::Progress => {}
            Fact::Unknown { kind } => {
                self.source.count(|counters| counters.unknown += 1);
                return Err(Lost::Broken(format!("the server sends events of the unknown type {kind}")));
            }
            Fact::Incident => return Err(Lost::Useless("the server has lost events (INCIDENT)")),
            Fact::Misplaced { event } => {
                return Err(Lost::Broken(format!("{event} comes where none may be")));
            }
            Fact::End => return Err(Lost::Useless("the server has ended the stream")),
            Fact::Refused { code, message } => return Err(Lost::Broken(format!("error {code}: {message}"))),
        }
        if let Some(at) = at {
            self.following.advance(at);
        }
        Ok(())
    }

    /// The server has answered.
    fn hear(&mut self, answers: Answers) -> Result<(), Lost> {
        let Answers { ask, at_us, visible, end, definitions } = answers;
        let before = (self.source.proven_us(), self.source.counters().unsettled);
        if let Some(visible) = visible {
            let now_us = now_us(self.worker);
            self.following.settle(|mark| visible.has(mark, now_us));
        }
        if let Some(end) = end {
            if end < self.asked_at {
                return Err(Lost::Useless("the server's binary log has begun anew"));
            }
            self.following.prove(at_us, end);
        }
        let is_news = before != (self.source.proven_us(), self.source.counters().unsettled);
        let now_us = now_us(self.worker);
        self.pace.note(ask, at_us, now_us, is_news);
        self.source.count(|counters| counters.probes += u64::from(ask.visible) + u64::from(ask.end));
        for learnt in definitions {
            self.cache.learn(learnt, now_us / 1000);
        }
        Ok(())
    }

    /// Waits until something is to be asked.
    async fn due(&self) -> Ask {
        let mut alarm = pin!(sleep(Duration::MAX));
        poll_fn(|cx| {
            loop {
                let now = now_us(self.worker);
                let demand = self.source.poll_demand(now, cx);
                match self.pace.next(now, self.following.is_unsettled(), demand) {
                    Next::Now(ask) => return Poll::Ready(ask),
                    Next::Later => return Poll::Pending,
                    Next::At(at) => {
                        let left = Duration::from_micros(at.saturating_sub(now));
                        alarm.as_mut().reset(Instant::now() + left);
                        if alarm.as_mut().poll(cx).is_pending() {
                            return Poll::Pending;
                        }
                    }
                }
            }
        })
        .await
    }

    /// For whom definitions are known: the account that asks, at this server.
    fn sight(&self) -> Sight {
        let whose = self.cache.keys.builder().part(b"binlog").part(self.source.name().as_bytes()).finish();
        Sight { whose, now_ms: now_us(self.worker) / 1000 }
    }

    fn want(&mut self, tables: Vec<Table>) {
        for table in tables {
            let names = [table.schema.as_deref().unwrap_or_default(), &table.name];
            let is_askable = names.iter().all(|name| !name.contains(['\'', '\\']));
            if is_askable && self.to_ask.len() < DEFINITIONS_MAX && !self.to_ask.contains(&table) {
                self.to_ask.push(table);
            }
        }
    }

    fn take_tables(&mut self) -> Wanted<'a> {
        Wanted { cache: self.cache, sight: self.sight(), tables: std::mem::take(&mut self.to_ask) }
    }
}

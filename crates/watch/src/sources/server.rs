//! One server that is followed, from the first question to the loss of its log, again and again.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use binlog::Fact;
use cache::{Cache, Following, Sight, Source};
use sql::shape::Table;
use tokio::time::{Instant, sleep, timeout};
use upstream::{Target, Worker};

use super::asking::{Answers, Wanted, questions};
use super::changes;
use super::control::{Control, Lost, replica};
use super::pace::{Ask, Next, Pace};
use super::probe::{Kind, Mark};
use super::start::start;
use super::stream::{Read, Stream};

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
        let mut control = Control::open(worker, target, &replica()).await?;
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

/// Microseconds since the start.
pub(super) fn now_us(worker: &Worker) -> u64 {
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
        let before = (self.source.proven_us(), self.following.unsettled());
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
        let is_news = before != (self.source.proven_us(), self.following.unsettled());
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
                match self.pace.next(now, self.following.unsettled() > 0, demand) {
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

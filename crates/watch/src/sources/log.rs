//! The log of a server that is followed: what is read of it, and what is asked about it.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use binlog::{Fact, Position};
use cache::{Cache, Following, Sight, Source};
use upstream::Worker;

use super::alarm::Alarm;
use super::asking::{Answers, Wanted};
use super::changes;
use super::learning::Learning;
use super::lost::Lost;
use super::pace::{Ask, Next, Pace};
use super::probe::{Kind, Mark, place};
use super::seen::Seen;
use super::stream::Read;

/// Where a log is followed, and for whom.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) worker: &'a Worker,
    pub(super) cache: &'a Arc<Cache>,
    pub(super) source: &'a Arc<Source>,
}

/// The log of a server, and what is asked about it.
pub(super) struct Log<'a> {
    here: Place<'a>,
    kind: Kind,
    seen: Seen,
    following: Following<Mark>,
    pub(super) pace: Pace,
    learning: Learning,
    /// Up to where the log was read when the server was asked last.
    asked_at: cache::Position,
    /// Since when it is not read, in microseconds.
    interrupted_us: Option<u64>,
}

impl<'a> Log<'a> {
    /// The log is followed from here on. What was visible before is not in it from there on, and is
    /// dropped from the cache.
    pub(super) fn begin(here: Place<'a>, kind: Kind, seen: Seen) -> Self {
        let from = seen.at().and_then(place).unwrap_or_default();
        Self {
            here,
            kind,
            seen,
            following: Following::begin(here.cache, here.source, from),
            pace: Pace::default(),
            learning: Learning::default(),
            asked_at: cache::Position::default(),
            interrupted_us: None,
        }
    }

    /// The stream has ended here.
    pub(super) fn interrupt(&mut self, at: &Position) {
        self.interrupted_us.get_or_insert(self.here.worker.shared.uptime_us());
        self.seen.advance(at);
        self.following.interrupt();
    }

    /// Another stream goes on where the last one has ended.
    pub(super) fn resume(&mut self) {
        (self.pace, self.interrupted_us) = (Pace::default(), None);
        self.following.resume();
    }

    /// What was read so far, and for how long it is not read, in microseconds.
    pub(super) fn seen(&self) -> (&Seen, u64) {
        let now = self.here.worker.shared.uptime_us();
        (&self.seen, self.interrupted_us.map_or(0, |since| now.saturating_sub(since)))
    }

    /// Something was read from the log.
    pub(super) fn take(&mut self, (fact, at): Read) -> Result<(), Lost> {
        match fact {
            Fact::Transaction(transaction) => {
                let (change, to_ask) = changes::of(&transaction, self.here.cache, self.sight(), self.kind);
                self.learning.want(to_ask);
                if let Some(gtid) = transaction.gtid {
                    self.seen.note(gtid);
                }
                let mark = match self.kind {
                    Kind::MySql { .. } => transaction.gtid.map(Mark::Gtid),
                    Kind::MariaDb if transaction.is_xa => {
                        at.map(|at| Mark::XaEnd(at, self.here.worker.shared.uptime_us()))
                    }
                    Kind::MariaDb => at.map(Mark::End),
                };
                let mark = mark.ok_or(Lost::Useless("a transaction has no GTID"))?;
                let counted = self.following.change(mark, &change);
                counted.map_err(|_| Lost::Useless("too many transactions are not visible yet"))?;
            }
            Fact::Progress => {}
            Fact::Unknown { kind } => {
                self.here.source.count(|counters| counters.unknown += 1);
                return Err(Lost::Doubtful(format!("the server sends events of the unknown type {kind}")));
            }
            Fact::Incident => return Err(Lost::Useless("the server has lost events (INCIDENT)")),
            Fact::Misplaced { event } => {
                return Err(Lost::Doubtful(format!("{event} comes where none may be")));
            }
            Fact::End => return Err(Lost::Cut("the server has ended the stream".to_owned())),
            Fact::Refused { code, message } => return Err(Lost::of_error(code, &message)),
        }
        if let Some(at) = at {
            self.following.advance(at);
            self.learn();
        }
        Ok(())
    }

    /// The server has answered.
    pub(super) fn hear(&mut self, answers: Answers) -> Result<(), Lost> {
        let Answers { ask, at_us, visible, end, definitions } = answers;
        let before = (self.here.source.proven_us(), self.following.unsettled());
        if let Some(visible) = visible {
            let now_us = self.here.worker.shared.uptime_us();
            self.following.settle(|mark| visible.has(mark, now_us));
        }
        if let Some(end) = end {
            if end < self.asked_at {
                return Err(Lost::Useless("the server's binary log has begun anew"));
            }
            self.following.prove(at_us, end);
            self.learning.hear(definitions, end);
            self.learn();
        }
        let is_news = before != (self.here.source.proven_us(), self.following.unsettled());
        let now_us = self.here.worker.shared.uptime_us();
        self.pace.note(ask, at_us, now_us, is_news);
        self.here.source.count(|counters| counters.probes += u64::from(ask.visible) + u64::from(ask.end));
        Ok(())
    }

    /// Takes note of definitions that count from now on.
    fn learn(&mut self) {
        for learnt in self.learning.read(self.following.read()) {
            self.here.cache.learn(learnt, self.here.worker.shared.uptime_us() / 1000);
        }
    }

    /// Waits until something is to be asked.
    pub(super) async fn due(&self, alarm: &Alarm) -> io::Result<Ask> {
        let mut is_set_to = None;
        poll_fn(|cx| {
            loop {
                let now = self.here.worker.shared.uptime_us();
                let demand = self.here.source.poll_demand(now, cx);
                match self.pace.next(now, self.following.unsettled() > 0, demand) {
                    Next::Now(ask) => return Poll::Ready(Ok(ask)),
                    Next::Later => return Poll::Pending,
                    Next::At(at) => {
                        if is_set_to.replace(at) != Some(at) {
                            alarm.set(Duration::from_micros(at.saturating_sub(now)))?;
                        }
                        ready!(alarm.poll(cx))?;
                        is_set_to = None;
                    }
                }
            }
        })
        .await
    }

    /// For whom definitions are known: the account that asks, at this server.
    fn sight(&self) -> Sight {
        let whose =
            self.here.cache.keys.builder().part(b"binlog").part(self.here.source.name().as_bytes()).finish();
        Sight { whose, now_ms: self.here.worker.shared.uptime_us() / 1000 }
    }

    /// Tables whose definitions are asked for now: the server is asked, and the log was read up to
    /// here.
    pub(super) fn ask(&mut self) -> Wanted<'a> {
        self.asked_at = self.following.read();
        Wanted { cache: self.here.cache, sight: self.sight(), tables: self.learning.take() }
    }
}

//! The statement that runs: since when, of what kind, and how it begins. Nothing is allocated for
//! it: the text is copied into a buffer that the worker lends.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use gtid::Gtid;
use otlp::Parent;
use sql::StatementKind;
use tokio::time::Instant;
use wire::command::Kind;

use crate::digests::Place;
use crate::limits::{SHOWN_BUFFERS_MAX, SHOWN_BYTES_MAX};

/// What a command is to those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Its kind.
    pub kind: Kind,
    /// `None` if it is no statement whose text is known.
    pub statement: Option<StatementKind>,
    /// The hash of its digest.
    pub digest: Option<u64>,
    /// What a query rule says about logging it.
    pub log: Option<bool>,
    /// Where it is counted by its digest.
    pub place: Option<Place>,
    /// Bytes of the command, without headers.
    pub bytes: u32,
}

impl Measured {
    /// A command of which nothing else is known.
    pub const fn plain(kind: Kind) -> Self {
        Self { kind, statement: None, digest: None, log: None, place: None, bytes: 0 }
    }

    /// The same command with what only the `other` one says of it.
    fn or(self, other: Self) -> Self {
        Self {
            statement: self.statement.or(other.statement),
            digest: self.digest.or(other.digest),
            log: self.log.or(other.log),
            place: self.place.or(other.place),
            ..self
        }
    }
}

/// The statement of one session.
#[derive(Debug, Default)]
pub struct Running {
    current: Cell<Option<(Measured, Instant)>>,
    /// Bytes of the answer to the statement that runs, or ran last, that came so far.
    pub answered: Cell<u64>,
    said: RefCell<Said>,
    /// Bytes that the text has, kept or not.
    text_len: Cell<u32>,
    /// The client's number of the prepared statement; 0 if there is none.
    pub statement: Cell<u32>,
    /// How long it may take; nothing means as long as all statements may.
    limit: Cell<Option<Duration>>,
    /// The statement that ran last, if its warnings are to be logged.
    pub warned: Cell<Option<Warned>>,
}

/// A statement whose warnings are to be logged.
#[derive(Debug, Clone, Copy)]
pub struct Warned {
    /// The hash of its digest; 0 if it has none.
    pub digest: u64,
    /// How many before it were not logged.
    pub hidden: u32,
}

/// A statement that was sent, and is to be sent once more: counters and records of statements see
/// one.
#[derive(Debug, Clone, Copy)]
pub struct Paused {
    /// What it is to those who count.
    pub measured: Measured,
    since: Instant,
    limit: Option<Duration>,
}

/// What the client has said, in buffers that the worker lends: without memory while nothing runs.
#[derive(Debug, Default)]
struct Said {
    /// The text, as far as it is kept.
    text: Vec<u8>,
    /// The command, if it is the execution of a prepared statement, and short.
    execution: Vec<u8>,
    /// The GTID that the server has told with the answer, for logs.
    gtid: Option<Box<str>>,
    /// What its span has of the command, if statements are traced.
    traced: Option<Box<Traced>>,
}

/// What the span of a statement has of the command and its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traced {
    /// The parent in the attributes of the command.
    pub parent: Option<Parent>,
    /// The query rule that has chosen the hostgroup.
    pub rule: Option<i64>,
    /// Since when the statement waits for a connection, or has waited for one.
    pub waiting_since: Option<Instant>,
    /// Whether the text of the digest is without literals: it has some where the server sees
    /// another end of a string than the digest.
    pub shows_digest: bool,
}

/// What logs want of a statement that was sent with the one before; nothing without a log.
#[derive(Debug, Clone, Default)]
pub struct Also {
    /// Its text, as far as it is kept.
    pub text: Box<[u8]>,
    /// Bytes that the text has.
    pub text_len: usize,
    /// The client's number of the prepared statement.
    pub statement: u32,
    /// What its span has of it.
    pub traced: Option<Box<Traced>>,
}

/// Buffers of a worker that no statement uses.
#[derive(Debug, Default)]
pub struct Shown(RefCell<Vec<Vec<u8>>>);

impl Running {
    /// A statement has been sent at `now`. Of its text up to `kept` bytes are kept.
    pub fn begin(&self, shown: &Shown, measured: Measured, text: &[u8], kept: usize, now: Instant) {
        self.current.set(Some((measured, now)));
        self.answered.set(0);
        self.limit.set(None);
        self.warned.set(None);
        self.text_len.set(length(text.len()));
        self.statement.set(0);
        let text = text.get(..kept).unwrap_or(text);
        let Said { text: buffer, gtid, .. } = &mut *self.said.borrow_mut();
        *gtid = None;
        buffer.clear();
        if text.is_empty() {
            return;
        }
        if buffer.capacity() == 0 {
            *buffer = shown.take();
        }
        buffer.extend_from_slice(text);
    }

    /// The server works at another statement from `now` on, which was sent with the one before.
    pub fn go_on(&self, measured: Measured, also: &Also, now: Instant) {
        self.current.set(Some((measured, now)));
        self.answered.set(0);
        self.limit.set(None);
        self.warned.set(None);
        let Said { text, execution, gtid, traced } = &mut *self.said.borrow_mut();
        *gtid = None;
        traced.clone_from(&also.traced);
        text.clear();
        text.extend_from_slice(&also.text);
        execution.clear();
        self.text_len.set(length(also.text_len));
        self.statement.set(also.statement);
    }

    /// What runs is this execution of a prepared statement; it is kept if it is short.
    pub fn keep_execution(&self, shown: &Shown, payload: &[u8]) {
        if payload.len() > SHOWN_BYTES_MAX {
            return;
        }
        let buffer = &mut self.said.borrow_mut().execution;
        if buffer.capacity() == 0 {
            *buffer = shown.take();
        }
        buffer.clear();
        buffer.extend_from_slice(payload);
    }

    /// The command that runs, if it is a short execution of a prepared statement; empty if not.
    pub fn execution(&self) -> Vec<u8> {
        self.said.borrow().execution.clone()
    }

    /// What runs may take so long; returns when that is over.
    pub fn expire_after(&self, limit: Duration) -> Option<Instant> {
        self.limit.set(Some(limit));
        self.current.get().and_then(|(_, since)| since.checked_add(limit))
    }

    /// What runs, which is to be sent once more.
    pub fn pause(&self) -> Option<Paused> {
        let (measured, since) = self.current.get()?;
        Some(Paused { measured, since, limit: self.limit.get() })
    }

    /// What has begun to run is this statement, which goes on. Returns when the time is over that
    /// it may take.
    pub fn resume(&self, paused: &Paused) -> Option<Instant> {
        let (measured, _) = self.current.get()?;
        self.current.set(Some((measured.or(paused.measured), paused.since)));
        self.limit.set(paused.limit);
        paused.limit.and_then(|limit| paused.since.checked_add(limit))
    }

    /// Whether what runs has taken too long by `now`, if statements without a limit of their own
    /// may take `default`; true once for each.
    pub fn is_overdue(&self, now: Instant, default: Duration) -> bool {
        let Some((_, since)) = self.current.get() else { return false };
        let is_overdue = now.saturating_duration_since(since) >= self.limit.get().unwrap_or(default);
        if is_overdue {
            self.limit.set(Some(Duration::MAX));
        }
        is_overdue
    }

    /// When what runs has taken as long as it may, if statements without a limit of their own may
    /// take `default`.
    pub fn end_of(&self, default: Duration) -> Option<Instant> {
        let (_, since) = self.current.get()?;
        since.checked_add(self.limit.get().unwrap_or(default))
    }

    /// Of the text that runs so many bytes have not come yet.
    pub fn note_missing(&self, bytes: usize) {
        self.text_len.set(self.text_len.get().saturating_add(length(bytes)));
    }

    /// The text as far as it is kept, but not more than `max` bytes of it, and how many bytes it
    /// has.
    pub fn text(&self, max: usize) -> (Box<[u8]>, u64) {
        let text = &self.said.borrow().text;
        (text.get(..max).unwrap_or(text).into(), self.text_len.get().into())
    }

    /// Lets `read` see the text as far as it is kept.
    pub fn read_text<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        read(&self.said.borrow().text)
    }

    /// The span of the command that begins will have this; what is known already is kept where
    /// `traced` has nothing, and so is the beginning of its wait.
    pub fn trace(&self, traced: Traced) {
        let mut said = self.said.borrow_mut();
        let kept = said.traced.get_or_insert_default();
        **kept = Traced {
            parent: traced.parent.or(kept.parent),
            rule: traced.rule.or(kept.rule),
            waiting_since: kept.waiting_since.or(traced.waiting_since),
            shows_digest: traced.shows_digest,
        };
    }

    /// What the span of the statement that is over has of it.
    pub fn take_traced(&self) -> Traced {
        self.said.borrow_mut().traced.take().map_or_else(Traced::default, |traced| *traced)
    }

    /// The statement is over at `now`; what it was, and how long it took.
    pub fn end(&self, now: Instant) -> Option<(Measured, Duration)> {
        self.current.take().map(|(measured, since)| (measured, now.saturating_duration_since(since)))
    }

    /// Its server has told that it has committed this transaction.
    pub fn set_gtid(&self, gtid: &Gtid) {
        self.said.borrow_mut().gtid = Some(gtid.to_string().into());
    }

    /// The transaction that its server has told last.
    pub fn take_gtid(&self) -> Option<Box<str>> {
        self.said.borrow_mut().gtid.take()
    }

    /// So many bytes of its answer have come.
    pub fn add_answered(&self, bytes: usize) {
        self.answered.set(self.answered.get() + bytes as u64);
    }

    /// Gives the statement another place among the digests, where `renew` has one.
    pub fn renew(&self, renew: impl FnOnce(Place) -> Option<Place>) {
        if let Some((measured, since)) = self.current.get() {
            let place = measured.place.and_then(renew);
            self.current.set(Some((Measured { place, ..measured }, since)));
        }
    }

    /// Nothing runs any more.
    pub fn rest(&self, shown: &Shown) {
        self.current.set(None);
        let Said { text, execution, .. } = &mut *self.said.borrow_mut();
        for buffer in [text, execution] {
            if buffer.capacity() > 0 {
                shown.give_back(std::mem::take(buffer));
            }
        }
    }

    /// Bytes of the command that runs, without headers.
    pub fn bytes(&self) -> Option<usize> {
        self.current.get().and_then(|(measured, _)| usize::try_from(measured.bytes).ok())
    }

    /// What kind of command runs.
    pub fn kind(&self) -> Option<Kind> {
        self.current.get().map(|(measured, _)| measured.kind)
    }

    /// Since when something runs.
    pub fn since(&self) -> Option<Instant> {
        self.current.get().map(|(_, since)| since)
    }

    /// What runs, since when, and how it begins, if that is known.
    pub fn show(&self) -> Option<(Kind, Instant, Option<Vec<u8>>)> {
        let (measured, since) = self.current.get()?;
        let text = &self.said.borrow().text;
        let shown = text.get(..SHOWN_BYTES_MAX).unwrap_or(text).to_vec();
        Some((measured.kind, since, Some(shown).filter(|text| !text.is_empty())))
    }
}

/// A number of bytes of a command, of which no server takes more than 1 GiB.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Shown {
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(SHOWN_BYTES_MAX))
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut buffers = self.0.borrow_mut();
        // Those that have held a long text for a log are too large to keep.
        if buffers.len() < SHOWN_BUFFERS_MAX && buffer.capacity() <= SHOWN_BYTES_MAX {
            buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_span_has_is_gathered_until_its_statement_is_over() {
        let (running, now) = (Running::default(), Instant::now());
        let parent = Parent { trace: 1, span: 2, is_sampled: true };
        let waiting = Traced { waiting_since: Some(now), ..Traced::default() };
        running.trace(waiting);
        // It has waited before, and the first wait counts.
        let later = now + Duration::from_millis(1);
        running.trace(Traced { parent: Some(parent), waiting_since: Some(later), ..Traced::default() });
        running.trace(Traced { rule: Some(7), ..Traced::default() });
        assert_eq!(running.take_traced(), Traced { parent: Some(parent), rule: Some(7), ..waiting });
        assert_eq!(running.take_traced(), Traced::default());
        // A statement that was sent with the one before it has its own.
        running.trace(waiting);
        let own = Traced { rule: Some(8), ..Traced::default() };
        let also = Also { traced: Some(Box::new(own)), ..Also::default() };
        running.go_on(Measured::plain(Kind::Query), &also, now);
        assert_eq!(running.take_traced(), own);
        running.trace(waiting);
        running.go_on(Measured::plain(Kind::Query), &Also::default(), now);
        assert_eq!(running.take_traced(), Traced::default());
    }

    #[test]
    fn buffers_are_lent_and_come_back() {
        let (running, shown, now) = (Running::default(), Shown::default(), Instant::now());
        let measured = Measured { statement: Some(StatementKind::Select), ..Measured::plain(Kind::Query) };
        for _ in 0..3 {
            running.begin(&shown, measured, &[b'x'; 3 * SHOWN_BYTES_MAX], SHOWN_BYTES_MAX, now);
            let (kind, since, text) = running.show().unwrap();
            assert_eq!((kind, since, text.unwrap().len()), (Kind::Query, now, SHOWN_BYTES_MAX));
            let took = running.end(now + Duration::from_millis(5));
            assert_eq!(took, Some((measured, Duration::from_millis(5))));
            running.rest(&shown);
            assert!(running.show().is_none() && running.said.borrow().text.capacity() == 0);
        }
        assert_eq!(shown.0.borrow().len(), 1, "one buffer was enough");
        let text = [b'x'; 3 * SHOWN_BYTES_MAX];
        running.begin(&shown, measured, &text, 2 * SHOWN_BYTES_MAX, now);
        assert_eq!(
            running.text(usize::MAX),
            (text[..2 * SHOWN_BYTES_MAX].into(), 3 * SHOWN_BYTES_MAX as u64)
        );
        assert_eq!(running.show().unwrap().2.unwrap().len(), SHOWN_BYTES_MAX);
        running.rest(&shown);
        assert!(shown.0.borrow().is_empty(), "a large buffer is not kept");
    }
}

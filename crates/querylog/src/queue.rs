//! The way from workers to the writer: a queue that never makes anybody wait, and orders.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{QUEUE_BYTES_MAX, QUEUE_RECORDS_MAX};
use crate::output::Done;
use crate::writer::Writer;
use crate::{AuditRecord, Record, Settings, Zone};

/// Logs with one queue. Its thread starts when there is one of them for the first time.
#[derive(Debug, Default)]
pub struct QueryLog {
    name: Name,
    sender: OnceLock<SyncSender<Message>>,
    books: Arc<Books>,
}

/// What a writer is called.
#[derive(Debug, Clone, Copy)]
struct Name {
    thread: &'static str,
    log: &'static str,
}

impl Default for Name {
    fn default() -> Self {
        Self { thread: "querylog", log: "query log" }
    }
}

/// What is in the queue.
#[derive(Debug)]
pub(crate) enum Message {
    Record(Box<Record>),
    Audit(Box<AuditRecord>),
    /// An order with its number. The records that were offered before it come first, and so do the
    /// orders with smaller numbers: one that finds no place in the queue is [kept](Orders::overdue)
    /// until all that was in it is done, and so are those behind it.
    Order(Order, u64),
}

/// What the writer shall do.
#[derive(Debug)]
pub(crate) enum Order {
    /// To use these files from now on.
    Configure(Settings),
    /// To begin new files.
    Rotate,
    /// To end.
    End,
}

/// What both sides know.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Bytes of records in the queue.
    queued_bytes: AtomicUsize,
    written: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    orders: Mutex<Orders>,
    news: Condvar,
    /// Whether the thread was told to end.
    ended: AtomicBool,
}

/// The numbers of orders, and those that had no place in the queue.
#[derive(Debug, Default)]
struct Orders {
    /// The last one that was given.
    asked: u64,
    /// The last one that was carried out.
    done: u64,
    /// One of each kind, in the order of their numbers.
    overdue: Vec<(Order, u64)>,
}

/// How many records were made, by what became of them. One that goes to both logs counts twice
/// where it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// They are in a file.
    pub written: u64,
    /// The file could not be opened or written.
    pub failed: u64,
    /// The queue was full: the writer waits for a disk or a pipe.
    pub dropped: u64,
}

/// The writer has not done within its time what it was told; it will when it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateError {
    /// The log.
    pub log: &'static str,
    /// The time.
    pub waited: Duration,
}

/// An order was not carried out in its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Late;

impl std::fmt::Display for LateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.waited.as_millis();
        write!(
            f,
            "the writer of the {} has not answered within {ms} ms: a disk or a pipe does not take what it writes",
            self.log
        )
    }
}

impl std::error::Error for LateError {}

impl QueryLog {
    /// Logs of their own for the audit log, so that no number of statements takes the place of what
    /// it is for.
    pub fn for_audit() -> Self {
        Self { name: Name { thread: "auditlog", log: "audit log" }, ..Self::default() }
    }

    /// Writes to other files from now on, behind what was offered before. Does not wait for it.
    /// Fails if the writer's thread cannot be started, which it is when there is a log for the
    /// first time.
    pub fn configure(&self, settings: &Settings) -> std::io::Result<()> {
        if !settings.is_any() && self.sender.get().is_none() {
            return Ok(());
        }
        self.start()?;
        self.order(Order::Configure(settings.clone()));
        Ok(())
    }

    fn start(&self) -> std::io::Result<()> {
        // The lock, so that two that come together start one.
        let _orders = self.books.lock();
        if self.sender.get().is_some() {
            return Ok(());
        }
        let (sender, receiver) = sync_channel(QUEUE_RECORDS_MAX);
        let books = Arc::clone(&self.books);
        let write = move || Writer::new(Zone::system()).run(&receiver, &books);
        std::thread::Builder::new().name(self.name.thread.to_owned()).spawn(write)?;
        // It was empty under the lock.
        let _ = self.sender.set(sender);
        Ok(())
    }

    /// Takes a record, if there is a log and a place for it. If there is no place, or the log has
    /// ended, it is counted as dropped. Returns whether it was taken; where [`end`](Self::end) is
    /// under way, it may be lost even so. Never waits.
    pub fn offer(&self, record: Box<Record>) -> bool {
        let weight = record.weight();
        self.push(Message::Record(record), weight)
    }

    /// The same for the audit log.
    pub fn offer_audit(&self, record: Box<AuditRecord>) -> bool {
        let weight = record.weight();
        self.push(Message::Audit(record), weight)
    }

    fn push(&self, message: Message, weight: usize) -> bool {
        let Some(sender) = self.sender.get() else { return false };
        let fits = self.books.queued_bytes.fetch_add(weight, Ordering::Relaxed) < QUEUE_BYTES_MAX;
        let has_room = fits && !self.books.ended.load(Ordering::Relaxed);
        if has_room && sender.try_send(message).is_ok() {
            return true;
        }
        self.books.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
        self.books.dropped.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Begins new files, as `PROXYSQL FLUSH LOGS` does. Returns when records that come now go
    /// there.
    pub fn rotate(&self, wait: Duration) -> Result<(), LateError> {
        Self::rotate_all(&[self], wait)
    }

    /// The same for several at once: `wait` is for all of them.
    pub fn rotate_all(logs: &[&Self], wait: Duration) -> Result<(), LateError> {
        Self::order_all(logs, || Order::Rotate, wait).first().map_or(Ok(()), |late| Err(*late))
    }

    /// Writes what is in the queue and ends the thread; records that come later are lost.
    pub fn end(&self, wait: Duration) -> Result<(), LateError> {
        Self::end_all(&[self], wait).first().map_or(Ok(()), |late| Err(*late))
    }

    /// The same for several at once: `wait` is for all of them. Returns which were late.
    pub fn end_all(logs: &[&Self], wait: Duration) -> Vec<LateError> {
        let late = Self::order_all(logs, || Order::End, wait);
        for log in logs {
            // The thread may take a moment to be gone.
            log.books.ended.store(true, Ordering::Relaxed);
        }
        late
    }

    /// What became of records until now.
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            written: of(&self.books.written),
            failed: of(&self.books.failed),
            dropped: of(&self.books.dropped),
        }
    }

    /// Gives all of them an order, and waits until each has carried it out; returns which were
    /// late.
    fn order_all(logs: &[&Self], order: impl Fn() -> Order, wait: Duration) -> Vec<LateError> {
        let deadline = Instant::now() + wait;
        let given: Vec<_> = logs.iter().map(|log| log.order(order())).collect();
        let late = |(log, number): (&&Self, Option<u64>)| {
            let late = log.books.wait(number?, deadline).is_err();
            late.then_some(LateError { log: log.name.log, waited: wait })
        };
        logs.iter().zip(given).filter_map(late).collect()
    }

    /// Gives an order and returns its number; nothing if there is no writer.
    fn order(&self, order: Order) -> Option<u64> {
        let sender = self.sender.get()?;
        // Until it is in the queue, so that orders are carried out in the order of their numbers.
        let mut orders = self.books.lock();
        orders.asked += 1;
        let number = orders.asked;
        if !orders.overdue.is_empty() {
            return Some(orders.postpone(order, number));
        }
        match sender.try_send(Message::Order(order, number)) {
            Ok(()) => Some(number),
            Err(TrySendError::Full(Message::Order(order, number))) => Some(orders.postpone(order, number)),
            // It has ended.
            Err(_) => None,
        }
    }
}

impl Orders {
    /// Keeps an order that has no place in the queue; returns the number under which it will be
    /// carried out. Of each kind one is enough, which says what the last one does: there are no
    /// records between them that would be told apart.
    fn postpone(&mut self, order: Order, number: u64) -> u64 {
        let kind = std::mem::discriminant(&order);
        if let Some(kept) = self.overdue.iter_mut().find(|(other, _)| std::mem::discriminant(other) == kind) {
            kept.0 = order;
            return kept.1;
        }
        self.overdue.push((order, number));
        number
    }
}

impl Books {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, number: u64, deadline: Instant) -> Result<(), Late> {
        let mut orders = self.lock();
        while orders.done < number {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Late);
            }
            orders = self.news.wait_timeout(orders, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// A record has left the queue.
    pub(crate) fn taken(&self, weight: usize) {
        self.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, done: Done) {
        self.written.fetch_add(done.written, Ordering::Relaxed);
        self.failed.fetch_add(done.failed, Ordering::Relaxed);
    }

    /// The number of the last order that has no place in the queue; 0 if there is none.
    pub(crate) fn last_overdue(&self) -> u64 {
        self.lock().overdue.last().map_or(0, |(_, number)| *number)
    }

    /// The orders without a place up to this one; the writer need not carry them out again.
    pub(crate) fn take_overdue(&self, last: u64) -> Vec<(Order, u64)> {
        self.lock().overdue.extract_if(.., |(_, number)| *number <= last).collect()
    }

    /// This order is carried out.
    pub(crate) fn obeyed(&self, number: u64) {
        let mut orders = self.lock();
        orders.done = number;
        self.news.notify_all();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::process::Command;
    use std::sync::mpsc::Receiver;

    use super::*;
    use crate::{Format, LogFile, Logs};

    /// Nothing here takes that long.
    const WAIT: Duration = Duration::from_secs(30);

    /// A record for the query log.
    pub(crate) fn record(text: &str) -> Box<Record> {
        Box::new(Record::of(text.as_bytes(), Logs { events: true, slow: false }))
    }

    /// A log whose writer has not begun yet.
    fn log() -> (QueryLog, Receiver<Message>) {
        let (sender, receiver) = sync_channel(QUEUE_RECORDS_MAX);
        (QueryLog { sender: OnceLock::from(sender), ..QueryLog::default() }, receiver)
    }

    fn to(folder: &Path, name: &str) -> Settings {
        let events = Some(LogFile { base: folder.join(name), size_max: 1 << 30 });
        Settings { events, format: Format::Json, ..Settings::default() }
    }

    /// How many records are in a file.
    fn records(folder: &Path, name: &str) -> usize {
        std::fs::read_to_string(folder.join(name)).unwrap().lines().count()
    }

    #[test]
    fn orders_without_a_place_are_carried_out_behind_all_that_was_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let (log, messages) = log();
        let base = folder.path();
        log.configure(&to(base, "a")).unwrap();
        let taken = (0..QUEUE_RECORDS_MAX).take_while(|_| log.offer(record("early"))).count();
        assert_eq!(taken, QUEUE_RECORDS_MAX - 1);
        // All these come too late for the queue.
        log.rotate(Duration::ZERO).unwrap_err();
        log.configure(&to(base, "c")).unwrap();
        log.configure(&to(base, "b")).unwrap();
        let number = log.order(Order::Rotate).unwrap();
        let books = Arc::clone(&log.books);
        std::thread::scope(|scope| {
            let of_writer = Arc::clone(&books);
            scope.spawn(move || Writer::new(Zone::utc()).run(&messages, &of_writer));
            // No message comes that would wake the writer.
            books.wait(number, Instant::now() + WAIT).unwrap();
            log.rotate(WAIT).unwrap();
            assert!(log.offer(record("late")));
            log.end(WAIT).unwrap();
        });
        assert_eq!(records(base, "a.00000001"), taken);
        assert_eq!(records(base, "a.00000002"), 0);
        assert_eq!(records(base, "b.00000001"), 1);
        assert_eq!(std::fs::read_dir(base).unwrap().count(), 3);
    }

    /// The writer is in the middle of its turn when an order finds no place, and nothing comes
    /// behind it.
    #[test]
    fn an_order_without_a_place_needs_no_later_message() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let log = QueryLog::default();
        log.configure(&to(folder.path(), "pipe")).unwrap();
        // Until the writer is stuck, with a queue that is full.
        let number = loop {
            while log.offer(record("x")) {}
            let number = log.order(Order::Rotate).unwrap();
            if log.books.last_overdue() == number {
                break number;
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| std::io::copy(&mut File::open(&pipe).unwrap(), &mut std::io::sink()).unwrap());
            log.books.wait(number, Instant::now() + WAIT).unwrap();
            log.end(WAIT).unwrap();
        });
    }
}

//! The way from workers to the writer: a queue that never makes anybody wait, and orders.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{QUEUE_BYTES_MAX, QUEUE_RECORDS_MAX};
use crate::output::Done;
use crate::writer::Writer;
use crate::{Record, Settings, Zone};

/// Both logs. Its thread starts when there is one for the first time.
#[derive(Debug, Default)]
pub struct QueryLog {
    sender: OnceLock<SyncSender<Message>>,
    books: Arc<Books>,
}

/// What is in the queue.
#[derive(Debug)]
pub(crate) enum Message {
    Record(Box<Record>),
    /// An order with its number; all records before it come first.
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
    /// Whether there are orders that had no place in the queue.
    overdue: AtomicBool,
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
    overdue: Vec<(Order, u64)>,
}

/// How many records were made, by what became of them. One that goes to both logs counts twice where it was written.
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
    /// The time.
    pub waited: Duration,
}

impl std::fmt::Display for LateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.waited.as_millis();
        write!(
            f,
            "the writer of the query log has not answered within {ms} ms: a disk or a pipe does not take what it writes"
        )
    }
}

impl std::error::Error for LateError {}

impl QueryLog {
    /// Writes to other files from now on, behind what was offered before. Does not wait for it. Fails if the writer's thread
    /// cannot be started, which it is when there is a log for the first time.
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
        std::thread::Builder::new().name("querylog".to_owned()).spawn(write)?;
        // It was empty under the lock.
        let _ = self.sender.set(sender);
        Ok(())
    }

    /// Takes a record, if there is a place for it; if not, it is counted, and false returned. Never waits.
    pub fn offer(&self, record: Box<Record>) -> bool {
        let Some(sender) = self.sender.get() else { return false };
        let weight = record.weight();
        let fits = self.books.queued_bytes.fetch_add(weight, Ordering::Relaxed) < QUEUE_BYTES_MAX;
        let has_room = fits && !self.books.ended.load(Ordering::Relaxed);
        if has_room && sender.try_send(Message::Record(record)).is_ok() {
            return true;
        }
        self.books.queued_bytes.fetch_sub(weight, Ordering::Relaxed);
        self.books.dropped.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Begins new files, as `PROXYSQL FLUSH LOGS` does. Returns when records that come now go there.
    pub fn rotate(&self, wait: Duration) -> Result<(), LateError> {
        self.order_and_wait(Order::Rotate, wait)
    }

    /// Writes what is in the queue and ends the thread; records that come later are lost.
    pub fn end(&self, wait: Duration) -> Result<(), LateError> {
        let ended = self.order_and_wait(Order::End, wait);
        // The thread may take a moment to be gone.
        self.books.ended.store(true, Ordering::Relaxed);
        ended
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

    fn order_and_wait(&self, order: Order, wait: Duration) -> Result<(), LateError> {
        let Some(number) = self.order(order) else { return Ok(()) };
        self.books.wait(number, wait)
    }

    /// Gives an order and returns its number; nothing if there is no writer.
    fn order(&self, order: Order) -> Option<u64> {
        let sender = self.sender.get()?;
        // Until it is in the queue, so that orders are carried out in the order of their numbers.
        let mut orders = self.books.lock();
        orders.asked += 1;
        let number = orders.asked;
        match sender.try_send(Message::Order(order, number)) {
            Ok(()) => Some(number),
            Err(TrySendError::Full(Message::Order(order, number))) => {
                orders.postpone(order, number);
                self.books.overdue.store(true, Ordering::Release);
                Some(number)
            }
            // It has ended.
            Err(_) => None,
        }
    }
}

impl Orders {
    /// Keeps an order that has no place in the queue. Of each kind the last one is enough: there are no records between them
    /// that would be told apart.
    fn postpone(&mut self, order: Order, number: u64) {
        self.overdue.retain(|(other, _)| std::mem::discriminant(other) != std::mem::discriminant(&order));
        self.overdue.push((order, number));
    }
}

impl Books {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, number: u64, wait: Duration) -> Result<(), LateError> {
        let deadline = Instant::now() + wait;
        let mut orders = self.lock();
        while orders.done < number {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LateError { waited: wait });
            }
            orders = self.news.wait_timeout(orders, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// A record has left the queue.
    pub(crate) fn taken(&self, record: &Record) {
        self.queued_bytes.fetch_sub(record.weight(), Ordering::Relaxed);
    }

    pub(crate) fn count(&self, done: Done) {
        self.written.fetch_add(done.written, Ordering::Relaxed);
        self.failed.fetch_add(done.failed, Ordering::Relaxed);
    }

    /// The orders that had no place in the queue; nobody has to carry them out again.
    pub(crate) fn overdue(&self) -> Vec<(Order, u64)> {
        if self.overdue.load(Ordering::Relaxed) && self.overdue.swap(false, Ordering::Acquire) {
            return std::mem::take(&mut self.lock().overdue);
        }
        Vec::new()
    }

    /// This order is carried out.
    pub(crate) fn obeyed(&self, number: u64) {
        let mut orders = self.lock();
        orders.done = orders.done.max(number);
        self.news.notify_all();
    }
}

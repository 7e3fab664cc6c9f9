//! The way from workers to the collector: a bounded queue, and the thread that sends batches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::choice::Choice;
use crate::limits::{BATCH_SPANS_MAX, BATCH_WAIT, COMPLAINT_INTERVAL, FLUSH_INTERVAL, QUEUE_SPANS_MAX};
use crate::post::{PostError, post};
use crate::{Span, json};

/// Spans of a process on their way to a collector. Its thread starts when there is a collector for
/// the first time.
#[derive(Debug, Default)]
pub struct Exporter {
    sender: OnceLock<SyncSender<Message>>,
    shared: Arc<Shared>,
}

/// What is in the queue.
#[derive(Debug)]
enum Message {
    Span(Box<Span>),
    /// To send what came before, and to say so.
    Flush(SyncSender<()>),
}

/// What workers and the thread share.
#[derive(Debug, Default)]
struct Shared {
    /// Addresses of collectors, `host:port`, the best one first.
    collectors: Mutex<Arc<[String]>>,
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

/// How many statements were traced, by what became of their spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// A collector has them.
    pub sent: u64,
    /// No collector took them.
    pub failed: u64,
    /// The queue was full.
    pub dropped: u64,
}

impl Exporter {
    /// Sends to the first of these collectors that takes spans, `host:port`; to none if there are
    /// none.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn configure(&self, collectors: &[String]) -> io::Result<()> {
        {
            let mut known = self.shared.collectors.lock().unwrap_or_else(PoisonError::into_inner);
            *known = collectors.into();
            if collectors.is_empty() || self.sender.get().is_some() {
                return Ok(());
            }
        }
        let (sender, receiver) = sync_channel(QUEUE_SPANS_MAX);
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().name("otlp".to_owned()).spawn(move || send(&receiver, &shared))?;
        // Where two came together, the thread of the second one ends at once.
        let _ = self.sender.set(sender);
        Ok(())
    }

    /// Takes a span if there is a place for it; otherwise counts it as dropped. Never waits.
    pub fn offer(&self, span: Box<Span>) {
        let Some(sender) = self.sender.get() else { return };
        if sender.try_send(Message::Span(span)).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends what is in the queue; returns whether that was done within `wait`.
    pub fn flush(&self, wait: Duration) -> bool {
        let Some(sender) = self.sender.get() else { return true };
        let deadline = Instant::now() + wait;
        let left = || deadline.saturating_duration_since(Instant::now());
        let (done, is_done) = sync_channel(1);
        let mut order = Message::Flush(done);
        loop {
            match sender.try_send(order) {
                Ok(()) => return is_done.recv_timeout(left()).is_ok(),
                Err(TrySendError::Full(back)) if !left().is_zero() => order = back,
                Err(_) => return false,
            }
            thread::sleep(FLUSH_INTERVAL.min(left()));
        }
    }

    /// What became of spans until now.
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let shared = &self.shared;
        Counts { sent: of(&shared.sent), failed: of(&shared.failed), dropped: of(&shared.dropped) }
    }
}

/// Sends batches until no span can come.
fn send(queue: &Receiver<Message>, shared: &Shared) {
    let (mut choice, mut complained) = (Choice::default(), None);
    while let Ok(first) = queue.recv() {
        let (batch, flushed) = gather(first, queue);
        if !batch.is_empty() {
            deliver(&batch, shared, &mut choice, &mut complained);
        }
        if let Some(done) = flushed {
            // It may wait no more.
            let _ = done.try_send(());
        }
    }
}

/// A batch: `first` and what comes within a second, up to the limit or an order to flush.
fn gather(first: Message, queue: &Receiver<Message>) -> (Vec<Span>, Option<SyncSender<()>>) {
    let deadline = Instant::now() + BATCH_WAIT;
    let mut batch = Vec::new();
    let mut next = Ok(first);
    loop {
        match next {
            Ok(Message::Span(span)) => batch.push(*span),
            Ok(Message::Flush(done)) => return (batch, Some(done)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return (batch, None),
        }
        if batch.len() >= BATCH_SPANS_MAX {
            return (batch, None);
        }
        next = queue.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Sends a batch to the first collector that takes it.
fn deliver(batch: &[Span], shared: &Shared, choice: &mut Choice, complained: &mut Option<Instant>) {
    let body = json::request(batch);
    let collectors = Arc::clone(&shared.collectors.lock().unwrap_or_else(PoisonError::into_inner));
    let mut last: Option<(&str, PostError)> = None;
    for collector in choice.order(&collectors, Instant::now()) {
        match post(collector, &body) {
            Ok(()) => {
                shared.sent.fetch_add(batch.len() as u64, Ordering::Relaxed);
                if choice.note_taken(&collectors, collector, Instant::now()) {
                    let error = last.map(|(_, error)| error.to_string()).unwrap_or_default();
                    tracing::warn!(collector, error, "another collector takes the spans");
                }
                return;
            }
            Err(error) => last = Some((collector, error)),
        }
    }
    shared.failed.fetch_add(batch.len() as u64, Ordering::Relaxed);
    if let Some((collector, error)) = last
        && complained.is_none_or(|at| at.elapsed() >= COMPLAINT_INTERVAL)
    {
        *complained = Some(Instant::now());
        tracing::warn!(collector, %error, spans = batch.len(), "spans are lost: no collector takes them");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use serde_json::Value;

    use super::*;
    use crate::json::tests::span;

    /// Nothing here takes that long.
    const WAIT: Duration = Duration::from_secs(30);

    /// Takes one request; returns how many spans it has.
    fn take(listener: &TcpListener, status: &str) -> usize {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        let body: Value = loop {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the request is cut");
            request.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&request);
            if let Some((_, body)) = text.split_once("\r\n\r\n")
                && let Ok(body) = serde_json::from_str(body)
            {
                break body;
            }
        };
        write!(stream, "HTTP/1.1 {status}\r\n\r\n").unwrap();
        body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len()
    }

    fn address(listener: &TcpListener) -> String {
        listener.local_addr().unwrap().to_string()
    }

    #[test]
    fn spans_go_together_to_the_first_collector_that_takes_them() {
        let (refuses, takes) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let exporter = Exporter::default();
        exporter.configure(&[address(&refuses), address(&takes)]).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(take(&refuses, "503 Busy"), 6));
            scope.spawn(|| assert_eq!(take(&takes, "200 OK"), 6));
            exporter.offer(span());
            exporter.offer(span());
            assert!(exporter.flush(WAIT));
        });
        assert_eq!(exporter.counts(), Counts { sent: 2, ..Counts::default() });
    }

    #[test]
    fn what_no_collector_takes_is_counted() {
        let gone = address(&TcpListener::bind("127.0.0.1:0").unwrap());
        let exporter = Exporter::default();
        exporter.offer(span());
        assert_eq!(exporter.counts(), Counts::default(), "there is no collector");
        exporter.configure(&[gone]).unwrap();
        exporter.offer(span());
        assert!(exporter.flush(WAIT));
        assert_eq!(exporter.counts(), Counts { failed: 1, ..Counts::default() });
        // None any more.
        exporter.configure(&[]).unwrap();
        exporter.offer(span());
        assert!(exporter.flush(WAIT));
        assert_eq!(exporter.counts(), Counts { failed: 2, ..Counts::default() });
    }

    #[test]
    fn a_queue_that_is_full_drops_spans() {
        let (sender, _queue) = sync_channel(2);
        let exporter = Exporter { sender: OnceLock::from(sender), ..Exporter::default() };
        for _ in 0..5 {
            exporter.offer(span());
        }
        assert_eq!(exporter.counts(), Counts { dropped: 3, ..Counts::default() });
        assert!(!exporter.flush(Duration::ZERO), "there is no place for the order");
    }

    #[test]
    fn an_order_to_flush_waits_for_its_place() {
        let (sender, queue) = sync_channel(2);
        let exporter = Exporter { sender: OnceLock::from(sender), ..Exporter::default() };
        exporter.offer(span());
        exporter.offer(span());
        thread::scope(|scope| {
            let flushed = scope.spawn(|| exporter.flush(WAIT));
            let order = queue.iter().find_map(|message| match message {
                Message::Span(_) => None,
                Message::Flush(done) => Some(done),
            });
            order.unwrap().send(()).unwrap();
            assert!(flushed.join().unwrap());
        });
    }

    /// The first one would refuse the second batch as well, and is not asked.
    #[test]
    fn the_collector_that_has_taken_a_batch_gets_the_next_one() {
        let (refuses, takes) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let exporter = Exporter::default();
        exporter.configure(&[address(&refuses), address(&takes)]).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| take(&refuses, "503 Busy"));
            scope.spawn(|| (0..2).for_each(|_| assert_eq!(take(&takes, "200 OK"), 3)));
            for _ in 0..2 {
                exporter.offer(span());
                assert!(exporter.flush(WAIT));
            }
        });
        assert_eq!(exporter.counts(), Counts { sent: 2, ..Counts::default() });
        refuses.set_nonblocking(true).unwrap();
        assert_eq!(refuses.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_batch_is_bounded() {
        let (sender, queue) = sync_channel(2 * BATCH_SPANS_MAX);
        for _ in 0..BATCH_SPANS_MAX {
            sender.send(Message::Span(span())).unwrap();
        }
        let (batch, flushed) = gather(Message::Span(span()), &queue);
        assert!(batch.len() == BATCH_SPANS_MAX && flushed.is_none());
    }
}

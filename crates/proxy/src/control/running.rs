//! The statement that runs: since when, of what kind, and how it begins. Nothing is allocated for it: the text is copied
//! into a buffer that the worker lends.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::time::Instant;
use wire::command::Kind;

use crate::limits::{SHOWN_BUFFERS_MAX, SHOWN_BYTES_MAX};
use crate::statement::class::Class;

/// What a command is to those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) kind: Kind,
    /// `None` if it is no statement whose text is known.
    pub(crate) class: Option<Class>,
    /// The hash of its digest.
    pub(crate) digest: Option<u64>,
}

/// The statement of one session.
#[derive(Debug, Default)]
pub(crate) struct Running {
    current: Cell<Option<(Measured, Instant)>>,
    /// Without memory while nothing runs.
    text: RefCell<Vec<u8>>,
}

/// Buffers of a worker that no statement uses.
#[derive(Debug, Default)]
pub(crate) struct Shown(RefCell<Vec<Vec<u8>>>);

impl Running {
    /// A statement has been sent at `now`.
    pub(crate) fn begin(&self, shown: &Shown, measured: Measured, text: &[u8], now: Instant) {
        self.current.set(Some((measured, now)));
        let text = text.get(..SHOWN_BYTES_MAX).unwrap_or(text);
        let mut buffer = self.text.borrow_mut();
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
    pub(crate) fn go_on(&self, measured: Measured, now: Instant) {
        self.current.set(Some((measured, now)));
        self.text.borrow_mut().clear();
    }

    /// The statement is over at `now`; what it was, and how long it took.
    pub(crate) fn end(&self, now: Instant) -> Option<(Measured, Duration)> {
        self.current.take().map(|(measured, since)| (measured, now.saturating_duration_since(since)))
    }

    /// Nothing runs any more.
    pub(crate) fn rest(&self, shown: &Shown) {
        self.current.set(None);
        let mut text = self.text.borrow_mut();
        if text.capacity() > 0 {
            shown.give_back(std::mem::take(&mut *text));
        }
    }

    /// What kind of command runs.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.current.get().map(|(measured, _)| measured.kind)
    }

    /// What runs, since when, and how it begins, if that is known.
    pub(crate) fn show(&self) -> Option<(Kind, Instant, Option<Vec<u8>>)> {
        let (measured, since) = self.current.get()?;
        let text = self.text.borrow().clone();
        Some((measured.kind, since, Some(text).filter(|text| !text.is_empty())))
    }
}

impl Shown {
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(SHOWN_BYTES_MAX))
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut buffers = self.0.borrow_mut();
        if buffers.len() < SHOWN_BUFFERS_MAX {
            buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_lent_and_come_back() {
        let (running, shown, now) = (Running::default(), Shown::default(), Instant::now());
        let measured = Measured { kind: Kind::Query, class: Some(Class::Select), digest: None };
        for _ in 0..3 {
            running.begin(&shown, measured, &[b'x'; 3 * SHOWN_BYTES_MAX], now);
            let (kind, since, text) = running.show().unwrap();
            assert_eq!((kind, since, text.unwrap().len()), (Kind::Query, now, SHOWN_BYTES_MAX));
            let took = running.end(now + Duration::from_millis(5));
            assert_eq!(took, Some((measured, Duration::from_millis(5))));
            running.rest(&shown);
            assert!(running.show().is_none() && running.text.borrow().capacity() == 0);
        }
        assert_eq!(shown.0.borrow().len(), 1, "one buffer was enough");
    }
}

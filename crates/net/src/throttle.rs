//! How fast a client gets its answers (`mysql-throttle_max_bytes_per_second_to_client`).
//!
//! Each byte costs its share of a second. Nothing more is read for a client before what it got is
//! paid for, so that it is its server that waits.

use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::THROTTLE_AHEAD;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What a client has got, and not paid for.
#[derive(Debug, Default)]
pub struct Throttle {
    /// When all is paid for.
    paid: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Throttle {
    /// The client got so many bytes at `now`, of which it may have `rate` in a second.
    pub fn note(&mut self, now: Instant, bytes: usize, rate: NonZeroU32) {
        let from = self.paid.map_or(now, |paid| paid.max(now));
        let nanos = (bytes as u64).saturating_mul(NANOS_PER_SECOND) / u64::from(rate.get());
        let cost = Duration::from_nanos(nanos);
        self.paid = from.checked_add(cost);
    }

    /// When it may get more, if not at `now`.
    fn next(&self, now: Instant) -> Option<Instant> {
        let next = self.paid?.checked_sub(THROTTLE_AHEAD)?;
        (next > now).then_some(next)
    }

    /// Ready when the client may get more.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(next) = self.next(Instant::now()) else {
            self.timer = None;
            return Poll::Ready(());
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(next)));
        if timer.deadline() != next {
            timer.as_mut().reset(next);
        }
        timer.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_cost_their_share_of_a_second() {
        let (mut throttle, start, rate) =
            (Throttle::default(), Instant::now(), NonZeroU32::new(1000).unwrap());
        assert_eq!(throttle.next(start), None);
        throttle.note(start, 50, rate);
        assert_eq!(throttle.next(start), None, "a little may be ahead");
        throttle.note(start, 1950, rate);
        let next = start + Duration::from_secs(2) - THROTTLE_AHEAD;
        assert_eq!(throttle.next(start), Some(next));
        assert_eq!(throttle.next(next), None);
        // Who has had nothing for a while has saved nothing.
        let later = start + Duration::from_secs(100);
        throttle.note(later, 1000, rate);
        assert_eq!(throttle.next(later), Some(later + Duration::from_secs(1) - THROTTLE_AHEAD));
    }
}

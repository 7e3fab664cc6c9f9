//! Clients that find no place, and wait for one where that is wanted
//! (`mysql-client_queue_timeout_ms`).

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pool::{InLine, InTurn, Quota, Share};
use tokio::time::{Instant, timeout_at};

/// Why a client gets no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// Nobody waits for one, or too many do.
    Refused,
    /// None has become free in this time, and so many others wait.
    Late(Duration, usize),
}

impl fmt::Display for NoPlace {
    /// What stands behind an error's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => Ok(()),
            Self::Late(waited, waiting) => {
                write!(f, "; no place within {}ms, {waiting} more clients wait", waited.as_millis())
            }
        }
    }
}

/// A place in line for one of `quota`, if clients are to wait, and not more than `most` do; `now`
/// is the time since the start.
pub(crate) fn line(quota: &Arc<Quota>, patience: Duration, most: u32, now: Duration) -> Option<InLine> {
    if patience.is_zero() {
        return None;
    }
    quota.enqueue(usize::try_from(most).unwrap_or(usize::MAX), now)
}

/// Waits for one's turn until `deadline`.
pub(crate) async fn turn(quota: &Quota, mut line: InLine, deadline: Instant) -> Result<Share, NoPlace> {
    let begun = Instant::now();
    let turn = poll_fn(|cx| {
        loop {
            match line.poll_turn(cx.waker()) {
                Some(InTurn::Granted(share)) => return Poll::Ready(share),
                Some(InTurn::First) => {}
                None => return Poll::Pending,
            }
        }
    });
    let share = timeout_at(deadline, turn).await;
    share.map_err(|_| NoPlace::Late(begun.elapsed(), quota.waiting().saturating_sub(1)))
}

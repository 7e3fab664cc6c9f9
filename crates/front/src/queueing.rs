//! Clients that find no place, and wait for one where that is wanted
//! (`mysql-client_queue_timeout_ms`).

use std::sync::Arc;
use std::time::Duration;

use pool::{InLine, Quota, Share};
use tokio::time::{Instant, timeout_at};

use session::error::NoPlace;

/// A place in line for one of `quota`, if clients are to wait, and not more than `most` do; `now`
/// is the time since the start.
pub(crate) fn line(quota: &Arc<Quota>, patience: Duration, most: u32, now: Duration) -> Option<InLine> {
    if patience.is_zero() {
        return None;
    }
    quota.enqueue(usize::try_from(most).unwrap_or(usize::MAX), now)
}

/// Waits for one's turn until `deadline`.
pub(crate) async fn turn(quota: &Quota, line: InLine, deadline: Instant) -> Result<Share, NoPlace> {
    let begun = Instant::now();
    let share = timeout_at(deadline, line.share()).await;
    share.map_err(|_| NoPlace::Late(begun.elapsed(), quota.waiting()))
}

//! Users that may have only so many connections to servers (`max_backend_connections`), and
//! sessions that wait for one.

use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pool::{InLine, InTurn, Quota, Share};
use tokio::time::{Instant, timeout, timeout_at};

use crate::Worker;
use crate::entry::Entry;
use crate::handed::Handed;
use crate::idle_state::Asker;
use crate::limits::MOVE_WAIT;
use crate::line::Other;

/// How often a waiting session looks that is not the first.
const LOOK: Duration = Duration::from_secs(1);

/// What a session gets whose user has a limited number of connections.
pub(crate) enum Among {
    /// The right to open one more.
    Share(Share),
    /// An idle one.
    Spare(Box<Entry>),
    /// It is too late.
    None,
}

/// One more connection of a user, or an idle one. If the user has all that it may have, waits in
/// line, in the place of a session that has come when the search `began`.
pub(crate) async fn among(
    worker: &Rc<Worker>,
    hostgroup: u32,
    (began, deadline): (Instant, Instant),
    quota: &Arc<Quota>,
    asker: Option<&Asker<'_>>,
) -> Among {
    if let Some(share) = quota.take() {
        return Among::Share(share);
    }
    if let Some(asker) = asker
        && let Some(entry) = worker.kept.pop(worker, hostgroup, None, asker)
    {
        return Among::Spare(Box::new(entry));
    }
    let since = worker.shared.uptime().saturating_sub(began.elapsed());
    let Some(line) = quota.enqueue(usize::MAX, since) else { return Among::None };
    let handed = asker.map(|asker| {
        let (handed, slot) = Handed::new(worker, None);
        let other = Other::Quota(line.leave());
        worker.kept.wait(worker, asker, hostgroup, (other, slot), worker.shared.uptime(), (None, None));
        handed
    });
    let handed = async { Some(handed?.await) };
    tokio::select! {
        biased;
        Some(entry) = handed => Among::Spare(entry),
        share = timeout_at(deadline, granted(worker, quota, line)) => share.map_or(Among::None, Among::Share),
    }
}

/// Waits for a turn. Idle connections of the user that this session cannot use are in the way: the
/// session that waits longest has one of them ended, here and on other workers.
async fn granted(worker: &Rc<Worker>, quota: &Arc<Quota>, mut line: InLine) -> Share {
    loop {
        // All others are told when they are the first.
        let look = if line.is_first() { MOVE_WAIT } else { LOOK };
        let turn = poll_fn(|cx| line.poll_turn(cx.waker()).map_or(Poll::Pending, Poll::Ready));
        match timeout(look, turn).await {
            Ok(InTurn::Granted(share)) => return share,
            Err(_) if line.is_first() => {
                worker.kept.make_room_among(worker, quota);
                worker.shared.siblings.make_room_among(quota);
            }
            Ok(InTurn::First) | Err(_) => {}
        }
    }
}

/// A user has all the connections to servers that it may have.
pub(crate) struct UserFull<'a> {
    pub(crate) user: &'a [u8],
    pub(crate) quota: &'a Quota,
}

impl fmt::Display for UserFull<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, quota) = (String::from_utf8_lossy(self.user), self.quota);
        let (taken, max, waiting) = (quota.taken(), quota.max(), quota.waiting());
        write!(
            f,
            "user '{user}' has {taken} of {max} connections to servers (max_backend_connections), {waiting} more sessions wait"
        )
    }
}

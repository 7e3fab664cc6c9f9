//! Where the session is that has a connection id: for KILL, from any client on any worker.
//!
//! Written when a client logs in, changes its user or leaves; read when a session is to be killed;
//! never touched for a statement.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use net::lock;
use tokio::sync::{mpsc, oneshot};

use crate::mail::{Request, Seat, Verdict};
use crate::statement::Kill;
use crate::users::User;
use crate::worker::Message;
use reply::Sessions;
use session::identity::Identity;
use upstream::limits::BOOK_SHARDS;

#[derive(Debug)]
struct Entry {
    seat: Seat,
    user: Arc<User>,
    /// The worker that the session lives on; does not keep it alive.
    worker: mpsc::WeakUnboundedSender<Message>,
}

/// All sessions that are logged in.
#[derive(Debug, Default)]
pub struct Directory {
    shards: [Mutex<HashMap<u32, Entry>>; BOOK_SHARDS],
}

impl Directory {
    /// Enters a login, in place of the one that the session had before.
    pub fn enter(&self, seat: Seat, user: Arc<User>, worker: mpsc::WeakUnboundedSender<Message>) {
        self.shard(seat.id).insert(seat.id, Entry { seat, user, worker });
    }

    pub(crate) fn leave(&self, seat: Seat) {
        let mut shard = self.shard(seat.id);
        // The id may have been given anew, after 2^30 others.
        if shard.get(&seat.id).is_some_and(|entry| entry.seat == seat) {
            shard.remove(&seat.id);
        }
    }

    /// Sends a KILL of `killer` to the session that it names. The answer comes later; `None` if
    /// there is no such session. Without an answer the session ended meanwhile.
    pub fn kill(&self, kill: Kill, killer: &Identity) -> Option<oneshot::Receiver<Verdict>> {
        let id = u32::try_from(kill.id).ok()?;
        let (seat, worker, is_own) = {
            let shard = self.shard(id);
            let entry = shard.get(&id)?;
            (entry.seat, entry.worker.upgrade()?, entry.user.name == killer.account.user.name)
        };
        let stranger = (!is_own).then(|| Box::new(killer.as_stranger()));
        let (reply, answer) = oneshot::channel();
        worker.send(Message::Kill(seat, Request { kill, stranger, reply })).ok()?;
        Some(answer)
    }

    /// Sends a KILL to the session with this id, of any user, and does not wait for what comes of
    /// it. Returns false if there is none.
    pub fn kill_any(&self, id: u32) -> bool {
        let found = self.shard(id).get(&id).and_then(|entry| Some((entry.seat, entry.worker.upgrade()?)));
        let Some((seat, worker)) = found else { return false };
        let (reply, _) = oneshot::channel();
        let kill = Kill::connection(id);
        worker.send(Message::Kill(seat, Request { kill, stranger: None, reply })).is_ok()
    }

    fn shard(&self, id: u32) -> MutexGuard<'_, HashMap<u32, Entry>> {
        let [first, ..] = &self.shards;
        lock(self.shards.get(id as usize % BOOK_SHARDS).unwrap_or(first))
    }
}

impl Sessions for Directory {
    fn has(&self, id: u32) -> bool {
        self.shard(id).contains_key(&id)
    }
}

//! What the query cache has for a statement that is only explained.

use cache::{Miss, Moment, NotStored};
use route::Peek;
use runtime::cached::asked::Asked;
use runtime::worker::Worker;

use crate::cache::fresh::{Fresh, freshness, uptime_us};
use crate::entry::BookEntry;

impl BookEntry {
    /// Does this, and forgets which definitions it has found to be missing.
    pub fn without_questions<T>(&self, look: impl FnOnce() -> T) -> T {
        let before = self.worker.cached.to_learn.take();
        let found = look();
        self.worker.cached.to_learn.replace(before);
        found
    }
}

/// What a look at the cache finds for what is asked, without counting it.
pub fn peek_at(worker: &Worker, asked: &Asked) -> Peek {
    let (cache, now_ms) = (&worker.shared.cache, worker.uptime_ms());
    let allows = |moment: Moment| cache.versions.allows(&asked.said.scope, moment);
    let fresh = freshness(worker, asked, uptime_us(worker));
    let seen = match asked.said.proof {
        _ if fresh == Fresh::Behind => Err(Miss::Behind),
        Some(_) if !asked.is_proven => Err(Miss::Unproven),
        _ => cache.store.peek(asked.key, now_ms, asked.life, allows),
    };
    match seen {
        Ok(seen) => Peek::Stored(seen),
        Err(_) if cache.versions.moment(&asked.said.scope).is_none() => Peek::NotStored(NotStored::Written),
        Err(miss) => Peek::Miss(miss),
    }
}

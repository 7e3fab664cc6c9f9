//! What the query cache has for a statement that is only explained.

use cache::{Miss, Moment, NotStored};
use command::Command;
use route::Peek;
use session::unjudged::Unseen;
use wire::frame::put_message;

use super::Session;
use super::cached_asked::Asked;
use super::cached_fresh::Fresh;
use super::facts::places::unseen_behind;
use crate::routing::Judged;
use crate::worker::{BookEntry, Worker};

impl Session {
    /// What the cache would do with `text`, of which this was found out. Counts nothing, and asks
    /// for no definitions. The values of an execution are not known here.
    pub(super) fn peek(&self, text: &[u8], judged: Judged, execute: bool) -> Peek {
        if execute {
            return Peek::Unseen;
        }
        let mut decided = self.state.decide(judged, text, self.links.lock().is_some());
        let unseen = unseen_behind(&self.entry, &self.state, &decided, text);
        let is_unjudged = matches!(unseen, Some(Unseen::Unknown(_)));
        if let Some(unseen) = unseen {
            decided.change.get_or_insert_default().unseen = Some(unseen);
        }
        let mut command = Vec::new();
        put_message(&mut command, 0, &self.packet_of(text));
        let Some(command) = Command::first(&command, self.state.identity.capabilities) else {
            return Peek::Unseen;
        };
        let asked = self.entry.without_questions(|| self.cache_key(command, &decided));
        match asked {
            Err(refusal) => Peek::Refused(refusal),
            Ok(asked) => match self.entry.worker.peek_at(&asked) {
                Peek::Miss(_) if is_unjudged => Peek::NotStored(NotStored::Unjudged),
                peek => peek,
            },
        }
    }
}

impl BookEntry {
    /// Does this, and forgets which definitions it has found to be missing.
    fn without_questions<T>(&self, look: impl FnOnce() -> T) -> T {
        let (to_learn, id) = (&self.worker.cached.to_learn, self.control.id());
        let before = to_learn.borrow_mut().remove(&id);
        let found = look();
        let mut to_learn = to_learn.borrow_mut();
        match before {
            Some(before) => to_learn.insert(id, before),
            None => to_learn.remove(&id),
        };
        found
    }
}

impl Worker {
    fn peek_at(&self, asked: &Asked) -> Peek {
        let (cache, now_ms) = (&self.shared.cache, self.uptime_ms());
        let allows = |moment: Moment| cache.versions.allows(&asked.said.scope, moment);
        let fresh = self.freshness(asked, self.uptime_us());
        let seen = match asked.said.proof {
            _ if fresh == Fresh::Behind => Err(Miss::Behind),
            Some(_) if !asked.is_proven => Err(Miss::Unproven),
            _ => cache.store.peek(asked.key, now_ms, asked.life, allows),
        };
        match seen {
            Ok(seen) => Peek::Stored(seen),
            Err(_) if cache.versions.moment(&asked.said.scope).is_none() => {
                Peek::NotStored(NotStored::Written)
            }
            Err(miss) => Peek::Miss(miss),
        }
    }
}

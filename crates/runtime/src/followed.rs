//! Queries that are followed, so that operators can be told what to cache.

use std::cell::RefCell;
use std::time::Duration;

use cache::advice::Asked;
use cache::{Cache, Refusal};
use observe::micros;
use route::Caller;
use sql::{Modes, Shape};

use crate::limits::FOLLOWED_MAX;

/// Followed queries of a worker that run, by session.
#[derive(Debug, Default)]
pub struct Followed(RefCell<Vec<(u32, Asked)>>);

impl Followed {
    /// A session sends a query, which is followed if it is one of the sample.
    pub fn begin(&self, cache: &Cache, session: u32, caller: &Caller, digest: u64, text: &[u8]) {
        if !cache.adviser.is_on() {
            return;
        }
        cache.adviser.count(digest);
        let key = cache.keys.builder().part(caller.schema()).part(text).finish();
        let mut running = self.0.borrow_mut();
        if key.is_followed() && running.len() < FOLLOWED_MAX {
            let modes = Modes::default();
            let refusal = Refusal::of(text, modes, &Shape::of(text, modes));
            running.push((session, Asked { key, digest, refusal }));
        }
    }

    /// The query of a session is over `at_ms`. The time is that of its server, if one has answered.
    pub fn end(
        &self,
        (cache, at_ms): (&Cache, impl FnOnce() -> u64),
        session: u32,
        bytes: u64,
        took: Option<Duration>,
    ) {
        let mut running = self.0.borrow_mut();
        if let Some(place) = running.iter().position(|(one, _)| *one == session) {
            let (_, asked) = running.swap_remove(place);
            cache.adviser.note(asked, at_ms(), took.map(|took| (bytes, micros(took))));
        }
    }
}

//! Replies from the query cache of a proxy behind this one.

use cache::{Cache, Moment, NotStored};
use session::tier::{Age, plain_end};
use tokio::time::Instant;

/// What the inner proxy says of a reply from its cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elsewhere {
    pub(crate) age: Age,
    /// Bytes of the packet that says so, which is the last one, with its header.
    pub(crate) len: usize,
}

impl Elsewhere {
    /// The moment of a reply for a mode in which writes are seen: all that was visible at the
    /// server then is in it. Its query was sent at `sent_us`, behind the moment `sent`.
    pub(crate) fn moment(self, cache: &Cache, sent: Moment, sent_us: u64) -> Result<Moment, NotStored> {
        match self.age.exact_us.ok_or(NotStored::Elsewhere)? {
            0 => Ok(sent),
            before_us => {
                let then = cache.timeline.moment_before(sent_us, before_us).min(sent);
                // What the reply depends on is known of the moment `sent`.
                let is_same = cache.versions.have_same_definitions(then);
                is_same.then_some(then).ok_or(NotStored::Written)
            }
        }
    }

    /// Makes the end of a reply what its server has sent. Returns its age in milliseconds, which
    /// counts from before it was asked for; nothing if its end tells more than the age.
    pub(crate) fn take_out(self, reply: &mut Vec<u8>, sent: Instant) -> Option<u32> {
        let at = reply.len().checked_sub(self.len)?;
        let end = plain_end(reply.get(at..)?)?;
        reply.truncate(at);
        reply.extend_from_slice(&end);
        // Ages are cut to whole milliseconds.
        let took_ms = u32::try_from(sent.elapsed().as_millis()).unwrap_or(u32::MAX).saturating_add(1);
        Some(self.age.ms.saturating_add(took_ms))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cache::{Scope, Writing};

    use super::*;

    const S: u64 = 1_000_000;

    fn told(exact_us: Option<u64>) -> Elsewhere {
        Elsewhere { age: Age { ms: 5, exact_us }, len: 0 }
    }

    fn table() -> Scope {
        let mut scope = Scope::new();
        scope.add_writes_to(&[1]);
        scope
    }

    /// A cache whose moments are sampled, the moment that a query is sent at, and whether a reply
    /// that is exact as of 20 ms before may be stored.
    fn sent_behind(between: impl FnOnce(&Arc<Cache>)) -> (Arc<Cache>, Moment, bool) {
        let cache = Arc::new(Cache::new([1, 2], 1 << 20));
        let _ = cache.timeline.moment_before(0, 1);
        cache.timeline.note(cache.versions.moment(&table()).unwrap(), 10 * S);
        between(&cache);
        let sent = cache.versions.moment(&table()).unwrap();
        let moment = told(Some(20_000)).moment(&cache, sent, 11 * S);
        let may = moment.is_ok_and(|moment| cache.versions.allows(&table(), moment));
        (cache, sent, may)
    }

    #[test]
    fn c20_a_reply_is_stored_if_nothing_was_written_since_it_is_exact() {
        let (cache, sent, may) = sent_behind(|_| {});
        assert!(may);
        assert_eq!(told(Some(0)).moment(&cache, sent, 11 * S), Ok(sent));
        assert_eq!(told(None).moment(&cache, sent, 11 * S), Err(NotStored::Elsewhere));
    }

    #[test]
    fn c20_a_write_that_ended_behind_what_a_reply_has_makes_it_too_old() {
        let (cache, sent, may) = sent_behind(|cache| Writing::of_log(cache, Scope::of_write(&[1])).end());
        assert!(!may, "the write may not be in it");
        let of_now = told(Some(0)).moment(&cache, sent, 11 * S).unwrap();
        assert!(cache.versions.allows(&table(), of_now), "the query was sent behind the write");
        let (cache, sent, may) = sent_behind(|cache| Writing::of_log(cache, Scope::of_write(&[2])).end());
        assert!(may, "another table");
        Writing::of_log(&cache, Scope::of_write(&[1])).end();
        cache.timeline.note(cache.versions.moment(&table()).unwrap(), 12 * S);
        let later = told(Some(20_000)).moment(&cache, sent, 13 * S).unwrap();
        assert_eq!(later, sent, "never behind what the reply was found to depend on");
    }

    #[test]
    fn c20_a_definition_that_changed_behind_what_a_reply_has_makes_it_too_old() {
        assert!(!sent_behind(|cache| Writing::of_definitions(cache).end()).2);
        assert!(!sent_behind(|cache| Writing::of_privileges(cache).end()).2);
    }
}

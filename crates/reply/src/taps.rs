//! The taps of a command that few replies need, and the order in which a segment passes them.

use cache::Writing;
use config::Endpoint;
use observe::counts::Counts;
use observe::log_limit::LogLimit;
use session::relations::Defining;
use session::tier::Age;
use upstream::Segment;
use upstream::threads::Threads;

use crate::cache_fill::CacheFill;
use crate::columns::Columns;
use crate::compare::Compare;
use crate::listing::Listing;

/// The taps of a command that few commands have.
#[derive(Debug)]
pub struct Taps {
    /// The bits of those that are there.
    there: u8,
    compare: Option<Box<Compare>>,
    columns: Option<Box<Columns>>,
    listing: Option<Box<Listing>>,
    others: Option<Box<ForOthers>>,
}

/// Parts of a worker that taps use.
#[derive(Debug)]
pub struct WorkerParts<'a> {
    /// Its counters.
    pub counts: &'a Counts,
    /// Bounds what is logged of replies that differ from those to mirrored copies.
    pub differences: &'a LogLimit,
    /// The time since the start, and the sessions behind servers' threads.
    pub upstream: &'a upstream::Shared,
    /// The sessions of all workers.
    pub sessions: &'a dyn Sessions,
}

/// The sessions of all workers, by the ids that clients know.
pub trait Sessions: std::fmt::Debug {
    /// Whether there is a session with this id.
    fn has(&self, id: u32) -> bool;
}

/// What others are told of a command: the query cache, and who has looked behind tables.
#[derive(Debug, Default)]
struct ForOthers {
    /// Copies the reply.
    fill: Option<Box<CacheFill>>,
    /// What the command, and those sent with it, may change, until all of that is over.
    writes: Vec<Writing>,
    /// What it may define behind the names of tables, until its reply is known.
    defining: Option<Defining>,
}

impl Taps {
    const COMPARE: u8 = 1;
    const COLUMNS: u8 = 1 << 1;
    const LISTING: u8 = 1 << 2;
    const DEFINITIONS: u8 = 1 << 3;
    const FILL: u8 = 1 << 4;

    /// None of them.
    pub const NONE: Self = Self { there: 0, compare: None, columns: None, listing: None, others: None };

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.there == 0
    }

    /// Compares the reply with that to a mirrored copy.
    pub fn set_compare(&mut self, compare: Compare) {
        self.there |= Self::COMPARE;
        self.compare = Some(Box::new(compare));
    }

    /// Whether the reply is compared, and not all of it was counted yet.
    pub const fn compares(&self) -> bool {
        self.there & Self::COMPARE != 0
    }

    /// Tells the client whether the result has the columns that it knows.
    pub fn set_columns(&mut self, columns: Option<Columns>) {
        self.there = self.there & !Self::COLUMNS | if columns.is_some() { Self::COLUMNS } else { 0 };
        self.columns = columns.map(Box::new);
    }

    /// Whether the client is told of other columns.
    pub const fn has_columns(&self) -> bool {
        self.there & Self::COLUMNS != 0
    }

    /// Puts the ids of sessions into the rows.
    pub fn set_listing(&mut self, listing: Listing) {
        self.there |= Self::LISTING;
        self.listing = Some(Box::new(listing));
    }

    /// The client keeps what the server tells of the columns of a statement.
    pub const fn keep_definitions(&mut self) {
        self.there |= Self::DEFINITIONS;
    }

    /// Whether it does.
    pub const fn keeps_definitions(&self) -> bool {
        self.there & Self::DEFINITIONS != 0
    }

    /// Copies the reply for the query cache.
    pub fn set_fill(&mut self, fill: CacheFill) {
        self.there |= Self::FILL;
        self.others.get_or_insert_default().fill = Some(Box::new(fill));
    }

    /// The reply, which ends with a packet of `len` bytes, is as old as its server says.
    pub fn note_age(&mut self, age: Age, len: usize) {
        if let Some(fill) = self.others.as_mut().and_then(|others| others.fill.as_mut()) {
            fill.note_age(age, len);
        }
    }

    /// The reply is not stored by the query cache, because of this.
    pub fn refuse_fill(&mut self, reason: cache::NotStored) {
        if let Some(fill) = self.others.as_mut().and_then(|others| others.fill.as_mut()) {
            fill.refuse(reason);
        }
    }

    /// What copies the reply for the query cache.
    pub fn fill(&self) -> Option<&CacheFill> {
        self.others.as_ref()?.fill.as_deref()
    }

    /// The same, which copies nothing any more.
    pub fn take_fill(&mut self) -> Option<Box<CacheFill>> {
        self.there &= !Self::FILL;
        self.others.as_mut()?.fill.take()
    }

    /// The command may change answers of the query cache.
    pub fn add_write(&mut self, write: Writing) {
        self.others.get_or_insert_default().writes.push(write);
    }

    /// The command may define what is behind the name of a table.
    pub fn set_defining(&mut self, defining: Defining) {
        self.others.get_or_insert_default().defining = Some(defining);
    }

    /// The replies to the command, and to those sent with it, are known.
    pub fn end_writes(&mut self) {
        let Some(others) = self.others.as_mut() else { return };
        others.writes.drain(..).for_each(Writing::end);
        others.defining = None;
    }

    /// Shows a segment of the reply to the taps that change nothing.
    pub fn look<'a>(&mut self, worker: impl Into<WorkerParts<'a>>, segment: &Segment<'_>, server: &Endpoint) {
        let worker = worker.into();
        if let Some(others) = self.others.as_mut()
            && let Some(fill) = others.fill.take()
        {
            others.fill = fill.segment(segment.bytes, segment.event, server, || uptime_ms(worker.upstream));
            if others.fill.is_none() {
                self.there &= !Self::FILL;
            }
        }
        if let Some(compare) = self.compare.take() {
            self.compare = compare.segment((worker.counts, worker.differences), segment.bytes);
            if self.compare.is_none() {
                self.there &= !Self::COMPARE;
            }
        }
    }

    /// The bytes that the client gets in place of these; none if they go on as they are.
    pub fn rewrite<'a>(
        &mut self,
        bytes: &[u8],
        worker: impl Into<WorkerParts<'a>>,
        server: &Endpoint,
    ) -> Option<Vec<u8>> {
        let told = self.columns.as_mut().map(|columns| columns.rewrite(bytes));
        let Some(listing) = &mut self.listing else { return told };
        let WorkerParts { upstream, sessions, .. } = worker.into();
        Some(listing.rewrite(told.as_deref().unwrap_or(bytes), |id| {
            session_behind((&upstream.threads, sessions), server, u32::try_from(id).ok()?)
        }))
    }
}

/// The session that has a server's thread, or had it last and is still there: others may have it
/// soon. Of one that has left, the thread goes by the server's id, by which it can be killed.
fn session_behind(
    (threads, sessions): (&Threads, &dyn Sessions),
    server: &Endpoint,
    thread: u32,
) -> Option<u32> {
    threads.session(server, thread).filter(|session| sessions.has(*session))
}

/// Milliseconds since the start.
fn uptime_ms(upstream: &upstream::Shared) -> u64 {
    u64::try_from(upstream.uptime().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use session::state::ids::Ids;
    use wire::Capabilities;

    use super::*;

    #[test]
    fn a_reply_without_rare_taps_is_known_by_one_number() {
        let mut taps = Taps::NONE;
        assert!(taps.is_empty());
        let caps = Capabilities::PROTOCOL_41;
        taps.set_columns(Some(Columns::new(caps, false, 1)));
        taps.set_listing(Listing::new(caps, Ids::FIRST, false));
        assert!(taps.has_columns() && !taps.compares() && !taps.is_empty());
        taps.set_columns(None);
        assert!(!taps.has_columns() && !taps.is_empty(), "the listing is there");
    }
}

//! Copying a reply for the query cache while the client gets it.

use std::rc::Rc;
use std::sync::Arc;

use cache::stats::RowKey;
use cache::{
    Answer, Cache, Captured, Form, Hit, Key, Leader, Life, Moment, NotStored, Outcome as Landing, ProvenBy,
    RowCounts, Scope, Source,
};
use config::{CacheMode, Endpoint};
use observe::counts::Counts;
use session::tier::Age;
use tokio::time::Instant;
use wire::frame::Packets;
use wire::packet::ColumnCount;
use wire::reply::{End, Event, Outcome};
use wire::{Capabilities, Codec as _, StatusFlags};

use crate::elsewhere::Elsewhere;

/// Which answers are stored, and where.
#[derive(Debug)]
pub struct Filling {
    /// The key of the statement.
    pub key: Key,
    /// For how long it may be given.
    pub life: Life,
    /// What the answer depends on.
    pub scope: Scope,
    /// When the query was sent.
    pub moment: Moment,
    /// The reply ends with EOF packets or with an OK packet.
    pub form: Form,
    /// The definitions of its columns are in it; else the client knows them.
    pub has_columns: bool,
    /// The largest answer, in bytes.
    pub max: usize,
    /// Whether answers without rows are stored.
    pub stores_empty: bool,
    /// How many rows in front of them `FOUND_ROWS()` counts, or why the reply is not stored.
    pub passed: Result<u64, NotStored>,
    /// What the reply proves of the account, if it is no error.
    pub proof: Option<Key>,
    /// Whether the account may have a stored answer, without such a proof.
    pub is_proven: bool,
    /// How often proofs were forgotten before that was found out.
    pub epoch: u64,
    /// What is promised of its age.
    pub mode: CacheMode,
    /// The server whose binary log tells of writes, where the mode wants that, and the
    /// [stretch](Source::stretch) in which the query was sent.
    pub source: Option<(Arc<Source>, u64)>,
    /// Where it is counted.
    pub row: RowKey,
    /// When it was sent.
    pub sent: Instant,
    /// The same in microseconds since the start.
    pub sent_us: u64,
    /// Others wait for the answer.
    pub leader: Option<Leader>,
}

impl Filling {
    /// The numbers of rows of an answer that has this many.
    fn counts(&self, rows: u64) -> Result<RowCounts, NotStored> {
        let passed = self.passed?;
        if passed > 0 && rows == 0 {
            return Err(NotStored::FoundRows);
        }
        let number = |rows: u64| u32::try_from(rows).map_err(|_| NotStored::TooLarge);
        Ok(RowCounts { sent: number(rows)?, found: number(rows.saturating_add(passed))? })
    }
}

/// The reply to a query that the cache has not had. Dropped before its end, it counts as cut.
#[derive(Debug)]
pub struct CacheFill {
    cache: Arc<Cache>,
    counts: Rc<Counts>,
    filling: Filling,
    /// It is counted.
    is_over: bool,
    /// The reply comes from the cache of another proxy.
    told: Option<Elsewhere>,
    bytes: Vec<u8>,
    captured: Captured,
}

impl CacheFill {
    /// A reply before its first byte.
    pub fn new(cache: &Arc<Cache>, counts: &Rc<Counts>, filling: Filling) -> Self {
        Self {
            cache: Arc::clone(cache),
            counts: Rc::clone(counts),
            filling,
            is_over: false,
            told: None,
            bytes: Vec::new(),
            captured: cache.capture(),
        }
    }

    /// Copies the next segment of the reply. Nothing is left when the reply is over, or is not to
    /// be stored.
    pub(crate) fn segment(
        mut self: Box<Self>,
        bytes: &[u8],
        event: Event,
        server: &Endpoint,
        now_ms: impl FnOnce() -> u64,
    ) -> Option<Box<Self>> {
        let is_within = self.bytes.len() + bytes.len() <= self.filling.max;
        if event == Event::More && is_within && self.captured.grow(bytes.len()) {
            self.bytes.extend_from_slice(bytes);
            return Some(self);
        }
        let now_ms = now_ms();
        let stored = match event {
            Event::Done(outcome) => {
                self.is_followed_at(server).and_then(|()| self.store(outcome, bytes, now_ms))
            }
            Event::More => Err(NotStored::TooLarge),
            Event::Changed | Event::LocalInfile => Err(NotStored::NotRows),
        };
        self.count(stored);
        if let Some(leader) = self.filling.leader.take() {
            // Others may need a proof of the server: that of a cache is not passed on.
            let serves_all = stored.is_ok() && (self.told.is_none() || self.filling.is_proven);
            leader.end(if serves_all { Landing::Stored } else { Landing::NotStored }, now_ms);
        }
        None
    }

    /// The reply is this old, says its last packet, which has `len` bytes.
    pub(crate) const fn note_age(&mut self, age: Age, len: usize) {
        self.told = Some(Elsewhere { age, len });
    }

    /// The stale answer that the client may get if no server answers.
    pub fn stale(&self, now_ms: u64) -> Option<Hit> {
        let Filling { key, life, scope, proof, is_proven, epoch, mode, .. } = &self.filling;
        if mode.sees_all_writes() {
            return None;
        }
        let allows = |moment| self.cache.versions.allows(scope, moment);
        let hit = self.cache.store.get_stale(*key, now_ms, *life, allows)?;
        // Behind the look: another account may have stored it since the proof was forgotten.
        let holds = || proof.is_none() || self.cache.proven.epoch() == *epoch;
        (*is_proven && holds()).then_some(hit)
    }

    /// No server has answered, and the client was given a stale answer.
    pub fn end_stale(mut self: Box<Self>, now_ms: u64) {
        self.counts.cache.borrow_mut().stale(self.filling.row);
        self.is_over = true;
        if let Some(leader) = self.filling.leader.take() {
            leader.end(Landing::Unanswered, now_ms);
        }
    }

    /// The reply is not stored, because of this.
    pub(crate) fn refuse(&mut self, reason: NotStored) {
        self.filling.passed = Err(reason);
    }

    /// Counts what became of the reply.
    fn count(&mut self, stored: Result<(), NotStored>) {
        let Filling { row, sent, .. } = self.filling;
        let mut stats = self.counts.cache.borrow_mut();
        match stored {
            Ok(()) => {
                let took = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
                stats.stored(row, self.bytes.len(), took);
            }
            Err(reason) => stats.not_stored(row, reason),
        }
        self.is_over = true;
    }

    /// Whether the binary log that tells of writes is that of the server which has answered, and
    /// has told of them since the query was sent.
    fn is_followed_at(&self, server: &Endpoint) -> Result<(), NotStored> {
        match &self.filling.source {
            Some((source, _)) if !server.is_displayed_as(source.name()) => Err(NotStored::OtherServer),
            Some((source, stretch)) if source.stretch() != Some(*stretch) => Err(NotStored::NotFollowed),
            _ => Ok(()),
        }
    }

    /// Stores the reply, which ends like this with these bytes.
    fn store(&mut self, outcome: Outcome, bytes: &[u8], now_ms: u64) -> Result<(), NotStored> {
        let Filling { key, life, scope, moment, form, has_columns, stores_empty, proof, mode, .. } =
            &self.filling;
        let cache = &*self.cache;
        let moment = match self.told.filter(|_| mode.sees_own_writes()) {
            Some(told) => told.moment(cache, *moment, self.filling.sent_us),
            None => Ok(*moment),
        };
        // Privileges may have changed behind what an answer from elsewhere has.
        if let (Some(proof), Ok(moment)) = (proof.filter(|_| outcome.ends_rows), moment) {
            let by = if self.told.is_some() { ProvenBy::Cache } else { ProvenBy::Server };
            cache.proven.add(proof, &cache.versions, moment, now_ms, by);
        }
        check(outcome, self.told.is_some())?;
        let moment = moment?;
        if outcome.rows == 0 && !stores_empty {
            return Err(NotStored::Empty);
        }
        if self.bytes.len() + bytes.len() > self.filling.max || !self.captured.grow(bytes.len()) {
            return Err(NotStored::TooLarge);
        }
        self.bytes.extend_from_slice(bytes);
        let age_ms = match self.told {
            Some(told) => told.take_out(&mut self.bytes, self.filling.sent).ok_or(NotStored::NotRows)?,
            None => 0,
        };
        if age_ms >= life.ttl_ms {
            return Err(NotStored::TooOld);
        }
        let (told, columns) = head_of(&self.bytes).ok_or(NotStored::NotRows)?;
        if told != *has_columns {
            return Err(NotStored::Columns);
        }
        let rows = self.filling.counts(outcome.rows)?;
        let answer =
            Answer::new(&self.bytes, columns, rows, *form, life.stale_ms).ok_or(NotStored::NotRows)?;
        // A write to its tables that has begun meanwhile may or may not be in it.
        if !cache.versions.allows(scope, moment) {
            return Err(NotStored::Written);
        }
        cache.store.put(*key, answer, now_ms.wrapping_sub(age_ms.into()), *life, moment)
    }
}

impl Drop for CacheFill {
    fn drop(&mut self) {
        if !self.is_over {
            self.count(Err(NotStored::Cut));
        }
    }
}

/// Whether a reply is one result without warnings, outside a transaction. Of a change of the
/// session it may tell if that is an age, `is_told`.
fn check(outcome: Outcome, is_told: bool) -> Result<(), NotStored> {
    const OTHERS: StatusFlags = StatusFlags::IN_TRANSACTION
        .union(StatusFlags::MORE_RESULTS)
        .union(StatusFlags::CURSOR_EXISTS)
        .union(StatusFlags::METADATA_CHANGED)
        .union(StatusFlags::PS_OUT_PARAMS);
    let others = if is_told { OTHERS } else { OTHERS | StatusFlags::SESSION_STATE_CHANGED };
    match outcome.end {
        End::Err { .. } => Err(NotStored::Error),
        End::Ok { warnings: 1.., .. } | End::Eof { warnings: 1.., .. } => Err(NotStored::Warnings),
        End::Ok { status, .. } | End::Eof { status, .. }
            if outcome.ends_rows && !status.intersects(others) =>
        {
            Ok(())
        }
        _ => Err(NotStored::NotRows),
    }
}

/// Whether the definitions of its columns follow the first packet of a reply with rows, and how
/// many bytes all of that takes; nothing if it is not all there, or the reply is something else.
fn head_of(reply: &[u8]) -> Option<(bool, usize)> {
    let mut packets = Packets::new(reply);
    let mut next = || packets.next().filter(|packet| !packet.header.continues());
    let first = next()?.payload;
    // With CACHE_METADATA a byte follows the number that says whether the columns do.
    let count = ColumnCount::decode(first, Capabilities::MARIADB_CACHE_METADATA);
    let ColumnCount { count, metadata_follows } =
        count.or_else(|_| ColumnCount::decode(first, Capabilities::empty())).ok()?;
    let columns = u16::try_from(count).ok().filter(|columns| *columns > 0)?;
    let has_columns = metadata_follows.unwrap_or(true);
    for _ in 0..if has_columns { columns } else { 0 } {
        next()?;
    }
    Some((has_columns, reply.len() - packets.left().len()))
}

#[cfg(test)]
mod tests;

//! Ids of sequences, which all workers share.
//!
//! Only statements that make ids take the lock of their sequence, and none holds it while it waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use net::lock;
use shard::SequenceKind;
use shard::sequence::{Backwards, Segment, Snowflake};
use tokio::sync::Notify;

/// Sequences of the proxy, by the logical schemas and names of their tables.
#[derive(Debug, Default)]
pub struct Sequences {
    all: Mutex<HashMap<(String, String), Arc<Sequence>>>,
}

/// Ids of one table.
#[derive(Debug)]
pub struct Sequence {
    kind: SequenceKind,
    source: Mutex<Source>,
    /// The counter has answered once: it is there.
    is_known: AtomicBool,
    /// The counter has answered, or failed to.
    answered: Notify,
}

#[derive(Debug)]
enum Source {
    Segment(Segment),
    Snowflake(Snowflake),
}

/// What becomes of a wish for ids.
#[derive(Debug)]
pub enum Taken {
    /// There they are.
    Ids(Vec<u64>),
    /// The counter has to be asked.
    Ask(Question),
    /// The counter is being asked by another session.
    Wait,
    /// There are none, for this reason.
    Failed(String),
}

/// A question to the counter. Dropped without an answer it has failed.
#[derive(Debug)]
pub struct Question {
    sequence: Arc<Sequence>,
    count: u64,
}

impl Sequences {
    /// The sequence of a table of the layout. One that is made in another way now begins anew.
    pub fn get(&self, of: &shard::Sequence) -> Arc<Sequence> {
        let mut all = lock(&self.all);
        match all.entry((of.schema.clone(), of.table.clone())) {
            Entry::Occupied(mut found) => {
                if found.get().kind != of.kind {
                    found.insert(Arc::new(Sequence::new(of.kind)));
                }
                Arc::clone(found.get())
            }
            Entry::Vacant(place) => Arc::clone(place.insert(Arc::new(Sequence::new(of.kind)))),
        }
    }
}

impl Sequence {
    fn new(kind: SequenceKind) -> Self {
        let source = match kind {
            SequenceKind::Segment { step } => Source::Segment(Segment::new(step)),
            SequenceKind::Snowflake { worker, vibration } => {
                Source::Snowflake(Snowflake::new(worker, vibration))
            }
        };
        Self { kind, source: Mutex::new(source), is_known: AtomicBool::new(false), answered: Notify::new() }
    }

    /// Takes ids at this Unix time, or says what is to be done for them.
    pub fn take(self: &Arc<Self>, count: usize, unix_millis: u64) -> Taken {
        let mut source = lock(&self.source);
        match &mut *source {
            Source::Snowflake(snowflake) => match snowflake.take(count, unix_millis) {
                Ok(ids) => Taken::Ids(ids),
                Err(ahead) => Taken::Failed(ahead.to_string()),
            },
            Source::Segment(segment) => match segment.take(u64::try_from(count).unwrap_or(u64::MAX)) {
                Some(ids) => Taken::Ids(ids.collect()),
                None => self.ask(segment).map_or(Taken::Wait, Taken::Ask),
            },
        }
    }

    /// The question for the next segment, if the one at hand is half used.
    pub fn prefetch(self: &Arc<Self>) -> Option<Question> {
        match &mut *lock(&self.source) {
            Source::Segment(segment) => self.ask(segment),
            Source::Snowflake(_) => None,
        }
    }

    /// A row is stored with an id of its own. Whether the counter has to be raised, too.
    pub fn raise(&self, id: u64) -> bool {
        match &mut *lock(&self.source) {
            Source::Segment(segment) => segment.raise(id),
            Source::Snowflake(_) => false,
        }
    }

    /// Whether the counter has answered once.
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// Tells when the question that is under way has come to its end.
    pub const fn answered(&self) -> &Notify {
        &self.answered
    }

    fn ask(self: &Arc<Self>, segment: &mut Segment) -> Option<Question> {
        let count = segment.wanted()?;
        segment.ask(count);
        Some(Question { sequence: Arc::clone(self), count })
    }
}

impl Question {
    /// How many ids are asked for.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The counter has given ids from this one on.
    pub fn answer(self, first: u64) -> Result<(), Backwards> {
        self.sequence.is_known.store(true, Ordering::Release);
        let mut source = lock(&self.sequence.source);
        let answered = match &mut *source {
            Source::Segment(segment) => segment.answer(first),
            Source::Snowflake(_) => Ok(()),
        };
        // The end of the question takes it again.
        drop(source);
        answered
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Source::Segment(segment) = &mut *lock(&self.sequence.source) {
            // Nothing is under way any more, whatever came of it.
            segment.fail();
        }
        self.sequence.answered.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(step: u32) -> shard::Sequence {
        let kind = SequenceKind::Segment { step };
        shard::Sequence {
            schema: "shop".to_owned(),
            table: "orders".to_owned(),
            column: "id".to_owned(),
            kind,
        }
    }

    #[test]
    fn one_session_asks_and_others_wait() {
        let sequence = Sequences::default().get(&segments(4));
        let Taken::Ask(question) = sequence.take(2, 0) else { panic!("no question") };
        assert_eq!(question.count(), 4);
        assert!(matches!(sequence.take(1, 0), Taken::Wait));
        assert!(sequence.prefetch().is_none());
        question.answer(7).unwrap();
        assert!(matches!(sequence.take(2, 0), Taken::Ids(ids) if ids == [7, 8]));
        // A session that leaves while it asks leaves no question behind.
        assert!(sequence.prefetch().is_some_and(|question| question.count() == 4));
        assert!(sequence.prefetch().is_some());
    }

    #[test]
    fn a_sequence_that_is_made_in_another_way_begins_anew() {
        let all = Sequences::default();
        let first = all.get(&segments(4));
        assert!(Arc::ptr_eq(&first, &all.get(&segments(4))));
        assert!(!Arc::ptr_eq(&first, &all.get(&segments(5))));
        let kind = SequenceKind::Snowflake { worker: 1, vibration: 0 };
        let snowflake = all.get(&shard::Sequence { kind, ..segments(4) });
        assert!(matches!(snowflake.take(3, 1_800_000_000_000), Taken::Ids(ids) if ids.len() == 3));
        assert!(!snowflake.raise(9) && snowflake.prefetch().is_none());
    }

    #[tokio::test]
    async fn who_waits_hears_of_the_end_of_a_question() {
        let sequence = Sequences::default().get(&segments(4));
        let Taken::Ask(question) = sequence.take(1, 0) else { panic!("no question") };
        let answered = sequence.answered().notified();
        tokio::pin!(answered);
        answered.as_mut().enable();
        drop(question);
        answered.await;
        assert!(matches!(sequence.take(1, 0), Taken::Ask(_)));
    }
}

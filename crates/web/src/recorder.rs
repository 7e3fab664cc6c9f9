//! The last 24 hours, to look back after an incident: a ring of samples in memory, bounded in time
//! and in bytes. Each second of the last 15 minutes is kept, and before that one in ten.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::limits::{RECORD_BYTES_MAX, RECORD_FINE_MAX, RECORD_STEP_MS, RECORD_TIME_MS, TIMELINE_MS};
use crate::sample::{Id, Point, Sample, Text, View};

/// Bytes that a record takes besides its texts, roughly.
const RECORD_BYTES: usize = 160;

/// What is between the parts of a record: JSON of one line does not have it.
const SEPARATOR: char = '\n';

/// Records of the page, while it is served.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    is_on: AtomicBool,
    ring: Mutex<Ring>,
}

/// The view `now` of one moment.
#[derive(Debug)]
struct Record {
    id: Id,
    /// The moment, in milliseconds of Unix time.
    at_ms: u64,
    /// The values of the curves.
    point: Arc<str>,
    /// The rest of the sample: [`Sample::about`], then the view for admins, then for others.
    packed: Box<[u8]>,
}

/// Records in the order of their moments.
#[derive(Debug, Default)]
struct Ring {
    /// One in ten seconds.
    coarse: VecDeque<Arc<Record>>,
    /// Those behind them, one for each second.
    fine: VecDeque<Arc<Record>>,
    bytes: usize,
}

impl Recorder {
    /// Whether samples are recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Records from now on, or forgets all. Returns whether that is a change.
    pub(crate) fn switch(&self, on: bool) -> bool {
        let is_change = self.is_on.swap(on, Ordering::Relaxed) != on;
        if !on {
            *self.ring() = Ring::default();
        }
        is_change
    }

    /// Adds a sample that has the view `now`.
    pub(crate) fn add(&self, sample: &Sample) {
        let Some(record) = Record::of(sample).filter(|_| self.is_on()) else { return };
        let mut ring = self.ring();
        // It may have been switched off in between, and what was kept is forgotten.
        if self.is_on() {
            ring.push(Arc::new(record));
        }
    }

    /// The moments of the first record and the last one, in milliseconds of Unix time.
    pub(crate) fn range(&self) -> Option<[u64; 2]> {
        let ring = self.ring();
        let all = || ring.coarse.iter().chain(&ring.fine);
        Some([all().next()?.at_ms, all().next_back()?.at_ms])
    }

    /// The last sample at `at_ms` or before; the first one if all are later.
    pub(crate) fn sample(&self, at_ms: u64) -> Option<Sample> {
        let (record, points) = self.ring().find(at_ms)?;
        record.unpack(points.into())
    }

    /// Held for no wait.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn of(sample: &Sample) -> Option<Self> {
        let text = sample.texts.get(View::Now as usize)?.as_ref()?;
        let point = Arc::clone(&sample.points.last()?.text);
        let parts = [&*sample.about, &*text.admin, &*text.stats];
        let packed = pack(&parts.join(&SEPARATOR.to_string()))?;
        Some(Self { id: sample.id.clone(), at_ms: sample.at_ms, point, packed })
    }

    fn weight(&self) -> usize {
        RECORD_BYTES + self.point.len() + self.packed.len()
    }

    fn unpack(&self, points: Arc<[Point]>) -> Option<Sample> {
        let mut text = String::new();
        DeflateDecoder::new(&*self.packed).read_to_string(&mut text).ok()?;
        let mut parts = text.splitn(3, SEPARATOR);
        let (about, admin, stats) = (parts.next()?, parts.next()?, parts.next()?);
        let now = Text { admin: admin.into(), stats: stats.into() };
        Some(Sample {
            id: self.id.clone(),
            at: Instant::now(),
            at_ms: self.at_ms,
            changes: 0,
            about: about.to_owned(),
            texts: [Some(now), None, None, None, None],
            points,
            digests: None,
            sessions: None,
        })
    }
}

fn pack(text: &str) -> Option<Box<[u8]>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).ok()?;
    encoder.finish().ok().map(Vec::into_boxed_slice)
}

impl Ring {
    fn push(&mut self, record: Arc<Record>) {
        // The clock was set back: what is later than now is not known to be true.
        while let Some(last) = self.fine.pop_back_if(|last| last.at_ms >= record.at_ms) {
            self.bytes -= last.weight();
        }
        while let Some(last) = self.coarse.pop_back_if(|last| last.at_ms >= record.at_ms) {
            self.bytes -= last.weight();
        }
        let begin = record.at_ms.saturating_sub(RECORD_TIME_MS);
        self.bytes += record.weight();
        self.fine.push_back(record);
        if self.fine.len() > RECORD_FINE_MAX
            && let Some(oldest) = self.fine.pop_front()
        {
            self.thin(oldest);
        }
        while self.first().is_some_and(|first| first.at_ms < begin) || self.bytes > RECORD_BYTES_MAX {
            let Some(first) = self.coarse.pop_front().or_else(|| self.fine.pop_front()) else { return };
            self.bytes -= first.weight();
        }
    }

    /// Keeps a record among the coarse ones if it is the first of its ten seconds.
    fn thin(&mut self, record: Arc<Record>) {
        let step = |record: &Record| record.at_ms / RECORD_STEP_MS;
        if self.coarse.back().is_some_and(|last| step(last) == step(&record)) {
            self.bytes -= record.weight();
        } else {
            self.coarse.push_back(record);
        }
    }

    fn first(&self) -> Option<&Arc<Record>> {
        self.coarse.front().or_else(|| self.fine.front())
    }

    /// The last record at `at_ms` or before, or the first one, and the points up to it.
    fn find(&self, at_ms: u64) -> Option<(Arc<Record>, Vec<Point>)> {
        let until = |records: &VecDeque<Arc<Record>>| records.partition_point(|one| one.at_ms <= at_ms);
        let (coarse, fine) = (until(&self.coarse), until(&self.fine));
        let all = || self.coarse.iter().take(coarse).chain(self.fine.iter().take(fine));
        let record = all().next_back().or_else(|| self.first())?;
        let from = record.at_ms.saturating_sub(TIMELINE_MS);
        let point = |one: &Arc<Record>| Point { number: one.id.number, text: Arc::clone(&one.point) };
        let mut points: Vec<Point> = all().rev().take_while(|one| one.at_ms > from).map(point).collect();
        points.reverse();
        if points.is_empty() {
            points.push(point(record));
        }
        Some((Arc::clone(record), points))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(second: u64) -> Sample {
        let text = |who: &str| format!("{{\"{who}\":{second}}}").into();
        Sample {
            id: Id { boot: "b".into(), number: second },
            at: Instant::now(),
            at_ms: second * 1000,
            changes: 0,
            about: format!("\"time_ms\":{}", second * 1000),
            texts: [Some(Text { admin: text("admin"), stats: text("stats") }), None, None, None, None],
            points: [Point { number: second, text: second.to_string().into() }].into(),
            digests: None,
            sessions: None,
        }
    }

    /// One that has recorded these seconds.
    fn recorded(seconds: impl Iterator<Item = u64>) -> Recorder {
        let recorder = Recorder::default();
        recorder.switch(true);
        seconds.for_each(|second| recorder.add(&sample(second)));
        recorder
    }

    fn second_at(recorder: &Recorder, second: u64) -> u64 {
        recorder.sample(second * 1000).unwrap().id.number
    }

    #[test]
    fn a_sample_comes_back_as_it_was() {
        let recorder = recorded(1..=5);
        let found = recorder.sample(3_999).unwrap();
        let own = sample(3);
        assert_eq!((found.id, found.about), (own.id, own.about));
        let [Some(text), None, None, None, None] = &found.texts else { panic!("{:?}", found.texts) };
        let [Some(own), ..] = &own.texts else { panic!() };
        assert_eq!((&text.admin, &text.stats), (&own.admin, &own.stats));
        let points: Vec<_> = found.points.iter().map(|point| &*point.text).collect();
        assert_eq!(points, ["1", "2", "3"]);
        assert_eq!((second_at(&recorder, 0), second_at(&recorder, 99)), (1, 5));
        assert_eq!(recorder.range(), Some([1_000, 5_000]));
    }

    /// The records of these seconds, with this many bytes each.
    fn ring(seconds: impl Iterator<Item = u64>, bytes: usize) -> Ring {
        let mut ring = Ring::default();
        for second in seconds {
            let id = Id { boot: "b".into(), number: second };
            let packed = vec![0; bytes].into();
            ring.push(Arc::new(Record { id, at_ms: second * 1000, point: "0".into(), packed }));
        }
        let all = ring.fine.iter().chain(&ring.coarse).map(|one| one.weight());
        assert_eq!(ring.bytes, all.sum::<usize>());
        ring
    }

    fn second_of(ring: &Ring, second: u64) -> u64 {
        ring.find(second * 1000).unwrap().0.id.number
    }

    #[test]
    fn what_is_older_than_15_minutes_is_coarse() {
        let ring = ring(1..=2_000, 0);
        assert_eq!(
            (second_of(&ring, 1_500), second_of(&ring, 1_017), second_of(&ring, 5)),
            (1_500, 1_010, 1)
        );
        assert_eq!((ring.fine.len(), ring.coarse.len()), (RECORD_FINE_MAX, 111));
        let (_, points) = ring.find(1_500_000).unwrap();
        assert_eq!((points.first().unwrap().number, points.last().unwrap().number), (610, 1_500));
    }

    #[test]
    fn a_day_is_kept() {
        let ring = ring((10..=200_000).step_by(10), 0);
        assert_eq!(ring.first().unwrap().at_ms, 200_000_000 - RECORD_TIME_MS);
    }

    #[test]
    fn the_bytes_are_bounded() {
        let ring = ring(1..=200, 1 << 20);
        assert!(ring.bytes <= RECORD_BYTES_MAX && ring.bytes > RECORD_BYTES_MAX / 2, "{}", ring.bytes);
        assert_eq!(second_of(&ring, 200), 200);
    }

    #[test]
    fn a_clock_that_is_set_back_ends_what_was_later() {
        let ring = ring((1..=1_000).chain(50..=60), 0);
        assert_eq!((second_of(&ring, 2_000), second_of(&ring, 49), second_of(&ring, 0)), (60, 40, 1));
    }

    #[test]
    fn switched_off_it_has_nothing() {
        let recorder = recorded(1..=5);
        assert!(recorder.switch(false) && !recorder.switch(false));
        recorder.add(&sample(6));
        assert!(recorder.range().is_none() && recorder.sample(5_000).is_none());
    }
}

//! A round: all writers and some readers at once, and what all texts show at the end.

use std::sync::Arc;

use e2e::dice::Dice;
use e2e::history::{Fate, Read, Span, Write, Wrong, check};
use e2e::run;
use tokio::task::JoinSet;

use crate::load::Load;
use crate::pace::Pace;
use crate::reader::Reader;
use crate::world::World;
use crate::writer::{Hand, Writer};

/// Readers at once.
const READERS: usize = 8;

impl World {
    /// Runs a round with so many reads; returns those that are wrong.
    pub(crate) async fn round(&self, reads: usize) -> Vec<Wrong> {
        let (written, seen) = self.load(&Load::ALL, &Arc::new(Pace::new(reads))).await;
        check(&written, &seen)
    }

    /// Runs a round of these loads beside a fault, which blocks the thread and ends the round;
    /// returns the reads that are wrong.
    pub(crate) fn round_beside(&self, loads: &[Load], fault: impl FnOnce()) -> Vec<Wrong> {
        let pace = Arc::new(Pace::new(usize::MAX));
        let (written, seen) = std::thread::scope(|scope| {
            let load = scope.spawn(|| run(self.load(loads, &pace)));
            // Also when the fault panics.
            let stop = Stop(&pace);
            fault();
            drop(stop);
            load.join().unwrap()
        });
        println!("{} reads and {} writes beside a fault", seen.len(), written.len());
        check(&written, &seen)
    }

    /// Writers of these loads, and readers.
    async fn load(&self, loads: &[Load], pace: &Arc<Pace>) -> (Vec<Write>, Vec<Read>) {
        let mut writers = JoinSet::new();
        let first = self.first_writes().await;
        let turn = Dice::new(Dice::fresh_seed(), 0).below(loads.len());
        for (number, load) in loads.iter().enumerate() {
            let (hand, late) = self.hand(number + turn);
            let first = first.iter().find(|write| write.key == load.key()).unwrap();
            let mut writer = Writer::new(*load, hand, self.clock, *first).await;
            let pace = Arc::clone(pace);
            writers.spawn(async move {
                while pace.may_write().await {
                    writer.write().await;
                    pace.end_write();
                }
                let late = |write: Write| Write { span: write.span.late(late), ..write };
                writer.written.into_iter().map(late).collect::<Vec<_>>()
            });
        }
        let mut readers = JoinSet::new();
        for number in 0..READERS {
            let dice = Dice::new(Dice::fresh_seed(), number);
            let reader = Reader::of(loads, &self.place.site, self.clock, dice).await;
            let mut reader = reader.with_losses(self.has_losses);
            let (pace, late) = (Arc::clone(pace), self.late());
            readers.spawn(async move {
                while pace.may_read() {
                    reader.read().await;
                }
                let late = |read: Read| Read { span: read.span.late(late), ..read };
                reader.seen.into_iter().map(late).collect::<Vec<_>>()
            });
        }
        let seen = readers.join_all().await.concat();
        pace.end();
        (writers.join_all().await.concat(), seen)
    }

    /// How the writer with this number writes, and how late that is seen.
    fn hand(&self, number: usize) -> (Hand, u64) {
        let (site, late) = match (&self.other, number % 3) {
            (Some(other), 1) => (&other.site, self.late()),
            (Some(_), 2) => (&self.direct, self.late()),
            _ => (&self.place.site, 0),
        };
        let site = site.clone().with_setup(self.setup);
        let switches_format = self.other.is_some();
        (Hand { site, switches_format, has_losses: self.has_losses }, late)
    }

    /// How late a write elsewhere is seen, in nanoseconds.
    fn late(&self) -> u64 {
        u64::try_from(self.promise.bound.as_nanos()).unwrap_or(u64::MAX)
    }

    /// What all texts show at rest. They show at the server itself what they show through the
    /// proxy, as soon as the bound is over.
    pub(crate) async fn rest(&self) -> Vec<Read> {
        let versions = |reads: &[Read]| reads.iter().map(|read| (read.key, read.seen)).collect::<Vec<_>>();
        let mut direct = Reader::new(&self.direct, self.clock, Dice::new(0, 0)).await;
        direct.read_all().await;
        let (begun, mut seen) = (self.clock.now(), Vec::new());
        for number in 0..2 {
            let mut reader = Reader::new(&self.place.site, self.clock, Dice::new(0, number)).await;
            loop {
                let sent = self.clock.now();
                reader.seen.clear();
                reader.read_all().await;
                if versions(&reader.seen) == versions(&direct.seen) {
                    break;
                }
                assert!(sent <= begun + self.late(), "an answer stays old");
            }
            seen.extend(reader.seen);
        }
        seen
    }

    /// What the server has, as writes that are over.
    pub(crate) async fn first_writes(&self) -> Vec<Write> {
        let mut direct = Reader::new(&self.direct, self.clock, Dice::new(0, 0)).await;
        direct.read_all().await;
        let of = |load: Load| {
            let read = direct.seen.iter().find(|read| read.key == load.key());
            let version =
                read.and_then(|read| read.seen).unwrap_or_else(|| panic!("{load:?} has no version"));
            let span = Span { sent: 0, done: 0 };
            Write { key: load.key(), version, removes: false, span, fate: Fate::Done }
        };
        Load::ALL.map(of).to_vec()
    }
}

/// Ends a round when it is dropped.
struct Stop<'a>(&'a Pace);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

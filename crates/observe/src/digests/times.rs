//! How long the executions of one digest took: buckets from which any percentile can be read.
//!
//! Each power of two of microseconds is cut into eight equal buckets, and times below 16 us have
//! one each, so that a percentile is wrong by at most 5.9 % (half of an eighth, and less from the
//! middle of a bucket), however long the times are. Only the buckets between the shortest and the
//! longest time take memory: a statement that takes 90 to 200 us has 16 of them, 64 bytes.

/// Bits of a time that tell buckets of the same power of two apart.
const SUB_BITS: u32 = 3;
/// Buckets of a power of two.
const SUB: u32 = 1 << SUB_BITS;
/// The last bucket; it has all times from 4.5 hours on.
const LAST: u32 = 255;
/// Buckets are allocated in steps of this many.
const STEP: usize = 8;

/// The percentiles that are shown: as parts of a thousand.
const SHOWN: [u64; 4] = [500, 950, 990, 999];

/// How many executions took how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// The bucket that `counts` begins with.
    first: u8,
    /// Saturates.
    counts: Box<[u32]>,
}

/// The bucket of a time in microseconds.
const fn bucket(us: u64) -> u32 {
    let Some(power) = us.checked_ilog2() else { return 0 };
    if power < SUB_BITS {
        return low_bits(us);
    }
    let sub = low_bits(us >> (power - SUB_BITS)) - SUB;
    let bucket = (power - SUB_BITS + 1) * SUB + sub;
    if bucket < LAST { bucket } else { LAST }
}

/// A number that has no other bits.
#[expect(clippy::cast_possible_truncation, reason = "at most 4 bits are set")]
const fn low_bits(number: u64) -> u32 {
    number as u32
}

/// The time that stands for those of a bucket, in microseconds: as far, relatively, from the
/// shortest as from the longest.
const fn middle(bucket: u32) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let shift = bucket / SUB - 1;
    // The same in eighths of the power of two: 8 to 15.
    let low = (SUB + bucket % SUB) as u64;
    ((2 * low * (low + 1)) << shift) / (2 * low + 1)
}

impl Times {
    /// Bytes that they take outside of their owner.
    pub(super) fn bytes(&self) -> usize {
        size_of_val::<[u32]>(&self.counts)
    }

    /// Counts a time in microseconds.
    pub(super) fn note(&mut self, us: u64) {
        let bucket = bucket(us);
        let place = (bucket as usize).wrapping_sub(usize::from(self.first));
        if let Some(count) = self.counts.get_mut(place) {
            *count = count.saturating_add(1);
        } else {
            self.add(bucket, 1);
        }
    }

    /// Counts what `other` has as well.
    pub(super) fn merge(&mut self, other: &Self) {
        for (bucket, &count) in (u32::from(other.first)..).zip(&other.counts) {
            if count > 0 {
                self.add(bucket, count);
            }
        }
    }

    fn add(&mut self, bucket: u32, n: u32) {
        let bucket = bucket as usize;
        self.reach(bucket);
        if let Some(count) = self.counts.get_mut(bucket - usize::from(self.first)) {
            *count = count.saturating_add(n);
        }
    }

    /// Makes room for a bucket.
    #[cold]
    fn reach(&mut self, bucket: usize) {
        let first = usize::from(self.first);
        let (from, to) = if self.counts.is_empty() {
            (bucket, bucket + 1)
        } else {
            (first.min(bucket), (first + self.counts.len()).max(bucket + 1))
        };
        let (from, to) = (from / STEP * STEP, to.next_multiple_of(STEP));
        if from == first && to == first + self.counts.len() {
            return;
        }
        let mut counts = vec![0; to - from].into_boxed_slice();
        for (new, old) in counts.iter_mut().skip(first.saturating_sub(from)).zip(&self.counts) {
            *new = *old;
        }
        self.counts = counts;
        // Not more than `LAST`.
        self.first = u8::try_from(from).unwrap_or(u8::MAX);
    }

    /// The times that 50, 95, 99 and 99.9 % of the executions took at most, in microseconds; `None`
    /// without any.
    pub(super) fn percentiles(&self) -> Option<[u64; SHOWN.len()]> {
        let total: u64 = self.counts.iter().copied().map(u64::from).sum();
        if total == 0 {
            return None;
        }
        Some(SHOWN.map(|part| {
            let rank = (total * part).div_ceil(1000).max(1);
            let mut seen = 0;
            let reaches = |&(_, &count): &(u32, &u32)| {
                seen += u64::from(count);
                seen >= rank
            };
            let reached = (u32::from(self.first)..).zip(&self.counts).find(reaches);
            reached.map_or(0, |(bucket, _)| middle(bucket))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_tell_times_within_six_percent() {
        let mut before = 0;
        let times = (0..1 << 17).chain((17..34).flat_map(|power| {
            let low = 1_u64 << power;
            (0..1_000).map(move |part| low + low / 1_000 * part)
        }));
        for us in times {
            let found = bucket(us);
            assert!(found == before || found == before + 1, "{us}: {found} after {before}");
            before = found;
            let shown = middle(found);
            // In parts of a thousand; whole microseconds below 16 are exact.
            assert!(shown.abs_diff(us) * 1_000 <= us * 59, "{us} is shown as {shown}");
        }
        assert_eq!((bucket(u64::MAX), bucket(1 << 34), bucket((1 << 34) - 1)), (255, 255, 255));
    }

    #[test]
    fn percentiles_are_those_of_the_times() {
        let mut times = Times::default();
        assert_eq!(times.percentiles(), None);
        // In an order that makes the buckets grow on both sides.
        for n in 0..10_000_u64 {
            times.note((n * 7_919) % 10_000 + 1);
        }
        let shown = times.percentiles().unwrap();
        for (shown, exact) in shown.into_iter().zip([5_000, 9_500, 9_900, 9_990_u64]) {
            assert!(shown.abs_diff(exact) * 1_000 <= exact * 59, "{exact} is shown as {shown}");
        }
    }

    #[test]
    fn a_few_like_times_take_little_memory() {
        let mut times = Times::default();
        (90..200).for_each(|us| times.note(us));
        assert_eq!(times.bytes(), 64);
        times.note(u64::MAX);
        times.note(0);
        assert_eq!(times.bytes(), 1_024, "the most that there can be");
    }

    #[test]
    fn times_of_workers_are_added_up() {
        let (mut all, mut first, mut second) = (Times::default(), Times::default(), Times::default());
        for us in [3, 900, 70, 1_000_000, 900, 12] {
            all.note(us);
            if us > 100 { first.note(us) } else { second.note(us) }
        }
        first.merge(&second);
        assert_eq!(first, all);
        first.merge(&Times::default());
        assert_eq!(first, all);
    }
}

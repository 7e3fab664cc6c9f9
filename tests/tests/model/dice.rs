//! Random choices that are the same in every run with the same seed.

/// The `SplitMix64` generator.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Choices of one client of a run.
    pub(crate) fn new(seed: u64, client: usize) -> Self {
        let client = u64::try_from(client).unwrap_or_default();
        let mut dice =
            Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ client.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.next(); // neighbours begin alike
        dice
    }

    /// A seed that no run had before.
    pub(crate) fn fresh_seed() -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // Short enough to be typed.
        Self(u64::from(now.subsec_nanos()) ^ now.as_secs() << 20 ^ u64::from(std::process::id())).next()
            % 1_000_000_000
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is above 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    /// A number of this range.
    pub(crate) fn within(&mut self, range: std::ops::Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}

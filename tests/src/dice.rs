//! Random choices that are the same in every run with the same seed.

/// The `SplitMix64` generator.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Choices of the one with this number, a client of a run, say.
    pub fn new(seed: u64, number: usize) -> Self {
        let number = u64::try_from(number).unwrap_or_default();
        let mut dice =
            Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ number.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.roll(); // neighbours begin alike
        dice
    }

    /// A seed that no run had before.
    pub fn fresh_seed() -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // Short enough to be typed.
        Self(u64::from(now.subsec_nanos()) ^ now.as_secs() << 20 ^ u64::from(std::process::id())).roll()
            % 1_000_000_000
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is above 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit as u64).unwrap_or_default()
    }

    /// A number of this range, which is not empty.
    pub fn within(&mut self, range: std::ops::Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these; there is at least one.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}

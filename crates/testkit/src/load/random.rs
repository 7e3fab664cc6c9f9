//! Random numbers that are the same in every run.

/// The `SplitMix64` generator: small, fast, and good enough to choose rows.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers that `seed` stands for.
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is above 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

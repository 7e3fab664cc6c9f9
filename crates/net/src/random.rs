//! Random values: secrets from the system's generator, and cheap numbers for choices that need no
//! secrecy.

use std::cell::Cell;

use wire::auth::NONCE_LEN;

/// Fills `bytes` with unpredictable ones.
///
/// # Panics
///
/// If the kernel has no random generator.
pub fn fill(bytes: &mut [u8]) {
    // Straight from the kernel: AWS-LC's generator takes a tenth of a second to gather entropy of
    // its own when it is first used, which is most of the time from start to serving.
    #[expect(clippy::expect_used, reason = "without random bytes no login is safe")]
    getrandom::fill(bytes).expect("the kernel's random generator works");
}

/// `N` unpredictable bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// Has AWS-LC gather its entropy now, on a thread of its own: making a certificate would wait for
/// it.
pub fn gather_entropy() {
    let gather = || {
        let _ = aws_lc_rs::rand::fill(&mut [0]);
    };
    // Without the thread, what needs it first does it.
    let _ = std::thread::Builder::new().name("entropy".to_owned()).spawn(gather);
}

/// A nonce for a login: unpredictable bytes that are neither zero (which ends a string) nor above
/// 127 (which old clients take for text of another charset).
pub fn nonce() -> [u8; NONCE_LEN] {
    bytes().map(|byte: u8| byte % 127 + 1)
}

/// A fast generator for choices among servers (`SplitMix64`).
#[derive(Debug)]
pub struct Dice(Cell<u64>);

impl Dice {
    /// One that rolls as the system's generator says.
    #[expect(clippy::new_without_default, reason = "two are never the same")]
    pub fn new() -> Self {
        Self(Cell::new(u64::from_le_bytes(bytes())))
    }

    /// One that rolls the same each time.
    pub const fn seeded(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next number.
    pub fn roll(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        mix(state)
    }
}

/// Spreads each bit of `value` over all 64, and no two values become one (the last step of
/// `SplitMix64`).
pub const fn mix(value: u64) -> u64 {
    let mixed = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_hold_neither_zeros_nor_high_bytes() {
        for _ in 0..1000 {
            assert!(nonce().iter().all(|byte| (1..=127).contains(byte)));
        }
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(nonce(), nonce());
    }
}

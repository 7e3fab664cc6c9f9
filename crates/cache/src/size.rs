//! How much memory an allocation takes.
//!
//! Allocators hand out blocks of certain sizes. What a budget counts are the blocks, not what was
//! asked for: else a cache of small answers is a quarter larger than its budget says.

/// Reference counts in front of the bytes of an `Arc<[u8]>`.
const ARC_COUNTS: usize = 2 * size_of::<usize>();

/// Bytes that the allocator takes for an `Arc<[u8]>` of `len` bytes.
pub(crate) const fn of_shared(len: usize) -> usize {
    block(len + ARC_COUNTS)
}

/// The block that jemalloc takes for `len` bytes: multiples of 16 up to 128, then four sizes for
/// each doubling (jemalloc(3), "size classes").
pub(crate) const fn block(len: usize) -> usize {
    if len <= 128 {
        return len.next_multiple_of(16);
    }
    // The step is a quarter of the power of two below.
    let power = (len - 1).ilog2();
    len.next_multiple_of(1 << (power - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_jemalloc() {
        let sizes =
            [(1, 16), (128, 128), (129, 160), (160, 160), (161, 192), (216, 224), (224, 224), (257, 320)];
        for (len, expected) in sizes {
            assert_eq!(block(len), expected, "{len}");
        }
        assert_eq!(block(16 * 1024 + 1), 20 * 1024);
    }
}

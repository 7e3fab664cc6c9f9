//! Java's `hashCode` of integers and texts.

/// Hash of an `Integer`, `Long` or `BigInteger`: the type that a literal has.
pub(super) fn literal_hash(key: i128) -> i32 {
    if let Ok(int) = i32::try_from(key) {
        return int;
    }
    match i64::try_from(key) {
        Ok(long) => long_hash(long),
        Err(_) => big_hash(key),
    }
}

/// Hash of a `Long`.
#[expect(clippy::cast_possible_truncation, reason = "Java's (int) keeps the low 32 bits")]
pub(crate) fn long_hash(long: i64) -> i32 {
    let bits = long.cast_unsigned();
    (bits ^ bits >> 32) as i32
}

/// Hash of a `BigInteger` of at most 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "a magnitude is taken in words of 32 bits")]
fn big_hash(key: i128) -> i32 {
    let magnitude = key.unsigned_abs();
    let (high, low) = ((magnitude >> 32) as u32, magnitude as u32);
    let hash = high.wrapping_mul(31).wrapping_add(low).cast_signed();
    if key < 0 { hash.wrapping_neg() } else { hash }
}

/// Hash of a `String`, over its UTF-16 units.
pub(crate) fn text_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_of_java() {
        assert_eq!(text_hash("hello"), 99_162_322);
        assert_eq!(text_hash("\u{1F600}"), 1_772_899);
        assert_eq!(long_hash(-5), 4);
        assert_eq!(literal_hash(-5), -5);
        assert_eq!(literal_hash(1 << 40), 256);
    }
}

//! Definitions as servers are asked for them: in hexadecimal digits, so that it does not matter
//! what character set results have.

/// The bytes of hexadecimal digits, two for each; nothing if there is another character, or one
/// digit too many.
#[must_use]
pub fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(value(*high)? << 4 | value(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_read() {
        assert_eq!(unhex(b"4a6F"), Some(b"Jo".to_vec()));
        assert_eq!((unhex(b"4"), unhex(b"4g"), unhex(b"")), (None, None, Some(Vec::new())));
    }
}

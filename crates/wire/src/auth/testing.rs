//! What the tests of this folder share.

use super::NONCE_LEN;

/// A nonce of printable bytes, `!` to `4`.
pub(super) const NONCE: [u8; NONCE_LEN] = *b"!\"#$%&'()*+,-./01234";

/// The bytes of hexadecimal digits.
pub(super) fn hex(digits: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.as_bytes().chunks(2).map(byte).collect()
}

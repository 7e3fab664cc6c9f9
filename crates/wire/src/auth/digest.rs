//! SHA-1 and SHA-256 as arrays.

use aws_lc_rs::digest::{self, Algorithm, Context};

/// SHA-1 of the parts, one behind the other.
pub(super) fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts)
}

/// SHA-256 of the parts, one behind the other.
pub(super) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    hash(&digest::SHA256, parts)
}

fn hash<const N: usize>(algorithm: &'static Algorithm, parts: &[&[u8]]) -> [u8; N] {
    let mut context = Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    let mut out = [0; N];
    // The callers above pass the algorithm that has this length.
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// `a` XOR `b`.
pub(super) fn xor<const N: usize>(mut a: [u8; N], b: &[u8; N]) -> [u8; N] {
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= b;
    }
    a
}

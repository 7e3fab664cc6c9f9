//! `mysql_native_password`: SHA-1, and no secret on the server.
//!
//! With *stage 1* = SHA1(password) and *stage 2* = SHA1(stage 1), the server stores stage 2, and the client
//! proves that it knows stage 1 with stage 1 XOR SHA1(nonce, stage 2). The server takes the XOR away, and
//! what is left must have stage 2 as its SHA-1. So whoever checks a proof learns stage 1, which is all that
//! is needed to log in elsewhere. Source: "Native Authentication" in MySQL's protocol documentation.

use super::digest::{sha1, xor};
use super::{NONCE_LEN, equal};

/// The method's name.
pub const NAME: &str = "mysql_native_password";

/// SHA1(password).
pub fn stage1(password: &[u8]) -> [u8; 20] {
    sha1(&[password])
}

/// SHA1(SHA1(password)): what servers store, as `*` and 40 hexadecimal digits.
pub fn stage2(password: &[u8]) -> [u8; 20] {
    sha1(&[&stage1(password)])
}

/// The client's proof; nothing for an empty password.
pub fn answer(password: &[u8], nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    answer_from_stage1(&stage1(password), nonce).to_vec()
}

/// The client's proof, made without the password.
pub fn answer_from_stage1(stage1: &[u8; 20], nonce: &[u8; NONCE_LEN]) -> [u8; 20] {
    xor(*stage1, &sha1(&[nonce, &sha1(&[stage1])]))
}

/// Checks a proof; returns stage 1 if it is right.
pub fn verify(answer: &[u8], nonce: &[u8; NONCE_LEN], stage2: &[u8; 20]) -> Option<[u8; 20]> {
    let answer: [u8; 20] = answer.try_into().ok()?;
    let stage1 = xor(answer, &sha1(&[nonce, stage2]));
    equal(&sha1(&[&stage1]), stage2).then_some(stage1)
}

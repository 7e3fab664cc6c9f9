//! `caching_sha2_password`: SHA-256, with a fast exchange for passwords that the server has seen before.
//!
//! The server stores a salted hash of thousands of rounds ([`Stored`]), too slow for every login. After the
//! first *full* exchange, which shows it the password (over TLS, or encrypted with its RSA key), it keeps
//! SHA256(SHA256(password)) in memory, and checks the proof SHA256(password) XOR
//! SHA256(SHA256(SHA256(password)), nonce) of the *fast* exchange against that. Source: "Caching SHA-2
//! Authentication" in MySQL's protocol documentation, and `sha2_password.cc`.

mod stored;

pub use stored::{Stored, StoredError};

use super::digest::{sha256, xor};
use super::{NONCE_LEN, PASSWORD_LEN_MAX, equal};

/// The method's name.
pub const NAME: &str = "caching_sha2_password";

/// What the server says after a right proof; OK follows.
pub(super) const FAST_SUCCESS: u8 = 3;
/// What the server says when it needs the password itself.
pub(super) const FULL_EXCHANGE: u8 = 4;
/// What the client says when it needs the server's public key.
pub(super) const KEY_REQUEST: u8 = 2;

/// SHA256(password), which is enough for the fast exchange.
pub fn stage1(password: &[u8]) -> [u8; 32] {
    sha256(&[password])
}

/// SHA256(SHA256(password)): what servers keep in memory.
pub fn digest(password: &[u8]) -> [u8; 32] {
    sha256(&[&stage1(password)])
}

/// The client's proof; nothing for an empty password.
pub fn answer(password: &[u8], nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    answer_from_stage1(&stage1(password), nonce).to_vec()
}

/// The client's proof, made without the password.
pub fn answer_from_stage1(stage1: &[u8; 32], nonce: &[u8; NONCE_LEN]) -> [u8; 32] {
    xor(*stage1, &sha256(&[&sha256(&[stage1]), nonce]))
}

/// Whether a proof is right.
pub fn verify(answer: &[u8], nonce: &[u8; NONCE_LEN], digest: &[u8; 32]) -> bool {
    learn(answer, nonce, digest).is_some()
}

/// Checks a proof; returns SHA256(password) if it is right.
pub fn learn(answer: &[u8], nonce: &[u8; NONCE_LEN], digest: &[u8; 32]) -> Option<[u8; 32]> {
    let answer: [u8; 32] = answer.try_into().ok()?;
    let stage1 = xor(answer, &sha256(&[digest, nonce]));
    equal(&sha256(&[&stage1]), digest).then_some(stage1)
}

/// What the client encrypts in a full exchange: the password and a zero byte, XOR the nonce, repeated.
pub fn mask(password: &[u8], nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    password.iter().chain(&[0]).zip(nonce.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}

/// The bytes that [`mask`] was made of, with their zero byte.
pub fn unmask(masked: &[u8], nonce: &[u8; NONCE_LEN]) -> Vec<u8> {
    masked.iter().zip(nonce.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}

/// The password in `bytes`, which end with its zero byte; `None` if they do not, or if it is empty or too
/// long to be one.
pub(super) fn shown_password(bytes: &[u8]) -> Option<&[u8]> {
    let password = bytes.strip_suffix(&[0])?;
    (1..=PASSWORD_LEN_MAX).contains(&password.len()).then_some(password)
}

//! `caching_sha2_password`: SHA-256, with a fast exchange for passwords that the server has seen
//! before.
//!
//! The server stores a salted hash of thousands of rounds ([`Stored`]), too slow for every login.
//! After the first *full* exchange, which shows it the password (over TLS, or encrypted with its
//! RSA key), it keeps SHA256(SHA256(password)) in memory, and checks the proof SHA256(password) XOR
//! SHA256(SHA256(SHA256(password)), nonce) of the *fast* exchange against that. Source: "Caching
//! SHA-2 Authentication" in MySQL's protocol documentation, and `sha2_password.cc`.

mod stored;

pub use stored::{Stored, StoredError};

use super::digest::{sha256, xor};
use super::equal;

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
pub fn answer(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    answer_from_stage1(&stage1(password), nonce).to_vec()
}

/// The client's proof, made without the password.
pub fn answer_from_stage1(stage1: &[u8; 32], nonce: &[u8]) -> [u8; 32] {
    xor(*stage1, &sha256(&[&sha256(&[stage1]), nonce]))
}

/// Whether a proof is right.
pub fn verify(answer: &[u8], nonce: &[u8], digest: &[u8; 32]) -> bool {
    learn(answer, nonce, digest).is_some()
}

/// Checks a proof; returns SHA256(password) if it is right.
pub fn learn(answer: &[u8], nonce: &[u8], digest: &[u8; 32]) -> Option<[u8; 32]> {
    let answer: [u8; 32] = answer.try_into().ok()?;
    let stage1 = xor(answer, &sha256(&[digest, nonce]));
    equal(&sha256(&[&stage1]), digest).then_some(stage1)
}

/// What the client encrypts in a full exchange: the password and a zero byte, XOR the nonce,
/// repeated.
pub fn mask(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    password.iter().chain(&[0]).zip(nonce.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}

/// The bytes that [`mask`] was made of, with their zero byte.
pub fn unmask(masked: &[u8], nonce: &[u8]) -> Vec<u8> {
    masked.iter().zip(nonce.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}

/// The password in `bytes`, which end with its zero byte; `None` if they do not, or if it is empty.
pub(super) fn shown_password(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_suffix(&[0]).filter(|password| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::NONCE_LEN;
    use crate::auth::testing::{NONCE, hex};

    #[test]
    fn known_answers() {
        // Computed with Python's hashlib.
        for (password, expected_digest, proof) in [
            (
                b"secret".as_slice(),
                "3881219d087dd9c634373fd33dfa33a2cb6bfc6c520b64b8bb60ef2ceb534ae7",
                "3e6e1d1225dfe8531b46e47caf897453dba8211b1e2fdca5e10ef0f98718b18e",
            ),
            (
                b"p",
                "990fdc3db6ba7e8bf6633957b11b9ad759d7eaa5cc7848c422f0eea551ecdba9",
                "9878e858311134f16e19d85f9e020acf8cc833f214629f38bfdeede6091c7aee",
            ),
        ] {
            assert_eq!(digest(password).to_vec(), hex(expected_digest));
            assert_eq!(answer(password, &NONCE), hex(proof));
            assert!(verify(&hex(proof), &NONCE, &digest(password)));
            assert_eq!(learn(&hex(proof), &NONCE, &digest(password)), Some(stage1(password)));
        }
    }

    #[test]
    fn a_wrong_proof_is_refused() {
        let (kept, right) = (digest(b"secret"), answer(b"secret", &NONCE));
        assert!(!verify(&answer(b"Secret", &NONCE), &NONCE, &kept));
        assert!(!verify(&answer(b"secret", &[7; NONCE_LEN]), &NONCE, &kept));
        assert!(!verify(&right[..31], &NONCE, &kept));
        for bit in 0..256 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&wrong, &NONCE, &kept));
        }
    }

    #[test]
    fn a_password_longer_than_the_nonce_is_masked_with_it_repeated() {
        let password = b"a password of more than 20 bytes";
        let masked = mask(password, &NONCE);
        assert_eq!(masked, hex("40025345565550475b4e0b434b0e425f4357134049434d041716074a505e4e5f2d"));
        assert_eq!(shown_password(&unmask(&masked, &NONCE)), Some(password.as_slice()));
    }

    #[test]
    fn a_shown_password_has_its_zero_byte() {
        assert_eq!(shown_password(b"secret\0"), Some(b"secret".as_slice()));
        assert_eq!(shown_password(b"secret"), None);
        assert_eq!(shown_password(b"\0"), None);
        assert_eq!(shown_password(b""), None);
    }

    #[test]
    fn nonces_of_any_length_do() {
        for len in [1, 8, 19, 21, 32, 255] {
            let nonce = vec![b'n'; len];
            assert!(verify(&answer(b"secret", &nonce), &nonce, &digest(b"secret")), "{len} bytes");
            assert_eq!(unmask(&mask(b"secret", &nonce), &nonce), b"secret\0");
        }
    }
}

//! `mysql_native_password`: SHA-1, and no secret on the server.
//!
//! With *stage 1* = SHA1(password) and *stage 2* = SHA1(stage 1), the server stores stage 2, and
//! the client proves that it knows stage 1 with stage 1 XOR SHA1(nonce, stage 2). The server takes
//! the XOR away, and what is left must have stage 2 as its SHA-1. So a server that checks a proof
//! learns stage 1, which is all that is needed to log in elsewhere. Source: "Native Authentication"
//! in MySQL's protocol documentation.

use super::digest::{sha1, xor};
use super::equal;

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
pub fn answer(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    answer_from_stage1(&stage1(password), nonce).to_vec()
}

/// The client's proof, made without the password.
pub fn answer_from_stage1(stage1: &[u8; 20], nonce: &[u8]) -> [u8; 20] {
    xor(*stage1, &sha1(&[nonce, &sha1(&[stage1])]))
}

/// Checks a proof; returns stage 1 if it is right.
pub fn verify(answer: &[u8], nonce: &[u8], stage2: &[u8; 20]) -> Option<[u8; 20]> {
    let answer: [u8; 20] = answer.try_into().ok()?;
    let stage1 = xor(answer, &sha1(&[nonce, stage2]));
    equal(&sha1(&[&stage1]), stage2).then_some(stage1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::NONCE_LEN;
    use crate::auth::testing::{NONCE, hex};

    #[test]
    fn known_answers() {
        // Computed with Python's hashlib.
        for (password, stage_1, stage_2, proof) in [
            (
                b"secret".as_slice(),
                "e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4",
                "14E65567ABDB5135D0CFD9A70B3032C179A49EE7",
                "1f44f306295a10870fd7895d358cb5f975d7d47f",
            ),
            (
                b"p",
                "516b9783fca517eecbd1d064da2d165310b19759",
                "7B9EBEED26AA52ED10C0F549FA863F13C39E0209",
                "d12f79548b589fd62b742a861cb38cd74784b29b",
            ),
        ] {
            assert_eq!(stage1(password).to_vec(), hex(stage_1));
            assert_eq!(stage2(password).to_vec(), hex(stage_2));
            assert_eq!(answer(password, &NONCE), hex(proof));
            assert_eq!(verify(&hex(proof), &NONCE, &stage2(password)), Some(stage1(password)));
        }
    }

    #[test]
    fn a_wrong_proof_is_refused() {
        let (stored, right) = (stage2(b"secret"), answer(b"secret", &NONCE));
        assert_eq!(verify(&answer(b"Secret", &NONCE), &NONCE, &stored), None);
        assert_eq!(verify(&answer(b"secret", &[7; NONCE_LEN]), &NONCE, &stored), None);
        assert_eq!(verify(&[], &NONCE, &stored), None);
        assert_eq!(verify(&right[..19], &NONCE, &stored), None);
        for bit in 0..160 {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(&wrong, &NONCE, &stored), None);
        }
    }

    #[test]
    fn an_empty_password_has_no_proof() {
        assert!(answer(b"", &NONCE).is_empty());
    }
}

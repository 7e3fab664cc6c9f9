//! MariaDB's `client_ed25519`: a signature, and no secret on the server.
//!
//! The expanded secret key is SHA-512 of the password, of any length, where Ed25519 itself would
//! hash a random seed of 32 bytes. The server keeps the public key, sends a nonce of 32 bytes (the
//! greeting's 20 are not enough, so that it always asks for a switch), and the client signs that.
//! Source: `plugin/auth_ed25519` in MariaDB's sources.

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};
use sha2::{Digest as _, Sha512};

use super::LONG_NONCE_LEN;

/// The method's name.
pub const NAME: &str = "client_ed25519";

/// Bytes of a signature.
pub const SIGNATURE_LEN: usize = 64;

/// The client's proof: the signature of the nonce.
pub fn answer(password: &[u8], nonce: &[u8; LONG_NONCE_LEN]) -> [u8; SIGNATURE_LEN] {
    let secret = expanded(password);
    raw_sign::<Sha512>(&secret, nonce, &VerifyingKey::from(&secret)).to_bytes()
}

/// Whether a proof is right.
pub fn verify(answer: &[u8], nonce: &[u8; LONG_NONCE_LEN], password: &[u8]) -> bool {
    let Ok(signature) = Signature::from_slice(answer) else { return false };
    VerifyingKey::from(&expanded(password)).verify(nonce, &signature).is_ok()
}

fn expanded(password: &[u8]) -> ExpandedSecretKey {
    ExpandedSecretKey::from_bytes(&Sha512::digest(password).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::testing::hex;

    /// What a MariaDB 10.11 server asked, and what its client 10.11 answered.
    const NONCE: &str = "872d4c2a4c1dc85eef6f3f74217a3f5f7190e043af553890b73fb868bcd01f5d";
    const ANSWER: &str = "aa47e3a0d942190ec42b4412bc0510a9d9a0ac4ed38df2c76dc770848ac37cc0\
                          5817df7d15c10c5e306a3456294d841d7e2d47b3013c0fd6ecd8840f9ba80206";

    fn nonce() -> [u8; LONG_NONCE_LEN] {
        hex(NONCE).try_into().unwrap()
    }

    #[test]
    fn a_login_of_mariadb() {
        assert_eq!(answer(b"secret", &nonce()).to_vec(), hex(ANSWER));
        assert!(verify(&hex(ANSWER), &nonce(), b"secret"));
    }

    #[test]
    fn the_public_key_is_what_mariadb_stores() {
        // SELECT ed25519_password('secret') is ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY.
        let stored = hex("648814444520e4f56043a2ec9215e63be7992d2d270bc6dee873e36164786096");
        assert_eq!(VerifyingKey::from(&expanded(b"secret")).to_bytes().to_vec(), stored);
    }

    #[test]
    fn a_wrong_proof_is_refused() {
        let right = answer(b"secret", &nonce());
        assert!(!verify(&answer(b"Secret", &nonce()), &nonce(), b"secret"));
        assert!(!verify(&right, &[7; LONG_NONCE_LEN], b"secret"));
        assert!(!verify(&right[..63], &nonce(), b"secret"));
        assert!(!verify(&[], &nonce(), b"secret"));
        for byte in 0..SIGNATURE_LEN {
            let mut wrong = right;
            wrong[byte] ^= 1;
            assert!(!verify(&wrong, &nonce(), b"secret"), "byte {byte}");
        }
    }

    #[test]
    fn passwords_have_any_length() {
        for len in [0, 1, 31, 32, 255, 256, 1000] {
            let password = vec![b'x'; len];
            assert!(verify(&answer(&password, &nonce()), &nonce(), &password), "{len} bytes");
        }
    }
}

//! MariaDB's `parsec` (11.6 and later): a signature with a key that is slow to guess.
//!
//! The server sends a nonce of 32 bytes. The client answers with nothing, which asks for the
//! *ext-salt*: `P`, a factor, and 18 bytes of salt. Its secret key is PBKDF2-HMAC-SHA512 of the
//! password with 1024 << factor rounds; it signs the server's nonce and one of its own, and sends
//! the latter and the signature. Source: `plugin/auth_parsec` in MariaDB's sources.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{PBKDF2_HMAC_SHA512, derive};
use ed25519_dalek::{Signer as _, SigningKey};

use super::LONG_NONCE_LEN;

/// The method's name.
pub const NAME: &str = "parsec";

/// Bytes of salt.
pub const SALT_LEN: usize = 18;

/// The first byte of an ext-salt: the only algorithm there is.
pub(super) const ALGORITHM: u8 = b'P';

/// Rounds with factor 0.
const ROUNDS: u32 = 1024;

/// The largest factor that servers have.
const FACTOR_MAX: u8 = 3;

/// How the password becomes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtSalt {
    factor: u8,
    salt: [u8; SALT_LEN],
}

impl ExtSalt {
    /// Reads what the server answers to the empty message; `None` if it is something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [ALGORITHM, factor @ 0..=FACTOR_MAX, salt @ ..] = bytes else { return None };
        Some(Self { factor: *factor, salt: salt.try_into().ok()? })
    }
}

/// The client's proof: its nonce, and the signature of both nonces. Takes up to some milliseconds.
pub fn answer(
    password: &[u8],
    salt: &ExtSalt,
    server_nonce: &[u8; LONG_NONCE_LEN],
    client_nonce: &[u8; LONG_NONCE_LEN],
) -> Vec<u8> {
    let rounds = NonZeroU32::new(ROUNDS << salt.factor).unwrap_or(NonZeroU32::MIN);
    let mut key = [0; 32];
    derive(PBKDF2_HMAC_SHA512, rounds, &salt.salt, password, &mut key);
    let signature = SigningKey::from_bytes(&key).sign(&[*server_nonce, *client_nonce].concat());
    [&client_nonce[..], &signature.to_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::testing::hex;

    /// What a MariaDB 11.8 server asked, and what its client answered.
    const SERVER_NONCE: &str = "ec5eb19f6b2933e221b26af783701f6b0ae0db6f06fe1c3016f38517c4e49c9a";
    const EXT_SALT: &str = "50002ccd466e8842d7a19c3b2278b753d9547fab";
    const CLIENT_NONCE: &str = "77aef0e44d311d691381f33aae6d2f4bf08aa523137bc64f83ddbd7727666e9e";
    const SIGNATURE: &str = "6b3ce2d3111d94c24d4c1f4444857c8f9398773699b19dec65e509ea125fda6d\
                             65f8e21556881433704d9c124d2e310c079f12e74e59b6e6528fcf878dc71e0f";

    #[test]
    fn a_login_of_mariadb() {
        let salt = ExtSalt::parse(&hex(EXT_SALT)).unwrap();
        let [server, client] = [SERVER_NONCE, CLIENT_NONCE].map(|nonce| hex(nonce).try_into().unwrap());
        let expected = hex(&[CLIENT_NONCE, SIGNATURE].concat());
        assert_eq!(answer(b"secret", &salt, &server, &client), expected);
        assert_ne!(answer(b"Secret", &salt, &server, &client), expected);
    }

    #[test]
    fn rounds_double_with_the_factor() {
        let nonce = [7; LONG_NONCE_LEN];
        let mut seen = Vec::new();
        for factor in 0..=FACTOR_MAX {
            let bytes = [&[ALGORITHM, factor][..], &[1; SALT_LEN]].concat();
            seen.push(answer(b"", &ExtSalt::parse(&bytes).unwrap(), &nonce, &nonce));
        }
        seen.dedup();
        assert_eq!(seen.len(), 4, "each has a key of its own");
    }

    #[test]
    fn other_salts_are_refused() {
        let right = hex(EXT_SALT);
        assert!(ExtSalt::parse(&right).is_some());
        for (at, byte) in [(0, b'Q'), (1, FACTOR_MAX + 1), (1, b'0')] {
            let mut wrong = right.clone();
            wrong[at] = byte;
            assert_eq!(ExtSalt::parse(&wrong), None);
        }
        for len in 0..right.len() {
            assert_eq!(ExtSalt::parse(&right[..len]), None, "{len} bytes");
        }
        assert_eq!(ExtSalt::parse(&[&right[..], b"x"].concat()), None);
    }
}

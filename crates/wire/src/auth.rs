//! Proofs of the login methods, for both sides.
//!
//! [`native`], [`caching_sha2`], [`sha256_password`], [`clear`], [`ed25519`], [`parsec`] and
//! [`old`] are the arithmetic of the methods; [`Credential`] is what the proxy knows about a user
//! who logs in, [`Secret`] what it can log in to servers with; [`as_server`] and [`as_client`] are
//! the conversations, without input or output: messages in, steps out. Random numbers come in as
//! arguments, and what is too slow for a thread that serves others (RSA, PBKDF2) is a step that the
//! caller takes.
//!
//! Proofs are compared in constant time, and nothing here prints a secret.

pub mod as_client;
pub mod as_server;
pub mod caching_sha2;
pub mod clear;
mod credential;
mod digest;
pub mod ed25519;
mod method;
pub mod native;
pub mod old;
pub mod parsec;
mod secret;
pub mod sha256_password;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use credential::{Credential, CredentialError};
pub use secret::Secret;

/// Bytes of the random number that a server sends for a login.
pub const NONCE_LEN: usize = 20;

/// Bytes of the random number that MariaDB's newer methods sign.
pub const LONG_NONCE_LEN: usize = 32;

/// The longest password that a stored hash is compared with, in bytes. MySQL has the same limit
/// (`CRYPT_MAX_PASSWORD_SIZE`): the work of [`caching_sha2::Stored::verify`] grows with the square
/// of the length.
pub const PASSWORD_LEN_MAX: usize = 256;

/// What a connection does with what is sent over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Others may read it: passwords travel as proofs or encrypted.
    Plain,
    /// A Unix socket: clear passwords may travel, but `sha256_password` encrypts its own.
    Local,
    /// TLS: clear passwords may travel.
    Secure,
}

impl Transport {
    /// Whether no third party can read what is sent.
    pub const fn is_private(self) -> bool {
        matches!(self, Self::Local | Self::Secure)
    }
}

/// Whether two byte strings are equal, in a time that depends on their lengths only.
fn equal(a: &[u8], b: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(a, b).is_ok()
}

//! Proofs of the login methods, for both sides.
//!
//! [`native`] and [`caching_sha2`] are the arithmetic of the two methods; [`Credential`] is what the proxy
//! knows about a user who logs in, [`Secret`] what it can log in to servers with; [`as_server`] and
//! [`as_client`] are the conversations, without input or output: messages in, steps out. Random numbers come
//! in as arguments, and RSA is a step that the caller takes, because it is too slow for a thread that serves
//! others.
//!
//! Proofs are compared in constant time, and nothing here prints a secret.

pub mod as_client;
pub mod as_server;
pub mod caching_sha2;
pub mod clear;
mod credential;
mod digest;
mod method;
pub mod native;
mod secret;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use credential::{Credential, CredentialError};
pub use secret::Secret;

/// Bytes of the random number that a server sends for a login.
pub const NONCE_LEN: usize = 20;

/// The longest password that clients may show, in bytes. MySQL has the same limit
/// (`CRYPT_MAX_PASSWORD_SIZE`): the work of [`caching_sha2::Stored::verify`] grows with the square of the
/// length.
pub const PASSWORD_LEN_MAX: usize = 256;

/// What a connection does with what is sent over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Others may read it: passwords travel as proofs or encrypted.
    Plain,
    /// TLS or a Unix socket: clear passwords may travel.
    Secure,
}

/// Whether two byte strings are equal, in a time that depends on their lengths only.
fn equal(a: &[u8], b: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(a, b).is_ok()
}

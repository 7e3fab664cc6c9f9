//! `sha256_password`: every login shows the password to the server.
//!
//! Over TLS it travels as it is, with a zero byte. On any other connection (Unix sockets included,
//! unlike with [`caching_sha2`](super::caching_sha2)) the client asks for the server's public key,
//! and encrypts the password [masked](super::caching_sha2::mask) with the nonce. Source:
//! `sha256_password_authenticate` in MySQL's `sql_authentication.cc`, and
//! `sha256_password_auth_client`.

/// The method's name.
pub const NAME: &str = "sha256_password";

/// What the client says when it needs the server's public key.
pub(super) const KEY_REQUEST: u8 = 1;

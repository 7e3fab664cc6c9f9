//! What a client's login asks its caller to do.

use std::fmt;

use crate::auth::{Secret, caching_sha2};
use crate::packet::AuthMore;
use crate::{Capabilities, Codec as _};

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStep {
    /// Send this payload; give the client's next message to
    /// [`ServerLogin::message`](super::ServerLogin::message).
    Send(Vec<u8>),
    /// Send [`AuthMore`] with the public key as PEM; then the same.
    SendPublicKey,
    /// Decrypt this with the private key (RSA-OAEP with SHA-1), and give the result to
    /// [`ServerLogin::decrypted`](super::ServerLogin::decrypted).
    Decrypt(Vec<u8>),
    /// The client is who it says.
    Accept(Accepted),
    /// It is not: send error 1045.
    Refuse,
    /// The same, because it has shown its password, right or wrong, to all that can read the
    /// connection.
    RefuseUnprotected,
}

/// What a successful login brought.
#[derive(Clone, PartialEq, Eq)]
pub struct Accepted {
    /// What the proof says about the password, for logins to servers. After a proof made with a
    /// hash this is less than after the full exchange before it: keep that one's.
    pub secret: Secret,
    /// A payload to send before the OK packet.
    pub send_first: Option<Vec<u8>>,
    /// SHA256(SHA256(password)) of a user with a hash who has shown the password, for
    /// [`Terms`](super::Terms) of the next login.
    pub digest: Option<[u8; 32]>,
}

pub(super) const fn accept(secret: Secret) -> ServerStep {
    ServerStep::Accept(Accepted { secret, send_first: None, digest: None })
}

/// Accepts, and says that the fast exchange of `caching_sha2_password` was enough.
pub(super) fn accept_fast(secret: Secret) -> ServerStep {
    let send_first = Some(AuthMore { data: &[caching_sha2::FAST_SUCCESS] }.encode(Capabilities::empty()));
    ServerStep::Accept(Accepted { secret, send_first, digest: None })
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").field("secret", &self.secret).finish_non_exhaustive()
    }
}

//! What a login to a server asks its caller to do.

use std::borrow::Cow;
use std::fmt;

use crate::auth::Secret;

/// Bytes of the longest name of a method that errors repeat.
const NAME_LEN_MAX: usize = 64;

/// What to do next.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientStep {
    /// Send this payload, then read the next message.
    Send(Vec<u8>),
    /// Encrypt `masked` with the public key (RSA-OAEP with SHA-1), give the result to
    /// [`ClientLogin::encrypted`](super::ClientLogin::encrypted), and send what that returns.
    Encrypt {
        /// The server's public key, as PEM.
        public_key_pem: Vec<u8>,
        /// The password, masked with the nonce.
        masked: Vec<u8>,
    },
    /// Call [`ClientLogin::derive`](super::ClientLogin::derive) where milliseconds do no harm, and
    /// send what it returns.
    Derive,
    /// Nothing to send: read the next message.
    Read,
    /// This was the OK packet.
    Done,
    /// This was an ERR packet.
    Refused,
    /// The server wants something that cannot be done.
    Unsupported(Unsupported),
}

/// What a server asks for in vain; shows as its name, or as a reason that begins with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    what: Cow<'static, str>,
    /// Whether the password itself would do.
    pub wants_password: bool,
}

impl Unsupported {
    pub(super) const fn because(what: &'static str) -> Self {
        Self { what: Cow::Borrowed(what), wants_password: false }
    }

    /// A method that is not there.
    pub(super) fn method(name: &[u8]) -> Self {
        Self { what: shown(name), wants_password: false }
    }

    /// A further factor; `name` is its method, with a zero byte and data behind it.
    pub(super) fn factor(name: &[u8]) -> Self {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        Self { what: format!("a second factor, {}", shown(name)).into(), wants_password: false }
    }

    pub(super) fn for_want_of_password(method: &str, secret: &Secret) -> Self {
        let known = match secret {
            Secret::NativeStage1(_) => "the SHA-1 of the password",
            Secret::CachingSha2Stage1(_) => "the SHA-256 of the password",
            Secret::Empty => "that there is no password",
            Secret::Clear(_) => "the password",
        };
        Self { what: format!("{method}, for which only {known} is known").into(), wants_password: true }
    }
}

/// A method's name as errors may repeat it: it comes from the network.
fn shown(name: &[u8]) -> Cow<'static, str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    match str::from_utf8(name) {
        Ok(text) if !name.is_empty() && name.len() <= NAME_LEN_MAX && name.iter().all(plain) => {
            text.to_owned().into()
        }
        _ => "an unknown login method".into(),
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<Unsupported> for ClientStep {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

impl fmt::Debug for ClientStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The payload may be a password.
            Self::Send(payload) => write!(f, "Send({} bytes)", payload.len()),
            Self::Encrypt { .. } => f.write_str("Encrypt(..)"),
            Self::Derive => f.write_str("Derive"),
            Self::Read => f.write_str("Read"),
            Self::Done => f.write_str("Done"),
            Self::Refused => f.write_str("Refused"),
            Self::Unsupported(what) => f.debug_tuple("Unsupported").field(what).finish(),
        }
    }
}

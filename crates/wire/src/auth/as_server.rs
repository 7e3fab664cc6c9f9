//! A client logs in to us.
//!
//! [`begin`] judges what the login packet brought; every [`ServerStep`] says what to do next:
//!
//! ```text
//! begin ─┬─ the client's method can be checked ─────────────┬─ Accept, Refuse
//!        └─ it cannot, or there was no answer: Send(switch) ┤
//!           stored hash, password not seen yet: Send(4) ────┘
//!               Secure: the password            ─────────────── Accept, Refuse
//!               0x02: SendPublicKey, then Decrypt, decrypted() ─ Accept, Refuse
//! ```
//!
//! Sources: "Authentication Method Switch Request" and "Caching SHA-2 Authentication" in MySQL's protocol
//! documentation.

use std::{fmt, mem};

use super::method::Method;
use super::{Credential, NONCE_LEN, Secret, Transport, caching_sha2, equal, native};
use crate::packet::{AuthMore, AuthSwitch};
use crate::{Capabilities, Codec as _, WireError};

/// The longest RSA ciphertext that clients may send, in bytes: a key of 8192 bits.
pub const CIPHER_LEN_MAX: usize = 1024;

/// The server's half of a login that goes on.
pub struct ServerLogin {
    credential: Credential,
    cached: Option<[u8; 32]>,
    nonce: [u8; NONCE_LEN],
    transport: Transport,
    state: State,
}

/// What the next message of the client is.
#[derive(Debug, Clone, Copy)]
enum State {
    /// The answer of the method that the client was asked to switch to.
    Switched(Method),
    /// The client's part of a full exchange: its password, or what it needs to encrypt it.
    Full,
    /// The encrypted password.
    Cipher,
    /// None: the caller decrypts.
    Decrypting,
    /// None: the login is over.
    Over,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStep {
    /// Send this payload; give the client's next message to [`ServerLogin::message`].
    Send(Vec<u8>),
    /// Send [`AuthMore`] with the public key as PEM; then the same.
    SendPublicKey,
    /// Decrypt this with the private key (RSA-OAEP with SHA-1), and give the result to
    /// [`ServerLogin::decrypted`].
    Decrypt(Vec<u8>),
    /// The client is who it says.
    Accept(Accepted),
    /// It is not: send error 1045.
    Refuse,
}

/// What a successful login brought.
#[derive(Clone, PartialEq, Eq)]
pub struct Accepted {
    /// What the proof says about the password, for logins to servers. After a fast exchange with a stored
    /// hash this is less than after the full one before it: keep that one's.
    pub secret: Secret,
    /// A payload to send before the OK packet.
    pub send_first: Option<Vec<u8>>,
    /// SHA256(SHA256(password)), to be given to [`begin`] at the next login of a user with a stored hash.
    pub learned_digest: Option<[u8; 32]>,
}

/// Starts with a login packet, or a `COM_CHANGE_USER`.
///
/// `cached` is what an earlier login learned (only stored hashes need it); `nonce` what the greeting carried;
/// `client_plugin` is `None` if the client cannot name methods, which means `mysql_native_password`.
pub fn begin(
    credential: &Credential,
    cached: Option<[u8; 32]>,
    nonce: [u8; NONCE_LEN],
    transport: Transport,
    client_plugin: Option<&[u8]>,
    client_answer: &[u8],
) -> (ServerLogin, ServerStep) {
    let credential = credential.clone();
    let mut login = ServerLogin { credential, cached, nonce, transport, state: State::Over };
    let step = login.first(client_plugin, client_answer);
    (login, step)
}

impl ServerLogin {
    /// Judges the client's next message.
    pub fn message(&mut self, payload: &[u8]) -> Result<ServerStep, WireError> {
        match mem::replace(&mut self.state, State::Over) {
            State::Switched(method) => Ok(self.check(method, payload)),
            State::Full if payload == [caching_sha2::KEY_REQUEST] => {
                self.state = State::Cipher;
                Ok(ServerStep::SendPublicKey)
            }
            State::Full if self.transport == Transport::Secure => Ok(self.check_password(payload)),
            // A client that has the key already does not ask for it.
            State::Full | State::Cipher if payload.len() > CIPHER_LEN_MAX => {
                Err(WireError::TooLong { limit: CIPHER_LEN_MAX })
            }
            State::Full | State::Cipher => {
                self.state = State::Decrypting;
                Ok(ServerStep::Decrypt(payload.to_vec()))
            }
            State::Decrypting | State::Over => {
                Err(WireError::Unexpected { expected: "nothing", got: "a login message" })
            }
        }
    }

    /// Goes on after [`ServerStep::Decrypt`]; `plain` is `None` if the bytes cannot be decrypted. With a
    /// right-looking password this takes the milliseconds of [`caching_sha2::Stored::verify`].
    pub fn decrypted(&mut self, plain: Option<&[u8]>) -> ServerStep {
        match (mem::replace(&mut self.state, State::Over), plain) {
            (State::Decrypting, Some(masked)) => {
                self.check_password(&caching_sha2::unmask(masked, &self.nonce))
            }
            _ => ServerStep::Refuse,
        }
    }

    /// Judges the login packet.
    fn first(&mut self, plugin: Option<&[u8]>, answer: &[u8]) -> ServerStep {
        if self.credential == Credential::Empty {
            return if is_empty(answer) { accept(Secret::Empty) } else { ServerStep::Refuse };
        }
        let named = plugin.map_or(Some(Method::Native), Method::of);
        let usable = named.filter(|&method| self.can_check(method));
        match (usable, plugin) {
            (Some(method), _) if !is_empty(answer) => self.check(method, answer),
            // Who cannot name methods cannot switch.
            (_, None) => ServerStep::Refuse,
            // A client whose method is not the one in the greeting sends no answer yet.
            (usable, Some(_)) => self.switch(usable.unwrap_or_else(|| self.preferred())),
        }
    }

    fn can_check(&self, method: Method) -> bool {
        match (&self.credential, method) {
            (Credential::Empty, _) => false,
            (_, Method::Clear) => self.transport == Transport::Secure,
            (Credential::Clear(_), _) => true,
            (Credential::Native(_), method) => method == Method::Native,
            (Credential::CachingSha2(_), method) => method == Method::CachingSha2,
        }
    }

    /// The method for clients whose own cannot be checked.
    const fn preferred(&self) -> Method {
        match self.credential {
            Credential::Native(_) => Method::Native,
            // The one that clients of today have built in.
            Credential::Empty | Credential::Clear(_) | Credential::CachingSha2(_) => Method::CachingSha2,
        }
    }

    fn switch(&mut self, method: Method) -> ServerStep {
        self.state = State::Switched(method);
        let packet = AuthSwitch { plugin: method.name().as_bytes(), data: &self.nonce };
        ServerStep::Send(packet.encode(Capabilities::empty()))
    }

    /// Judges a proof of a method that [can be checked](Self::can_check).
    fn check(&mut self, method: Method, answer: &[u8]) -> ServerStep {
        if is_empty(answer) {
            return ServerStep::Refuse;
        }
        let secret = match (&self.credential, method) {
            (Credential::Clear(password), Method::Native) => {
                native::verify(answer, &self.nonce, &native::stage2(password))
                    .map(|_| Secret::Clear(password.clone()))
            }
            (Credential::Native(stage2), Method::Native) => {
                native::verify(answer, &self.nonce, stage2).map(Secret::NativeStage1)
            }
            (Credential::Clear(password), Method::CachingSha2) => {
                let right = caching_sha2::verify(answer, &self.nonce, &caching_sha2::digest(password));
                return if right { accept_fast(Secret::Clear(password.clone())) } else { ServerStep::Refuse };
            }
            (Credential::CachingSha2(_), Method::CachingSha2) => return self.check_fast(answer),
            (_, Method::Clear) => return self.check_password(answer),
            (Credential::Empty, _)
            | (Credential::Native(_), Method::CachingSha2)
            | (Credential::CachingSha2(_), Method::Native) => None,
        };
        secret.map_or(ServerStep::Refuse, accept)
    }

    /// Judges the proof of a fast exchange against what an earlier login learned; asks for the password
    /// itself if that is nothing, or another password.
    fn check_fast(&mut self, answer: &[u8]) -> ServerStep {
        let cached = self.cached.as_ref();
        if let Some(stage1) = cached.and_then(|digest| caching_sha2::learn(answer, &self.nonce, digest)) {
            return accept_fast(Secret::CachingSha2Stage1(stage1));
        }
        self.state = State::Full;
        ServerStep::Send(more(caching_sha2::FULL_EXCHANGE))
    }

    /// Judges a password and its zero byte.
    fn check_password(&self, bytes: &[u8]) -> ServerStep {
        let Some(password) = caching_sha2::shown_password(bytes) else { return ServerStep::Refuse };
        let (right, learned_digest) = match &self.credential {
            Credential::Empty => (false, None),
            Credential::Clear(expected) => (equal(password, expected), None),
            Credential::Native(stage2) => (equal(&native::stage2(password), stage2), None),
            Credential::CachingSha2(stored) => {
                (stored.verify(password), Some(caching_sha2::digest(password)))
            }
        };
        if !right {
            return ServerStep::Refuse;
        }
        let secret = Secret::Clear(password.to_vec());
        ServerStep::Accept(Accepted { secret, send_first: None, learned_digest })
    }
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ServerLogin");
        debug.field("credential", &self.credential).field("state", &self.state).finish_non_exhaustive()
    }
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").field("secret", &self.secret).finish_non_exhaustive()
    }
}

/// Whether an answer says that the client has no password: nothing, or (newer methods) one zero byte.
fn is_empty(answer: &[u8]) -> bool {
    matches!(answer, [] | [0])
}

const fn accept(secret: Secret) -> ServerStep {
    ServerStep::Accept(Accepted { secret, send_first: None, learned_digest: None })
}

fn accept_fast(secret: Secret) -> ServerStep {
    let send_first = Some(more(caching_sha2::FAST_SUCCESS));
    ServerStep::Accept(Accepted { secret, send_first, learned_digest: None })
}

fn more(data: u8) -> Vec<u8> {
    AuthMore { data: &[data] }.encode(Capabilities::empty())
}

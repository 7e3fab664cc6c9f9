//! A client logs in to us.
//!
//! [`begin`] judges what the login packet brought; every [`ServerStep`] says what to do next:
//!
//! ```text
//! begin ─┬─ the client's method can be checked ─────────────┬─ Accept, Refuse
//!        └─ it cannot, or there was no answer: Send(switch) ┤
//!           stored hash, password not seen yet: Send(4) ────┤
//!           sha256_password: the same without being asked ──┘
//!               private: the password                ────────── Accept, Refuse
//!               key request: SendPublicKey, then Decrypt, decrypted() ─ Accept, Refuse
//!               the password where others can read it ───────── RefuseUnprotected
//! ```
//!
//! Sources: "Authentication Method Switch Request" and "Caching SHA-2 Authentication" in MySQL's
//! protocol documentation.

mod check;
mod step;

use std::{fmt, mem};

pub use step::{Accepted, ServerStep};

use self::step::accept;
use super::method::Method;
use super::{Credential, LONG_NONCE_LEN, NONCE_LEN, Secret, Transport, caching_sha2};
use crate::packet::AuthSwitch;
use crate::{Capabilities, Codec as _, WireError};

/// The longest RSA ciphertext that clients may send, in bytes: a key of 8192 bits.
pub const CIPHER_LEN_MAX: usize = 1024;

/// What the proxy knows before a login, besides what the client says.
#[derive(Debug, Clone)]
pub struct Terms<'a> {
    /// What the table has.
    pub credential: &'a Credential,
    /// Another password that is as good, while passwords are being changed: clear text, or of the
    /// same kind as the first.
    pub additional: Option<&'a Credential>,
    /// SHA256(SHA256(password)), as an earlier login has brought it.
    pub digest: Option<[u8; 32]>,
    /// Whether servers want more than the credential has: a client with a `mysql_native_password`
    /// hash is then asked for the password itself, unless `digest` is there.
    pub wants_password: bool,
    /// What the greeting carried.
    pub nonce: [u8; NONCE_LEN],
    /// As many random bytes as newer methods want.
    pub long_nonce: [u8; LONG_NONCE_LEN],
    /// What the client sends over.
    pub transport: Transport,
    /// The method that the greeting has offered; `None` for `COM_CHANGE_USER`, which has none.
    pub offered: Option<&'a str>,
}

/// The server's half of a login that goes on.
pub struct ServerLogin {
    credential: Credential,
    additional: Option<Credential>,
    digest: Option<[u8; 32]>,
    wants_password: bool,
    nonce: [u8; NONCE_LEN],
    long_nonce: [u8; LONG_NONCE_LEN],
    transport: Transport,
    state: State,
}

/// What the next message of the client is.
#[derive(Debug, Clone, Copy)]
enum State {
    /// The answer of the method that the client was asked to switch to.
    Switched(Method),
    /// The client's part of a full exchange: its password, or what it needs to encrypt it.
    Full(Method),
    /// The encrypted password.
    Cipher,
    /// None: the caller decrypts.
    Decrypting,
    /// None: the login is over.
    Over,
}

/// Starts with a login packet, or a `COM_CHANGE_USER`: the method that made the answer (`None` if
/// the client cannot name methods, which means `mysql_native_password`), and the answer.
pub fn begin(
    terms: &Terms<'_>,
    client_plugin: Option<&[u8]>,
    client_answer: &[u8],
) -> (ServerLogin, ServerStep) {
    let mut login = ServerLogin {
        credential: terms.credential.clone(),
        additional: terms.additional.cloned(),
        digest: terms.digest,
        wants_password: terms.wants_password,
        nonce: terms.nonce,
        long_nonce: terms.long_nonce,
        transport: terms.transport,
        state: State::Over,
    };
    let step = if terms.credential == &Credential::Empty {
        login.first_without_password(terms.offered, client_plugin, client_answer)
    } else {
        login.first(client_plugin, client_answer)
    };
    (login, step)
}

impl ServerLogin {
    /// Judges the client's next message.
    pub fn message(&mut self, payload: &[u8]) -> Result<ServerStep, WireError> {
        match mem::replace(&mut self.state, State::Over) {
            State::Switched(_) | State::Full(_) if self.credential == Credential::Empty => {
                Ok(if is_empty(payload) { accept(Secret::Empty) } else { ServerStep::Refuse })
            }
            State::Switched(method) => self.check(method, payload),
            State::Full(method) => self.full_exchange(method, payload),
            State::Cipher => self.cipher(payload),
            State::Decrypting | State::Over => {
                Err(WireError::Unexpected { expected: "nothing", got: "a login message" })
            }
        }
    }

    /// Goes on after [`ServerStep::Decrypt`]; `plain` is `None` if the bytes cannot be decrypted.
    /// With a right-looking password this takes the milliseconds of
    /// [`caching_sha2::Stored::verify`].
    pub fn decrypted(&mut self, plain: Option<&[u8]>) -> ServerStep {
        match (mem::replace(&mut self.state, State::Over), plain) {
            (State::Decrypting, Some(masked)) => {
                self.check_password(&caching_sha2::unmask(masked, &self.nonce))
            }
            _ => ServerStep::Refuse,
        }
    }

    /// Judges the login packet of a user without a password.
    fn first_without_password(
        &mut self,
        offered: Option<&str>,
        plugin: Option<&[u8]>,
        answer: &[u8],
    ) -> ServerStep {
        // A client whose method is not the one in the greeting waits for that method's first data,
        // and would take an OK for them. To a change of the user these two answer at once.
        let has_answered = match (plugin, offered) {
            // The zero byte is an answer of the method; clients that wait send nothing at all.
            _ if answer == [0] => true,
            (None, _) => true,
            (Some(plugin), Some(offered)) => plugin == offered.as_bytes(),
            (Some(plugin), None) => matches!(Method::of(plugin), Some(Method::Native | Method::CachingSha2)),
        };
        match (is_empty(answer), has_answered) {
            (true, true) => accept(Secret::Empty),
            (true, false) => self.switch(Method::Native),
            // The proof of an empty password, which some clients compute: as MySQL does, they are
            // asked to show it.
            (false, _) if plugin == Some(caching_sha2::NAME.as_bytes()) && self.transport.is_private() => {
                self.ask_for_password()
            }
            (false, _) => ServerStep::Refuse,
        }
    }

    /// Judges the login packet of all other users.
    fn first(&mut self, plugin: Option<&[u8]>, answer: &[u8]) -> ServerStep {
        let named = plugin.map_or(Some(Method::Native), Method::of);
        // Who cannot name methods cannot switch.
        if plugin.is_none() {
            let native = matches!(self.credential, Credential::Clear(_) | Credential::Native(_));
            return if native { self.check_native(answer) } else { ServerStep::Refuse };
        }
        // A password that was shown once need not be shown again by who proves to know it.
        if self.asks_for_password() && self.digest.is_some() && named == Some(Method::Native) {
            let step = self.check_native(answer);
            if step != ServerStep::Refuse {
                return step;
            }
        }
        match named.filter(|&method| self.can_check(method)) {
            // Signs another nonce than that of the greeting. A client whose method is not the one
            // in the greeting sends no answer yet.
            Some(method) if method == Method::Ed25519 || is_empty(answer) => self.switch(method),
            Some(method) => self.check(method, answer).unwrap_or(ServerStep::Refuse),
            None => self.switch(self.preferred()),
        }
    }

    /// All that the client may prove to know.
    fn credentials(&self) -> impl Iterator<Item = &Credential> {
        std::iter::once(&self.credential).chain(&self.additional)
    }

    /// Whether the hash of the table is not enough, and the client must show the password.
    const fn asks_for_password(&self) -> bool {
        self.wants_password && matches!(self.credential, Credential::Native(_))
    }

    /// Whether a client that names `method` can be checked by it.
    const fn can_check(&self, method: Method) -> bool {
        match (&self.credential, method) {
            (_, Method::Clear) => self.transport.is_private(),
            (Credential::Empty, _)
            | (_, Method::Parsec | Method::Old)
            | (Credential::CachingSha2(_), Method::Native | Method::Ed25519)
            | (Credential::Native(_), Method::Ed25519) => false,
            (Credential::Clear(_), _)
            | (Credential::CachingSha2(_), Method::CachingSha2 | Method::Sha256) => true,
            (Credential::Native(_), Method::Native) => !self.wants_password,
            // Both show the password; as long as the hash is enough, its own method costs fewer
            // messages.
            (Credential::Native(_), Method::CachingSha2 | Method::Sha256) => self.wants_password,
        }
    }

    /// The method for clients whose own cannot be checked.
    const fn preferred(&self) -> Method {
        match self.credential {
            Credential::Native(_) if !self.wants_password => Method::Native,
            // The one that clients of today have built in.
            _ => Method::CachingSha2,
        }
    }

    fn switch(&mut self, method: Method) -> ServerStep {
        self.state = State::Switched(method);
        let mut data = Vec::with_capacity(LONG_NONCE_LEN);
        match method {
            // Clients refuse anything but the nonce.
            Method::Ed25519 | Method::Parsec => data.extend_from_slice(&self.long_nonce),
            Method::Native | Method::CachingSha2 | Method::Sha256 | Method::Clear | Method::Old => {
                data.extend_from_slice(&self.nonce);
                data.push(0);
            }
        }
        let packet = AuthSwitch { plugin: method.name().as_bytes(), data: &data };
        ServerStep::Send(packet.encode(Capabilities::empty()))
    }
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ServerLogin");
        debug.field("credential", &self.credential).field("state", &self.state).finish_non_exhaustive()
    }
}

/// Whether an answer says that the client has no password: nothing, or (newer methods) one zero
/// byte.
const fn is_empty(answer: &[u8]) -> bool {
    matches!(answer, [] | [0])
}

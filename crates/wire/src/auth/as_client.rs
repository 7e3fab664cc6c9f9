//! We log in to a server.
//!
//! [`first_method`] says which method to name, [`begin`] gives the answer for the login packet;
//! then every message of the server goes to [`ClientLogin::message`] until it says
//! [`Done`](ClientStep::Done) or [`Refused`](ClientStep::Refused).
//!
//! Sources: "Connection Phase" and "Caching SHA-2 Authentication" in MySQL's protocol
//! documentation, "Connection" in MariaDB's, and what each method's module names.

mod answer;
mod step;

use std::{fmt, mem};

pub use step::{ClientStep, Unsupported};

use self::answer::Answer;
use super::method::Method;
use super::{LONG_NONCE_LEN, NONCE_LEN, Secret, Transport, caching_sha2, clear, old, parsec};
use crate::packet::{AuthMore, AuthSwitch};
use crate::{Capabilities, Codec as _, WireError};

/// How often a server may ask for another method. MariaDB tries all methods of an account in turn.
const SWITCHES_MAX: u8 = 8;

/// The first byte of the packet that asks for a further factor (`Protocol::AuthNextFactorRequest`).
const NEXT_FACTOR: u8 = 0x02;

/// The client's half of a login that goes on.
pub struct ClientLogin {
    secret: Secret,
    /// What the server wants to see proven: of the greeting, or of the last switch. Never empty.
    nonce: Vec<u8>,
    /// Our own random bytes, for the methods that want some.
    client_nonce: [u8; LONG_NONCE_LEN],
    transport: Transport,
    method: Option<Method>,
    switches: u8,
    state: State,
}

/// What the next message of the server may be, besides OK, ERR, another method and another factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// What `caching_sha2_password` says about our answer.
    Answered,
    /// The server's public key.
    Key,
    /// What `parsec` makes a key with.
    ExtSalt,
    /// None: the caller encrypts.
    Encrypting,
    /// None: the caller lets us compute.
    Deriving(parsec::ExtSalt),
    /// Nothing else.
    End,
    /// None at all: the login is over.
    Over,
}

/// The method to name in the login packet: the one that the greeting offers, if it can be done with
/// this secret and the nonce of a greeting; else one that can, so that the server need not ask for
/// it.
pub fn first_method<'a>(secret: &Secret, offered: &'a [u8], transport: Transport) -> &'a [u8] {
    let usable = |method: &Method| answer::make(*method, secret, &[0; NONCE_LEN], transport).is_ok();
    match (Method::of(offered).filter(usable), secret) {
        (Some(_), _) => offered,
        (None, Secret::CachingSha2Stage1(_)) => Method::CachingSha2.name().as_bytes(),
        (None, _) => Method::Native.name().as_bytes(),
    }
}

/// Starts with what a greeting said: returns the answer for the login packet. It is empty if the
/// method is unknown or cannot be done with the secret; the server then asks for another method, or
/// refuses.
///
/// `client_nonce` are random bytes, which are sent in the clear with some methods.
pub fn begin(
    secret: &Secret,
    plugin: &[u8],
    nonce: [u8; NONCE_LEN],
    transport: Transport,
    client_nonce: [u8; LONG_NONCE_LEN],
) -> (ClientLogin, Vec<u8>) {
    let method = Method::of(plugin);
    let made = method.map(|method| answer::make(method, secret, &nonce, transport));
    let (state, payload) = match made {
        Some(Ok(Answer { payload, then })) => (then, payload),
        Some(Err(_)) | None => (State::End, Vec::new()),
    };
    let (secret, nonce) = (secret.clone(), nonce.to_vec());
    (ClientLogin { secret, nonce, client_nonce, transport, method, switches: 0, state }, payload)
}

impl ClientLogin {
    /// Judges the server's next message. The payload of an OK or ERR packet stays with the caller.
    pub fn message(&mut self, payload: &[u8], caps: Capabilities) -> Result<ClientStep, WireError> {
        let state = mem::replace(&mut self.state, State::Over);
        if matches!(state, State::Encrypting | State::Deriving(_) | State::Over) {
            return Err(WireError::Unexpected { expected: "nothing", got: "a login message" });
        }
        match payload {
            [] => Err(WireError::Truncated { field: "login message", needed: 1, left: 0 }),
            [0x00, ..] => Ok(ClientStep::Done),
            [0xff, ..] => Ok(ClientStep::Refused),
            // `Protocol::OldAuthSwitchRequest`: the method of MySQL 4.0, with the nonce that there
            // is.
            [AuthSwitch::HEADER] => self.switch(old::NAME.as_bytes(), None),
            [AuthSwitch::HEADER, ..] => {
                let packet = AuthSwitch::decode(payload, caps)?;
                self.switch(packet.plugin, Some(packet.data))
            }
            [AuthMore::HEADER, ..] => self.more(state, AuthMore::decode(payload, caps)?.data),
            [NEXT_FACTOR, name @ ..] => Ok(Unsupported::factor(name).into()),
            // MariaDB sends the data of methods without a header where it cannot be taken for
            // another packet.
            [parsec::ALGORITHM, ..] if state == State::ExtSalt => self.more(state, payload),
            _ => Err(WireError::Unexpected { expected: "a login packet", got: "another packet" }),
        }
    }

    /// Goes on after [`ClientStep::Encrypt`]: returns the payload to send.
    pub fn encrypted(&mut self, cipher: Vec<u8>) -> Vec<u8> {
        debug_assert_eq!(self.state, State::Encrypting, "nothing was to be encrypted");
        self.state = State::End;
        cipher
    }

    /// Goes on after [`ClientStep::Derive`]: returns the payload to send. Takes up to some
    /// milliseconds.
    pub fn derive(&mut self) -> Vec<u8> {
        let State::Deriving(salt) = mem::replace(&mut self.state, State::End) else {
            debug_assert!(false, "nothing was to be derived");
            return Vec::new();
        };
        let password = match &self.secret {
            Secret::Clear(password) => password.as_slice(),
            Secret::Empty | Secret::NativeStage1(_) | Secret::CachingSha2Stage1(_) => &[],
        };
        // The switch has checked its length.
        let nonce = self.nonce.first_chunk().copied().unwrap_or_default();
        parsec::answer(password, &salt, &nonce, &self.client_nonce)
    }

    /// The server asks for another method, with its first data or without.
    fn switch(&mut self, plugin: &[u8], data: Option<&[u8]>) -> Result<ClientStep, WireError> {
        self.switches += 1;
        if self.switches > SWITCHES_MAX {
            return Err(WireError::Unexpected { expected: "OK or ERR", got: "too many method switches" });
        }
        let Some(method) = Method::of(plugin) else {
            return Ok(Unsupported::method(plugin).into());
        };
        if let Some(data) = data
            && let Some(nonce) = nonce(method, data)?
        {
            self.nonce = nonce.to_vec();
        }
        self.method = Some(method);
        Ok(match answer::make(method, &self.secret, &self.nonce, self.transport) {
            Ok(Answer { payload, then }) => {
                self.state = then;
                ClientStep::Send(payload)
            }
            Err(unsupported) => unsupported.into(),
        })
    }

    /// The server's half of the method says something.
    fn more(&mut self, state: State, data: &[u8]) -> Result<ClientStep, WireError> {
        match (state, data) {
            (State::Answered, [caching_sha2::FAST_SUCCESS]) => {
                self.state = State::End;
                Ok(ClientStep::Read)
            }
            (State::Answered, [caching_sha2::FULL_EXCHANGE]) => Ok(self.full_exchange()),
            (State::Key, []) => Err(WireError::Truncated { field: "public key", needed: 1, left: 0 }),
            (State::Key, pem) => {
                let Secret::Clear(password) = &self.secret else {
                    return Err(WireError::Unexpected { expected: "OK or ERR", got: "a public key" });
                };
                self.state = State::Encrypting;
                let masked = caching_sha2::mask(password, &self.nonce);
                Ok(ClientStep::Encrypt { public_key_pem: pem.to_vec(), masked })
            }
            (State::ExtSalt, salt) => {
                let salt = parsec::ExtSalt::parse(salt)
                    .ok_or(WireError::Unexpected { expected: "a salt of parsec", got: "something else" })?;
                self.state = State::Deriving(salt);
                Ok(ClientStep::Derive)
            }
            _ => Err(WireError::Unexpected { expected: "OK or ERR", got: "more login data" }),
        }
    }

    fn full_exchange(&mut self) -> ClientStep {
        match &self.secret {
            Secret::Clear(password) if self.transport.is_private() => {
                self.state = State::End;
                ClientStep::Send(clear::answer(password))
            }
            Secret::Clear(_) => {
                self.state = State::Key;
                ClientStep::Send(vec![caching_sha2::KEY_REQUEST])
            }
            secret => {
                Unsupported::for_want_of_password("the full exchange of caching_sha2_password", secret).into()
            }
        }
    }
}

/// The nonce in the data of a switch to `method`; `None` if the method has no use for one.
fn nonce(method: Method, data: &[u8]) -> Result<Option<&[u8]>, WireError> {
    let nonce = match method {
        Method::Clear => return Ok(None),
        // Random bytes, the last of which may be zero.
        Method::Ed25519 | Method::Parsec if data.len() == LONG_NONCE_LEN => data,
        Method::Ed25519 | Method::Parsec => &[],
        // Usually 20 bytes and a zero byte; the proofs are defined for any number.
        Method::Native | Method::CachingSha2 | Method::Sha256 | Method::Old => {
            data.strip_suffix(&[0]).unwrap_or(data)
        }
    };
    if nonce.is_empty() {
        return Err(WireError::Invalid { field: "nonce length", value: data.len() as u64 });
    }
    Ok(Some(nonce))
}

impl fmt::Debug for ClientLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ClientLogin");
        debug.field("secret", &self.secret).field("method", &self.method).field("state", &self.state);
        debug.finish_non_exhaustive()
    }
}

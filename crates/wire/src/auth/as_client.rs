//! We log in to a server.
//!
//! [`begin`] gives the answer for the login packet; then every message of the server goes to
//! [`ClientLogin::message`] until it says [`Done`](ClientStep::Done) or [`Refused`](ClientStep::Refused).
//!
//! Sources: "Connection Phase" and "Caching SHA-2 Authentication" in MySQL's protocol documentation.

use std::{fmt, mem};

use super::method::Method;
use super::{NONCE_LEN, Secret, Transport, caching_sha2, clear, native};
use crate::packet::{AuthMore, AuthSwitch};
use crate::{Capabilities, Codec as _, WireError};

/// How often a server may ask for another method. MariaDB tries all methods of an account in turn.
const SWITCHES_MAX: u8 = 8;

/// The client's half of a login that goes on.
pub struct ClientLogin {
    secret: Secret,
    nonce: [u8; NONCE_LEN],
    transport: Transport,
    method: Option<Method>,
    switches: u8,
    state: State,
}

/// What the next message of the server may be, besides OK, ERR and another method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// What the method says about our answer.
    Answered,
    /// The server's public key.
    Key,
    /// None: the caller encrypts.
    Encrypting,
    /// Nothing else.
    End,
    /// None at all: the login is over.
    Over,
}

/// What to do next.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientStep {
    /// Send this payload, then read the next message.
    Send(Vec<u8>),
    /// Encrypt `masked` with the public key (RSA-OAEP with SHA-1), give the result to
    /// [`ClientLogin::encrypted`], and send what that returns.
    Encrypt {
        /// The server's public key, as PEM.
        public_key_pem: Vec<u8>,
        /// The password, masked with the nonce.
        masked: Vec<u8>,
    },
    /// Nothing to send: read the next message.
    Read,
    /// This was the OK packet.
    Done,
    /// This was an ERR packet.
    Refused,
    /// The server wants something that cannot be done, for this reason.
    Unsupported(&'static str),
}

/// Starts with what a greeting said: returns the answer for the login packet. It is empty if the method is
/// unknown or cannot be done with the secret; the server then asks for another method, or refuses.
pub fn begin(
    secret: &Secret,
    plugin: &[u8],
    nonce: [u8; NONCE_LEN],
    transport: Transport,
) -> (ClientLogin, Vec<u8>) {
    let (secret, method) = (secret.clone(), Method::of(plugin));
    let login = ClientLogin { secret, nonce, transport, method, switches: 0, state: State::Answered };
    let answer = method.and_then(|method| login.answer(method).ok()).unwrap_or_default();
    (login, answer)
}

impl ClientLogin {
    /// Judges the server's next message. The payload of an OK or ERR packet stays with the caller.
    pub fn message(&mut self, payload: &[u8], caps: Capabilities) -> Result<ClientStep, WireError> {
        let state = mem::replace(&mut self.state, State::Over);
        if matches!(state, State::Encrypting | State::Over) {
            return Err(WireError::Unexpected { expected: "nothing", got: "a login message" });
        }
        match payload {
            [] => Err(WireError::Truncated { field: "login message", needed: 1, left: 0 }),
            [0x00, ..] => Ok(ClientStep::Done),
            [0xff, ..] => Ok(ClientStep::Refused),
            [AuthSwitch::HEADER] => Ok(ClientStep::Unsupported("mysql_old_password")),
            [AuthSwitch::HEADER, ..] => self.switch(AuthSwitch::decode(payload, caps)?),
            [AuthMore::HEADER, ..] => self.more(state, AuthMore::decode(payload, caps)?.data),
            [0x02, ..] => Ok(ClientStep::Unsupported("a second factor")),
            _ => Err(WireError::Unexpected { expected: "a login packet", got: "another packet" }),
        }
    }

    /// Goes on after [`ClientStep::Encrypt`]: returns the payload to send.
    pub fn encrypted(&mut self, cipher: Vec<u8>) -> Vec<u8> {
        debug_assert_eq!(self.state, State::Encrypting, "nothing was to be encrypted");
        self.state = State::End;
        cipher
    }

    /// The proof of a method, or why there is none.
    fn answer(&self, method: Method) -> Result<Vec<u8>, &'static str> {
        match (method, &self.secret) {
            (Method::Native, Secret::Empty) => Ok(Vec::new()),
            (Method::Native, Secret::Clear(password)) => Ok(native::answer(password, &self.nonce)),
            (Method::Native, Secret::NativeStage1(stage1)) => {
                Ok(native::answer_from_stage1(stage1, &self.nonce).to_vec())
            }
            (Method::Native, Secret::CachingSha2Stage1(_)) => {
                Err("mysql_native_password, for which only the SHA-256 of the password is known")
            }
            (Method::CachingSha2, Secret::Empty) => Ok(vec![0]),
            (Method::CachingSha2, Secret::Clear(password)) => Ok(caching_sha2::answer(password, &self.nonce)),
            (Method::CachingSha2, Secret::CachingSha2Stage1(stage1)) => {
                Ok(caching_sha2::answer_from_stage1(stage1, &self.nonce).to_vec())
            }
            (Method::CachingSha2, Secret::NativeStage1(_)) => {
                Err("caching_sha2_password, for which only the SHA-1 of the password is known")
            }
            (Method::Clear, _) if self.transport == Transport::Plain => {
                Err("mysql_clear_password over a connection that others can read")
            }
            (Method::Clear, Secret::Empty) => Ok(clear::answer(b"")),
            (Method::Clear, Secret::Clear(password)) => Ok(clear::answer(password)),
            (Method::Clear, Secret::NativeStage1(_) | Secret::CachingSha2Stage1(_)) => {
                Err("mysql_clear_password, for which only a hash of the password is known")
            }
        }
    }

    /// The server asks for another method.
    fn switch(&mut self, packet: AuthSwitch<'_>) -> Result<ClientStep, WireError> {
        self.switches += 1;
        if self.switches > SWITCHES_MAX {
            return Err(WireError::Unexpected { expected: "OK or ERR", got: "too many method switches" });
        }
        let Some(method) = Method::of(packet.plugin) else {
            return Ok(ClientStep::Unsupported(unknown(packet.plugin)));
        };
        if method != Method::Clear {
            let len = packet.data.len() as u64;
            self.nonce = packet
                .data
                .try_into()
                .map_err(|_| WireError::Invalid { field: "nonce length", value: len })?;
        }
        self.method = Some(method);
        Ok(match self.answer(method) {
            Ok(answer) => {
                self.state = State::Answered;
                ClientStep::Send(answer)
            }
            Err(why) => ClientStep::Unsupported(why),
        })
    }

    /// The server's half of the method says something.
    fn more(&mut self, state: State, data: &[u8]) -> Result<ClientStep, WireError> {
        match (self.method, state, data) {
            (Some(Method::CachingSha2), State::Answered, [caching_sha2::FAST_SUCCESS]) => {
                self.state = State::End;
                Ok(ClientStep::Read)
            }
            (Some(Method::CachingSha2), State::Answered, [caching_sha2::FULL_EXCHANGE]) => {
                Ok(self.full_exchange())
            }
            (_, State::Key, pem) => {
                let Secret::Clear(password) = &self.secret else {
                    return Err(WireError::Unexpected { expected: "OK or ERR", got: "a public key" });
                };
                self.state = State::Encrypting;
                let masked = caching_sha2::mask(password, &self.nonce);
                Ok(ClientStep::Encrypt { public_key_pem: pem.to_vec(), masked })
            }
            _ => Err(WireError::Unexpected { expected: "OK or ERR", got: "more login data" }),
        }
    }

    fn full_exchange(&mut self) -> ClientStep {
        match (&self.secret, self.transport) {
            (Secret::Clear(password), Transport::Secure) => {
                self.state = State::End;
                ClientStep::Send(clear::answer(password))
            }
            (Secret::Clear(_), Transport::Plain) => {
                self.state = State::Key;
                ClientStep::Send(vec![caching_sha2::KEY_REQUEST])
            }
            _ => ClientStep::Unsupported(
                "the full exchange of caching_sha2_password, for which only a hash of the password is known",
            ),
        }
    }
}

impl fmt::Debug for ClientLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ClientLogin");
        debug.field("secret", &self.secret).field("method", &self.method).field("state", &self.state);
        debug.finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The payload may be a password.
            Self::Send(payload) => write!(f, "Send({} bytes)", payload.len()),
            Self::Encrypt { .. } => f.write_str("Encrypt(..)"),
            Self::Read => f.write_str("Read"),
            Self::Done => f.write_str("Done"),
            Self::Refused => f.write_str("Refused"),
            Self::Unsupported(why) => f.debug_tuple("Unsupported").field(why).finish(),
        }
    }
}

/// A method that cannot be done, by the name that errors can show.
fn unknown(plugin: &[u8]) -> &'static str {
    const KNOWN: [&str; 9] = [
        "client_ed25519",
        "parsec",
        "sha256_password",
        "dialog",
        "auth_gssapi_client",
        "authentication_ldap_sasl_client",
        "authentication_kerberos_client",
        "authentication_openid_connect_client",
        "authentication_webauthn_client",
    ];
    KNOWN.into_iter().find(|name| name.as_bytes() == plugin).unwrap_or("an unknown login method")
}

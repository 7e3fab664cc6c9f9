//! Whether a client's answer is right, method by method.

use super::step::{accept, accept_fast};
use super::{Accepted, CIPHER_LEN_MAX, ServerLogin, ServerStep, State, is_empty};
use crate::auth::method::Method;
use crate::auth::{Credential, Secret, Transport, caching_sha2, ed25519, equal, native, sha256_password};
use crate::packet::AuthMore;
use crate::{Capabilities, Codec as _, WireError};

/// The shortest RSA ciphertext, in bytes: a key of 1024 bits. What is shorter and ends with a zero
/// byte is a password that was not encrypted.
const CIPHER_LEN_MIN: usize = 128;

impl ServerLogin {
    /// Judges an answer of a method that [can be checked](Self::can_check).
    pub(super) fn check(&mut self, method: Method, answer: &[u8]) -> Result<ServerStep, WireError> {
        if is_empty(answer) {
            return Ok(ServerStep::Refuse);
        }
        match method {
            Method::Native => Ok(self.check_native(answer)),
            Method::CachingSha2 => Ok(self.check_fast(answer)),
            Method::Sha256 => self.full_exchange(method, answer),
            Method::Clear => Ok(self.check_password(answer)),
            Method::Ed25519 => Ok(self.check_signature(answer)),
            Method::Parsec | Method::Old => Ok(ServerStep::Refuse),
        }
    }

    /// Judges a proof of `mysql_native_password`.
    pub(super) fn check_native(&self, answer: &[u8]) -> ServerStep {
        let secret = |credential: &Credential| match credential {
            Credential::Clear(password) => native::verify(answer, &self.nonce, &native::stage2(password))
                .map(|_| Secret::Clear(password.clone())),
            Credential::Native(stage2) => {
                native::verify(answer, &self.nonce, stage2).map(Secret::NativeStage1)
            }
            Credential::Empty | Credential::CachingSha2(_) => None,
        };
        self.credentials().find_map(secret).map_or(ServerStep::Refuse, accept)
    }

    /// Judges the proof of a fast exchange against the password, or against what an earlier login
    /// has brought; asks for the password itself if that is nothing, or another password.
    fn check_fast(&mut self, answer: &[u8]) -> ServerStep {
        let is_right =
            |password: &&[u8]| caching_sha2::verify(answer, &self.nonce, &caching_sha2::digest(password));
        if let Some(password) = self.passwords().find(is_right) {
            return accept_fast(Secret::Clear(password.to_vec()));
        }
        if self.passwords().count() == self.credentials().count() {
            return ServerStep::Refuse;
        }
        let known = self.digest.as_ref();
        if let Some(stage1) = known.and_then(|digest| caching_sha2::learn(answer, &self.nonce, digest)) {
            return accept_fast(Secret::CachingSha2Stage1(stage1));
        }
        self.ask_for_password()
    }

    /// The full exchange of `caching_sha2_password`.
    pub(super) fn ask_for_password(&mut self) -> ServerStep {
        self.state = State::Full(Method::CachingSha2);
        ServerStep::Send(AuthMore { data: &[caching_sha2::FULL_EXCHANGE] }.encode(Capabilities::empty()))
    }

    /// Judges a signature of `client_ed25519`.
    fn check_signature(&self, answer: &[u8]) -> ServerStep {
        let is_right = |password: &&[u8]| ed25519::verify(answer, &self.long_nonce, password);
        self.passwords()
            .find(is_right)
            .map_or(ServerStep::Refuse, |password| accept(Secret::Clear(password.to_vec())))
    }

    /// The passwords that are known as such.
    fn passwords(&self) -> impl Iterator<Item = &[u8]> {
        self.credentials().filter_map(|credential| match credential {
            Credential::Clear(password) => Some(password.as_slice()),
            Credential::Empty | Credential::Native(_) | Credential::CachingSha2(_) => None,
        })
    }

    /// The client shows its password, or asks for the key to encrypt it with.
    pub(super) fn full_exchange(&mut self, method: Method, payload: &[u8]) -> Result<ServerStep, WireError> {
        let key_request =
            if method == Method::Sha256 { sha256_password::KEY_REQUEST } else { caching_sha2::KEY_REQUEST };
        if payload == [key_request] {
            self.state = State::Cipher;
            return Ok(ServerStep::SendPublicKey);
        }
        if self.transport.is_private() {
            return Ok(self.check_password(payload));
        }
        // A client that has the key already does not ask for it.
        self.cipher(payload)
    }

    /// The encrypted password.
    pub(super) fn cipher(&mut self, payload: &[u8]) -> Result<ServerStep, WireError> {
        match payload {
            _ if payload.len() > CIPHER_LEN_MAX => Err(WireError::TooLong { limit: CIPHER_LEN_MAX }),
            [_, .., 0] if self.transport == Transport::Plain && payload.len() < CIPHER_LEN_MIN => {
                Ok(ServerStep::RefuseUnprotected)
            }
            _ => {
                self.state = State::Decrypting;
                Ok(ServerStep::Decrypt(payload.to_vec()))
            }
        }
    }

    /// Judges a password and its zero byte.
    pub(super) fn check_password(&self, bytes: &[u8]) -> ServerStep {
        let Some(password) = caching_sha2::shown_password(bytes) else { return ServerStep::Refuse };
        let digest = caching_sha2::digest(password);
        let is_right = |credential: &&Credential| match credential {
            Credential::Empty => false,
            Credential::Clear(expected) => equal(password, expected),
            Credential::Native(stage2) => equal(&native::stage2(password), stage2),
            // The comparison with what an earlier login has brought saves thousands of rounds.
            Credential::CachingSha2(stored) => {
                self.digest.is_some_and(|known| equal(&known, &digest)) || stored.verify(password)
            }
        };
        let Some(credential) = self.credentials().find(is_right) else { return ServerStep::Refuse };
        let hashed = matches!(credential, Credential::Native(_) | Credential::CachingSha2(_));
        let secret = Secret::Clear(password.to_vec());
        ServerStep::Accept(Accepted { secret, send_first: None, digest: hashed.then_some(digest) })
    }
}

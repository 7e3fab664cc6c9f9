//! A method's first answer, made of what is known about the password.

use super::{State, Unsupported};
use crate::auth::method::Method;
use crate::auth::{
    LONG_NONCE_LEN, Secret, Transport, caching_sha2, clear, ed25519, native, old, sha256_password,
};

/// What to answer, and what the server may say then.
pub(super) struct Answer {
    pub(super) payload: Vec<u8>,
    pub(super) then: State,
}

/// The first answer of a method, or why there is none.
pub(super) fn make(
    method: Method,
    secret: &Secret,
    nonce: &[u8],
    transport: Transport,
) -> Result<Answer, Unsupported> {
    match method {
        Method::Native => native(secret, nonce),
        Method::CachingSha2 => caching_sha2(secret, nonce),
        Method::Sha256 => sha256(secret, transport),
        Method::Clear => clear(secret, transport),
        Method::Ed25519 => {
            let password = password(secret, method)?;
            let nonce = nonce.try_into().map_err(|_| Unsupported::method(method.name().as_bytes()))?;
            Ok(last(ed25519::answer(password, nonce).to_vec()))
        }
        Method::Parsec if nonce.len() == LONG_NONCE_LEN => {
            // Nothing asks for the salt.
            password(secret, method).map(|_| Answer { payload: Vec::new(), then: State::ExtSalt })
        }
        Method::Parsec => Err(Unsupported::method(method.name().as_bytes())),
        Method::Old => old(secret, nonce, transport),
    }
}

fn native(secret: &Secret, nonce: &[u8]) -> Result<Answer, Unsupported> {
    match secret {
        Secret::NativeStage1(stage1) => Ok(last(native::answer_from_stage1(stage1, nonce).to_vec())),
        secret => Ok(last(native::answer(password(secret, Method::Native)?, nonce))),
    }
}

fn caching_sha2(secret: &Secret, nonce: &[u8]) -> Result<Answer, Unsupported> {
    let payload = match secret {
        // A server sees a difference between no password and one that is not sent yet.
        Secret::Empty => vec![0],
        Secret::CachingSha2Stage1(stage1) => caching_sha2::answer_from_stage1(stage1, nonce).to_vec(),
        secret => caching_sha2::answer(password(secret, Method::CachingSha2)?, nonce),
    };
    Ok(Answer { payload, then: State::Answered })
}

fn sha256(secret: &Secret, transport: Transport) -> Result<Answer, Unsupported> {
    let password = password(secret, Method::Sha256)?;
    if password.is_empty() || transport == Transport::Secure {
        return Ok(last(clear::answer(password)));
    }
    Ok(Answer { payload: vec![sha256_password::KEY_REQUEST], then: State::Key })
}

fn clear(secret: &Secret, transport: Transport) -> Result<Answer, Unsupported> {
    if !transport.is_private() {
        return Err(Unsupported::because("mysql_clear_password over a connection that others can read"));
    }
    Ok(last(clear::answer(password(secret, Method::Clear)?)))
}

fn old(secret: &Secret, nonce: &[u8], transport: Transport) -> Result<Answer, Unsupported> {
    if !transport.is_private() {
        return Err(Unsupported::because("mysql_old_password over a connection that others can read"));
    }
    let password = password(secret, Method::Old)?;
    let nonce = nonce.first_chunk().ok_or(Unsupported::because("mysql_old_password with a short nonce"))?;
    Ok(last(old::answer(password, nonce)))
}

/// The password, if that is what is known.
fn password(secret: &Secret, method: Method) -> Result<&[u8], Unsupported> {
    match secret {
        Secret::Empty => Ok(&[]),
        Secret::Clear(password) => Ok(password),
        Secret::NativeStage1(_) | Secret::CachingSha2Stage1(_) => {
            Err(Unsupported::for_want_of_password(method.name(), secret))
        }
    }
}

const fn last(payload: Vec<u8>) -> Answer {
    Answer { payload, then: State::End }
}

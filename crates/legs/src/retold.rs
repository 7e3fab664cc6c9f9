//! An error that a server can be made to tell again.

use upstream::Reply;
use wire::frame::HEADER_LEN;
use wire::{Capabilities, Codec as _, packet};

use crate::correction::correction;

/// Characters that a message has at most for all servers to take it in a `SIGNAL`: MySQL's limit.
const MESSAGE_CHARS_MAX: usize = 128;

/// Errors that clients may ask about.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    /// The client was told the last one in other words than the server's.
    pub(crate) is_retold: bool,
    /// The last one, as long as `SHOW WARNINGS` has it.
    pub(crate) kept: Option<KeptError>,
}

/// The last error that a statement of the session has ended with.
#[derive(Debug)]
pub(crate) struct KeptError {
    pub(crate) code: u16,
    pub(crate) message: Box<[u8]>,
    /// The statement that makes a server tell it again.
    pub(crate) signal: Box<[u8]>,
    /// It binds the session to no connection any more.
    pub(crate) is_released: bool,
}

impl KeptError {
    /// The error in this packet; nothing if a server could not be made to tell it again.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let error = packet::Err::decode(bytes.get(HEADER_LEN..)?, Capabilities::PROTOCOL_41).ok()?;
        // In other character sets than UTF-8 its letters are not certain.
        let text = std::str::from_utf8(error.message).ok()?;
        if text.chars().count() > MESSAGE_CHARS_MAX {
            return None;
        }
        let (code, message, signal) = (error.code, error.message.into(), correction(bytes)?);
        Some(Self { code, message, signal, is_released: false })
    }

    /// Whether this is all that a server says in its answer to the question.
    pub(crate) fn is_all_in(&self, reply: &Reply) -> bool {
        let code = self.code.to_string();
        reply.only_cells().take(3).eq([&b"Error"[..], code.as_bytes(), &self.message].map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(message: &[u8]) -> Vec<u8> {
        let error = packet::Err { code: 1062, sql_state: Some(*b"23000"), message };
        [&[0; HEADER_LEN][..], &error.encode(Capabilities::PROTOCOL_41)].concat()
    }

    #[test]
    fn an_error_is_kept_that_every_server_could_be_made_to_tell() {
        let kept = |message: &[u8]| KeptError::of(&packet(message)).is_some();
        assert!(kept(b"Duplicate entry '1'") && kept("Duplicate entry '\u{e4}'".as_bytes()));
        assert!(kept("\u{e4}".repeat(MESSAGE_CHARS_MAX).as_bytes()));
        assert!(!kept("\u{e4}".repeat(MESSAGE_CHARS_MAX + 1).as_bytes()), "too long for MySQL");
        assert!(!kept(b"Duplicate entry '\xe4'"), "no UTF-8");
        assert!(KeptError::of(b"").is_none());
    }
}

//! Errors as the packets that clients get.

use wire::frame::put_packet;
use wire::{Capabilities, packet};

use super::ClientError;

impl ClientError {
    /// The error as one packet with sequence id `seq`. Before the login there is no SQLSTATE in it.
    pub fn to_packet(&self, seq: u8, caps: Capabilities) -> Vec<u8> {
        let sql_state = caps.contains(Capabilities::PROTOCOL_41).then_some(self.sql_state());
        let message = self.to_string();
        let packet = packet::Err { code: self.code(), sql_state, message: message.as_bytes() };
        let mut out = Vec::new();
        put_packet(&mut out, seq, &packet, caps);
        out
    }
}

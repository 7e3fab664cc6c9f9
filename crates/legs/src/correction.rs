//! The statement that makes a server tell an error that it has not told so itself.

use std::fmt::Write as _;

use wire::frame::HEADER_LEN;
use wire::{Capabilities, Codec as _, packet};

/// The statement that makes a server tell the error in this packet.
pub fn correction(packet: &[u8]) -> Option<Box<[u8]>> {
    let error = packet::Err::decode(packet.get(HEADER_LEN..)?, Capabilities::PROTOCOL_41).ok()?;
    let state = String::from_utf8(error.sql_state?.to_vec()).ok()?;
    // Whatever the modes of the session are, hexadecimal digits mean the same.
    let charset = if std::str::from_utf8(error.message).is_ok() { "utf8mb4" } else { "latin1" };
    let digits = error.message.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    let code = error.code;
    let text =
        format!("SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = _{charset} X'{digits}'");
    Some(text.into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_becomes_a_statement_that_tells_it() {
        let error = packet::Err { code: 1421, sql_state: Some(*b"HY000"), message: b"No (7)" };
        let packet = [&[0; HEADER_LEN][..], &error.encode(Capabilities::PROTOCOL_41)].concat();
        let said = correction(&packet).map(|text| String::from_utf8(text.into_vec()).unwrap());
        let expected =
            "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1421, MESSAGE_TEXT = _utf8mb4 X'4e6f20283729'";
        assert_eq!(said.as_deref(), Some(expected));
    }
}

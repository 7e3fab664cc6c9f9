//! Logging what servers warn of (`mysql-log_mysql_warnings_enabled`).
//!
//! A server is asked for the warnings of a statement before the session goes on. That leaves them
//! as they are; how many rows the statement had is what the session knows from its answer.

use wire::codec::Reader;
use wire::frame::{HEADER_LEN, Header};
use wire::reply::Answer;

use super::Session;
use crate::ending::Ending;
use observe::running::Warned;

/// What is asked. Of a statement that warns of each of its rows the first ones say enough.
const QUESTION: &[u8] = b"SHOW WARNINGS LIMIT 8";

impl Session {
    /// Logs the warnings of the statement that ran last.
    pub(super) async fn log_warnings(&mut self, warned: Warned) -> Result<(), Ending> {
        let is_here =
            self.links.in_use.is_some() && self.flight.decided.is_none() && self.flight.refused.is_none();
        let is_here = is_here && !self.links.is_promised();
        if !is_here {
            return Ok(());
        }
        let question = (self.query(QUESTION), Answer::Result);
        let replies = self.ask_besides(&[question]).await?;
        self.links.hide_last_result(&mut self.state);
        for reply in replies {
            rows(&reply.bytes).for_each(|warning| self.log_warning(&warning, warned));
        }
        Ok(())
    }

    fn log_warning(&self, warning: &Warning, Warned { digest, hidden }: Warned) {
        let about = &self.control.about;
        let Some(server) = about.server() else { return };
        let (hostgroup, server) = (server.hostgroup(), server.endpoint());
        let (user, schema) =
            (self.identity.account.user.name.escape_ascii(), about.schema().unwrap_or_default());
        let (schema, digest) = (schema.escape_ascii(), format_args!("0x{digest:016X}"));
        let Warning { level, code, text } = warning;
        tracing::warn!(hostgroup, %server, %user, %schema, level, code, text, %digest, hidden, "a statement has warnings");
    }
}

/// A row of the answer.
#[derive(Debug, PartialEq, Eq)]
struct Warning {
    level: String,
    code: String,
    text: String,
}

/// The rows of an answer of three columns in text.
fn rows(mut packets: &[u8]) -> impl Iterator<Item = Warning> {
    let payloads = std::iter::from_fn(move || {
        let (header, behind) = packets.split_first_chunk::<HEADER_LEN>()?;
        let (payload, rest) = behind.split_at_checked(Header::parse(*header).len as usize)?;
        packets = rest;
        Some(payload)
    });
    // Definitions of columns and ends of rows have other forms.
    payloads.skip(4).filter_map(warning)
}

fn warning(payload: &[u8]) -> Option<Warning> {
    let mut reader = Reader::new(payload);
    // It has parts of the client's text in it, which must not look like lines of the log.
    let mut column = || {
        let bytes = reader.lenenc_bytes("column").ok()?;
        Some(String::from_utf8_lossy(bytes).replace(char::is_control, " "))
    };
    let warning = Warning { level: column()?, code: column()?, text: column()? };
    (reader.rest().is_empty() && warning.code.parse::<u16>().is_ok()).then_some(warning)
}

#[cfg(test)]
mod tests {
    use wire::frame::put_message;

    use super::*;

    #[test]
    fn rows_are_told_from_what_is_around_them() {
        let mut packets = Vec::new();
        let row = b"\x07Warning\x041265\x0eData truncated";
        let others: [&[u8]; 5] = [b"\x03", b"\x03def", b"\x03def", b"\x03def", b"\xfe\0\0\x02\0"];
        let end: &[u8] = b"\xfe\0\0\x02\0";
        for (seq, payload) in (1..).zip(others.into_iter().chain([&row[..], &row[..], end])) {
            put_message(&mut packets, seq, payload);
        }
        let all: Vec<Warning> = rows(&packets).collect();
        assert_eq!(all.len(), 2);
        let text = "Data truncated".to_owned();
        assert_eq!(all[0], Warning { level: "Warning".to_owned(), code: "1265".to_owned(), text });
        assert_eq!(rows(&packets[..packets.len() - 12]).count(), 1, "a packet is cut");
    }
}

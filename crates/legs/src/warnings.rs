//! Logging what servers warn of (`mysql-log_mysql_warnings_enabled`).
//!
//! A server is asked for the warnings of a statement before the session goes on. That leaves them
//! as they are; how many rows the statement had is what the session knows from its answer.

use front::ending::Ending;
use observe::running::Warned;
use runtime::control::Control;
use session::identity::PLAIN;
use wire::Codec as _;
use wire::packet::TextRow;
use wire::reply::Answer;

use crate::entry::BookEntry;
use crate::facts::asking::{ask_besides, packet_of};
use crate::leg::Leg;
use crate::state::SessionState;

/// What is asked. Of a statement that warns of each of its rows the first ones say enough.
const QUESTION: &[u8] = b"SHOW WARNINGS LIMIT 8";

/// Logs the warnings of the statement that ran last.
pub async fn log_warnings(entry: &BookEntry, leg: &mut Leg, warned: Warned) -> Result<(), Ending> {
    let is_here = leg.links.in_use.is_some() && leg.flight.decided.is_none() && leg.flight.refused.is_none();
    let is_here = is_here && !leg.links.is_promised();
    if !is_here {
        return Ok(());
    }
    let question = (packet_of(&leg.state, QUESTION), Answer::Result);
    let replies = ask_besides(entry, leg, &[question]).await?;
    leg.links.hide_last_result(&mut leg.state);
    for reply in replies {
        let rows = reply.rows().into_iter().flatten();
        rows.filter_map(warning)
            .for_each(|warning| log_warning(&entry.control, &leg.state, &warning, warned));
    }
    Ok(())
}

fn log_warning(
    control: &Control,
    state: &SessionState,
    warning: &Warning,
    Warned { digest, hidden }: Warned,
) {
    let about = &control.about;
    let Some(server) = about.server() else { return };
    let (hostgroup, server) = (server.hostgroup(), server.endpoint());
    let (user, schema) =
        (state.identity.account.user.name.escape_ascii(), about.schema().unwrap_or_default());
    let (schema, digest) = (schema.escape_ascii(), format_args!("0x{digest:016X}"));
    let Warning { level, code, text } = warning;
    tracing::warn!(hostgroup, %server, %user, %schema, level, code, text, %digest, hidden, "a statement has warnings");
}

/// A row of the answer.
#[derive(Debug, PartialEq, Eq)]
struct Warning {
    level: String,
    code: String,
    text: String,
}

/// A row of three columns in text.
fn warning(row: &[u8]) -> Option<Warning> {
    let row = TextRow::decode(row, PLAIN).ok()?;
    // It has parts of the client's text in it, which must not look like lines of the log.
    let mut columns =
        row.iter().map(|cell| Some(String::from_utf8_lossy(cell?).replace(char::is_control, " ")));
    let warning = Warning { level: columns.next()??, code: columns.next()??, text: columns.next()?? };
    (columns.next().is_none() && warning.code.parse::<u16>().is_ok()).then_some(warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_from_others() {
        let text = "Data truncated".to_owned();
        let expected = Warning { level: "Warning".to_owned(), code: "1265".to_owned(), text };
        assert_eq!(warning(b"\x07Warning\x041265\x0eData\ntruncated"), Some(expected));
        for other in [
            &b"\x07Warning\x041265"[..],
            b"\x07Warning\x04code\x01a",
            b"\x01a\x011\xfb",
            b"\x01a\x011\x01a\x01a",
        ] {
            assert_eq!(warning(other), None, "{}", other.escape_ascii());
        }
    }
}

//! The client's last packet, out of the last packets of the shards.

use std::borrow::Cow;

use planner::merge::ColumnsError;
use planner::plan::Counts;
use wire::packet::{Err as ErrPacket, Ok as OkPacket, PrepareOk};
use wire::reply::{End, Outcome};
use wire::{Capabilities, Codec as _, StatusFlags, WireError};

use super::fault::{Fault, Wrong};
use super::rows::Count;
use super::{Failure, Scatter, State, definitions};

/// What has become of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// The client's reply.
    pub outcome: Outcome,
    /// What `FOUND_ROWS()` is behind it: the rows of the client, and those in front of the offset.
    pub found_rows: u64,
    /// Why the reply ends with an error of the proxy.
    pub(crate) fault: Option<Fault>,
}

impl Over {
    /// Whether the client's reply is an error.
    pub const fn is_error(&self) -> bool {
        matches!(self.outcome.end, End::Err { .. })
    }
}

impl Scatter {
    /// Ends the reply as the shards have ended theirs, behind so many rows if there are rows.
    pub(super) fn end(&mut self, rows: Option<Count>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut sum = self.what.counts.summary();
        let mut last = None;
        for (at, shard) in self.shards.iter().enumerate() {
            if let Some(ok) = shard.last_ok().map_err(|wrong| Failure::Wrong(at, wrong))? {
                match self.what.counts {
                    Counts::Rows { .. } => sum.add_rows(&ok, shard.source.rows.last().copied()),
                    Counts::Sum => sum.add(&ok),
                    Counts::Same if last.is_none() => sum.add(&ok),
                    Counts::Same => {}
                }
                last = Some(ok);
            }
        }
        // Changes in the sessions of several shards are none of the client's session.
        let session_state = last.and_then(|ok| ok.session_state).filter(|_| self.shards.len() == 1);
        let mut ok = OkPacket { session_state, ..sum.ok() };
        if last.is_none() {
            ok.status = self.what.status;
        }
        ok.last_insert_id = self.what.last_insert_id.unwrap_or(ok.last_insert_id);
        ok.status.remove(StatusFlags::CURSOR_EXISTS | StatusFlags::LAST_ROW_SENT | self.hidden);
        ok.status.set(StatusFlags::SESSION_STATE_CHANGED, session_state.is_some());
        match rows {
            Some(_) => self.writer.end_rows(&ok, out),
            None => self.writer.put(&ok, out),
        }
        let end = End::Ok {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            status: ok.status,
            warnings: ok.warnings,
        };
        let Count { sent, found } = rows.unwrap_or_default();
        let outcome = Outcome { end, rows: sent, ends_rows: rows.is_some() };
        self.state = State::Over(Over { outcome, found_rows: found, fault: None });
        Ok(())
    }

    /// Replies with what the shards have prepared, without the hidden columns.
    pub(super) fn end_prepared(&mut self, statement_id: u32, out: &mut Vec<u8>) -> Result<(), Failure> {
        let united = definitions::unite(&self.shards, self.what.shard_caps)?;
        let first = self.shards.first();
        let Some(prepared) = first.and_then(|shard| shard.prepared) else { return Ok(()) };
        let keys = self.what.order.len();
        let (params, columns) = united.split_at_checked(prepared.params.into()).unwrap_or((&united, &[]));
        let visible = columns.len().checked_sub(keys).and_then(|visible| u16::try_from(visible).ok());
        let too_few = ColumnsError::TooFew { columns: columns.len(), keys };
        let visible = visible.ok_or_else(|| Failure::Wrong(0, too_few.into()))?;
        let prepared = PrepareOk { statement_id, columns: visible, metadata_follows: None, ..prepared };
        self.writer.put(&prepared, out);
        let names = first.map(|shard| &*shard.source.names);
        for block in [params, columns.get(..visible.into()).unwrap_or_default()] {
            if !block.is_empty() {
                self.writer.definitions(block.iter(), names, self.what.status, out);
            }
        }
        let outcome = Outcome { end: End::Other, rows: 0, ends_rows: false };
        self.state = State::Over(Over { outcome, found_rows: 0, fault: None });
        Ok(())
    }

    /// The error of a shard, or one of the proxy: the last packet.
    pub(super) fn fail(&mut self, failure: Failure, out: &mut Vec<u8>) -> Over {
        let (code, fault) = match failure {
            Failure::Refused(at) => match self.refuse(at, out) {
                Ok(code) => (code, None),
                Err(error) => self.blame(at, error.into(), out),
            },
            Failure::Wrong(at, wrong) => self.blame(at, wrong, out),
        };
        let outcome = Outcome { end: End::Err { code }, rows: 0, ends_rows: false };
        Over { outcome, found_rows: 0, fault }
    }

    /// Notes which shard is of no use behind a failure.
    pub(super) fn lose(&mut self, failure: &Failure) {
        if let Failure::Wrong(at, wrong) = failure
            && wrong.is_about_bytes()
            && let Some(shard) = self.shards.get_mut(*at)
        {
            shard.lose();
        }
    }

    /// Passes the error of a shard on, with the names that clients know. Its code.
    fn refuse(&mut self, at: usize, out: &mut Vec<u8>) -> Result<u16, WireError> {
        let Some(shard) = self.shards.get(at) else { return Ok(0) };
        let payload = shard.refusal().unwrap_or_default();
        let error = ErrPacket::decode(payload, Capabilities::PROTOCOL_41)?;
        let message = shard.source.names.logical_text(error.message);
        let message = with_rows(&message, &shard.source.rows);
        self.writer.put(&ErrPacket { message: &message, ..error }, out);
        Ok(error.code)
    }

    /// Says that the reply of a shard is wrong. The code of the error, and the fault.
    fn blame(&mut self, at: usize, wrong: Wrong, out: &mut Vec<u8>) -> (u16, Option<Fault>) {
        let hostgroup = self.shards.get(at).map_or(0, |shard| shard.source.hostgroup);
        let fault = Fault { hostgroup, wrong };
        let (code, state) = fault.code();
        let message = fault.to_string();
        self.writer.put(&ErrPacket { code, sql_state: Some(state), message: message.as_bytes() }, out);
        (code, Some(fault))
    }
}

/// In front of the number of a row, in the errors of servers.
const AT_ROW: &[u8] = b" at row ";

/// What stands in front of the number of a row at the end of a text, and the number.
pub fn row_of(text: &[u8]) -> Option<(&[u8], u32)> {
    let at = text.windows(AT_ROW.len()).rposition(|part| part == AT_ROW)?;
    let (head, digits) = text.split_at_checked(at + AT_ROW.len())?;
    Some((head, std::str::from_utf8(digits).ok()?.parse().ok()?))
}

/// An error text with the client's number of the row that it names. `rows` has the client's number
/// of each row; it is empty if they are the same.
pub fn with_rows<'a>(message: &'a [u8], rows: &[u32]) -> Cow<'a, [u8]> {
    let renumbered = row_of(message).and_then(|(head, number)| {
        let number = rows.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        Some([head, number.to_string().as_bytes()].concat())
    });
    renumbered.map_or(Cow::Borrowed(message), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_numbers_of_the_client() {
        let of = |text: &str, rows: &[u32]| {
            String::from_utf8(with_rows(text.as_bytes(), rows).into_owned()).unwrap()
        };
        assert_eq!(
            of("Data too long for column 'a' at row 2", &[3, 7]),
            "Data too long for column 'a' at row 7"
        );
        assert_eq!(of("Data too long for column 'a' at row 2", &[]), "Data too long for column 'a' at row 2");
        for text in ["no row", "x at row 9", "x at row 0", "x at row two"] {
            assert_eq!(of(text, &[3, 7]), text);
        }
    }
}

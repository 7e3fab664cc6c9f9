//! The reply of one shard: which message is next, and what it means.

use std::borrow::Cow;
use std::sync::Arc;

use planner::merge::Columns;
use planner::seen::Names;
use wire::frame::{Front, Message, MessageReader};
use wire::packet::{Eof, Err, Ok as OkPacket, PrepareOk};
use wire::reply::{self, Answer, Phase, Step};
use wire::{Capabilities, Codec as _, StatusFlags, WireError};

use super::Kind;
use super::fault::Wrong;
use crate::limits::{SCATTER_DEFINITIONS_BYTES_MAX, SCATTER_SHARD_BYTES_MAX};

/// Bytes of the shortest OK packet: two numbers, status and warnings behind its header.
const OK_BYTES_MIN: usize = 7;

/// Where a shard's reply comes from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The servers.
    pub hostgroup: u32,
    /// Which session runs the statement. A session runs its statements one after the other, in the
    /// order of the sources.
    pub session: usize,
    /// What their physical names are to clients.
    pub names: Arc<Names>,
    /// The client's numbers of the rows that the shard has got, if they are others.
    pub rows: Vec<u32>,
}

/// The reply of one shard.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) source: Source,
    /// Bytes that were fed and not taken. Commands of several packets shift the first sequence id.
    input: MessageReader,
    /// Nothing is read behind `input`.
    is_closed: bool,
    /// Where the statement stands among those of its session.
    pub(super) turn: Turn,
    /// Whether its columns are known to be those of the client.
    pub(super) is_admitted: bool,
    caps: Capabilities,
    phase: Phase,
    end: Option<End>,
    /// What is prepared, for a reply to `COM_STMT_PREPARE`.
    pub(super) prepared: Option<PrepareOk>,
    /// Payloads of the definitions of parameters and columns, until the client has them.
    pub(super) definitions: Vec<Box<[u8]>>,
    definitions_bytes: usize,
    /// Its columns, if they are others than the client was told.
    pub(super) columns: Option<Box<Columns>>,
    /// The status in the packet that ends the definitions, if there is such a packet.
    pub(super) status: StatusFlags,
}

/// Where a statement stands among those that its session runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// The session runs another one before.
    pub(super) follows: bool,
    /// The session runs another one behind it.
    pub(super) is_followed: bool,
}

/// How the reply of a shard has ended. Payloads are those of the last packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// With OK in the place of a result.
    Ok(Vec<u8>),
    /// With the end of its rows.
    Rows(Vec<u8>),
    /// With the last definition of a prepared statement.
    Prepared,
    /// With an error.
    Refused(Vec<u8>),
    /// In an unknown place: its bytes are not the protocol, or its connection is lost.
    Lost,
}

/// What a shard has for the rows of the client.
#[derive(Debug)]
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// A row.
    Row(Message),
    /// No more rows.
    Ended,
}

impl Shard {
    /// A reply of this kind before its first byte. `caps` are those of the shard's client. Messages
    /// may have `limit` bytes of payload.
    pub(super) const fn new(source: Source, kind: Kind, caps: Capabilities, limit: usize) -> Self {
        Self {
            source,
            input: MessageReader::new(limit).with_any_seq(),
            is_closed: false,
            turn: Turn { follows: false, is_followed: false },
            is_admitted: false,
            caps,
            phase: Phase::first(match kind {
                Kind::Result => Answer::Result,
                Kind::Prepared { .. } => Answer::Prepare,
            }),
            end: None,
            prepared: None,
            definitions: Vec::new(),
            definitions_bytes: 0,
            columns: None,
            status: StatusFlags::empty(),
        }
    }

    /// Whether more of the reply may come.
    pub(super) const fn is_open(&self) -> bool {
        !self.is_closed && self.end().is_none()
    }

    /// How many bytes may be [fed](Self::feed) if no other statement waits for the end of this one.
    /// More than [`SCATTER_SHARD_BYTES_MAX`] are kept only of a message that is larger by itself.
    pub(super) fn room(&self) -> usize {
        match SCATTER_SHARD_BYTES_MAX.saturating_sub(self.kept()) {
            _ if !self.is_open() => 0,
            0 => match self.input.front() {
                Ok(Front::Missing(bytes)) => bytes.min(SCATTER_SHARD_BYTES_MAX),
                Ok(Front::Whole(_)) | Err(_) => 0,
            },
            room => room,
        }
    }

    /// Bytes that were fed and not taken.
    pub(super) fn kept(&self) -> usize {
        self.input.unread().len()
    }

    /// Takes bytes of the reply.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.input.feed(bytes);
    }

    /// The connection has ended.
    pub(super) const fn close(&mut self) {
        self.is_closed = true;
    }

    /// How the reply has ended; nothing while it goes on.
    pub(super) const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether the reply has reached its rows, or its end.
    pub(super) const fn has_begun(&self) -> bool {
        self.end.is_some() || matches!(self.phase, Phase::Rows | Phase::OutParams)
    }

    /// Whether the reply is a result, if it has begun.
    pub(super) const fn has_rows(&self) -> bool {
        !matches!(self.end, Some(End::Ok(_)))
    }

    /// The error with which the reply has ended.
    pub(super) fn refusal(&self) -> Option<&[u8]> {
        match self.end() {
            Some(End::Refused(payload)) => Some(payload),
            _ => None,
        }
    }

    /// Nothing more can be understood of the shard.
    pub(super) fn lose(&mut self) {
        self.end = Some(End::Lost);
    }

    /// Goes on to the first row, or to the end of a reply without rows. Whether either is reached.
    pub(super) fn begin(&mut self) -> Result<bool, Wrong> {
        while !self.has_begun() {
            let Some(message) = self.front()? else { return Ok(false) };
            self.take(message)?;
        }
        Ok(true)
    }

    /// The next row, which stays at the front until it is [passed](Self::pass).
    pub(super) fn next_row(&mut self) -> Result<Next, Wrong> {
        if self.end().is_some() {
            return Ok(Next::Ended);
        }
        if !self.is_admitted {
            return Ok(Next::Wait);
        }
        let Some(message) = self.front()? else { return Ok(Next::Wait) };
        let is_row = match message.first {
            None | Some(Err::HEADER) => false,
            Some(Eof::HEADER) => !Eof::ends_rows(message.len, self.caps),
            Some(_) => true,
        };
        if is_row {
            return Ok(Next::Row(message));
        }
        self.take(message)?;
        Ok(Next::Ended)
    }

    /// The payload of the row at the front.
    pub(super) fn payload(&self, row: Message) -> Cow<'_, [u8]> {
        self.input.payload(row)
    }

    /// Takes the row at the front.
    pub(super) const fn pass(&mut self, row: Message) {
        self.input.pass(row);
    }

    /// Goes on to the end, as far as the bytes reach, and drops what the client does not get.
    pub(super) fn skip(&mut self) {
        if self.try_skip().is_err() {
            self.lose();
        }
    }

    fn try_skip(&mut self) -> Result<(), Wrong> {
        if self.begin()? {
            self.is_admitted = true;
            while let Next::Row(row) = self.next_row()? {
                self.pass(row);
            }
        }
        Ok(())
    }

    /// The OK packet that ends the reply, or the end of its rows as one; nothing after an error.
    pub(super) fn last_ok(&self) -> Result<Option<OkPacket<'_>>, Wrong> {
        Ok(match self.end() {
            Some(End::Ok(payload)) => Some(OkPacket::decode(payload, self.caps)?),
            Some(End::Rows(payload)) => Some(self.terminator(payload)?),
            Some(End::Prepared | End::Refused(_) | End::Lost) | None => None,
        })
    }

    /// The message at the front, if it is whole.
    fn front(&self) -> Result<Option<Message>, Wrong> {
        match self.input.front()? {
            Front::Whole(message) => Ok(Some(message)),
            Front::Missing(_) if self.is_closed => Err(Wrong::Cut),
            Front::Missing(_) => Ok(None),
        }
    }

    /// Takes a message at the front that is no row.
    fn take(&mut self, message: Message) -> Result<(), Wrong> {
        let payload = self.input.payload(message).into_owned();
        self.input.pass(message);
        let (before, len) = (self.phase, u32::try_from(message.len).unwrap_or(u32::MAX));
        let step = before.next(&payload, len, self.caps, false)?;
        if let Step::End(reply::End::Err { .. }) = step {
            self.end = Some(End::Refused(payload));
            return Ok(());
        }
        match step {
            Step::Next(phase) => self.phase = phase,
            Step::End(_) => self.phase = Phase::Over,
            Step::File => return Err(Wrong::File),
            Step::Result(_) => return Err(Wrong::MoreResults),
            Step::Row => {}
        }
        let is_end = self.phase == Phase::Over;
        match before {
            Phase::First if is_end => self.end = Some(End::Ok(payload)),
            Phase::Rows if is_end => self.end = Some(End::Rows(payload)),
            Phase::Prepare => self.prepared = Some(PrepareOk::decode(&payload, self.caps)?),
            Phase::Columns { .. } => self.define(payload)?,
            Phase::Definitions(definitions) if definitions.is_definition() => self.define(payload)?,
            Phase::ColumnsEnd | Phase::Definitions(_) => {
                self.status = Eof::decode(&payload, self.caps)?.status;
            }
            // An OK packet follows the row of OUT parameters.
            Phase::OutParams => return Err(Wrong::MoreResults),
            _ => {}
        }
        if is_end {
            self.end.get_or_insert(End::Prepared);
        }
        Ok(())
    }

    /// Keeps a definition.
    fn define(&mut self, payload: Vec<u8>) -> Result<(), Wrong> {
        self.definitions_bytes += payload.len();
        if self.definitions_bytes > SCATTER_DEFINITIONS_BYTES_MAX {
            return Err(Wrong::Definitions);
        }
        self.definitions.push(payload.into());
        Ok(())
    }

    /// The end of rows as an OK packet.
    fn terminator<'a>(&self, payload: &'a [u8]) -> Result<OkPacket<'a>, WireError> {
        // A server may send an EOF packet whatever was agreed. An OK packet is longer.
        if self.caps.contains(Capabilities::DEPRECATE_EOF) && payload.len() >= OK_BYTES_MIN {
            return OkPacket::decode(payload, self.caps);
        }
        let Eof { warnings, status } = Eof::decode(payload, self.caps)?;
        Ok(OkPacket { warnings, ..OkPacket::plain(status) })
    }
}

#[cfg(test)]
mod tests {
    use wire::frame::{HEADER_LEN, MAX_PAYLOAD, put_message};

    use super::*;

    fn shard() -> Shard {
        let source = Source { hostgroup: 1, session: 0, names: Arc::default(), rows: Vec::new() };
        Shard::new(source, Kind::Result, Capabilities::PROTOCOL_41, usize::MAX)
    }

    /// Takes the message at the front.
    fn take(shard: &mut Shard) -> Option<usize> {
        let message = shard.front().unwrap()?;
        shard.pass(message);
        Some(message.len)
    }

    #[test]
    fn a_shard_that_is_ahead_is_not_read() {
        let (mut shard, mut bytes) = (shard(), Vec::new());
        (0..2).fold(1, |seq, _| put_message(&mut bytes, seq, &vec![0; SCATTER_SHARD_BYTES_MAX / 2]));
        assert_eq!(shard.room(), SCATTER_SHARD_BYTES_MAX);
        shard.feed(&bytes);
        assert_eq!(shard.room(), 0);
        assert_eq!(take(&mut shard), Some(SCATTER_SHARD_BYTES_MAX / 2));
        assert_eq!(shard.room(), SCATTER_SHARD_BYTES_MAX / 2 - HEADER_LEN);
        shard.close();
        assert_eq!(shard.room(), 0);
    }

    #[test]
    fn a_message_that_is_larger_is_read_as_a_whole() {
        for len in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
            let (mut shard, mut bytes) = (shard(), Vec::new());
            put_message(&mut bytes, 255, &vec![1; len]);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let room = shard.room();
                assert!((1..=SCATTER_SHARD_BYTES_MAX).contains(&room), "a shard is never stuck");
                let (piece, behind) = rest.split_at(room.min(rest.len()));
                shard.feed(piece);
                rest = behind;
            }
            assert_eq!(take(&mut shard), Some(len));
        }
    }
}

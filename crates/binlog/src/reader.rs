//! The stream that a server sends behind `COM_BINLOG_DUMP` or `COM_BINLOG_DUMP_GTID`.

use wire::codec::Reader as Fields;
use wire::frame::Pieces;

use crate::checksum::Checksum;
use crate::error::Broken;
use crate::event::{Event, Logged};
use crate::events::Events;

/// The first byte of a packet with an event.
const EVENT: u8 = 0x00;
/// The first byte of the packet at the end of the log.
const END: u8 = 0xfe;
/// Bytes behind it, at most: warnings and the status.
const END_MAX: usize = 7;
/// The first byte of a packet with an error.
const ERROR: u8 = 0xff;

/// Bytes of an error that are kept.
const ERROR_MAX: usize = 1024;

/// Reads the stream of a binary log: network bytes in, events out.
///
/// The reader has at most 256 KiB of one statement, as much again for the text of a compressed
/// one, and the window of a [compressed transaction](Event::Compressed). Rows are never kept.
///
/// After an error the reader is of no further use.
#[derive(Debug)]
pub struct Reader {
    pieces: Pieces,
    /// The sequence id of the next packet.
    seq: u8,
    message: Message,
    events: Events,
}

/// The current message.
#[derive(Debug)]
enum Message {
    /// Its first byte is to come.
    First,
    /// It is an event, of which bytes have come or not yet.
    Event { is_empty: bool },
    /// The log ends, with so many bytes more.
    End(usize),
    /// It is an error, of which these are the first bytes behind its header.
    Error(Vec<u8>),
}

impl Reader {
    /// A stream whose first packet has sequence id 1, as a reply has. `checksum` is what the
    /// session has agreed on with `@master_binlog_checksum`: the events in front of the first
    /// format description have it.
    pub const fn new(checksum: Checksum) -> Self {
        Self { pieces: Pieces::new(), seq: 1, message: Message::First, events: Events::new(checksum) }
    }

    /// Whether the stream is between two events.
    pub const fn is_between(&self) -> bool {
        matches!(self.message, Message::First) && self.pieces.is_between()
    }

    /// Goes on with the bytes that follow the ones of the last call. Events that end there go to
    /// `out`, in their order.
    pub fn feed(&mut self, mut input: &[u8], mut out: impl FnMut(Logged<'_>)) -> Result<(), Broken> {
        while let Some(piece) = self.pieces.take(&mut input) {
            if piece.at == 0 {
                if piece.header.seq != self.seq {
                    return Err(Broken::OutOfOrder { expected: self.seq, got: piece.header.seq });
                }
                self.seq = self.seq.wrapping_add(1);
            }
            self.take(piece.bytes, &mut out)?;
            if piece.ends_message() {
                self.end(&mut out)?;
            }
        }
        Ok(())
    }

    /// Bytes of the current message.
    fn take(&mut self, bytes: &[u8], out: &mut impl FnMut(Logged<'_>)) -> Result<(), Broken> {
        let mut bytes = bytes;
        if let Message::First = self.message {
            let Some((first, rest)) = bytes.split_first() else { return Ok(()) };
            bytes = rest;
            self.message = match *first {
                EVENT => Message::Event { is_empty: true },
                END => Message::End(0),
                ERROR => Message::Error(Vec::new()),
                byte => return Err(Broken::Packet(byte)),
            };
        }
        match &mut self.message {
            Message::Event { is_empty } => {
                *is_empty &= bytes.is_empty();
                self.events.feed(bytes, out)?;
            }
            Message::Error(kept) => kept.extend(bytes.iter().take(ERROR_MAX.saturating_sub(kept.len()))),
            Message::End(len) => {
                *len = len.saturating_add(bytes.len());
                if *len > END_MAX {
                    return Err(Broken::Packet(END));
                }
            }
            Message::First => {}
        }
        Ok(())
    }

    /// The current message ends.
    fn end(&mut self, out: &mut impl FnMut(Logged<'_>)) -> Result<(), Broken> {
        let event = match std::mem::replace(&mut self.message, Message::First) {
            Message::First | Message::Event { is_empty: true } => return Err(Broken::Empty),
            Message::Event { .. } if self.events.is_between() => return Ok(()),
            Message::Event { .. } => return Err(Broken::Length { kind: self.events.current() }),
            Message::End(_) => Event::End,
            Message::Error(bytes) => {
                let mut fields = Fields::new(&bytes);
                let error = |error| Broken::Event { kind: ERROR, error };
                let code = fields.u16("error").map_err(error)?;
                // The state behind its `#`.
                if fields.peek() == Some(b'#') {
                    fields.bytes(6, "SQL state").map_err(error)?;
                }
                out(Logged { next_position: 0, event: Event::Refused { code, message: fields.rest() } });
                return Ok(());
            }
        };
        out(Logged { next_position: 0, event });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_packet_is_noticed() {
        let bytes = [3, 0, 0, 1, 0xff, 7, 0, 1, 0, 0, 3, 0];
        for cut in 1..bytes.len() {
            let mut reader = Reader::new(Checksum::Crc32);
            let fed = bytes.chunks(cut).try_for_each(|part| reader.feed(part, |_| ()));
            assert!(matches!(fed, Err(Broken::OutOfOrder { expected: 2, got: 3 })), "{fed:?}");
        }
    }
}

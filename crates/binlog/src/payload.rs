//! A compressed transaction of MySQL: its events come out as its bytes come in.
//!
//! Of a transaction, the decompressor's window is in memory and nothing else: at most
//! [`WINDOW_MAX_LOG`], and no more than the transaction has bytes.

use wire::codec::Reader;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use crate::error::Broken;
use crate::events::{Events, Out};

/// The largest window of zstd that is expanded, as a power of two: 8 MiB, which every decompressor
/// is to have. MySQL's default level has windows of 2 MiB. A transaction with a larger window
/// (levels from 20 on) may have changed every table.
const WINDOW_MAX_LOG: u32 = 23;

/// Bytes that are expanded at once.
const PIECE_LEN: usize = 16 * 1024;

/// Bytes of fields in front of the compressed ones, at most.
const FIELDS_MAX: usize = 128;

/// Types of those fields, each with a value behind its length; the first type ends them.
const END: u64 = 0;
const COMPRESSION: u64 = 2;
const PLAIN_LEN: u64 = 3;

/// Values of the field [`COMPRESSION`].
const ZSTD: u64 = 0;
const NONE: u64 = 255;

/// The body of a `TRANSACTION_PAYLOAD_EVENT`.
#[derive(Debug)]
pub(crate) struct Payload {
    state: State,
    events: Events,
    /// Plain bytes so far.
    plain: u64,
    /// Plain bytes that there are to be, if that is said.
    plain_len: Option<u64>,
}

enum State {
    /// In the fields.
    Fields(Vec<u8>),
    /// The events are not compressed.
    Plain,
    /// Whether a frame has begun that has not ended.
    Zstd(Box<DCtx<'static>>, bool),
    /// Something was not understood.
    Lost,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fields(_) => "Fields",
            Self::Plain => "Plain",
            Self::Zstd(..) => "Zstd",
            Self::Lost => "Lost",
        })
    }
}

/// What the fields say.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    compression: Option<u64>,
    plain_len: Option<u64>,
    /// Bytes that the fields take.
    len: usize,
}

impl Default for Payload {
    fn default() -> Self {
        Self { state: State::Fields(Vec::new()), events: Events::nested(), plain: 0, plain_len: None }
    }
}

impl Payload {
    /// Whether all events came out. To be asked at the end.
    pub(crate) fn is_whole(&self) -> bool {
        let is_ended = matches!(self.state, State::Plain | State::Zstd(_, false));
        is_ended && self.events.is_between() && self.plain_len.is_none_or(|len| len == self.plain)
    }

    /// Goes on with `input`. Events that end there go to `out`.
    pub(crate) fn feed(&mut self, input: &[u8], out: &mut Out<'_>) {
        if self.expand(input, out).is_err() {
            self.state = State::Lost;
        }
    }

    fn expand(&mut self, input: &[u8], out: &mut Out<'_>) -> Result<(), Broken> {
        match &mut self.state {
            State::Lost => Ok(()),
            State::Plain => {
                self.plain += input.len() as u64;
                self.events.feed(input, out)
            }
            State::Zstd(context, is_open) => {
                let mut room = [0; PIECE_LEN];
                let mut input = InBuffer::around(input);
                loop {
                    let mut piece = OutBuffer::around(room.as_mut_slice());
                    let hint = context
                        .decompress_stream(&mut piece, &mut input)
                        .map_err(|_| Broken::Payload("the events cannot be expanded"))?;
                    let plain = piece.as_slice();
                    *is_open = hint != 0;
                    self.plain += plain.len() as u64;
                    self.events.feed(plain, out)?;
                    // A full piece may not be all that comes of the input so far.
                    if input.pos >= input.src.len() && plain.len() < PIECE_LEN {
                        return Ok(());
                    }
                }
            }
            State::Fields(bytes) => {
                let before = bytes.len();
                bytes.extend(input.iter().take(FIELDS_MAX.saturating_sub(before)));
                let Some(fields) = Fields::read(bytes) else {
                    let is_full = bytes.len() >= FIELDS_MAX;
                    return if is_full { Err(Broken::Payload("too many fields")) } else { Ok(()) };
                };
                self.plain_len = fields.plain_len;
                self.state = State::of(fields.compression)?;
                let rest = input.get(fields.len.saturating_sub(before)..).unwrap_or_default();
                if rest.is_empty() { Ok(()) } else { self.expand(rest, out) }
            }
        }
    }
}

impl State {
    /// What expands events that were compressed like this.
    fn of(compression: Option<u64>) -> Result<Self, Broken> {
        match compression {
            Some(NONE) => Ok(Self::Plain),
            Some(ZSTD) => {
                let error = Broken::Payload("there is no decompressor");
                let mut context = DCtx::try_create().ok_or(error)?;
                context.set_parameter(DParameter::WindowLogMax(WINDOW_MAX_LOG)).map_err(|_| error)?;
                Ok(Self::Zstd(Box::new(context), true))
            }
            _ => Err(Broken::Payload("an unknown compression")),
        }
    }
}

impl Fields {
    /// Reads the fields; `None` if they are not whole.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let mut fields = Self::default();
        loop {
            let kind = reader.lenenc("type of a field").ok()?;
            if kind == END {
                fields.len = bytes.len() - reader.left();
                return Some(fields);
            }
            let value = reader.lenenc_bytes("field").ok()?;
            let number = || Reader::new(value).lenenc("number").ok();
            match kind {
                COMPRESSION => fields.compression = number(),
                PLAIN_LEN => fields.plain_len = number(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;

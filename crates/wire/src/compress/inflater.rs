//! From frames to plain text, in whatever pieces they come.

use super::codecs::{Codecs, Expanded, Expander};
use super::{FRAME_HEADER_LEN, FrameHeader, Method};
use crate::WireError;

/// Expands the frames of one direction of a connection.
///
/// It streams also inside a frame: memory does not depend on what a header claims. An expander is
/// held only while a frame is cut. After an error it is of no more use: the connection has no
/// defined next byte any more.
#[derive(Debug)]
pub struct Inflater {
    method: Method,
    header: [u8; FRAME_HEADER_LEN],
    filled: u8,
    state: State,
}

/// Where the inflater is.
#[derive(Debug)]
enum State {
    /// Before the end of a header.
    Header,
    /// In content that is stored as it is; this much of it is left.
    Stored(u32),
    /// In content that is compressed.
    Packed {
        /// Compressed bytes that were not read yet.
        left: u32,
        /// Bytes of plain text that were not written yet.
        plain_left: u32,
        /// Bytes of plain text of the whole frame.
        plain_len: u32,
        /// The last byte of the plain text, which is not handed out before the rest of the content
        /// was found good.
        last: u8,
        expander: Expander,
    },
    /// Before the last byte of plain text of a frame that was good.
    Last(u8),
}

/// What [`Inflater::inflate`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inflated {
    /// Bytes of the input that are dealt with.
    pub read: usize,
    /// Bytes of plain text that were written.
    pub written: usize,
    /// The sequence id of a frame whose header was read, and nothing behind it. Otherwise there is
    /// no more input, or no more room.
    pub frame: Option<u8>,
}

impl Inflater {
    /// An inflater before the first byte of the first frame.
    pub const fn new(method: Method) -> Self {
        Self { method, header: [0; FRAME_HEADER_LEN], filled: 0, state: State::Header }
    }

    /// Whether there may be plain text without any further input: the last call has run out of room
    /// in the middle of a frame.
    pub const fn may_have_more(&self) -> bool {
        matches!(self.state, State::Packed { .. } | State::Last(_))
    }

    /// Goes on with the bytes that follow the ones of the last call, up to the next header, the end
    /// of the input or the end of the room in `out`. To be called until it does nothing more.
    ///
    /// # Errors
    ///
    /// [`WireError::BadFrame`] if content cannot be expanded, or is shorter or longer than its
    /// header says.
    pub fn inflate(
        &mut self,
        codecs: &mut Codecs,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<Inflated, WireError> {
        let mut done = Inflated { read: 0, written: 0, frame: None };
        match &mut self.state {
            State::Header => {
                if let Some(header) = self.take_header(input, &mut done.read) {
                    self.state = State::of(header, self.method, codecs)?;
                    done.frame = Some(header.seq);
                }
            }
            State::Stored(left) => {
                let len = input.len().min(out.len()).min(*left as usize);
                if let (Some(to), Some(from)) = (out.get_mut(..len), input.get(..len)) {
                    to.copy_from_slice(from);
                }
                // Never more than `left`, which has 24 bits.
                *left -= u32::try_from(len).unwrap_or(*left);
                (done.read, done.written) = (len, len);
                if *left == 0 {
                    self.state = State::Header;
                }
            }
            State::Last(byte) => {
                if let Some(to) = out.first_mut() {
                    *to = *byte;
                    done.written = 1;
                    self.state = State::Header;
                }
            }
            State::Packed { left, plain_left, plain_len, last, expander } => {
                let frame = Frame { left, plain_left, last };
                let Some(end) = expand(expander, frame, input, out, &mut done)? else { return Ok(done) };
                let next = match end {
                    End::Whole => State::Header,
                    End::Withheld => State::Last(*last),
                };
                let plain_len = *plain_len;
                if let State::Packed { expander, .. } = std::mem::replace(&mut self.state, next) {
                    codecs.give_back(expander, plain_len);
                }
            }
        }
        Ok(done)
    }

    /// Takes a header, or the part of it that is there.
    fn take_header(&mut self, input: &[u8], read: &mut usize) -> Option<FrameHeader> {
        let free = self.header.get_mut(usize::from(self.filled)..).unwrap_or_default();
        let len = free.len().min(input.len());
        for (to, from) in free.iter_mut().zip(input) {
            *to = *from;
        }
        *read = len;
        self.filled += u8::try_from(len).unwrap_or_default(); // at most seven
        if usize::from(self.filled) < FRAME_HEADER_LEN {
            return None;
        }
        self.filled = 0;
        Some(FrameHeader::parse(self.header))
    }
}

impl State {
    /// The state behind a header.
    fn of(header: FrameHeader, method: Method, codecs: &mut Codecs) -> Result<Self, WireError> {
        match header {
            FrameHeader { len: 0, plain_len: 0, .. } => Ok(Self::Header),
            FrameHeader { len, plain_len: 0, .. } => Ok(Self::Stored(len)),
            FrameHeader { len: 0, .. } => Err(WireError::BadFrame("no content where some is claimed")),
            FrameHeader { len, plain_len, .. } => Ok(Self::Packed {
                left: len,
                plain_left: plain_len,
                plain_len,
                last: 0,
                expander: codecs.take(method)?,
            }),
        }
    }
}

/// Where a frame is.
struct Frame<'a> {
    left: &'a mut u32,
    plain_left: &'a mut u32,
    last: &'a mut u8,
}

/// How the content of a frame has ended, which was as its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// All plain text was handed out.
    Whole,
    /// All but the last byte.
    Withheld,
}

/// Expands what it can. Says how, if the content has ended.
///
/// The last byte is handed out only when all content was found good, checksum included: no command
/// is complete whose frame is broken.
fn expand(
    expander: &mut Expander,
    frame: Frame<'_>,
    input: &[u8],
    out: &mut [u8],
    done: &mut Inflated,
) -> Result<Option<End>, WireError> {
    let Frame { left, plain_left, last } = frame;
    let mut end = if *plain_left == 0 { End::Withheld } else { End::Whole };
    loop {
        let input = input.get(done.read..).unwrap_or_default();
        let input = input.get(..*left as usize).unwrap_or(input);
        let free = out.get_mut(done.written..).unwrap_or_default();
        let all = input.len() == *left as usize && free.len() >= *plain_left as usize;
        // Where no more plain text may come, there is room for one byte, so that more of it is
        // seen.
        let mut beyond = [0];
        let room = match *plain_left as usize {
            0 => &mut beyond[..],
            1 if !all => std::slice::from_mut(&mut *last),
            len => {
                let len = free.len().min(if all { len } else { len - 1 });
                free.get_mut(..len).unwrap_or_default()
            }
        };
        if room.is_empty() {
            return Ok(None);
        }
        let Expanded { read, written, ended } = expander.expand(input, room, all)?;
        done.read += read;
        match *plain_left {
            0 if written > 0 => return Err(WireError::BadFrame("more content than is claimed")),
            1 if !all && written > 0 => end = End::Withheld,
            _ => done.written += written,
        }
        // Neither is more than there was, which had 24 bits.
        *left -= u32::try_from(read).unwrap_or(*left);
        *plain_left -= u32::try_from(written).unwrap_or(*plain_left);
        match (ended, *left, *plain_left) {
            (true, 0, 0) => return Ok(Some(end)),
            (true, 0, _) => return Err(WireError::BadFrame("less content than is claimed")),
            (true, ..) => return Err(WireError::BadFrame("bytes behind the content")),
            (false, ..) if read > 0 || written > 0 => {}
            (false, 0, _) => return Err(WireError::BadFrame("the content is cut")),
            _ if input.is_empty() => return Ok(None),
            _ => return Err(WireError::BadFrame("the content cannot be uncompressed")),
        }
    }
}

#[cfg(test)]
mod tests;

//! From frames to plain text, in whatever pieces they come.

use super::codecs::{Codecs, Expander};
use super::{FRAME_HEADER_LEN, FrameHeader, Method};
use crate::WireError;

/// Expands the frames of one direction of a connection.
///
/// It streams also inside a frame: memory does not depend on what a header claims. An expander is held only while a
/// frame is cut. After an error it is of no more use: the connection has no defined next byte any more.
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
        expander: Expander,
    },
}

/// What [`Inflater::inflate`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inflated {
    /// Bytes of the input that are dealt with.
    pub read: usize,
    /// Bytes of plain text that were written.
    pub written: usize,
    /// The sequence id of a frame whose header was read, and nothing behind it. Otherwise there is no more input, or no
    /// more room.
    pub frame: Option<u8>,
}

impl Inflater {
    /// An inflater before the first byte of the first frame.
    pub const fn new(method: Method) -> Self {
        Self { method, header: [0; FRAME_HEADER_LEN], filled: 0, state: State::Header }
    }

    /// Whether there may be plain text without any further input: the last call has run out of room in the middle of a
    /// frame.
    pub const fn may_have_more(&self) -> bool {
        matches!(self.state, State::Packed { .. })
    }

    /// Goes on with the bytes that follow the ones of the last call, up to the next header, the end of the input or the
    /// end of the room in `out`.
    ///
    /// # Errors
    ///
    /// [`WireError::BadFrame`] if content cannot be expanded, or is shorter or longer than its header says.
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
            State::Packed { left, plain_left, plain_len, expander } => {
                if expand(expander, left, plain_left, input, out, &mut done)? {
                    let plain_len = *plain_len;
                    if let State::Packed { expander, .. } = std::mem::replace(&mut self.state, State::Header)
                    {
                        codecs.give_back(expander, plain_len);
                    }
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
                expander: codecs.take(method)?,
            }),
        }
    }
}

/// Expands what it can; whether the content has ended, as its header says.
fn expand(
    expander: &mut Expander,
    left: &mut u32,
    plain_left: &mut u32,
    input: &[u8],
    out: &mut [u8],
    done: &mut Inflated,
) -> Result<bool, WireError> {
    loop {
        // Where no more plain text may come, there is room for one byte, so that more of it is seen.
        let mut beyond = [0];
        let room = match *plain_left {
            0 => &mut beyond[..],
            len => {
                let free = out.get_mut(done.written..).unwrap_or_default();
                let len = free.len().min(len as usize);
                free.get_mut(..len).unwrap_or_default()
            }
        };
        if room.is_empty() {
            return Ok(false);
        }
        let input = input.get(done.read..).unwrap_or_default();
        let input = input.get(..*left as usize).unwrap_or(input);
        let all = input.len() == *left as usize && room.len() >= *plain_left as usize;
        let expanded = expander.expand(input, room, all)?;
        // Neither is more than there was, which had 24 bits.
        *left -= u32::try_from(expanded.read).unwrap_or(*left);
        done.read += expanded.read;
        if expanded.written > 0 && *plain_left == 0 {
            return Err(WireError::BadFrame("more content than is claimed"));
        }
        *plain_left -= u32::try_from(expanded.written).unwrap_or(*plain_left);
        done.written += expanded.written;
        if expanded.ended {
            return match (*left, *plain_left) {
                (0, 0) => Ok(true),
                (0, _) => Err(WireError::BadFrame("less content than is claimed")),
                _ => Err(WireError::BadFrame("bytes behind the content")),
            };
        }
        if expanded.read == 0 && expanded.written == 0 {
            return match *left {
                0 => Err(WireError::BadFrame("the content is cut")),
                _ if input.is_empty() => Ok(false),
                _ => Err(WireError::BadFrame("the content cannot be uncompressed")),
            };
        }
    }
}

#[cfg(test)]
mod tests;

//! What compresses and expands, and who has it at the moment.
//!
//! A compressor needs a few hundred kilobytes and is used for one frame at a time, so there is one
//! per thread. An expander is needed for as long as its frame is on its way, which a slow peer may
//! draw out, so connections take one when a frame begins and bring it back when it ends.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::{FRAME_HEADER_LEN, FrameHeader, MIN_COMPRESS_LEN, Method};
use crate::WireError;

/// Expanders of a method that are kept for the next frame.
const KEPT: usize = 4;

/// Plain text of the longest frame after which a zstd expander is kept, in bytes: it keeps a window
/// of that size.
const KEPT_PLAIN_MAX: u32 = 256 * 1024;

/// Largest window of zstd that is accepted, as a power of two: no frame has more plain text than
/// 2^24 bytes.
const ZSTD_WINDOW_LOG_MAX: u32 = 24;

const BROKEN: WireError = WireError::BadFrame("the content cannot be uncompressed");

/// Compressors, and the expanders that no connection uses at the moment.
pub struct Codecs {
    zlib: Compress,
    /// Made when the first connection needs it.
    zstd: Option<(CCtx<'static>, u8)>,
    idle_zlib: Vec<Decompress>,
    idle_zstd: Vec<DCtx<'static>>,
}

/// Expands one frame.
pub(super) enum Expander {
    /// Boxed: every connection has room for an expander, and few have one.
    Zlib(Box<Decompress>),
    Zstd(DCtx<'static>),
}

/// What an expander has done in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) read: usize,
    pub(super) written: usize,
    /// Whether the content has ended.
    pub(super) ended: bool,
}

impl std::fmt::Debug for Codecs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let idle = (self.idle_zlib.len(), self.idle_zstd.len());
        f.debug_struct("Codecs").field("idle", &idle).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Expander {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Zlib(_) => "Zlib",
            Self::Zstd(_) => "Zstd",
        })
    }
}

impl Codecs {
    /// Compresses with this level of zlib, 0 to 9, where the method is zlib.
    pub fn new(zlib_level: u8) -> Self {
        let level = Compression::new(u32::from(zlib_level.min(9)));
        Self { zlib: Compress::new(level, true), zstd: None, idle_zlib: Vec::new(), idle_zstd: Vec::new() }
    }

    /// Appends one frame with `plain` as its content, compressed if that makes it smaller.
    ///
    /// `plain` has at most 2^24-1 bytes; what is longer would be cut.
    pub fn put_frame(&mut self, method: Method, seq: u8, plain: &[u8], out: &mut Vec<u8>) {
        debug_assert!(plain.len() <= crate::frame::MAX_PAYLOAD, "a frame's length has three bytes");
        let start = out.len();
        let body = start + FRAME_HEADER_LEN;
        out.resize(body + plain.len(), 0);
        let room = out.get_mut(body..).unwrap_or_default();
        let packed = (plain.len() >= MIN_COMPRESS_LEN).then(|| self.compress(method, plain, room)).flatten();
        let (len, plain_len) = if let Some(len) = packed {
            (len, plain.len())
        } else {
            room.copy_from_slice(plain);
            (plain.len(), 0)
        };
        out.truncate(body + len);
        let [len, plain_len] = [len, plain_len].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        if let Some(header) = out.get_mut(start..body) {
            header.copy_from_slice(&FrameHeader { len, seq, plain_len }.to_bytes());
        }
    }

    /// Compresses `plain` into `room`; its length if that is less than that of `plain`.
    fn compress(&mut self, method: Method, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        let room = room.get_mut(..plain.len().saturating_sub(1))?;
        match method {
            Method::Zlib => {
                self.zlib.reset();
                match self.zlib.compress(plain, room, FlushCompress::Finish) {
                    Ok(Status::StreamEnd) => usize::try_from(self.zlib.total_out()).ok(),
                    _ => None,
                }
            }
            Method::Zstd { level } => self.zstd(level)?.compress2(room, plain).ok(),
        }
    }

    /// The compressor of zstd, set to this level; `None` if there is no memory for it.
    fn zstd(&mut self, level: u8) -> Option<&mut CCtx<'static>> {
        let (context, current) = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert((CCtx::try_create()?, 0)),
        };
        if *current != level {
            context.set_parameter(CParameter::CompressionLevel(level.into())).ok()?;
            *current = level;
        }
        Some(context)
    }

    /// An expander for a new frame; the level of zstd does not matter.
    pub(super) fn take(&mut self, method: Method) -> Result<Expander, WireError> {
        match method {
            Method::Zlib => {
                let idle = self.idle_zlib.pop().map(Box::new);
                Ok(Expander::Zlib(idle.unwrap_or_else(|| Box::new(Decompress::new(true)))))
            }
            Method::Zstd { .. } => {
                if let Some(idle) = self.idle_zstd.pop() {
                    return Ok(Expander::Zstd(idle));
                }
                let mut context = DCtx::try_create().ok_or(BROKEN)?;
                context.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(|_| BROKEN)?;
                Ok(Expander::Zstd(context))
            }
        }
    }

    /// Takes back the expander of a frame that had `plain_len` bytes of plain text.
    pub(super) fn give_back(&mut self, expander: Expander, plain_len: u32) {
        match expander {
            Expander::Zlib(mut zlib) if self.idle_zlib.len() < KEPT => {
                zlib.reset(true);
                self.idle_zlib.push(*zlib);
            }
            Expander::Zstd(mut zstd) => {
                let keep = self.idle_zstd.len() < KEPT && plain_len <= KEPT_PLAIN_MAX;
                if keep && zstd.reset(ResetDirective::SessionOnly).is_ok() {
                    self.idle_zstd.push(zstd);
                }
            }
            Expander::Zlib(_) => {}
        }
    }
}

impl Expander {
    /// Expands what it can of `input` into `out`. `all` says that this is the whole content, and
    /// `out` has room for all of it: that is faster.
    pub(super) fn expand(&mut self, input: &[u8], out: &mut [u8], all: bool) -> Result<Expanded, WireError> {
        match self {
            Self::Zlib(zlib) => {
                let flush = if all { FlushDecompress::Finish } else { FlushDecompress::None };
                let (read, written) = (zlib.total_in(), zlib.total_out());
                let status = zlib.decompress(input, out, flush).map_err(|_| BROKEN)?;
                // Differences of what is in memory.
                let [read, written] = [zlib.total_in() - read, zlib.total_out() - written]
                    .map(|n| usize::try_from(n).unwrap_or_default());
                Ok(Expanded { read, written, ended: status == Status::StreamEnd })
            }
            Self::Zstd(zstd) => {
                let mut input = InBuffer::around(input);
                let mut out = OutBuffer::around(out);
                let hint = zstd.decompress_stream(&mut out, &mut input).map_err(|_| BROKEN)?;
                Ok(Expanded { read: input.pos(), written: out.pos(), ended: hint == 0 })
            }
        }
    }
}

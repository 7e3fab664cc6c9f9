//! An event whose header was seen, while its body comes.

use flate2::Crc;

use super::Out;
use crate::checksum::{CHECKSUM_LEN, Checksum};
use crate::error::Broken;
use crate::header::{HEADER_LEN, Header};
use crate::kind::{self, Use};
use crate::payload::Payload;

/// An event whose header was seen.
#[derive(Debug)]
pub(super) struct Body {
    header: Header,
    content: Content,
    /// Bytes of the body that were not seen yet.
    left: u32,
    checksum: Checksum,
    /// The checksum of all bytes so far.
    crc: Crc,
    /// The checksum at the event's end, of which so many bytes were seen.
    said: [u8; CHECKSUM_LEN],
    said_len: usize,
}

/// What is done with the bytes of a body.
#[derive(Debug)]
pub(super) enum Content {
    /// The first bytes are kept, at most so many; whether there were more.
    Keep { max: usize, is_cut: bool },
    /// All of a format description is kept. This is its header.
    Format([u8; HEADER_LEN]),
    /// Events come out.
    Expand(Box<Payload>),
    /// Nothing.
    Skip,
    /// Nothing, and that is told.
    Unknown,
}

impl Body {
    /// The body behind a header, whose event ends with this checksum.
    pub(super) fn new(bytes: [u8; HEADER_LEN], checksum: Checksum, is_nested: bool) -> Result<Self, Broken> {
        let header = Header::parse(bytes);
        let fixed = u32::try_from(HEADER_LEN + checksum.len()).unwrap_or(u32::MAX);
        let too_short = Broken::TooShort { kind: header.kind, len: header.len };
        let left = header.len.checked_sub(fixed).ok_or(too_short)?;
        // Nothing that ends a transaction early is told before the checksum of the whole was seen.
        if is_nested && !kind::is_of_transaction(header.kind) {
            return Err(Broken::Payload("an event that is in no transaction"));
        }
        let content = match (header.kind, kind::use_of(header.kind)) {
            (kind::FORMAT_DESCRIPTION, _) if left as usize > kind::FIELDS_MAX => {
                return Err(Broken::Format("the format description is too long"));
            }
            (kind::FORMAT_DESCRIPTION, _) => Content::Format(bytes),
            (_, Use::Keep(max)) => Content::Keep { max, is_cut: false },
            (_, Use::Expand) => Content::Expand(Box::default()),
            (_, Use::Skip) => Content::Skip,
            (_, Use::Unknown) if header.is_ignorable() => Content::Skip,
            (_, Use::Unknown) => Content::Unknown,
        };
        let mut body = Self { header, content, left, checksum, crc: Crc::new(), said: [0; 4], said_len: 0 };
        body.add(&bytes);
        Ok(body)
    }

    /// The event's header.
    pub(super) const fn header(&self) -> &Header {
        &self.header
    }

    /// Whether events come out of the body.
    pub(super) const fn is_expanded(&self) -> bool {
        matches!(self.content, Content::Expand(_))
    }

    /// Whether all bytes of the event were seen.
    pub(super) const fn is_complete(&self) -> bool {
        self.left == 0 && self.said_len >= self.checksum.len()
    }

    /// Takes bytes of the event from the front of `input`, which is not empty; the rest.
    pub(super) fn take<'a>(&mut self, input: &'a [u8], kept: &mut Vec<u8>, out: &mut Out<'_>) -> &'a [u8] {
        if self.left == 0 {
            let (byte, rest) = input.split_at_checked(1).unwrap_or((input, &[]));
            if let (Some(slot), Some(byte)) = (self.said.get_mut(self.said_len), byte.first()) {
                *slot = *byte;
            }
            self.said_len += 1;
            return rest;
        }
        let (bytes, rest) = input.split_at_checked(self.left as usize).unwrap_or((input, &[]));
        // Fits: there are no more of them than are left.
        self.left -= u32::try_from(bytes.len()).unwrap_or(self.left);
        self.add(bytes);
        match &mut self.content {
            Content::Keep { max, is_cut } => {
                let room = max.saturating_sub(kept.len());
                kept.extend(bytes.iter().take(room));
                *is_cut |= bytes.len() > room;
            }
            Content::Format(_) => kept.extend_from_slice(bytes),
            Content::Expand(payload) => payload.feed(bytes, out),
            Content::Skip | Content::Unknown => {}
        }
        rest
    }

    /// The header and the content, if the checksum is right.
    pub(super) fn checked(self) -> Result<(Header, Content), Broken> {
        if self.checksum == Checksum::Crc32 && self.crc.sum() != u32::from_le_bytes(self.said) {
            return Err(Broken::Checksum { kind: self.header.kind });
        }
        Ok((self.header, self.content))
    }

    /// Adds bytes to the checksum.
    fn add(&mut self, bytes: &[u8]) {
        if self.checksum == Checksum::Crc32 {
            self.crc.update(bytes);
        }
    }
}

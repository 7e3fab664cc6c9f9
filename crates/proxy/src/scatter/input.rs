//! What one shard has said and the engine has not taken yet.

use std::borrow::Cow;

use wire::WireError;
use wire::frame::{HEADER_LEN, Header};

use crate::limits::SCATTER_SHARD_BYTES_MAX;

/// Buffer of the bytes of one shard, read message by message.
///
/// The first packet may have any sequence id, since commands of several packets shift it. All
/// others follow one another.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    /// Where the bytes begin that were not taken.
    start: usize,
    /// The sequence id of the next packet, once the first one was taken.
    seq: Option<u8>,
    /// Payload bytes of the longest message.
    limit: usize,
}

/// What the buffer begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    /// A message.
    Whole(Message),
    /// A part of a message, which needs at least so many more bytes.
    Missing(usize),
}

/// The place of a whole message at the front of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// The first byte of its payload; none if the payload is empty.
    pub(super) first: Option<u8>,
    /// Bytes of its payload.
    pub(super) len: usize,
    /// Bytes of its packets, headers included.
    wire_len: usize,
    /// The sequence id behind its last packet.
    next_seq: u8,
}

impl Input {
    /// An empty buffer that refuses messages of more than `limit` bytes of payload.
    pub(super) const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, seq: None, limit }
    }

    /// Appends bytes of the shard.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > 2 * SCATTER_SHARD_BYTES_MAX {
            // A large row has passed.
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes may be fed. More than [`SCATTER_SHARD_BYTES_MAX`] are kept only of a message
    /// that is larger by itself.
    pub(super) fn room(&self) -> usize {
        match SCATTER_SHARD_BYTES_MAX.saturating_sub(self.unread().len()) {
            0 => match self.front() {
                Ok(Front::Missing(bytes)) => bytes.min(SCATTER_SHARD_BYTES_MAX),
                Ok(Front::Whole(_)) | Err(_) => 0,
            },
            room => room,
        }
    }

    /// Bytes that were not taken.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// What the buffer begins with.
    ///
    /// # Errors
    ///
    /// [`WireError::OutOfOrder`] or [`WireError::TooLong`], as soon as a header says so.
    pub(super) fn front(&self) -> Result<Front, WireError> {
        let unread = self.unread();
        let (mut wire_len, mut len, mut seq) = (0, 0, self.seq);
        loop {
            let rest = unread.get(wire_len..).unwrap_or_default();
            let Some(header) = rest.first_chunk::<HEADER_LEN>() else {
                return Ok(Front::Missing(HEADER_LEN - rest.len()));
            };
            let header = Header::parse(*header);
            match seq {
                Some(expected) if expected != header.seq => {
                    return Err(WireError::OutOfOrder { expected, got: header.seq });
                }
                _ => seq = Some(header.seq.wrapping_add(1)),
            }
            let packet_len = HEADER_LEN + header.len as usize;
            len += header.len as usize;
            if len > self.limit {
                return Err(WireError::TooLong { limit: self.limit });
            }
            if rest.len() < packet_len {
                return Ok(Front::Missing(packet_len - rest.len()));
            }
            wire_len += packet_len;
            if !header.continues() {
                let first = unread.get(HEADER_LEN).copied().filter(|_| len > 0);
                let next_seq = header.seq.wrapping_add(1);
                return Ok(Front::Whole(Message { first, len, wire_len, next_seq }));
            }
        }
    }

    /// The payload of the message at the front; copied if it has several packets.
    pub(super) fn payload(&self, message: Message) -> Cow<'_, [u8]> {
        let mut rest = self.unread().get(..message.wire_len).unwrap_or_default();
        if message.wire_len == HEADER_LEN + message.len {
            return Cow::Borrowed(rest.get(HEADER_LEN..).unwrap_or_default());
        }
        let mut payload = Vec::with_capacity(message.len);
        while let Some((header, behind)) = rest.split_first_chunk::<HEADER_LEN>() {
            let len = Header::parse(*header).len as usize;
            let (packet, behind) = behind.split_at_checked(len).unwrap_or((behind, &[]));
            payload.extend_from_slice(packet);
            rest = behind;
        }
        Cow::Owned(payload)
    }

    /// Takes the message at the front off the buffer.
    pub(super) const fn pass(&mut self, message: Message) {
        self.start += message.wire_len;
        self.seq = Some(message.next_seq);
    }

    fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use wire::frame::{MAX_PAYLOAD, put_message};

    use super::*;

    const NO_LIMIT: usize = usize::MAX;

    /// Takes all whole messages.
    fn take(input: &mut Input) -> Result<Vec<Vec<u8>>, WireError> {
        let mut payloads = Vec::new();
        while let Front::Whole(message) = input.front()? {
            payloads.push(input.payload(message).into_owned());
            input.pass(message);
        }
        Ok(payloads)
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_messages(
            payloads in vec(any::<Vec<u8>>(), 0..6),
            seq: u8,
            cuts in vec(1_usize..9, 0..60),
        ) {
            let mut bytes = Vec::new();
            payloads.iter().fold(seq, |seq, payload| put_message(&mut bytes, seq, payload));
            let (mut input, mut taken, mut rest) = (Input::new(NO_LIMIT), Vec::new(), &bytes[..]);
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                rest = behind;
                input.feed(piece);
                taken.extend(take(&mut input).unwrap());
            }
            prop_assert_eq!(taken, payloads);
            prop_assert!(input.unread().is_empty());
        }

        #[test]
        fn any_bytes_end(bytes: Vec<u8>) {
            let mut input = Input::new(NO_LIMIT);
            input.feed(&bytes);
            let _ = take(&mut input);
        }
    }

    #[test]
    fn packets_follow_one_another() {
        let mut input = Input::new(NO_LIMIT);
        input.feed(b"\x01\0\0\x07a\x01\0\0\x09b");
        assert_eq!(take(&mut input), Err(WireError::OutOfOrder { expected: 8, got: 9 }));
    }

    #[test]
    fn a_long_message_is_refused_by_its_header() {
        let mut input = Input::new(5);
        input.feed(b"\x06\0\0\x01");
        assert_eq!(take(&mut input), Err(WireError::TooLong { limit: 5 }));
    }

    #[test]
    fn a_message_of_several_packets_is_one_payload() {
        for len in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
            let payload: Vec<u8> = (0..len).map(|n| n.to_le_bytes()[0]).collect();
            let mut bytes = Vec::new();
            put_message(&mut bytes, 255, &payload);
            let mut input = Input::new(NO_LIMIT);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let room = input.room();
                assert!((1..=SCATTER_SHARD_BYTES_MAX).contains(&room), "a shard is never stuck");
                let (piece, behind) = rest.split_at(room.min(rest.len()));
                input.feed(piece);
                rest = behind;
            }
            assert!(take(&mut input).unwrap() == [payload], "{len} bytes");
            input.feed(b"x");
            assert!(input.bytes.capacity() <= 2 * SCATTER_SHARD_BYTES_MAX, "memory is given back");
        }
    }

    #[test]
    fn a_shard_that_is_ahead_is_not_read() {
        let mut input = Input::new(NO_LIMIT);
        let mut bytes = Vec::new();
        (0..2).fold(1, |seq, _| put_message(&mut bytes, seq, &vec![0; SCATTER_SHARD_BYTES_MAX / 2]));
        assert_eq!(input.room(), SCATTER_SHARD_BYTES_MAX);
        input.feed(&bytes);
        assert_eq!(input.room(), 0);
        let Ok(Front::Whole(message)) = input.front() else { panic!("a message is there") };
        input.pass(message);
        assert_eq!(input.room(), SCATTER_SHARD_BYTES_MAX / 2 - HEADER_LEN);
    }
}

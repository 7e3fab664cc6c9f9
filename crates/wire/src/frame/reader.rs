//! Assembles whole messages out of arbitrary reads.

use std::borrow::Cow;

use super::{HEADER_LEN, Header, Packets};
use crate::WireError;

/// Bytes of an empty buffer that are kept. More were needed for one large message.
const KEPT_BYTES_MAX: usize = 128 * 1024;

/// Collects what a peer sent and hands out whole messages.
///
/// Take all messages before feeding more, so that at most one incomplete message (below the limit)
/// and one read are held. After an error it stays at the bad message and returns the same error
/// again: the connection has no defined next byte any more.
#[derive(Debug)]
pub struct MessageReader {
    /// Bytes that were fed, from `start` on not yet taken.
    buffer: Vec<u8>,
    start: usize,
    limit: usize,
    /// The sequence id of the next packet; nothing if it may have any.
    seq: Option<u8>,
}

/// What the unread bytes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// A message.
    Whole(Message),
    /// A part of a message, which needs at least so many more bytes.
    Missing(usize),
}

/// The place of a whole message at the front of the unread bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The first byte of its payload; none if the payload is empty.
    pub first: Option<u8>,
    /// Bytes of its payload.
    pub len: usize,
    /// Bytes of its packets, headers included.
    wire_len: usize,
    /// The sequence id behind its last packet.
    next_seq: u8,
}

impl MessageReader {
    /// A reader that refuses messages of more than `limit` bytes of payload, and expects sequence
    /// id 0 first.
    pub const fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, limit, seq: Some(0) }
    }

    /// The same reader, whose next packet may have any sequence id. Others follow that one.
    #[must_use]
    pub const fn with_any_seq(mut self) -> Self {
        self.seq = None;
        self
    }

    /// Sets the sequence id that the next message starts with. To be called between messages.
    pub const fn expect(&mut self, seq: u8) {
        self.seq = Some(seq);
    }

    /// The sequence id after the last message taken: the one that an answer starts with.
    pub const fn next_seq(&self) -> u8 {
        match self.seq {
            Some(seq) => seq,
            None => 0,
        }
    }

    /// Adds what was read from the peer.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the payload of the next message, or `None` if it is not complete yet.
    ///
    /// # Errors
    ///
    /// Those of [`front`](Self::front).
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let Front::Whole(message) = self.front()? else { return Ok(None) };
        let payload = self.payload(message).into_owned();
        self.pass(message);
        Ok(Some(payload))
    }

    /// What the unread bytes begin with.
    ///
    /// # Errors
    ///
    /// [`WireError::OutOfOrder`] or [`WireError::TooLong`] as soon as a header says so, before its
    /// payload has arrived.
    pub fn front(&self) -> Result<Front, WireError> {
        let unread = self.unread();
        let (mut wire_len, mut len, mut seq) = (0, 0, self.seq);
        loop {
            let rest = unread.get(wire_len..).unwrap_or_default();
            let Some(header) = rest.first_chunk::<HEADER_LEN>() else {
                return Ok(Front::Missing(HEADER_LEN - rest.len()));
            };
            let header = Header::parse(*header);
            let next_seq = header.seq.wrapping_add(1);
            match seq.replace(next_seq) {
                Some(expected) if expected != header.seq => {
                    return Err(WireError::OutOfOrder { expected, got: header.seq });
                }
                _ => {}
            }
            // Never wraps: both are lengths in memory, and a header says at most 2^24-1.
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
                return Ok(Front::Whole(Message { first, len, wire_len, next_seq }));
            }
        }
    }

    /// The payload of the message at the front; copied if it has several packets.
    pub fn payload(&self, message: Message) -> Cow<'_, [u8]> {
        let bytes = self.unread().get(..message.wire_len).unwrap_or_default();
        if message.wire_len == HEADER_LEN + message.len {
            return Cow::Borrowed(bytes.get(HEADER_LEN..).unwrap_or_default());
        }
        let mut payload = Vec::with_capacity(message.len);
        Packets::new(bytes).for_each(|packet| payload.extend_from_slice(packet.payload));
        Cow::Owned(payload)
    }

    /// Takes the message at the front off the unread bytes.
    pub const fn pass(&mut self, message: Message) {
        self.start += message.wire_len;
        self.seq = Some(message.next_seq);
    }

    /// Bytes that were fed and belong to no message that was taken.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The unread bytes, for the next reader of the connection.
    pub fn into_unread(mut self) -> Vec<u8> {
        // A vector of its own, so that an idle connection does not keep the memory of its login.
        self.buffer.split_off(self.start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::frame::{MAX_PAYLOAD, put_message};

    const NO_LIMIT: usize = usize::MAX;

    /// All messages that `reader` gets out of `bytes` when they come in pieces of the `cuts`'
    /// lengths.
    fn read_all(reader: &mut MessageReader, bytes: &[u8], cuts: &[usize]) -> Result<Vec<Vec<u8>>, WireError> {
        let mut messages = Vec::new();
        let mut rest = bytes;
        let mut cuts = cuts.iter();
        while !rest.is_empty() {
            let len = cuts.next().map_or(rest.len(), |&cut| cut.clamp(1, rest.len()));
            let (piece, after) = rest.split_at(len);
            rest = after;
            reader.feed(piece);
            while let Some(message) = reader.message()? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_messages(
            payloads in vec(vec(any::<u8>(), 0..40), 0..8),
            cuts in vec(1usize..9, 0..100),
        ) {
            let mut bytes = Vec::new();
            let mut seq = 0;
            for payload in &payloads {
                seq = put_message(&mut bytes, seq, payload);
            }
            let mut reader = MessageReader::new(40);
            prop_assert_eq!(read_all(&mut reader, &bytes, &cuts), Ok(payloads));
            prop_assert_eq!(reader.next_seq(), seq);
            prop_assert!(reader.into_unread().is_empty());
        }

        #[test]
        fn a_wrong_sequence_id_is_refused(expected: u8, got: u8, payload: Vec<u8>) {
            let mut bytes = Vec::new();
            put_message(&mut bytes, got, &payload);
            let mut reader = MessageReader::new(NO_LIMIT);
            reader.expect(expected);
            reader.feed(&bytes);
            let result = reader.message();
            if expected == got {
                prop_assert_eq!(result, Ok(Some(payload)));
                prop_assert_eq!(reader.next_seq(), got.wrapping_add(1));
            } else {
                prop_assert_eq!(result, Err(WireError::OutOfOrder { expected, got }));
            }
        }
    }

    #[test]
    fn messages_of_every_size_around_a_full_packet() {
        let sizes = [0, 1, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, MAX_PAYLOAD + 2, 2 * MAX_PAYLOAD];
        for size in sizes {
            let payload: Vec<u8> = (0u8..=255).cycle().take(size).collect();
            let mut bytes = Vec::new();
            let next = put_message(&mut bytes, 250, &payload);
            for cuts in [&[][..], &[2, 3, MAX_PAYLOAD - 2, 2, 1, 1, 1, 1, MAX_PAYLOAD]] {
                let mut reader = MessageReader::new(size);
                reader.expect(250);
                let messages = read_all(&mut reader, &bytes, cuts).unwrap();
                assert!(messages == [payload.as_slice()], "{size} bytes");
                assert_eq!(reader.next_seq(), next);
            }
            if size > 0 {
                let mut reader = MessageReader::new(size - 1);
                reader.expect(250);
                let result = read_all(&mut reader, &bytes, &[]);
                assert_eq!(result, Err(WireError::TooLong { limit: size - 1 }), "{size} bytes");
            }
        }
    }

    #[test]
    fn a_full_packet_is_no_message_before_the_one_that_ends_it() {
        let mut bytes = Vec::new();
        put_message(&mut bytes, 0, &vec![1; MAX_PAYLOAD]);
        let mut reader = MessageReader::new(MAX_PAYLOAD);
        reader.feed(&bytes[..bytes.len() - 1]);
        assert_eq!(reader.message(), Ok(None));
        reader.feed(&bytes[bytes.len() - 1..]);
        assert_eq!(reader.message().unwrap().map(|message| message.len()), Some(MAX_PAYLOAD));
    }

    #[test]
    fn the_packets_of_one_message_are_in_order() {
        let mut bytes = Vec::new();
        put_message(&mut bytes, 0, &vec![1; MAX_PAYLOAD]);
        *bytes.last_mut().unwrap() = 2;
        let mut reader = MessageReader::new(NO_LIMIT);
        reader.feed(&bytes);
        let error = Err(WireError::OutOfOrder { expected: 1, got: 2 });
        assert_eq!(reader.message(), error);
        assert_eq!(reader.message(), error);
    }

    #[test]
    fn a_reader_may_begin_anywhere() {
        let mut reader = MessageReader::new(NO_LIMIT).with_any_seq();
        reader.feed(b"\x01\0\0\x07a\x01\0\0\x09b");
        assert_eq!(reader.message(), Ok(Some(b"a".to_vec())));
        assert_eq!(reader.message(), Err(WireError::OutOfOrder { expected: 8, got: 9 }));
    }

    #[test]
    fn the_memory_of_a_large_message_is_given_back() {
        let mut bytes = Vec::new();
        put_message(&mut bytes, 0, &vec![1; MAX_PAYLOAD + 1]);
        let mut reader = MessageReader::new(NO_LIMIT);
        let mut rest = &bytes[..];
        while let Front::Missing(missing) = reader.front().unwrap() {
            assert!(missing > 0, "a message is never stuck");
            let (piece, behind) = rest.split_at(missing);
            reader.feed(piece);
            rest = behind;
        }
        assert_eq!(reader.message().unwrap().map(|message| message.len()), Some(MAX_PAYLOAD + 1));
        reader.feed(b"x");
        assert!(rest.is_empty() && reader.buffer.capacity() <= KEPT_BYTES_MAX);
    }

    #[test]
    fn an_oversized_message_is_refused_before_it_arrives() {
        let mut reader = MessageReader::new(10);
        reader.feed(&[11, 0, 0, 0]);
        assert_eq!(reader.message(), Err(WireError::TooLong { limit: 10 }));
    }

    #[test]
    fn what_follows_a_message_stays() {
        let mut reader = MessageReader::new(10);
        reader.feed(b"\x02\0\0\0ab\x03\0\0");
        assert_eq!(reader.message(), Ok(Some(b"ab".to_vec())));
        assert_eq!(reader.message(), Ok(None));
        assert_eq!(reader.unread(), b"\x03\0\0");
        assert_eq!(reader.into_unread(), b"\x03\0\0");
    }
}

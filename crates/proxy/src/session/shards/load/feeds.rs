//! What shards get of a file, and what they say before they have it.

use std::task::{Context, Poll};

use scatter::Scatter as Replies;
use wire::frame::{HEADER_LEN, Header, put_message};
use wire::packet::LocalInfile;

use crate::limits::LOAD_SHARD_BYTES_MAX;
use crate::sock::Sock;

/// Bytes of a packet for a shard, but for longer lines.
const PACKET_BYTES: usize = 16 * 1024;

/// Bytes that are read of a shard at once. All that it says before it has the file is one packet.
const READ_BYTES: usize = 1024;

/// The other ends of the clients of all shards.
pub(super) struct Feeds(Vec<Feed>);

/// What one shard says and gets.
struct Feed {
    sock: Sock,
    /// What was read of its reply.
    head: Vec<u8>,
    /// How its reply begins, once that is known.
    first: Option<First>,
    /// Lines that are in no packet yet.
    lines: Vec<u8>,
    /// Packets, of which so many bytes were taken.
    packets: Vec<u8>,
    taken: usize,
    seq: u8,
}

/// How the reply of a shard begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum First {
    /// With the payload that asks for the file.
    Question(Vec<u8>),
    /// With an error, or not at all.
    Other,
}

impl Feeds {
    pub(super) fn new(socks: Vec<Sock>) -> Self {
        Self(socks.into_iter().map(Feed::new).collect())
    }

    /// Ready when all shards have asked for the file, or have said why they do not.
    pub(super) fn poll_asked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut is_ready = true;
        for feed in &mut self.0 {
            is_ready &= feed.poll_first(cx).is_ready();
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The payload that asks for the file; none if a shard does not.
    pub(super) fn question(&self) -> Option<Vec<u8>> {
        let mut first = None;
        for feed in &self.0 {
            let Some(First::Question(payload)) = &feed.first else { return None };
            first = first.or(Some(payload));
        }
        first.cloned()
    }

    /// Adds a line for a shard.
    pub(super) fn add(&mut self, shard: usize, line: &[u8]) {
        if let Some(feed) = self.0.get_mut(shard) {
            feed.add(line);
        }
    }

    /// Adds a line for all shards.
    pub(super) fn add_everywhere(&mut self, line: &[u8]) {
        self.0.iter_mut().for_each(|feed| feed.add(line));
    }

    /// Ends the file of all shards that have asked for it.
    pub(super) fn end(&mut self) {
        self.0.iter_mut().for_each(Feed::end);
    }

    /// Ready when no shard has too much to take.
    pub(super) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_below(cx, LOAD_SHARD_BYTES_MAX)
    }

    /// Ready when all shards have taken all.
    pub(super) fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_below(cx, 1)
    }

    fn poll_below(&mut self, cx: &mut Context<'_>, bytes_max: usize) -> Poll<()> {
        let mut is_ready = true;
        for feed in &mut self.0 {
            feed.send(cx);
            is_ready &= feed.waiting() < bytes_max;
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The sockets for the replies, of which those get what was read already.
    pub(super) fn into_sockets(self, replies: &mut Replies) -> Vec<Sock> {
        let mut sockets = Vec::with_capacity(self.0.len());
        for (number, feed) in self.0.into_iter().enumerate() {
            if feed.first == Some(First::Other) {
                replies.feed(number, &feed.head);
            }
            sockets.push(feed.sock);
        }
        sockets
    }
}

impl Feed {
    const fn new(sock: Sock) -> Self {
        Self { sock, head: Vec::new(), first: None, lines: Vec::new(), packets: Vec::new(), taken: 0, seq: 0 }
    }

    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.first.is_some() {
                return Poll::Ready(());
            }
            let mut buffer = [0; READ_BYTES];
            match self.sock.poll_read(cx, &mut buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(read)) if read > 0 => {
                    self.head.extend_from_slice(buffer.get(..read).unwrap_or_default());
                    self.look();
                }
                Poll::Ready(_) => self.first = Some(First::Other),
            }
        }
    }

    /// Looks at the first packet, if it is whole.
    fn look(&mut self) {
        let Some((header, behind)) = self.head.split_first_chunk::<HEADER_LEN>() else { return };
        let header = Header::parse(*header);
        let payload = behind.get(..header.len as usize);
        match (behind.first(), payload) {
            (Some(&LocalInfile::HEADER), Some(payload)) => {
                self.first = Some(First::Question(payload.to_vec()));
                self.seq = header.seq.wrapping_add(1);
            }
            (Some(&LocalInfile::HEADER) | None, _) => {}
            (Some(_), _) => self.first = Some(First::Other),
        }
    }

    fn has_asked(&self) -> bool {
        matches!(self.first, Some(First::Question(_)))
    }

    fn add(&mut self, line: &[u8]) {
        self.lines.extend_from_slice(line);
        if self.lines.len() >= PACKET_BYTES {
            self.pack();
        }
    }

    /// Makes packets of the lines.
    fn pack(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if self.has_asked() {
            for part in lines.chunks(PACKET_BYTES) {
                self.seq = put_message(&mut self.packets, self.seq, part);
            }
        }
    }

    fn end(&mut self) {
        self.pack();
        if self.has_asked() {
            self.seq = put_message(&mut self.packets, self.seq, &[]);
        }
    }

    /// Bytes that the shard has not taken.
    fn waiting(&self) -> usize {
        self.packets.len() - self.taken
    }

    /// Gives the shard what it takes.
    fn send(&mut self, cx: &mut Context<'_>) {
        while let Some(rest) = self.packets.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match self.sock.poll_write(cx, rest) {
                Poll::Pending => return,
                Poll::Ready(Ok(bytes)) if bytes > 0 => self.taken += bytes,
                // The inner session has ended. What it has said stays to be read.
                Poll::Ready(_) => break,
            }
        }
        self.packets.clear();
        self.taken = 0;
    }
}

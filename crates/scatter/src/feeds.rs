//! What shards get of a file, and what they say before they have it.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use wire::frame::{HEADER_LEN, Header, put_message};
use wire::packet::LocalInfile;

use crate::limits::LOAD_SHARD_BYTES_MAX;

/// Bytes of a packet for a shard, but for longer lines.
const PACKET_BYTES: usize = 16 * 1024;

/// The file of a statement, as its branches get it.
#[derive(Debug, Clone, Default)]
pub struct Feeds(Vec<Rc<RefCell<Feed>>>);

/// What one branch says first, and what it gets.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// What it has said, until it is known how its reply begins.
    head: Vec<u8>,
    first: Option<First>,
    /// Lines that are in no packet yet.
    lines: Vec<u8>,
    /// Packets, of which so many bytes were taken.
    packets: Vec<u8>,
    taken: usize,
    seq: u8,
    /// It waits for packets.
    is_awaited: bool,
    /// It takes nothing any more.
    is_closed: bool,
}

/// How the reply to a branch begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum First {
    /// With the payload that asks for the file.
    Question(Vec<u8>),
    /// With an error, or not at all.
    Other,
}

impl Feeds {
    /// For so many branches.
    pub fn new(branches: usize) -> Self {
        Self(std::iter::repeat_with(Rc::default).take(branches).collect())
    }

    pub(crate) fn of(&self, branch: usize) -> Option<Rc<RefCell<Feed>>> {
        self.0.get(branch).cloned()
    }

    /// Ready when all branches have asked for the file, or have said why they do not.
    pub fn poll_asked(&self) -> Poll<()> {
        let all = self.0.iter().all(|feed| feed.borrow().has_begun());
        if all { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The payload that asks for the file; none if a branch does not.
    pub fn question(&self) -> Option<Vec<u8>> {
        let mut first = None;
        for feed in &self.0 {
            let Some(First::Question(payload)) = &feed.borrow().first else { return None };
            first.get_or_insert_with(|| payload.clone());
        }
        first
    }

    /// Adds a line for a branch.
    pub fn add(&self, branch: usize, line: &[u8]) {
        if let Some(feed) = self.0.get(branch) {
            feed.borrow_mut().add(line);
        }
    }

    /// Adds a line for all branches.
    pub fn add_everywhere(&self, line: &[u8]) {
        self.0.iter().for_each(|feed| feed.borrow_mut().add(line));
    }

    /// Ends the file of all branches that have asked for it.
    pub fn end(&self) {
        self.0.iter().for_each(|feed| feed.borrow_mut().end());
    }

    /// Ready when no branch has too much to take.
    pub fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        self.poll_below(cx, LOAD_SHARD_BYTES_MAX)
    }

    /// Ready when all branches have taken all.
    pub fn poll_sent(&self, cx: &Context<'_>) -> Poll<()> {
        self.poll_below(cx, 1)
    }

    fn poll_below(&self, cx: &Context<'_>, bytes_max: usize) -> Poll<()> {
        let mut is_ready = true;
        for feed in &self.0 {
            let mut feed = feed.borrow_mut();
            is_ready &= feed.waiting() < bytes_max;
            if feed.is_awaited && feed.has_input() {
                feed.is_awaited = false;
                cx.waker().wake_by_ref();
            }
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Feed {
    /// Whether it is known how the reply begins.
    pub(crate) const fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Takes bytes of the reply, as long as that is not known. All that have come, if the reply
    /// does not begin with what asks for the file.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.head.extend_from_slice(bytes);
        self.look();
        (self.first == Some(First::Other)).then(|| std::mem::take(&mut self.head))
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
        if self.has_asked() && !self.is_closed {
            for part in lines.chunks(PACKET_BYTES) {
                self.seq = put_message(&mut self.packets, self.seq, part);
            }
        }
    }

    fn end(&mut self) {
        self.pack();
        if self.has_asked() && !self.is_closed {
            self.seq = put_message(&mut self.packets, self.seq, &[]);
        }
    }

    /// Bytes that the branch has not taken.
    fn waiting(&self) -> usize {
        self.packets.len() - self.taken
    }

    /// Whether packets wait to be read.
    pub(crate) fn has_input(&self) -> bool {
        self.waiting() > 0
    }

    /// Gives the branch what there is.
    pub(crate) fn poll_read(&mut self, buffer: &mut [u8]) -> Poll<usize> {
        let rest = self.packets.get(self.taken..).unwrap_or_default();
        let bytes = rest.len().min(buffer.len());
        if bytes == 0 {
            self.is_awaited = true;
            return Poll::Pending;
        }
        if let (Some(into), Some(from)) = (buffer.get_mut(..bytes), rest.get(..bytes)) {
            into.copy_from_slice(from);
        }
        self.taken += bytes;
        // A branch that is slower than the client never takes all that there is.
        if self.taken == self.packets.len() || self.taken >= LOAD_SHARD_BYTES_MAX {
            self.packets.drain(..std::mem::take(&mut self.taken));
        }
        Poll::Ready(bytes)
    }

    /// The branch takes nothing any more.
    pub(crate) fn close(&mut self) {
        self.first.get_or_insert(First::Other);
        self.packets = Vec::new();
        (self.taken, self.is_closed) = (0, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken does not stay in memory, if something is left each time.
    #[test]
    fn a_branch_that_is_slower_than_the_client_keeps_its_limit() {
        let mut feed = Feed::default();
        let mut question = Vec::new();
        put_message(&mut question, 1, &[LocalInfile::HEADER, b'f']);
        assert_eq!(feed.hear(&question), None);
        let (line, mut buffer) = (vec![b'x'; PACKET_BYTES], vec![0; PACKET_BYTES]);
        feed.add(&line);
        for _ in 0..1000 {
            feed.add(&line);
            assert_eq!(feed.poll_read(&mut buffer), Poll::Ready(PACKET_BYTES));
        }
        assert!(feed.packets.capacity() <= 4 * LOAD_SHARD_BYTES_MAX, "{}", feed.packets.capacity());
    }
}

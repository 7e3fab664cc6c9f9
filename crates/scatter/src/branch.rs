//! The clients of branches: what legs say goes to the merged reply, and a file comes from it.
//!
//! All of a statement runs in one task, which polls the legs before the [`Relay`](crate::Relay):
//! what a leg says is taken at once, without another copy, and what it waits for wakes the task.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Scatter;
use super::feeds::{Feed, Feeds};

/// The replies to the branches of one statement, for the legs and the relay.
#[derive(Debug)]
pub(crate) struct Replies {
    pub(crate) scatter: RefCell<Scatter>,
    /// Branches that have more to say than there is room for.
    full: RefCell<Vec<usize>>,
    /// The client takes nothing more.
    is_left: Cell<bool>,
}

impl Replies {
    pub(crate) const fn new(scatter: Scatter) -> Self {
        Self { scatter: RefCell::new(scatter), full: RefCell::new(Vec::new()), is_left: Cell::new(false) }
    }

    /// Has branches go on for which there is room now.
    pub(crate) fn wake_those_with_room(&self, cx: &Context<'_>) {
        let (mut full, scatter) = (self.full.borrow_mut(), self.scatter.borrow());
        let before = full.len();
        full.retain(|branch| scatter.room(*branch) == 0 && !scatter.has_ended(*branch));
        if full.len() < before {
            cx.waker().wake_by_ref();
        }
    }

    /// The client takes nothing more: the branches are to end.
    pub(crate) fn leave(&self) {
        self.is_left.set(true);
    }

    pub(crate) const fn is_left(&self) -> bool {
        self.is_left.get()
    }
}

/// The client of a branch, as its leg has one. When it is dropped, the reply has ended.
#[derive(Debug)]
pub struct Branch {
    replies: Rc<Replies>,
    number: usize,
    /// The file that the server may ask for.
    feed: Option<Rc<RefCell<Feed>>>,
}

/// The clients of all branches.
#[derive(Debug, Clone)]
pub struct Branches {
    replies: Rc<Replies>,
    feeds: Option<Feeds>,
}

impl Branches {
    pub(crate) const fn new(replies: Rc<Replies>, feeds: Option<Feeds>) -> Self {
        Self { replies, feeds }
    }

    /// The client of the branch with this number.
    pub fn client(&self, number: usize) -> Branch {
        let feed = self.feeds.as_ref().and_then(|feeds| feeds.of(number));
        Branch { replies: Rc::clone(&self.replies), number, feed }
    }
}

impl Branch {
    /// Takes bytes of the reply, as many as there is room for.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if the client takes nothing more.
    pub fn poll_write(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.has_left() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let mut scatter = self.replies.scatter.borrow_mut();
        if let Some(feed) = self.feed.as_ref().filter(|feed| !feed.borrow().has_begun()) {
            // What asks for the file is no part of the reply.
            if let Some(said) = feed.borrow_mut().hear(bytes) {
                scatter.feed(self.number, &said);
            }
            return Poll::Ready(Ok(bytes.len()));
        }
        let room = match scatter.room(self.number) {
            // Of what stands behind the end of a reply nothing is kept.
            0 if scatter.has_ended(self.number) => return Poll::Ready(Ok(bytes.len())),
            0 => {
                let mut full = self.replies.full.borrow_mut();
                if !full.contains(&self.number) {
                    full.push(self.number);
                }
                return Poll::Pending;
            }
            room => room.min(bytes.len()),
        };
        scatter.feed(self.number, bytes.get(..room).unwrap_or(bytes));
        Poll::Ready(Ok(room))
    }

    /// Reads packets of the file, if the server has asked for one.
    pub fn poll_read(&mut self, buffer: &mut [u8]) -> Poll<usize> {
        match &self.feed {
            _ if self.has_left() => Poll::Ready(0),
            Some(feed) => feed.borrow_mut().poll_read(buffer),
            None => Poll::Pending,
        }
    }

    /// Whether packets of a file wait to be read.
    pub fn has_input(&self) -> bool {
        self.feed.as_ref().is_some_and(|feed| feed.borrow().has_input())
    }

    /// Whether the client takes nothing more.
    pub fn has_left(&self) -> bool {
        self.replies.is_left()
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        if let Some(feed) = &self.feed {
            feed.borrow_mut().close();
        }
        self.replies.scatter.borrow_mut().close(self.number);
    }
}

//! Sockets made of memory: both ends live in this process.
//!
//! Tests script both ends, and decide every byte and every order. Both ends may be polled by one
//! task: each wait keeps the waker of its own end.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Input;

/// Bytes on their way in one direction.
#[derive(Debug)]
struct Pipe {
    bytes: VecDeque<u8>,
    capacity: usize,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// One end of a connection made of memory.
#[derive(Debug)]
pub struct End {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
}

/// Two connected ends; each direction holds at most `capacity` bytes that were not read yet.
pub fn pair(capacity: usize) -> (End, End) {
    let pipe = || {
        let pipe = Pipe { bytes: VecDeque::new(), capacity, closed: false, reader: None, writer: None };
        Arc::new(Mutex::new(pipe))
    };
    let (there, back) = (pipe(), pipe());
    (
        End { incoming: Arc::clone(&back), outgoing: Arc::clone(&there) },
        End { incoming: there, outgoing: back },
    )
}

/// The bytes of a pipe are whole after each of its methods, also after a panic of the other end.
fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pipe {
    /// What waits in it.
    fn input(&self) -> Option<Input> {
        match (self.bytes.is_empty(), self.closed) {
            (false, _) => Some(Input::Bytes),
            (true, true) => Some(Input::End),
            (true, false) => None,
        }
    }

    fn close(&mut self) {
        self.closed = true;
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}

impl End {
    /// Bytes that were written to this end and not read yet.
    pub fn unread(&self) -> usize {
        lock(&self.incoming).bytes.len()
    }

    /// Ends the stream in this direction: the peer reads the end behind what was written.
    pub fn close_write(&self) {
        lock(&self.outgoing).close();
    }

    pub(super) fn poll_input(&self, cx: &mut Context<'_>) -> Poll<Input> {
        let mut pipe = lock(&self.incoming);
        if let Some(input) = pipe.input() {
            return Poll::Ready(input);
        }
        pipe.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn input(&self) -> Option<Input> {
        lock(&self.incoming).input()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.incoming).close();
        lock(&self.outgoing).close();
    }
}

impl AsyncRead for End {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut pipe = lock(&self.incoming);
        if pipe.bytes.is_empty() {
            if pipe.closed {
                return Poll::Ready(Ok(()));
            }
            pipe.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let n = into.remaining().min(pipe.bytes.len());
        let (front, back) = pipe.bytes.as_slices();
        let of_front = n.min(front.len());
        into.put_slice(front.get(..of_front).unwrap_or_default());
        into.put_slice(back.get(..n - of_front).unwrap_or_default());
        pipe.bytes.drain(..n);
        if let Some(writer) = pipe.writer.take() {
            writer.wake();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut pipe = lock(&self.outgoing);
        if pipe.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = pipe.capacity.saturating_sub(pipe.bytes.len());
        if room == 0 {
            pipe.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let n = room.min(bytes.len());
        pipe.bytes.extend(bytes.get(..n).unwrap_or_default());
        if let Some(reader) = pipe.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close_write();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::super::Sock;
    use super::*;

    /// Counts how often a task would have been polled again.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Wakes {
        fn take(&self) -> usize {
            self.0.swap(0, Ordering::Relaxed)
        }
    }

    fn socks(capacity: usize) -> (Sock, Sock) {
        let (one, other) = pair(capacity);
        (one.into(), other.into())
    }

    #[test]
    fn each_wait_of_one_task_is_woken_by_the_other_end() {
        let wakes = Arc::new(Wakes::default());
        let waker = Arc::clone(&wakes).into();
        let cx = &mut Context::from_waker(&waker);
        let (mut one, mut other) = socks(2);
        let mut buffer = [0; 8];
        assert!(other.poll_read(cx, &mut buffer).is_pending());
        assert!(one.poll_read(cx, &mut buffer).is_pending(), "the other direction waits as well");
        assert!(matches!(one.poll_write(cx, b"abc"), Poll::Ready(Ok(2))));
        assert_eq!(wakes.take(), 1, "of the reader");
        assert!(one.poll_write(cx, b"c").is_pending());
        assert!(matches!(other.poll_read(cx, &mut buffer), Poll::Ready(Ok(2))));
        assert_eq!(wakes.take(), 1, "of the writer");
        assert!(matches!(one.poll_write(cx, b"c"), Poll::Ready(Ok(1))));
        assert_eq!(wakes.take(), 0, "nothing waited");
        drop(other);
        assert_eq!(wakes.take(), 1, "of the reader of the end");
        assert!(matches!(one.poll_read(cx, &mut buffer), Poll::Ready(Ok(0))));
    }

    /// No byte is lost or doubled, and the task sleeps only if a waker was kept.
    #[tokio::test]
    async fn both_ends_of_one_task_pass_more_than_the_pipe_holds() {
        let (mut one, mut other) = socks(7);
        let sent: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let write = async {
            one.write_all(&sent).await.unwrap();
            one.shutdown_write().unwrap();
        };
        let read = async {
            let (mut all, mut buffer) = (Vec::new(), [0; 16]);
            loop {
                match std::future::poll_fn(|cx| other.poll_read(cx, &mut buffer)).await.unwrap() {
                    0 => return all,
                    n => all.extend_from_slice(&buffer[..n]),
                }
            }
        };
        let ((), read) = tokio::join!(write, read);
        assert!(read == sent);
    }
}

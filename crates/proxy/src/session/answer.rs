//! From the backend to the client: the bytes of an answer, up to its end.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use wire::frame::{HEADER_LEN, Header};
use wire::reply::{Answer, Event, Outcome, ReplyScanner};

use super::Session;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::limits::FILLS_PER_TURN;
use crate::sock::Input;

impl Session {
    /// Relays the answer to a command; it begins with sequence id `seq`.
    pub(super) async fn relay_answer(&mut self, answer: Answer, seq: u8) -> Result<(), Ending> {
        let mut reply = ReplyScanner::new(answer, self.capabilities()).starting_at(seq);
        loop {
            match poll_fn(|cx| self.poll_answer(cx, &mut reply)).await? {
                Event::Done(outcome) => {
                    self.flush_client().await?;
                    self.note(outcome);
                    return Ok(());
                }
                Event::LocalInfile => {
                    self.flush_client().await?;
                    let seq = self.relay_file(reply.next_seq()).await?;
                    reply.file_sent(seq);
                }
                // A large answer: let other sessions run.
                Event::More => tokio::task::yield_now().await,
            }
        }
    }

    /// What the end of an answer says about the session.
    fn note(&mut self, outcome: Outcome) {
        if let Some(status) = outcome.status() {
            self.status = status;
        }
    }

    /// Forwards what there is of an answer. `More` means that there is more at once.
    fn poll_answer(&mut self, cx: &mut Context<'_>, reply: &mut ReplyScanner) -> Poll<Result<Event, Ending>> {
        self.obey(true)?;
        for _ in 0..FILLS_PER_TURN {
            // Back-pressure: as long as the client does not read, nothing is read for it.
            ready!(self.to_client.poll_flush(cx, &mut self.client))?;
            self.poll_client_gone(cx)?;
            let Some(backend) = &mut self.backend else { return Poll::Ready(Err(Ending::Silent)) };
            let mut scratch = self.worker.scratch.borrow_mut();
            let n = match ready!(backend.connection_mut().poll_read(cx, &mut scratch)) {
                Ok(0) | Err(_) => {
                    drop(scratch);
                    return Poll::Ready(Err(self.backend_lost(reply)));
                }
                Ok(n) => n,
            };
            let input = scratch.get(..n).unwrap_or_default();
            let scan = match reply.scan(input) {
                Ok(scan) => scan,
                Err(error) => {
                    let server = backend.server().endpoint();
                    tracing::error!(%server, %error, "a server's answer makes no sense; the session ends");
                    drop(scratch);
                    return Poll::Ready(Err(self.backend_lost(reply)));
                }
            };
            self.to_client.send(cx, &mut self.client, input.get(..scan.len).unwrap_or(input))?;
            if scan.event == Event::More {
                continue;
            }
            if scan.len < n {
                let (server, bytes) = (backend.server().endpoint(), n - scan.len);
                tracing::error!(%server, bytes, "a server sent more than its answer; the session ends");
                return Poll::Ready(Err(Ending::Silent));
            }
            return Poll::Ready(Ok(scan.event));
        }
        Poll::Ready(Ok(Event::More))
    }

    /// The backend is gone while it owes an answer. Between two packets the client can be told; within one,
    /// anything said would look like a part of it.
    fn backend_lost(&self, reply: &ReplyScanner) -> Ending {
        match &self.backend {
            Some(backend) if reply.is_between_packets() => {
                let error = ClientError::lost_backend(backend.server().endpoint());
                self.told(&error, reply.next_seq())
            }
            _ => Ending::Silent,
        }
    }

    /// Notices a client that leaves while its statement runs; closing the backend ends the statement's output.
    fn poll_client_gone(&mut self, cx: &mut Context<'_>) -> Result<(), Ending> {
        if self.client_waits {
            return Ok(());
        }
        match self.client.poll_input(cx) {
            Poll::Ready(Input::End) => Err(Ending::ClientLeft),
            Poll::Ready(Input::Bytes) => {
                self.client_waits = true;
                Ok(())
            }
            Poll::Pending => Ok(()),
        }
    }

    async fn flush_client(&mut self) -> Result<(), Ending> {
        poll_fn(|cx| self.to_client.poll_flush(cx, &mut self.client)).await.map_err(Ending::from)
    }

    /// Relays the file of a LOAD DATA LOCAL: the client's packets up to and including an empty one. Takes the
    /// sequence id of the first, returns the one behind the last.
    async fn relay_file(&mut self, seq: u8) -> Result<u8, Ending> {
        let mut file =
            FileScanner { next_seq: seq, header: [0; HEADER_LEN], header_len: 0, left: 0, done: false };
        poll_fn(|cx| self.poll_file(cx, &mut file)).await?;
        Ok(file.next_seq)
    }

    fn poll_file(&mut self, cx: &mut Context<'_>, file: &mut FileScanner) -> Poll<Result<(), Ending>> {
        self.obey(true)?;
        loop {
            let Some(backend) = &mut self.backend else { return Poll::Ready(Err(Ending::Silent)) };
            // A server that is gone does not flush; its answer, or the lack of it, is noticed after the file.
            if !self.to_backend.is_empty()
                && self.to_backend.poll_flush(cx, backend.connection_mut())?.is_pending()
            {
                return Poll::Pending;
            }
            if file.done {
                return Poll::Ready(Ok(()));
            }
            let worker = std::rc::Rc::clone(&self.worker);
            let mut scratch = worker.scratch.borrow_mut();
            let (len, from_backlog) = if self.backlog.is_empty() {
                let n = ready!(self.client.poll_read(cx, &mut scratch))?;
                (file.scan(scratch.get(..n).unwrap_or_default()), n)
            } else {
                let n = self.backlog.len().min(scratch.len());
                if let (Some(to), Some(from)) = (scratch.get_mut(..n), self.backlog.get(..n)) {
                    to.copy_from_slice(from);
                }
                self.backlog.drain(..n);
                (file.scan(scratch.get(..n).unwrap_or_default()), n)
            };
            let n = from_backlog;
            if n == 0 {
                return Poll::Ready(Err(Ending::ClientLeft));
            }
            let (now, later) =
                scratch.get(..n).and_then(|input| input.split_at_checked(len)).unwrap_or_default();
            if !later.is_empty() {
                self.backlog.splice(..0, later.iter().copied());
            }
            self.send_to_backend(cx, now)?;
        }
    }
}

/// Finds the empty packet that ends a file.
#[derive(Debug)]
struct FileScanner {
    next_seq: u8,
    header: [u8; HEADER_LEN],
    header_len: usize,
    left: usize,
    done: bool,
}

impl FileScanner {
    /// How many bytes of `input` belong to the file.
    fn scan(&mut self, input: &[u8]) -> usize {
        let mut rest = input;
        while !self.done && !rest.is_empty() {
            let skipped = self.left.min(rest.len());
            self.left -= skipped;
            rest = rest.get(skipped..).unwrap_or_default();
            if self.left > 0 {
                break;
            }
            let Some((&byte, behind)) = rest.split_first() else { break };
            rest = behind;
            if let Some(place) = self.header.get_mut(self.header_len) {
                *place = byte;
            }
            self.header_len += 1;
            if self.header_len == HEADER_LEN {
                let header = Header::parse(self.header);
                self.header_len = 0;
                self.next_seq = header.seq.wrapping_add(1);
                self.left = header.len as usize;
                self.done = header.len == 0;
            }
        }
        input.len() - rest.len()
    }
}

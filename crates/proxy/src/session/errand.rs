//! Commands that the proxy sends on its own over the session's connection to a server; the client sees nothing of them.

use std::future::poll_fn;
use std::task::{Poll, ready};

use tokio::time::Instant;
use tokio::time::timeout;
use wire::frame::put_message;
use wire::reply::{Answer, End, Event, Outcome, Prepared, ReplyScanner};

use super::Session;
use super::answer::note;
use super::trace::Part;
use crate::control::Signal;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::limits::ERRAND_BYTES_MAX;

/// What a server has answered to one command.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    pub(super) prepared: Option<Prepared>,
    /// The answer's bytes, packets with their headers.
    pub(super) bytes: Vec<u8>,
}

impl Reply {
    /// The number of the error, if it is one.
    pub(super) const fn error(&self) -> Option<u16> {
        match self.outcome.end {
            End::Err { code } => Some(code),
            _ => None,
        }
    }
}

impl Session {
    /// Has the backend carry out commands, given as payloads, one after the other. An error of the server is an answer; if
    /// there is none in time the backend is given up, and the reason is what the client is to hear.
    pub(super) async fn errand(
        &mut self,
        commands: &[(Vec<u8>, Answer)],
    ) -> Result<Result<Vec<Reply>, ClientError>, Ending> {
        let Some(backend) = &self.backend else { return Err(Ending::Silent) };
        let server = backend.server().endpoint().clone();
        // Over the compressed protocol one count of frames goes through commands and answers.
        let at_once = if backend.connection().is_compressed() { 1 } else { commands.len().max(1) };
        let limit = self.worker.settings().variables.connect_timeout_server_max;
        let control = std::rc::Rc::clone(&self.control);
        let work = async {
            let mut replies = Vec::with_capacity(commands.len());
            for commands in commands.chunks(at_once) {
                let mut bytes = Vec::new();
                for (payload, _) in commands {
                    put_message(&mut bytes, 0, payload);
                }
                self.hand_over(&bytes).await?;
                self.collect(commands, &mut replies).await?;
            }
            Ok(replies)
        };
        let begun = Instant::now();
        let outcome = control.until(Signal::Stop, timeout(limit, work)).await;
        if let Some(trace) = &self.course.trace {
            trace.add(Part::Sync, begun.elapsed());
        }
        let why = match outcome {
            Err(_) => return Err(Ending::Silent),
            Ok(Ok(Ok(replies))) => return Ok(Ok(replies)),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => "no answer in time",
        };
        self.lose_backend();
        Ok(Err(ClientError::no_errand(&server, &why)))
    }

    /// Sends bytes to the backend.
    async fn hand_over(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let sent = poll_fn(|cx| Poll::Ready(self.send_to_backend(cx, bytes))).await;
        sent.map_err(|_| "the connection is gone")?;
        poll_fn(|cx| {
            let Some(backend) = &mut self.backend else { return Poll::Ready(Err("the connection is gone")) };
            self.to_backend.poll_flush(cx, backend.connection_mut()).map_err(|_| "the connection is gone")
        })
        .await
    }

    /// Reads the answers to commands.
    async fn collect(
        &mut self,
        commands: &[(Vec<u8>, Answer)],
        replies: &mut Vec<Reply>,
    ) -> Result<(), &'static str> {
        let caps = self.identity.capabilities;
        let mut answers = commands.iter().map(|(_, answer)| *answer);
        let Some(first) = answers.next() else { return Ok(()) };
        let mut scanner = ReplyScanner::new(first, caps);
        let mut bytes = Vec::new();
        poll_fn(|cx| {
            loop {
                let Some(backend) = &mut self.backend else {
                    return Poll::Ready(Err("the connection is gone"));
                };
                let mut scratch = self.worker.scratch.borrow_mut();
                let n = ready!(backend.connection_mut().poll_read(cx, &mut scratch));
                let n = n.ok().filter(|n| *n > 0).ok_or("the server has closed the connection")?;
                let mut rest = scratch.get(..n).unwrap_or_default();
                loop {
                    let scan = scanner.scan(rest).map_err(|_| "its answer makes no sense")?;
                    let (mine, behind) = rest.split_at_checked(scan.len).unwrap_or((rest, &[]));
                    if bytes.len() + mine.len() > ERRAND_BYTES_MAX {
                        return Poll::Ready(Err("its answer is too large"));
                    }
                    bytes.extend_from_slice(mine);
                    rest = behind;
                    let outcome = match scan.event {
                        Event::More => break,
                        Event::LocalInfile => return Poll::Ready(Err("it asks for a file")),
                        Event::Done(outcome) => outcome,
                    };
                    note(&mut self.status, outcome);
                    let bytes = std::mem::take(&mut bytes);
                    replies.push(Reply { outcome, prepared: scanner.prepared(), bytes });
                    match answers.next() {
                        Some(answer) => scanner = ReplyScanner::new(answer, caps),
                        None if rest.is_empty() => return Poll::Ready(Ok(())),
                        None => return Poll::Ready(Err("it has sent more than its answer")),
                    }
                    if rest.is_empty() {
                        break;
                    }
                }
            }
        })
        .await
    }
}

//! Commands of the proxy's own over a connection to a server, and their answers.

use std::future::poll_fn;
use std::task::{Poll, ready};

use wire::frame::put_message;
use wire::reply::{Answer, End, Event, Outcome, Prepared, ReplyScanner};
use wire::{Capabilities, StatusFlags};

use super::Connection;
use crate::limits::INTERNAL_BYTES_MAX;
use crate::worker::Worker;

/// A command's payload, and the kind of answer that it has.
pub(crate) type Asked = (Vec<u8>, Answer);

/// What a server has answered to one command.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) outcome: Outcome,
    pub(crate) prepared: Option<Prepared>,
    /// The answer's bytes, packets with their headers.
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    /// The number of the error, if it is one.
    pub(crate) const fn error(&self) -> Option<u16> {
        match self.outcome.end {
            End::Err { code } => Some(code),
            _ => None,
        }
    }

    /// Whether it leaves warnings at the connection.
    pub(crate) const fn warns(&self) -> bool {
        matches!(self.outcome.end, End::Ok { warnings: 1.., .. } | End::Eof { warnings: 1.., .. })
    }

    /// Whether it tells of a key that was generated.
    pub(crate) const fn has_key(&self) -> bool {
        matches!(self.outcome.end, End::Ok { last_insert_id: 1.., .. })
    }
}

/// Has the server carry out commands, one after the other, in as few writes as possible; behind what is to be said first. The connection has agreed on
/// `capabilities`; the caller keeps the deadline. The error says why it is of no use any more.
pub(crate) async fn ask(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    commands: &[Asked],
) -> Result<Vec<Reply>, &'static str> {
    debug_assert!(!link.is_awaited() && !link.is_promised(), "what comes first is somebody's answer");
    // Over the compressed protocol one count of frames goes through commands and answers.
    let at_once = if link.is_compressed() { 1 } else { commands.len().max(1) };
    let mut replies = Vec::with_capacity(commands.len());
    let mut first = link.take_setup();
    if let Some(packets) = first.take_if(|_| commands.is_empty()) {
        link.write_all(&packets).await.map_err(|_| "the connection is gone")?;
        collect(worker, link, capabilities, &[], &mut replies).await?;
    }
    for commands in commands.chunks(at_once) {
        let mut bytes = first.take().unwrap_or_default();
        for (payload, _) in commands {
            put_message(&mut bytes, 0, payload);
        }
        link.write_all(&bytes).await.map_err(|_| "the connection is gone")?;
        collect(worker, link, capabilities, commands, &mut replies).await?;
    }
    if replies.iter().any(Reply::warns) {
        link.set_own_warnings(true);
    }
    Ok(replies)
}

/// Reads the answer to a statement that was sent over `link`, and returns the status that it tells; nothing if the connection is of no use any more.
pub(super) async fn skip_answer(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
) -> Option<StatusFlags> {
    if !link.board() {
        return None;
    }
    let mut scanner = ReplyScanner::new(Answer::Result, capabilities);
    let outcome = poll_fn(|cx| {
        loop {
            let mut scratch = worker.net.scratch.borrow_mut();
            let n = ready!(link.poll_read(cx, &mut scratch)).ok().filter(|n| *n > 0);
            let Some(mut rest) = n.and_then(|n| scratch.get(..n)) else { return Poll::Ready(None) };
            loop {
                let Ok(scan) = scanner.scan(rest) else { return Poll::Ready(None) };
                rest = rest.get(scan.len..).unwrap_or_default();
                match scan.event {
                    Event::More => break,
                    Event::Changed => {}
                    Event::LocalInfile => return Poll::Ready(None),
                    Event::Done(outcome) => {
                        let is_promised = link.is_promised();
                        if let Some(train) = link.train_mut().filter(|_| is_promised && !rest.is_empty()) {
                            train.carry(rest);
                        } else if !rest.is_empty() {
                            return Poll::Ready(None);
                        }
                        return Poll::Ready(Some(outcome));
                    }
                }
            }
        }
    })
    .await?;
    // Nobody asks about it, and nobody is to find it.
    link.set_own_warnings(true);
    let status = outcome.status().unwrap_or(StatusFlags::AUTOCOMMIT);
    if status.contains(StatusFlags::METADATA_CHANGED) {
        // The server says it once, and nobody else hears it.
        link.statements_mut().bind_all();
    }
    Some(status - StatusFlags::SESSION_STATE_CHANGED - StatusFlags::METADATA_CHANGED)
}

/// Reads the answers to commands.
async fn collect(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    commands: &[Asked],
    replies: &mut Vec<Reply>,
) -> Result<(), &'static str> {
    let mut answers = commands.iter().map(|(_, answer)| *answer);
    let mut scanner = answers.next().map(|first| ReplyScanner::new(first, capabilities));
    let mut bytes = Vec::new();
    poll_fn(|cx| {
        loop {
            let mut scratch = worker.net.scratch.borrow_mut();
            let n = ready!(link.poll_read(cx, &mut scratch));
            let n = n.ok().filter(|n| *n > 0).ok_or("the server has closed the connection")?;
            let input = scratch.get(..n).unwrap_or_default();
            let heard = link.read_setup(input).map_err(|_| {
                worker.taken.clear();
                "it has refused what it had taken before"
            });
            let (heard, _) = heard?;
            let mut rest = input.get(heard..).unwrap_or_default();
            if rest.is_empty() && link.has_setup() {
                continue;
            }
            loop {
                let Some(scanner) = &mut scanner else {
                    let is_all = rest.is_empty();
                    return Poll::Ready(if is_all {
                        Ok(())
                    } else {
                        Err("it has sent more than its answer")
                    });
                };
                let scan = scanner.scan(rest).map_err(|_| "its answer makes no sense")?;
                let (mine, behind) = rest.split_at_checked(scan.len).unwrap_or((rest, &[]));
                if bytes.len() + mine.len() > INTERNAL_BYTES_MAX {
                    return Poll::Ready(Err("its answer is too large"));
                }
                bytes.extend_from_slice(mine);
                rest = behind;
                let outcome = match scan.event {
                    Event::More => break,
                    Event::Changed => continue,
                    Event::LocalInfile => return Poll::Ready(Err("it asks for a file")),
                    Event::Done(outcome) => outcome,
                };
                let bytes = std::mem::take(&mut bytes);
                replies.push(Reply { outcome, prepared: scanner.prepared(), bytes });
                match answers.next() {
                    Some(answer) => *scanner = ReplyScanner::new(answer, capabilities),
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

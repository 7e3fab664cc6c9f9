//! Internal queries: commands of the proxy's own over a connection to a server, and their replies.

use std::future::poll_fn;
use std::task::{Poll, ready};

use wire::frame::{HEADER_LEN, put_message};
use wire::packet::Cells;
use wire::reply::{Answer, End, Event, Outcome, Prepared, ReplyScanner};
use wire::rows::Rows;
use wire::{Capabilities, StatusFlags};

use crate::Connection;
use crate::Worker;
use crate::limits::{DRAINED_BYTES_MAX, INTERNAL_BYTES_MAX};
use crate::pipeline::{Expected, Owner};

/// A command's payload, and the kind of reply that it has.
pub type InternalQuery = (Vec<u8>, Answer);

/// What a server has answered to one command.
#[derive(Debug)]
pub struct Reply {
    /// The end of the reply.
    pub outcome: Outcome,
    /// Of a prepared statement: its number and counts.
    pub prepared: Option<Prepared>,
    /// The answer's bytes, packets with their headers.
    pub bytes: Vec<u8>,
}

impl Reply {
    /// The number of the error, if it is one.
    pub const fn error(&self) -> Option<u16> {
        match self.outcome.end {
            End::Err { code } => Some(code),
            _ => None,
        }
    }

    /// The payload of its first packet, which is the error if it is one.
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(HEADER_LEN..).unwrap_or_default()
    }

    /// Whether it leaves warnings at the connection.
    pub const fn warns(&self) -> bool {
        matches!(self.outcome.end, End::Ok { warnings: 1.., .. } | End::Eof { warnings: 1.., .. })
    }

    /// The rows of a result; nothing if it ends with an error, or is not whole.
    pub fn rows(&self) -> Option<Rows<'_>> {
        Rows::of(&self.bytes)
    }

    /// The row of a result that has one. With `sql_select_limit = 0` none has.
    pub fn only_row(&self) -> Option<&[u8]> {
        self.rows().filter(|rows| rows.len() == 1)?.next()
    }

    /// The cells of that row, in text; none if there is no such row.
    pub fn only_cells(&self) -> Cells<'_> {
        Cells::of(self.only_row().unwrap_or_default())
    }

    /// The number that an answer of one row and one column in text holds.
    pub(crate) fn number(&self) -> Option<u64> {
        std::str::from_utf8(self.only_cells().next()??).ok()?.parse().ok()
    }

    /// Whether it is a result without a row.
    pub fn is_empty(&self) -> bool {
        self.rows().is_some_and(|rows| rows.len() == 0)
    }

    /// Whether it tells of a key that was generated.
    pub(crate) const fn has_key(&self) -> bool {
        matches!(self.outcome.end, End::Ok { last_insert_id: 1.., .. })
    }
}

/// Sends internal queries, with setup commands in front of them, in as few writes as possible, and
/// collects the replies. The connection has agreed on `capabilities`; the caller keeps the
/// deadline. The error says why the connection is of no more use.
pub async fn internal_query(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    commands: &[InternalQuery],
) -> Result<Vec<Reply>, &'static str> {
    ask_in_front(worker, link, capabilities, commands, None).await
}

/// The same, and sends the packets of a client's whole `command` behind the queries.
///
/// The reply to the command, of the kind `answer`, is not read here: the session takes it
/// ([`Pipeline::promote`](crate::Pipeline::promote)), or drops it ([`drain_reply`]). `stops` says
/// whether trackers in it are looked at.
pub async fn ask_in_front(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    commands: &[InternalQuery],
    behind: Option<(&[u8], Answer, bool)>,
) -> Result<Vec<Reply>, &'static str> {
    debug_assert!(!link.owes() || link.has_setup(), "the next reply has another owner");
    let mut replies = Vec::with_capacity(commands.len());
    let mut packets = link.take_setup().unwrap_or_default();
    for (payload, answer) in commands {
        if !link.may_add() {
            exchange(worker, link, &std::mem::take(&mut packets), &mut replies).await?;
        }
        put_message(&mut packets, 0, payload);
        link.expect(Expected::new(*answer, Owner::Internal), capabilities);
    }
    if let Some((command, answer, stops)) = behind {
        packets.extend_from_slice(command);
        link.expect(Expected::of_sent(answer, stops), capabilities);
    }
    exchange(worker, link, &packets, &mut replies).await?;
    debug_assert_eq!(replies.len(), commands.len(), "each has a reply");
    if replies.iter().any(Reply::warns) {
        link.own_warnings = true;
    }
    Ok(replies)
}

/// The same for one query.
pub async fn ask(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    query: InternalQuery,
) -> Result<Reply, &'static str> {
    let mut replies = internal_query(worker, link, capabilities, &[query]).await?;
    replies.pop().ok_or("its answer makes no sense")
}

/// Reads and drops the reply to a command that was sent and that no session wants, and returns the
/// status that the reply tells; nothing if the connection is of no more use, or the reply is larger
/// than `DRAINED_BYTES_MAX`.
pub async fn drain_reply(worker: &Worker, link: &mut Connection) -> Option<StatusFlags> {
    link.pipeline.disown();
    let mut bytes = 0;
    let outcome = poll_fn(|cx| {
        loop {
            let mut scratch = worker.net.scratch.borrow_mut();
            let n = ready!(link.poll_read(cx, &mut scratch)).ok().filter(|n| *n > 0);
            let Some(mut input) = n.and_then(|n| scratch.get(..n)) else { return Poll::Ready(None) };
            bytes += input.len();
            if bytes > DRAINED_BYTES_MAX {
                return Poll::Ready(None);
            }
            while !input.is_empty() {
                let Ok(segment) = link.pipeline.cut(input) else { return Poll::Ready(None) };
                debug_assert_eq!(segment.owner, Owner::Unowned, "another owner's reply");
                input = input.get(segment.bytes.len()..).unwrap_or_default();
                match segment.event {
                    Event::More | Event::Changed => {}
                    Event::LocalInfile => return Poll::Ready(None),
                    Event::Done(outcome) => {
                        return Poll::Ready(link.read_ahead(input).then_some(outcome));
                    }
                }
            }
        }
    })
    .await?;
    // No session asks about the warnings, and none is to find them.
    link.own_warnings = true;
    let status = outcome.status().unwrap_or(StatusFlags::AUTOCOMMIT);
    if status.contains(StatusFlags::METADATA_CHANGED) {
        // The server tells it once, and no session has read it.
        link.statements_mut().bind_all();
    }
    Some(status - StatusFlags::SESSION_STATE_CHANGED - StatusFlags::METADATA_CHANGED)
}

/// Sends `packets`, and reads until no reply to a command of the proxy's own is owed.
async fn exchange(
    worker: &Worker,
    link: &mut Connection,
    packets: &[u8],
    replies: &mut Vec<Reply>,
) -> Result<(), &'static str> {
    link.sock_mut().write_all(packets).await.map_err(|_| "the connection is gone")?;
    let mut bytes = Vec::new();
    poll_fn(|cx| {
        while link.pipeline.owes_the_proxy() {
            let mut scratch = worker.net.scratch.borrow_mut();
            let n = ready!(link.poll_read(cx, &mut scratch));
            let n = n.ok().filter(|n| *n > 0).ok_or("the server has closed the connection")?;
            let input = scratch.get(..n).unwrap_or_default();
            let (set_up, _) = link.read_setup(input).map_err(|_| {
                worker.accepted.clear();
                "it has refused what it had taken before"
            })?;
            collect(link, input.get(set_up..).unwrap_or_default(), &mut bytes, replies)?;
        }
        Poll::Ready(Ok(()))
    })
    .await
}

/// Collects the replies in `input`; `bytes` is the beginning of the next one. What is behind them
/// is kept with the connection.
fn collect(
    link: &mut Connection,
    mut input: &[u8],
    bytes: &mut Vec<u8>,
    replies: &mut Vec<Reply>,
) -> Result<(), &'static str> {
    while link.pipeline.owes_the_proxy() {
        if input.is_empty() {
            return Ok(());
        }
        let segment = link.pipeline.cut(input).map_err(|_| "its answer makes no sense")?;
        debug_assert_eq!(segment.owner, Owner::Internal, "another owner's reply");
        if bytes.len() + segment.bytes.len() > INTERNAL_BYTES_MAX {
            return Err("its answer is too large");
        }
        bytes.extend_from_slice(segment.bytes);
        input = input.get(segment.bytes.len()..).unwrap_or_default();
        match segment.event {
            Event::More | Event::Changed => {}
            Event::LocalInfile => return Err("it asks for a file"),
            Event::Done(outcome) => {
                let prepared = link.pipeline.last_reply().and_then(ReplyScanner::prepared);
                let bytes = std::mem::take(bytes);
                replies.push(Reply { outcome, prepared, bytes });
            }
        }
    }
    link.read_ahead(input).then_some(()).ok_or("it has sent more than its answer")
}

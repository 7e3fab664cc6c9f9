//! The file of a LOAD DATA LOCAL, from the client to the server.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use legs::entry::BookEntry;
use legs::facts::endings::{interrupted, told, unreadable};
use legs::facts::orders::obey;
use legs::facts::replies::flush_client;
use legs::io::Io;
use legs::leg::Leg;
use runtime::invariant::in_use;
use upstream::Target;
use upstream::limits::FILLS_PER_TURN;
use wire::frame::MessageScanner;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::relay::Parked;
use crate::sock::Input;

/// A file on its way from the client to the server.
#[derive(Debug)]
struct File {
    /// The message that the client is sending.
    message: MessageScanner,
    /// Whether the empty message was seen.
    ended: bool,
    /// The server, if it has closed the connection meanwhile.
    lost: Option<Target>,
}

/// Relays the file of a LOAD DATA LOCAL: the client's messages up to and including an empty
/// one. The reply goes on behind it.
pub(super) async fn relay_file(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    flush_client(entry, io, leg).await?;
    let backend = in_use(leg.links.in_use.as_ref())?;
    let seq = backend.connection().pipeline.progress().next_seq;
    let mut file = File { message: MessageScanner::new(seq), ended: false, lost: None };
    // While the client sends it has as much time as an idle one.
    entry.set_slow();
    poll_fn(|cx| poll_file(entry, io, leg, cx, &mut file)).await?;
    entry.control.set_busy();
    let seq = file.message.next_seq();
    if let Some(server) = file.lost {
        return Err(told(entry, &leg.state, &ClientError::server_lost(&server), seq));
    }
    if let Some(reply) =
        leg.links.in_use.as_mut().and_then(|backend| backend.connection_mut().pipeline.next_reply())
    {
        reply.file_sent(seq);
    }
    Ok(())
}

/// Forwards what there is of a file; ready when its end is with the backend.
fn poll_file(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    cx: &mut Context<'_>,
    file: &mut File,
) -> Poll<Result<(), Ending>> {
    obey(entry, leg, true)?;
    for _ in 0..FILLS_PER_TURN {
        if let Some(backend) = &mut leg.links.in_use {
            // A server that closes is let go at once. The client hears of it after the file: it
            // does not listen while it sends.
            if backend.connection_mut().poll_input(cx) == Poll::Ready(Input::End) {
                file.lost = Some(backend.server().endpoint().clone());
                leg.links.unsent = Parked::default();
                leg.links.in_use = None;
            } else if leg.links.unsent.poll_flush(cx, backend.connection_mut().sock_mut()).is_pending() {
                return Poll::Pending;
            }
        }
        if file.ended {
            return Poll::Ready(Ok(()));
        }
        if io.backlog.is_empty() {
            ready!(io.poll_more(cx, &entry.worker.net.scratch))
                .map_err(|error| unreadable(entry, &leg.state, &error, file.message.next_seq()))?;
            entry.set_slow();
        }
        let input = std::mem::take(&mut io.backlog);
        let mut sent = 0;
        while !file.ended && sent < input.len() {
            let seq = file.message.next_seq();
            let scanned = file
                .message
                .scan(input.get(sent..).unwrap_or_default())
                .map_err(|error| interrupted(entry, &leg.state, &ClientError::malformed(error), seq))?;
            sent += scanned.len;
            file.ended = scanned.done && file.message.payload_len() == 0;
            if scanned.done && !file.ended {
                file.message = MessageScanner::new(file.message.next_seq());
            }
        }
        let (now, later) = input.split_at_checked(sent).unwrap_or((&input, &[]));
        io.backlog.extend_from_slice(later);
        io.is_behind_file = file.ended;
        if file.lost.is_none() {
            leg.links.send(cx, now)?;
        }
    }
    // There may be more: let others run first, then come back.
    cx.waker().wake_by_ref();
    Poll::Pending
}

//! Replies of the proxy's own, and what the client has not taken yet.

use std::future::poll_fn;
use std::task::{Context, Poll};

use cache::RowCounts;
use front::ending::Ending;
use runtime::control::Signal;
use runtime::counted::{Ended, note_own_error, note_time};
use session::error::ClientError;
use session::state::substitute::Counted;
use wire::frame::{HEADER_LEN, put_message};

use crate::entry::BookEntry;
use crate::facts::endings::code;
use crate::facts::orders::obey;
use crate::io::Io;
use crate::leg::Leg;
use crate::state::SessionState;

/// Waits until the client has taken all that was sent.
pub async fn flush_client(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    poll_fn(|cx| {
        obey(entry, leg, true)?;
        poll_flush_client(entry, io, cx)
    })
    .await
}

/// Writes what the client has not taken yet, if there is anything.
#[inline]
pub fn poll_flush_client(entry: &BookEntry, io: &mut Io, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
    if io.is_sent() { Poll::Ready(Ok(())) } else { poll_parked(entry, io, cx) }
}

/// Writes what is parked for the client.
#[cold]
pub(crate) fn poll_parked(entry: &BookEntry, io: &mut Io, cx: &mut Context<'_>) -> Poll<Result<(), Ending>> {
    if io.poll_flush(cx)?.is_pending() {
        // A client that does not read has as much time as an idle one.
        entry.set_slow();
        return Poll::Pending;
    }
    entry.control.set_busy();
    Poll::Ready(Ok(()))
}

/// Answers the command that runs with the stale answer of so many rows in the worker's buffer: its
/// server was lost.
pub async fn reply_stale(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    rows: RowCounts,
) -> Result<(), Ending> {
    let packets = entry.worker.cached.written().to_vec();
    entry.control.running.add_answered(packets.len());
    write_to_client(entry, io, &mut leg.state, &packets).await?;
    leg.links.hide_last_result(&mut leg.state);
    leg.state.last.counted = Counted { changed: -1, found: rows.found.into() };
    note_time(&entry.worker, &entry.control, Ended::FromCache { rows: rows.sent.into() });
    entry.end_running(&leg.links);
    Ok(())
}

/// Answers a command with one packet.
pub async fn reply(
    entry: &BookEntry,
    io: &mut Io,
    state: &mut SessionState,
    seq: u8,
    payload: &[u8],
) -> Result<(), Ending> {
    let mut packet = Vec::new();
    put_message(&mut packet, seq, payload);
    write_to_client(entry, io, state, &packet).await
}

/// Tells the client an error.
pub async fn reply_error(
    entry: &BookEntry,
    io: &mut Io,
    state: &mut SessionState,
    seq: u8,
    error: &ClientError,
) -> Result<(), Ending> {
    note_own_error(&entry.worker, &entry.control, error);
    let packet = error.to_packet(seq, state.identity.capabilities);
    write_to_client(entry, io, state, &packet).await
}

/// Writes bytes to the client, and waits until it has taken them.
pub async fn write_to_client(
    entry: &BookEntry,
    io: &mut Io,
    state: &mut SessionState,
    packet: &[u8],
) -> Result<(), Ending> {
    state.note_error_code(packet.get(HEADER_LEN..).and_then(code));
    // A client that does not read has as much time as an idle one.
    entry.set_slow();
    let written = entry.control.until(Signal::Stop, io.client.write_all(packet)).await;
    Ok(written.map_err(|_| Ending::Silent)??)
}

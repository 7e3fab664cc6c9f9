//! The command that the backlog begins with: looking at it, having all of it, and
//! dropping it.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use command::Command;
use front::ending::Ending;
use route::limits::JUDGED_BYTES_MAX;
use runtime::worker::Worker;
use session::error::ClientError;
use wire::command::Kind;
use wire::frame::{Header, MessageScanner, whole_front};

use crate::entry::BookEntry;
use crate::facts::commands::{Look, look};
use crate::facts::endings::{interrupted, unreadable};
use crate::facts::orders::obey;
use crate::io::Io;
use crate::leg::Leg;

/// Whether more of a command will come, and all of it fits into one packet.
pub fn will_be_whole(bytes: &[u8]) -> bool {
    let header = bytes.first_chunk().map(|header| Header::parse(*header));
    header.is_some_and(|header| !header.continues()) && whole_front(bytes).is_none()
}

/// Whether there is as much of a command as the decision takes.
pub fn is_enough(command: Command<'_>) -> bool {
    let len = command.payload_len() as usize;
    let needed = match command.kind {
        // Executions, too: types may have to be added. What is too large for that is left as it is.
        Kind::Query | Kind::StmtPrepare | Kind::StmtExecute => len.min(JUDGED_BYTES_MAX),
        _ => 0,
    };
    command.payload().len() >= needed
}

/// Reads on until it is clear what the command is, and as much of it is there as a decision
/// takes.
pub async fn complete_command(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    let lacks = |io: &Io, leg: &mut Leg| {
        let command = io.command(leg.state.identity.capabilities);
        command.is_none_or(|command| look(&entry.worker, leg, command) == Look::Cut || !is_enough(command))
    };
    read_while(entry, io, leg, lacks).await
}

/// Reads on until all of the front is there, unless it is larger than one packet.
pub async fn complete_front(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<(), Ending> {
    read_while(entry, io, leg, |io, _| will_be_whole(&io.backlog)).await
}

async fn read_while(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    lacks: impl Fn(&Io, &mut Leg) -> bool,
) -> Result<(), Ending> {
    entry.set_slow();
    poll_fn(|cx| {
        obey(entry, leg, true)?;
        while lacks(io, leg) {
            ready!(io.poll_more(cx, &entry.worker.net.scratch))?;
            // Each piece counts as a sign of life; between two the client may be as slow as an
            // idle one.
            entry.set_slow();
        }
        Poll::Ready(Ok::<_, Ending>(()))
    })
    .await?;
    entry.control.set_busy();
    Ok(())
}

/// Reads one command to its end and forgets it. Returns the sequence id that an answer begins
/// with.
pub async fn skip_command(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<u8, Ending> {
    if let Some(command) = io.command(leg.state.identity.capabilities) {
        leg.state.keep_types(command);
    }
    // Until the command is whole the client is as good as idle, and has as long as an idle one.
    entry.set_slow();
    let mut scanner = MessageScanner::new(0);
    poll_fn(|cx| poll_skip(entry, io, leg, cx, &mut scanner)).await?;
    if let Some(flight) = leg.flight.as_mut() {
        flight.leave_way();
    }
    entry.control.set_busy();
    Ok(scanner.next_seq())
}

fn poll_skip(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    cx: &mut Context<'_>,
    scanner: &mut MessageScanner,
) -> Poll<Result<(), Ending>> {
    obey(entry, leg, true)?;
    loop {
        if io.backlog.is_empty() {
            ready!(io.poll_more(cx, &entry.worker.net.scratch))
                .map_err(|error| unreadable(entry, &leg.state, &error, scanner.next_seq()))?;
        }
        let seq = scanner.next_seq();
        let scanned = scanner
            .scan(&io.backlog)
            .map_err(|error| interrupted(entry, &leg.state, &ClientError::malformed(error), seq))?;
        io.backlog.drain(..scanned.len);
        check_size(&entry.worker, scanner)?;
        if io.backlog.is_empty() {
            io.backlog = Vec::new();
        }
        if scanned.done {
            return Poll::Ready(Ok(()));
        }
    }
}

/// Refuses a command larger than `mysql-max_allowed_packet`.
pub fn check_size(worker: &Worker, scanner: &MessageScanner) -> Result<(), Ending> {
    let max = worker.settings().variables.max_allowed_packet;
    if scanner.payload_len() <= u64::from(max) {
        return Ok(());
    }
    Err(Ending::TooLarge(scanner.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_may_become_whole() {
        assert!(will_be_whole(b"\x02\0\0\0\x03"));
        assert!(!will_be_whole(b"\x02\0\0\0\x03A") && !will_be_whole(b"\xff\xff\xff\0\x03A"));
    }
}

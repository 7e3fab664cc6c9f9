//! Replies of the proxy's own to the command in the backlog.

use front::ending::Ending;
use session::error::ClientError;
use wire::command::Kind;
use wire::reply::Answer;

use crate::backlog::skip_command;
use crate::entry::BookEntry;
use crate::facts::replies::{reply, reply_error};
use crate::facts::shown::begin_own;
use crate::io::Io;
use crate::leg::Leg;
use crate::parts::drop_unanswered;

/// Answers the command in the backlog with one packet.
pub async fn answer_here(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
    payload: &[u8],
) -> Result<(), Ending> {
    begin_own(entry, io, &mut leg.state, &mut leg.flight, kind);
    let seq = skip_command(entry, io, leg).await?;
    reply(entry, io, &mut leg.state, seq, payload).await?;
    entry.answered_here(&leg.links, 0);
    Ok(())
}

/// Answers the command in the backlog with an error, if it has a reply.
pub async fn refuse_here(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
    error: &ClientError,
) -> Result<(), Ending> {
    if kind.answer() == Answer::None {
        return Box::pin(drop_unanswered(entry, io, leg, Some(error))).await;
    }
    begin_own(entry, io, &mut leg.state, &mut leg.flight, kind);
    refuse_counted(entry, io, leg, error).await
}

/// The same if the command was counted before.
pub async fn refuse_counted(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    error: &ClientError,
) -> Result<(), Ending> {
    let seq = skip_command(entry, io, leg).await?;
    reply_error(entry, io, &mut leg.state, seq, error).await?;
    entry.answered_here(&leg.links, error.code());
    Ok(())
}

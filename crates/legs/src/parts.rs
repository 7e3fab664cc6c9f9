//! Parts of values (`COM_STMT_SEND_LONG_DATA`) that get no connection, or whose statement the
//! backend in use does not have and refuses to prepare now: the next transaction may only read,
//! say. Servers do not answer that command. So the parts are kept, and go out as soon as the
//! statement is there, at the latest in front of its execution.

use command::renumber;
use front::ending::Ending;
use runtime::limits::PARTS_BYTES_MAX;
use session::error::ClientError;
use wire::command::Kind;
use wire::frame::{HEADER_LEN, put_message};

use crate::backlog::{complete_front, skip_command};
use crate::close::close_at_all;
use crate::entry::BookEntry;
use crate::facts::shown::measure_refused;
use crate::io::Io;
use crate::leg::Leg;

/// Drops the command in the backlog, which has no reply and cannot be sent: its client would
/// take an error for the reply to the next command. A part of a value is kept, and a lost
/// transaction is told with the next statement.
pub async fn drop_unanswered(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    error: Option<&ClientError>,
) -> Result<(), Ending> {
    leg.state.transaction.owe(error.cloned());
    measure_refused(entry, io, &leg.state, &leg.flight);
    let command = io.command(leg.state.identity.capabilities);
    match command.filter(|command| command.kind == Kind::SendLongData).and_then(|part| part.statement()) {
        Some(id) => keep_part(entry, io, leg, id).await,
        None => skip_command(entry, io, leg).await.map(drop),
    }
}

/// Keeps the part in the backlog behind those that are kept. If they are too many the statement
/// is closed: it must not be executed without them.
async fn keep_part(entry: &BookEntry, io: &mut Io, leg: &mut Leg, id: u32) -> Result<(), Ending> {
    let mut parts = leg.state.keep_parts(id, Vec::new());
    let len = io.command(leg.state.identity.capabilities).map_or(0, |command| command.payload_len() as usize);
    let has_room = parts.len() + HEADER_LEN + len <= PARTS_BYTES_MAX;
    if has_room {
        complete_front(entry, io, leg).await?;
    }
    if let Some(payload) = io.whole_front().filter(|_| has_room) {
        let mut payload = payload.to_vec();
        if let Some(all) = &leg.state.prepared {
            // Which one was the last is another one later.
            renumber(&mut payload, all.meant(id));
        }
        put_message(&mut parts, 0, &payload);
        leg.state.keep_parts(id, parts);
    } else {
        close_at_all(entry, leg, id).await?;
    }
    skip_command(entry, io, leg).await.map(drop)
}

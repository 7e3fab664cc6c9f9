//! Ids of sequences for the rows of a statement.
//!
//! The counter of segments is at the home of the schema. It is asked over a connection of its own,
//! outside of the client's transaction, as the client's user.

use legs::entry::BookEntry;
use legs::leg::Leg;
use planner::plan::{Ids, Wanted};
use runtime::limits::IDS_WAIT_MAX;
use runtime::sequences::{Question, Taken};
use shard::sequence::store;
use shard::{Layout, SequenceKind, Table};
use tokio::time::{Instant, timeout_at};
use wire::frame::front;
use wire::rows::first_cell;
use wire::{Capabilities, Codec as _, packet};

use crate::clock::unix_ms;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::done::Halt;
use crate::session::shards::inner::{ask, error_of, take_inner_at};

/// Which of the sessions at a hostgroup asks counters: none that runs statements of the client.
const SLOT: usize = usize::MAX;

/// Errors of a server that does not have the table of counters: its schema, or itself, is missing.
const NO_SCHEMA: u16 = 1049;
const NO_TABLE: u16 = 1146;

/// The reason if the time is up.
const LATE: &str = "its counter does not answer in time";

/// A sequence of the layout, with its table.
#[derive(Clone, Copy)]
struct Numbered<'a> {
    layout: &'a Layout,
    table: &'a Table,
    sequence: &'a shard::Sequence,
}

/// Ids for the rows of a statement.
pub(super) async fn ids_for(
    entry: &BookEntry,
    leg: &mut Leg,
    layout: &Layout,
    wanted: &Wanted,
) -> Result<Vec<u64>, Halt> {
    match Numbered::of(layout, &wanted.schema, &wanted.table) {
        Some(numbered) => take_ids(entry, leg, numbered, wanted.count).await,
        None => Ok(Vec::new()),
    }
}

/// The client says ids itself: the sequence does not make them any more.
pub(super) async fn raise_ids(
    entry: &BookEntry,
    leg: &mut Leg,
    layout: &Layout,
    ids: &Ids,
) -> Result<(), Halt> {
    let numbered = Numbered::of(layout, &ids.schema, &ids.table);
    let is_counted = |one: &Numbered<'_>| matches!(one.sequence.kind, SequenceKind::Segment { .. });
    match numbered.filter(is_counted).zip(ids.largest) {
        Some((numbered, largest)) => raise_counter(entry, leg, numbered, largest).await,
        None => Ok(()),
    }
}

async fn take_ids(
    entry: &BookEntry,
    leg: &mut Leg,
    numbered: Numbered<'_>,
    count: usize,
) -> Result<Vec<u64>, Halt> {
    let source = entry.worker.shared.sequences.get(numbered.sequence);
    let deadline = Instant::now() + IDS_WAIT_MAX;
    loop {
        let answered = source.answered().notified();
        tokio::pin!(answered);
        // What is answered from here on is heard.
        answered.as_mut().enable();
        match source.take(count, unix_ms()) {
            Taken::Ids(ids) => {
                if let Some(question) = source.prefetch() {
                    match ask_counter(entry, leg, numbered, question).await {
                        Err(Halt::Refused(error)) => {
                            tracing::warn!(error = %error.logged(), "no ids for later rows");
                        }
                        asked => asked?,
                    }
                }
                return Ok(ids);
            }
            Taken::Ask(_) if Instant::now() >= deadline => return Err(numbered.refused(LATE)),
            Taken::Ask(question) => ask_counter(entry, leg, numbered, question).await?,
            Taken::Wait => {
                timeout_at(deadline, answered).await.map_err(|_| numbered.refused(LATE))?;
            }
            Taken::Failed(reason) => return Err(numbered.refused(&reason)),
        }
    }
}

/// Asks the counter of a sequence, and makes it if there is none.
async fn ask_counter(
    entry: &BookEntry,
    leg: &mut Leg,
    numbered: Numbered<'_>,
    question: Question,
) -> Result<(), Halt> {
    let take = store::take(&numbered.sequence.schema, &numbered.sequence.table, question.count());
    for is_made in [false, true] {
        let is_missing = match say_to_counter(entry, leg, numbered.home(), &take).await? {
            Said::Ok { affected_rows: 1.., last_insert_id } => {
                return match question.answer(last_insert_id) {
                    Ok(()) => Ok(()),
                    Err(behind) => say_raise(entry, leg, numbered, behind.floor.saturating_sub(1)).await,
                };
            }
            Said::Ok { .. } | Said::Rows(_) => false,
            Said::Error(code, _) if !is_made && matches!(code, NO_SCHEMA | NO_TABLE) => true,
            Said::Error(_, text) => return Err(numbered.refused(&text)),
        };
        if !is_made {
            make_counter(entry, leg, numbered, is_missing).await?;
        }
    }
    Err(numbered.refused("the table of sequences has no row for it"))
}

/// Makes the counter of a sequence, and its table if that is missing. It begins behind the ids
/// of all nodes.
async fn make_counter(
    entry: &BookEntry,
    leg: &mut Leg,
    numbered: Numbered<'_>,
    is_missing: bool,
) -> Result<(), Halt> {
    if is_missing && let Said::Error(_, text) = make_table(entry, leg, numbered.home()).await? {
        return Err(numbered.refused(&text));
    }
    let mut largest = 0;
    for node in numbered.table.nodes() {
        let ask = store::largest(&node.schema, &node.table, &numbered.sequence.column);
        match say_to_counter(entry, leg, node.hostgroup, &ask).await? {
            Said::Rows(id) => largest = largest.max(id),
            Said::Error(_, text) => return Err(numbered.refused(&text)),
            Said::Ok { .. } => {}
        }
    }
    say_raise(entry, leg, numbered, largest).await
}

/// Makes the table of counters, and its schema if that is missing. Of a change in a schema that
/// is not there MariaDB says only that the table is missing.
async fn make_table(entry: &BookEntry, leg: &mut Leg, home: u32) -> Result<Said, Ending> {
    let [schema, table] = store::CREATE;
    match say_to_counter(entry, leg, home, table).await? {
        Said::Error(NO_SCHEMA, _) => {}
        said => return Ok(said),
    }
    match say_to_counter(entry, leg, home, schema).await? {
        Said::Error(code, text) => Ok(Said::Error(code, text)),
        _ => say_to_counter(entry, leg, home, table).await,
    }
}

/// Raises a sequence beyond an id of the client.
async fn raise_counter(
    entry: &BookEntry,
    leg: &mut Leg,
    numbered: Numbered<'_>,
    largest: u64,
) -> Result<(), Halt> {
    let source = entry.worker.shared.sequences.get(numbered.sequence);
    let deadline = Instant::now() + IDS_WAIT_MAX;
    // A counter that is not there yet begins behind the rows that are there.
    while !source.is_known() {
        let answered = source.answered().notified();
        tokio::pin!(answered);
        answered.as_mut().enable();
        match source.prefetch() {
            Some(question) => ask_counter(entry, leg, numbered, question).await?,
            None => timeout_at(deadline, answered).await.map_err(|_| numbered.refused(LATE))?,
        }
    }
    if source.raise(largest) { say_raise(entry, leg, numbered, largest).await } else { Ok(()) }
}

/// Lets the counter make no id up to this one.
async fn say_raise(
    entry: &BookEntry,
    leg: &mut Leg,
    numbered: Numbered<'_>,
    largest: u64,
) -> Result<(), Halt> {
    let raise = store::raise(&numbered.sequence.schema, &numbered.sequence.table, largest);
    match say_to_counter(entry, leg, numbered.home(), &raise).await? {
        Said::Error(_, text) => Err(numbered.refused(&text)),
        Said::Ok { .. } | Said::Rows(_) => Ok(()),
    }
}

/// Says a statement at a hostgroup, outside of the client's transaction there.
async fn say_to_counter(
    entry: &BookEntry,
    leg: &mut Leg,
    hostgroup: u32,
    text: &str,
) -> Result<Said, Ending> {
    let mut inner = take_inner_at(entry, leg, hostgroup, SLOT);
    let mut reply = ask(&mut inner, text.as_bytes()).await?;
    if inner.is_in_transaction() {
        // The client has no AUTOCOMMIT.
        let committed = ask(&mut inner, b"COMMIT").await?;
        reply = if error_of(&committed).is_some() { committed } else { reply };
    }
    let capabilities = inner.leg.state.identity.capabilities;
    if !inner.is_in_transaction() {
        leg.links.put_inner(inner);
    }
    Ok(Said::of(&reply, capabilities))
}

impl<'a> Numbered<'a> {
    fn of(layout: &'a Layout, schema: &str, table: &str) -> Option<Self> {
        let sequence = layout.sequence(schema, table)?;
        Some(Self { layout, table: layout.table(schema, table)?, sequence })
    }

    /// Hostgroup of the counter: the home of other tables of the schema; without one, that of the
    /// first node.
    fn home(self) -> u32 {
        let home = self.layout.homes_of(&self.sequence.schema).next().map(|home| home.hostgroup);
        home.or_else(|| self.table.nodes().first().map(|node| node.hostgroup)).unwrap_or_default()
    }

    /// Why there are no ids.
    fn refused(self, reason: &str) -> Halt {
        let shard::Sequence { schema, table, .. } = self.sequence;
        ClientError::NoIds(format!("{schema}.{table}: {reason}").into()).into()
    }
}

/// What a server has said.
enum Said {
    Ok {
        affected_rows: u64,
        last_insert_id: u64,
    },
    /// The number in the first row.
    Rows(u64),
    /// Code and text.
    Error(u16, String),
}

impl Said {
    fn of(reply: &[u8], capabilities: Capabilities) -> Self {
        let payload = front(reply);
        let unknown = || Self::Error(0, "the server's answer is not understood".to_owned());
        match payload.first() {
            Some(&packet::Err::HEADER) => packet::Err::decode(payload, capabilities).map_or_else(
                |_| unknown(),
                |error| Self::Error(error.code, String::from_utf8_lossy(error.message).into_owned()),
            ),
            Some(0) => packet::Ok::decode(payload, capabilities).map_or_else(
                |_| unknown(),
                |ok| Self::Ok { affected_rows: ok.affected_rows, last_insert_id: ok.last_insert_id },
            ),
            _ => {
                let number = first_cell(reply).and_then(|cell| std::str::from_utf8(cell).ok()?.parse().ok());
                number.map_or_else(unknown, Self::Rows)
            }
        }
    }
}

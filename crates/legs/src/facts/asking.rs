//! What the proxy itself asks the server of the connection in use.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use front::ending::Ending;
use runtime::control::Signal;
use runtime::invariant::{broken, in_use};
use session::error::{ClientError, Gone};
use session::identity::PLAIN;
use session::state::Pin;
use sql::routine;
use tokio::time::{Duration, Instant, timeout};
use upstream::{Connection, InternalQuery, Reply, ask_in_front, query};
use wire::packet::TextRow;
use wire::reply::Answer;
use wire::{Codec as _, StatusFlags};

use crate::entry::BookEntry;
use crate::facts::leases::lose_backend_for;
use crate::facts::records::note_internal;
use crate::leg::Leg;
use crate::state::SessionState;
use crate::trace::Part;

/// Why there is no reply to what the proxy has asked.
#[derive(Debug)]
pub enum NoReply {
    /// The connection was given up. The client is to hear this: that its transaction is lost, if
    /// one is.
    Lost(Box<ClientError>),
    /// The session ends.
    Over(Ending),
}

impl From<Ending> for NoReply {
    fn from(ending: Ending) -> Self {
        Self::Over(ending)
    }
}

/// The same as [`ask_server`] where the command in the backlog, or the next one, does not need the
/// replies: there are none if the backend was given up. If a transaction was lost with it, the
/// client hears of that with its next statement.
pub async fn ask_besides(
    entry: &BookEntry,
    leg: &mut Leg,
    commands: &[InternalQuery],
) -> Result<Vec<Reply>, Ending> {
    match ask_server(entry, leg, commands).await {
        Ok(replies) => return Ok(replies),
        Err(NoReply::Over(ending)) => return Err(ending),
        Err(NoReply::Lost(error)) => leg.state.transaction.owe(Some(*error)),
    }
    Ok(Vec::new())
}

/// The same for one statement.
pub async fn ask_text_besides(
    entry: &BookEntry,
    leg: &mut Leg,
    text: &[u8],
) -> Result<Option<Reply>, Ending> {
    let question = (packet_of(&leg.state, text), Answer::Result);
    Ok(ask_besides(entry, leg, &[question]).await?.pop())
}

/// The same with another limit for all replies; the packets of a command of the client's may be
/// sent [`behind`](ask_in_front) these.
pub(crate) async fn internal_query_within(
    entry: &BookEntry,
    leg: &mut Leg,
    limit: Duration,
    commands: &[InternalQuery],
    behind: Option<(&[u8], Answer, bool)>,
) -> Result<Vec<Reply>, NoReply> {
    let capabilities = leg.state.identity.capabilities;
    let asked = over_connection(entry, leg, limit, async |worker, link| {
        ask_in_front(worker, link, capabilities, commands, behind).await
    });
    match asked.await {
        Ok(replies) => {
            for reply in &replies {
                note_internal(&entry.worker, leg, reply);
            }
            Ok(replies)
        }
        Err(why) => Err(NoReply::Lost(Box::new(give_up_unanswered(entry, leg, why)?))),
    }
}

/// Does `work` over the connection in use, which has to be done in time and while the server is
/// of use. Else the error says why the connection is of no more use.
pub(crate) async fn over_connection<T>(
    entry: &BookEntry,
    leg: &mut Leg,
    limit: Duration,
    work: impl AsyncFnOnce(&upstream::Worker, &mut Connection) -> Result<T, &'static str>,
) -> Result<T, NoAnswer> {
    let watched = Arc::clone(in_use(leg.links.in_use.as_ref()).map_err(NoAnswer::Over)?.server());
    let control = &entry.control;
    let begun = Instant::now();
    let outcome = {
        let mut work = pin!(async {
            leg.links.flush().await?;
            let Some(backend) = &mut leg.links.in_use else { return Err("the connection is gone") };
            work(&entry.worker.upstream, backend.connection_mut()).await
        });
        // The session is woken when its server is found to be down.
        let work = poll_fn(|cx| match watched.off() {
            Some(off) if off.breaks_off() => Poll::Ready(Err("it is of no use any more")),
            // A KILL that is on its way must not hit it.
            _ if control.turns.is_held() => Poll::Pending,
            _ => work.as_mut().poll(cx),
        });
        control.until(Signal::Stop, timeout(limit, work)).await
    };
    leg.state.trace(|trace| trace.add(Part::Sync, begun.elapsed()));
    leg.flight.begin().internal_lost = false;
    match outcome {
        Err(_) => Err(NoAnswer::Over(Ending::Silent)),
        Ok(Ok(done)) => done.map_err(NoAnswer::Lost),
        Ok(Err(_)) => Err(NoAnswer::Late),
    }
}

/// Gives up the connection in use, which has not answered. Returns what the client is to hear.
fn give_up_unanswered(entry: &BookEntry, leg: &mut Leg, why: NoAnswer) -> Result<ClientError, Ending> {
    let (why, is_lost) = match why {
        NoAnswer::Lost(why) => (why, true),
        NoAnswer::Late => ("no answer in time", false),
        NoAnswer::Over(ending) => return Err(ending),
    };
    let watched = Arc::clone(in_use(leg.links.in_use.as_ref())?.server());
    let gone = watched.off().map_or(Gone::Closed, Gone::Off);
    let rolled_back = lose_backend_for(entry, leg, gone)?;
    // Without an answer another server would not be tried in time.
    leg.flight.begin().internal_lost = is_lost && rolled_back.is_none();
    Ok(rolled_back.unwrap_or_else(|| ClientError::setup_failed(watched.endpoint(), &why)))
}

/// Has the backend in use forget warnings that are not about the session's statements.
pub async fn forget_warnings(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    if leg.links.has_pins(&[Pin::FoundRows]) && leg.links.unknown_here(&leg.state).found.is_none() {
        // Only the server knows how many rows there were, and behind what follows it does not.
        ask_rows(entry, leg).await?;
        if leg.links.in_use.is_none() {
            return Ok(());
        }
    }
    // At MariaDB a statement without tables leaves them as they are.
    ask_text_besides(entry, leg, b"SELECT 1 FROM (SELECT 1) AS pointsman").await?;
    if let Some(link) = leg.links.connection_mut() {
        link.own_warnings = false;
    }
    leg.links.hide_last_result(&mut leg.state);
    Ok(())
}

/// Ends the transaction of a question, without `autocommit`. Its loss is none of the client's.
pub(crate) async fn end_question(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    if leg.state.status.contains(StatusFlags::IN_TRANSACTION) {
        match ask_text(entry, leg, COMMIT).await {
            Err(NoReply::Over(ending)) => return Err(ending),
            _ => leg.links.note_ran(&mut leg.state),
        }
    }
    Ok(())
}

/// Asks how many rows there were, which the other questions hide and the answer of a routine
/// does not tell. False if their answers could not be read.
pub(crate) async fn ask_rows(entry: &BookEntry, leg: &mut Leg) -> Result<bool, Ending> {
    let unknown = leg.links.unknown_here(&leg.state);
    let reply = ask_text_besides(entry, leg, FIRST_QUESTION).await?;
    leg.links.hide_last_result(&mut leg.state);
    let row = reply.as_ref().and_then(Reply::only_row).map(texts).unwrap_or_default();
    let mut numbers = row.iter();
    let counted = &mut leg.state.last.counted;
    if let Some(changed) = numbers.next().and_then(|text| text.parse().ok()) {
        counted.changed = unknown.changed.unwrap_or(changed);
    }
    if let Some(found) = numbers.next().and_then(|text| text.parse().ok()) {
        counted.found = unknown.found.unwrap_or(found);
    }
    Ok(matches!(row.as_slice(), [_, _, charset, modes]
        if PLAIN_CHARSETS.contains(&charset.as_str()) && routine::modes(modes).is_some()))
}

/// The payload of a `COM_QUERY` of the proxy's own.
pub fn packet_of(state: &SessionState, text: &[u8]) -> Vec<u8> {
    query(state.identity.capabilities, text)
}

/// Ends a transaction whatever `completion_type` is.
pub(crate) const COMMIT: &[u8] = b"COMMIT AND NO CHAIN NO RELEASE";

/// The values of a row of text; nothing if one is none. What is no UTF-8 is Latin-1, of which a
/// question mark does for each letter.
pub(crate) fn texts(row: &[u8]) -> Vec<String> {
    let text = |text: &[u8]| {
        let letters = || text.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' });
        std::str::from_utf8(text).map_or_else(|_| letters().collect(), str::to_owned)
    };
    let row = TextRow::decode(row, PLAIN).ok();
    row.and_then(|row| row.iter().map(|value| value.map(text)).collect()).unwrap_or_default()
}

/// What the other questions hide, and what decides how their answers are to be read.
pub(crate) const FIRST_QUESTION: &[u8] =
    b"SELECT ROW_COUNT(), FOUND_ROWS(), @@character_set_results, @@sql_mode";

/// Character sets of results in which a definition reads as it was written: where each byte of
/// ASCII is that letter.
pub(crate) const PLAIN_CHARSETS: [&str; 4] = ["utf8mb4", "utf8mb3", "utf8", "latin1"];

/// Why a connection has not done what it was to do.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// It was lost, for this reason.
    Lost(&'static str),
    /// It has not answered in time.
    Late,
    /// The session ends.
    Over(Ending),
}

/// Has the backend carry out commands, given as payloads, one after the other. An error of the
/// server is an answer; if there is none in time the backend is given up.
pub async fn ask_server(
    entry: &BookEntry,
    leg: &mut Leg,
    commands: &[InternalQuery],
) -> Result<Vec<Reply>, NoReply> {
    let limit = entry.worker.settings().variables.connect_timeout_server_max;
    internal_query_within(entry, leg, limit, commands, None).await
}

/// The same for one statement.
pub async fn ask_text(entry: &BookEntry, leg: &mut Leg, text: &[u8]) -> Result<Reply, NoReply> {
    let question = (packet_of(&leg.state, text), Answer::Result);
    let replies = ask_server(entry, leg, &[question]).await?;
    Ok(replies.into_iter().next().ok_or_else(|| broken("a statement without its reply"))?)
}

//! What a statement asks about the one before it: the backend in use is made to know that, or the
//! statement is told it in its text.

use front::ending::Ending;
use runtime::decided::Decided;
use runtime::worker::Worker;
use session::state::results::LastId;
use session::state::substitute::with_numbers;
use sql::shape::Effects;
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::facts::asking::{ask_text, forget_warnings};
use crate::facts::executions::rewrite;
use crate::kept_error::tell_error_again;
use crate::leg::Leg;
use crate::state::SessionState;
use crate::stop::Stop;

/// Whether the backend in use has to be made to know something, or the command to be told it.
#[inline]
pub fn is_due(leg: &Leg, decided: &Decided) -> bool {
    hears_of_another(leg, decided) || needs_id(decided) && !leg.links.has_last_id(&leg.state)
}

/// Whether the command asks about the statement before, and the backend in use would tell of
/// another one; or only the server knows whether it takes away an error that is kept here.
fn hears_of_another(leg: &Leg, decided: &Decided) -> bool {
    decided.asks_for_last() && leg.links.hears_of_others(&leg.state)
        || decided.may_have_tables() && leg.state.has_released_error()
}

fn needs_id(decided: &Decided) -> bool {
    decided.plan.effects.intersects(Effects::NEEDS_LAST_INSERT_ID)
}

/// Makes `LAST_INSERT_ID()` at the backend in use what it is to the session, if the command may ask
/// for it.
pub(crate) async fn bring_id(entry: &BookEntry, leg: &mut Leg, decided: &mut Decided) -> Result<(), Stop> {
    if !needs_id(decided) {
        return Ok(());
    }
    until_told(&entry.worker, &leg.state).await;
    if leg.links.has_last_id(&leg.state) {
        return Ok(());
    }
    let id = leg.state.last.results.last_id().known();
    // At MySQL anything else would hide how many rows were found.
    let set = format!("SET last_insert_id = {id}");
    let reply = ask_text(entry, leg, set.as_bytes()).await;
    let reply = reply.map_err(|error| leg.set_up_failed(error, decided))?;
    if reply.error().is_some() {
        return Err(Stop::Told(reply.payload().to_vec()));
    }
    leg.state.last.results.set_last_id(LastId::Is(id));
    // That has hidden how many rows the statement before had.
    leg.links.note_ran(&mut leg.state);
    leg.state.last.hide_changed();
    if let Some(link) = leg.links.connection_mut() {
        link.last_id = Some(id);
    }
    Ok(())
}

/// Waits until the session that has the connection now has asked for what this one may need.
async fn until_told(worker: &Worker, state: &SessionState) {
    let limit = worker.settings().variables.connect_timeout_server;
    let _ = tokio::time::timeout(limit, state.last.results.until_told()).await;
}

/// The same for all else that the command asks for. How many rows there were is written into its
/// text. Of warnings there are none: they would have kept the connection. False if there was
/// nothing to do.
pub(crate) async fn tell(
    entry: &BookEntry,
    leg: &mut Leg,
    kind: Kind,
    decided: &Decided,
) -> Result<bool, Ending> {
    if !hears_of_another(leg, decided) {
        return Ok(false);
    }
    // Boxed: most ask about nothing.
    Box::pin(tell_numbers(entry, leg, kind)).await?;
    Ok(true)
}

async fn tell_numbers(entry: &BookEntry, leg: &mut Leg, kind: Kind) -> Result<(), Ending> {
    let has_strange = leg.links.has_own_warnings() && !leg.links.has_warnings();
    if leg.state.has_released_error() {
        tell_error_again(entry, leg).await?;
    } else if has_strange {
        forget_warnings(entry, leg).await?;
    }
    if leg.links.in_use.is_none() {
        return Ok(());
    }
    let told = match kind {
        Kind::Query => {
            let text = leg.text().unwrap_or_default();
            with_numbers(text, leg.links.unknown_here(&leg.state))
        }
        // It is told when it is prepared.
        Kind::StmtExecute => None,
        _ => return Ok(()),
    };
    match told {
        Some(text) => rewrite(&mut leg.flight.begin().front, leg.state.identity.capabilities, &text),
        None if has_strange || leg.links.has_warnings() => {}
        // They belong to the connection over which the statement before ran.
        None if leg.links.unknown_here(&leg.state).changed.is_some() => forget_warnings(entry, leg).await?,
        None => {}
    }
    Ok(())
}

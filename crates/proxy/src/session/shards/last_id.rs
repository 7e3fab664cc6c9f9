//! `LAST_INSERT_ID()` of a session, where the server of a shard may have made it.
//!
//! Servers make ids of tables that are on one node. Those of sharded tables are the proxy's, and
//! known to the outer session at once.

use legs::entry::BookEntry;
use legs::leg::Leg;
use legs::shards::role::{Inner, Place};
use legs::state::{Past, SessionState};
use wire::rows::first_cell;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::definitions::ask_inner;
use crate::session::shards::inner::{ask_here, take_inner_of};
use crate::session::shards::transaction::lose_transaction;
use crate::state::results::LastId;

/// What servers are asked.
const QUESTION: &[u8] = b"SELECT LAST_INSERT_ID()";

/// Finds out what `LAST_INSERT_ID()` is, if only the server of a shard knows.
pub(super) async fn learn_last_id(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let knows = leg.links.away.role.shards().last_id.take();
    let Some(inner) = knows.and_then(|serial| take_inner_of(leg, serial)) else {
        return Ok(());
    };
    let reply = ask_inner(entry, leg, inner, QUESTION).await?;
    note_last_id_in(&mut leg.state, &reply);
    Ok(())
}

/// The same if only the home's server knows.
pub(super) async fn learn_last_id_at_home(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    if matches!(leg.state.last.results.last_id(), LastId::AtServer { .. }) {
        let reply = ask_here(entry, leg, QUESTION).await?;
        note_last_id_in(&mut leg.state, &reply);
        if leg.state.past.contains(Past::ROLLED_BACK) {
            lose_transaction(entry, leg, ClientError::PartFailed).await?;
        }
    }
    Ok(())
}

/// Finds it out, wherever it is known, unless the inner session at `place` knows it: that is
/// about to [get](give_last_id) it.
pub(super) async fn learn_last_id_for(entry: &BookEntry, leg: &mut Leg, place: Place) -> Result<(), Ending> {
    let shards = leg.links.away.role.shards();
    let knows = |inner: &&Inner| Some(inner.serial) == shards.last_id;
    if shards.inner.iter().find(knows).is_none_or(|inner| inner.place() != place) {
        learn_last_id(entry, leg).await?;
        learn_last_id_at_home(entry, leg).await?;
    }
    Ok(())
}

/// A statement has run in an inner session that had [got](give_last_id) the value, and
/// may have set another one.
pub(super) fn note_last_id(leg: &mut Leg, inner: &mut Inner) {
    let Leg { links: there, state: of_inner, .. } = &mut *inner.leg;
    there.note_ran(of_inner);
    if inner.leg.state.last.results.last_id() != leg.state.last.results.last_id() {
        leg.links.away.role.shards().last_id = Some(inner.serial);
    }
}

/// The proxy has made an id.
pub(super) fn set_last_id(leg: &mut Leg, id: u64) {
    leg.links.away.role.shards().last_id = None;
    leg.state.last.results.set_last_id(LastId::Is(id));
}

/// Lets an inner session know what `LAST_INSERT_ID()` is: it tells its server if that matters.
pub(super) fn give_last_id(leg: &mut Leg, inner: &mut Inner) {
    if leg.links.away.role.shards().last_id != Some(inner.serial) {
        let id = leg.state.last.results.last_id().known();
        inner.leg.state.last.results.set_last_id(LastId::Is(id));
    }
}

/// Takes note of what a server says that `LAST_INSERT_ID()` is, if it does.
fn note_last_id_in(state: &mut SessionState, reply: &[u8]) {
    let cell = first_cell(reply).and_then(|cell| std::str::from_utf8(cell).ok());
    if let Some(Ok(id)) = cell.map(str::parse) {
        state.last.results.set_last_id(LastId::Is(id));
    }
}

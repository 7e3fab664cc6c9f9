//! Transactions that end between two commands, since a shard has lost its part, or the layout is
//! another one.

use std::sync::Arc;

use legs::entry::BookEntry;
use legs::facts::asking::ask_besides;
use legs::facts::leases::look_at_server;
use legs::leg::Leg;
use legs::shards::role::Inner;
use legs::state::Past;
use session::ran::Ran;
use wire::command::Kind;
use wire::reply::Answer;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::segments::settle;
use crate::session::shards::facts::has_one_connection;
use crate::session::shards::transaction::{lose_transaction, roll_back_at_shards};

/// Ends the transaction everywhere if one part of it has ended since the last command. The
/// client hears of it with its next statement.
pub(super) async fn heed_lost_shards(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let (mut is_over, mut is_over_at_home) = (false, false);
    if leg.links.away.role.has_transaction() {
        // What a server has closed since then is lost, too.
        look_at_server(entry, leg)?;
        is_over_at_home = was_rolled_back(entry, leg).await?;
        if leg.state.transaction.rolled_back.is_some() {
            // Home was lost: what is open at shards ends with it.
            return Ok(());
        }
        for inner in leg.links.away.role.inner_sessions().iter_mut().filter(|one| one.is_in_transaction()) {
            look_at_server(&inner.entry, &mut inner.leg)?;
            is_over |= was_rolled_back(&inner.entry, &mut inner.leg).await?;
        }
    }
    let inner = leg.links.away.role.inner_sessions().iter_mut();
    // Each is taken: none of them is to tell it a second time.
    let lost = inner.filter_map(|inner| inner.leg.state.transaction.rolled_back.take());
    let lost = lost.fold(None, |_, error| Some(error));
    // Home has ended it, and no command of the client says so.
    let ends = is_over_at_home || !has_one_connection(&leg.state);
    let has_changes = |inner: &Inner| inner.wrote && inner.is_in_transaction();
    is_over |= ends && leg.links.away.role.inner_sessions().iter().any(has_changes);
    let lost = lost.or_else(|| is_over.then(|| ClientError::PartFailed.into()));
    match lost {
        Some(error) => lose_transaction(entry, leg, *error).await,
        // Nothing is lost there: what has become of all changes, home has told.
        None if ends && leg.links.away.role.has_transaction() => roll_back_at_shards(entry, leg).await,
        None => Ok(()),
    }
}

/// Ends a transaction everywhere that is open at shards, if tables are elsewhere by the layout
/// of now. Whether there was one. It may be committed and rolled back, but has no further
/// statements.
pub(super) async fn leave_old_layout(entry: &BookEntry, leg: &mut Leg) -> Result<bool, Ending> {
    if !leg.links.away.role.has_transaction() {
        return Ok(false);
    }
    let settings = entry.worker.settings();
    let is_same = match (&leg.links.away.role.shards().layout, &settings.shards) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old.tables() == new.tables(),
        // Only a question of the proxy's own has begun one, where `autocommit` is off.
        (None, _) => true,
        (Some(_), None) => false,
    };
    if !is_same {
        lose_transaction(entry, leg, ClientError::LayoutChanged).await?;
    }
    Ok(!is_same)
}

/// Behind an error, which tells nothing of the transaction: asks the server whether that is still
/// open. Whether the error has ended it, as far as the server tells. `COM_PING` leaves there what
/// the client may ask about; a server that is lost with it is told as a lost transaction.
pub(super) async fn was_rolled_back(entry: &BookEntry, leg: &mut Leg) -> Result<bool, Ending> {
    let is_open = leg.state.in_transaction() && !leg.state.begins_later() && leg.links.in_use.is_some();
    if !is_open || !leg.state.past.contains(Past::UNSURE) {
        return Ok(false);
    }
    leg.links.note_ran(&mut leg.state);
    let (changed, has_own_warnings) = (leg.state.last.counted.changed, leg.links.has_own_warnings());
    let ping = (vec![Kind::Ping as u8], Answer::Single);
    let replies = ask_besides(entry, leg, &[ping]).await?;
    if let Some(link) = leg.links.connection_mut() {
        link.own_warnings = has_own_warnings;
    }
    if let Some(reply) = replies.first() {
        settle(&mut leg.state, &mut leg.flight, reply.outcome, leg.links.connection_mut());
    }
    leg.flight.end_try();
    // It is no statement that the client may ask about.
    (leg.state.last.ran, leg.state.last.counted.changed) = (Ran::default(), changed);
    leg.state.last.hide_changed();
    Ok(!leg.state.in_transaction())
}

//! Queries whose shard a template names: they take the phases of a session without shards, at that
//! shard. Nothing is copied and nothing is allocated for them.

use std::sync::atomic::Ordering;
use std::task::Context;

use command::Command;
use legs::entry::BookEntry;
use legs::facts::commands::{Look, look};
use legs::io::Io;
use legs::leg::Leg;
use legs::phase::Phase;
use legs::shards::role::Inner;
use wire::command::Kind;

use crate::ending::Ending;
use crate::session::shards::facts::{has_one_connection, holds};
use crate::session::shards::inner::{cx_of, take_inner};
use crate::session::shards::reading::read_settings_for;
use crate::state::Pin;

/// Begins the query that `input` consists of at its shard. Nothing if the shard is not known,
/// or if something else is to be done before.
pub(crate) fn begin_at_shard(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    cx: &mut Context<'_>,
    command: Command<'_>,
    input: &[u8],
) -> Result<Option<Phase>, Ending> {
    let Some(hostgroup) = known_shard(entry, leg, command, input) else {
        return Ok(None);
    };
    if let Some(flight) = leg.flight.as_mut() {
        // It may have waited for a connection when there were no shards.
        flight.leave_way();
        leg.flight.end_try();
    }
    let mut inner = take_inner(entry, leg, hostgroup);
    (io.is_behind_file, io.is_for_once) = (false, true);
    let phase = cx_of(io, &mut inner).begin(cx, input);
    leg.links.away.role.shards().runs = Some(inner);
    phase.map(Some)
}

/// The hostgroup of the query that `input` consists of, if it is known, and if all that has to
/// be done is to have its inner session run it.
fn known_shard(entry: &BookEntry, leg: &mut Leg, command: Command<'_>, input: &[u8]) -> Option<u32> {
    let is_all = command.is_whole() && command.packet().len() == input.len();
    let is_plain = command.kind == Kind::Query && look(&entry.worker, leg, command) == Look::Plain;
    if !is_all || !is_plain || !is_free_of_home(leg) {
        return None;
    }
    let catalog = &entry.worker.shards;
    let charset = leg.state.charset.of_text(command.payload())?;
    let read = read_settings_for(&leg.state, catalog.dialect()?, charset);
    let (settings, shared) = (entry.worker.settings(), &entry.worker.shared);
    let layout = settings.shards.as_ref()?;
    catalog.note_definitions(shared.definitions_of_shards.load(Ordering::Relaxed));
    let branch = catalog.templates.borrow().branch(layout, command.text(), holds(entry, &leg.state, read))?;
    let is_as_named = catalog.names(layout, branch.hostgroup).is_empty();
    is_as_named.then_some(branch.hostgroup)
}

/// Whether nothing that only the home knows matters to a query at a shard: no transaction is
/// open, and the session is not bound to its server.
fn is_free_of_home(leg: &mut Leg) -> bool {
    let is_bound = leg.state.transaction.rolled_back.is_some()
        || leg.state.reading().two_byte_quotes
        || leg.links.lock().is_some()
        || leg.links.has_pins(&[Pin::Xa])
        || has_one_connection(&leg.state);
    !is_bound && !leg.links.away.role.shards().inner.iter().any(is_occupied)
}

/// Whether a transaction is open in an inner session, or was lost there, of which all are to be
/// told.
fn is_occupied(inner: &Inner) -> bool {
    inner.is_in_transaction() || inner.leg.state.transaction.rolled_back.is_some()
}

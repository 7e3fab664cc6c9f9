//! Transactions of sessions with sharded tables.
//!
//! A shard hears of the beginning of a transaction, and of savepoints, in front of the first
//! statement that it gets of the transaction; so does home, if nothing is bound to it. The end goes
//! to all that are in it: shards at the same time, then home. If it is an error, the client hears
//! what has become of each part, unless nothing lasts. A transaction writes at one place, unless
//! several are allowed. Home is asked about savepoints first: a name that it does not know is an
//! error of the statement alone.

use std::borrow::Cow;
use std::pin::pin;
use std::rc::Rc;

use front::login::ok;
use legs::entry::BookEntry;
use legs::facts::endings::code;
use legs::facts::leases::lose_backend_for;
use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::role::{Inner, Place, Transaction};
use legs::state::{OF_SESSION, Past, SessionState};
use legs::without_writer::{begin_later, end_unbegun};
use reply::errors::INTERRUPTED;
use route::StatementPlan;
use session::committed;
use session::committed::{Part, Verdict, verdict};
use sql::StatementKind;
use sql::shape::Effects;
use wire::frame;

use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::session::shards::autocommit::{keeps_transaction, may_begin_later};
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{has_one_connection, payload_of};
use crate::session::shards::inner::{ask, ask_here, error_of, follow, take_inner_at};
use crate::session::shards::relaying::wait_for_parts;
use crate::session::shards::runners::{ask_all, error_of_parts};
use crate::state::Pin;
use crate::state::without_writer::Sequel;

/// What the home says of its part that is rolled back since another one was: error 1213.
const ROLLED_BACK: [u8; 3] = [0xff, 0xbd, 0x04];

/// Numbers of client libraries: a server is lost.
const CODES_OF_CLIENTS: std::ops::Range<u16> = 2000..3000;
/// From here on, errors are the proxy's own: there is no server.
const CODES_OF_PROXY: u16 = 9000;

/// Whether a statement begins, ends or divides a transaction.
pub(super) const fn is_about_transaction(what: StatementPlan) -> bool {
    let kind = what.kind;
    !what.several
        && (kind.begins()
            || matches!(
                kind,
                StatementKind::Commit
                    | StatementKind::Rollback
                    | StatementKind::Savepoint
                    | StatementKind::ReleaseSavepoint
                    | StatementKind::RollbackSavepoint
            ))
}

/// The command in the backlog is about the transaction: shards in it hear it, then it runs at
/// home if that is in it.
pub(super) async fn change_transaction(
    entry: &BookEntry,
    leg: &mut Leg,
    what: StatementPlan,
    text: &[u8],
) -> Result<Done, Halt> {
    match what.kind {
        ends @ (StatementKind::Commit | StatementKind::Rollback) => {
            return end_transaction(entry, leg, ends, text).await;
        }
        begins if begins.begins() => {
            commit_everywhere(entry, leg).await?;
            let is_special = leg.links.has_pins(&[Pin::NextTransaction]);
            let transaction = &mut leg.links.away.role.shards().transaction;
            (transaction.beginning, transaction.is_special) = (Some(text.into()), is_special);
            if !is_special && may_begin_later(entry, leg, text) {
                leg.links.away.role.shards().last = Place::Home;
                return Ok(Done::Told(frame::answer(&begin_later(&mut leg.state))));
            }
        }
        divides => return divide_transaction(entry, leg, divides, text).await,
    }
    Ok(Done::Home)
}

/// The command in the backlog sets, leaves or releases a savepoint. A name that home does not
/// know changes nothing.
async fn divide_transaction(
    entry: &BookEntry,
    leg: &mut Leg,
    divides: StatementKind,
    text: &[u8],
) -> Result<Done, Halt> {
    let savepoints = &leg.links.away.role.shards().transaction.savepoints;
    if divides == StatementKind::Savepoint && savepoints.is_full() {
        let reason = "the transaction has all that it may have";
        return Err(ClientError::not_sharded("a savepoint more", reason).into());
    }
    let reply = ask_here(entry, leg, text).await?;
    if error_of(&reply).is_none() {
        leg.links.away.role.shards().transaction.savepoints.note(divides, text);
        let parts = say_at_shards(entry, leg, text).await?;
        if let Some(error) = parts.into_iter().find_map(|part| part.refusal) {
            lose_transaction(entry, leg, ClientError::PartFailed).await?;
            return Err(Halt::Answered(error));
        }
    }
    leg.links.away.role.shards().last = Place::Home;
    Ok(Done::Told(reply))
}

/// Commits at all shards that are in it. Home, if it is in the transaction or the statement is
/// the client's, with its sequel, commits behind shards that have changed something, by this
/// statement, whose reply is returned. An error if not all that was changed lasts: then the
/// transaction is over everywhere.
async fn commit_with(
    entry: &BookEntry,
    leg: &mut Leg,
    text: &[u8],
    clients: Option<Sequel>,
) -> Result<Option<Vec<u8>>, Halt> {
    let wrote_at_home = leg.links.away.role.shards().transaction.wrote_at_home;
    let mut parts = say_at_shards(entry, leg, b"COMMIT").await?;
    let mut reply = None;
    let place = committed::Place::Home;
    let is_in = is_open_at_home(&leg.state);
    match verdict(&parts) {
        // Nothing is done yet: the transaction goes on, as at one server.
        Verdict::Refused(error) if parts.iter().all(is_still_open) => return Err(Halt::Answered(error)),
        _ if leg.state.begins_later() || !is_in && clients.is_none() => {}
        Verdict::Committed if parts.iter().any(|part| part.wrote) => {
            let mut said = ask_here(entry, leg, text).await?;
            let is_passed = !wrote_at_home && error_of(&said).is_some();
            if is_passed {
                said = pass_over_home(entry, leg, clients.unwrap_or_default()).await?;
            }
            // If the transaction behind this one does not begin, that is told with this one.
            parts.push(Part { place, wrote: wrote_at_home || is_passed, refusal: error_of(&said) });
            reply = Some(said);
        }
        // Home is rolled back, too.
        Verdict::Refused(_) | Verdict::InPart(_) if is_in => {
            parts.push(Part { place, wrote: wrote_at_home, refusal: Some(ROLLED_BACK.to_vec()) });
        }
        _ => {}
    }
    let error = error_of_parts(&leg.state, &parts, "a transaction over several servers");
    leg.links.away.role.shards().inner.iter_mut().for_each(|inner| inner.wrote = false);
    let Some(error) = error else { return Ok(reply) };
    roll_back_everywhere(entry, leg).await?;
    Err(Halt::Answered(error))
}

/// Servers commit before a statement that begins a transaction or defines tables: so do all
/// that are in the transaction, before the statement in the backlog. An error if not all that was
/// changed lasts.
pub(super) async fn commit_everywhere(entry: &BookEntry, leg: &mut Leg) -> Result<(), Halt> {
    let is_at_home = is_open_at_home(&leg.state);
    if commit_with(entry, leg, b"COMMIT", None).await?.is_none() && is_at_home {
        Halt::of_reply(&ask_here(entry, leg, b"COMMIT").await?)?;
    }
    leg.links.away.role.shards().transaction = Transaction::default();
    Ok(())
}

/// A statement that runs at home ends the transaction, or may do so unseen: shards in it hear
/// of it before. An error if the statement is not to run.
pub(super) async fn leave_transaction(
    entry: &BookEntry,
    leg: &mut Leg,
    command: &Command<'_>,
) -> Result<(), Halt> {
    let refused =
        |part, reason| Halt::Answered(payload_of(&leg.state, &ClientError::not_sharded(part, reason)));
    if !leg.links.away.role.has_transaction() {
        return Ok(());
    }
    if command.what.several && command.what.effects.intersects(Effects::TRANSACTION | Effects::COMMITS) {
        return Err(refused("several statements in one text that end a transaction", "shards are in it"));
    }
    let has_changes = |inner: &Inner| inner.wrote && inner.is_in_transaction();
    if may_end_unseen(command.what) && leg.links.away.role.inner_sessions().iter().any(has_changes) {
        let part = "a statement that may end the transaction at home alone";
        return Err(refused(part, "shards have changes in it"));
    }
    let is_on = leg.state.status.contains(wire::StatusFlags::AUTOCOMMIT);
    let keeps = match command.what.kind {
        StatementKind::Set => keeps_transaction(&command.text, is_on),
        // Servers commit only if tables are locked, and BEGIN has unlocked them.
        StatementKind::UnlockTables => {
            let transaction = &leg.links.away.role.shards().transaction;
            transaction.beginning.is_some() || !leg.links.pins().any(|(pins, _)| pins.has_locked_tables())
        }
        _ => false,
    };
    if command.defines() && !keeps { commit_everywhere(entry, leg).await } else { Ok(()) }
}

/// Rolls the open transaction back at shards, and at home. A connection on which home refuses
/// that is closed, which rolls back as well.
pub(super) async fn roll_back_everywhere(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    roll_back_at_shards(entry, leg).await?;
    if is_open_at_home(&leg.state) && error_of(&ask_here(entry, leg, b"ROLLBACK").await?).is_some() {
        leg.state.past.remove(Past::BEGINS_LATER);
        leg.state.set_status(leg.state.status & OF_SESSION);
        lose_backend_for(entry, leg, Gone::Closed)?;
    }
    Ok(())
}

/// The command in the backlog ends the transaction, as it says: shards in it end it first, then
/// home, and what comes behind it begins at home.
async fn end_transaction(
    entry: &BookEntry,
    leg: &mut Leg,
    ends: StatementKind,
    text: &[u8],
) -> Result<Done, Halt> {
    let is_at_shards = leg.links.away.role.has_transaction();
    let Some(sequel) = Sequel::of(text, leg.state.shared_settings()) else {
        let error = ClientError::not_sharded("a COMMIT or ROLLBACK of this form", "shards are in it");
        return if is_at_shards { Err(error.into()) } else { Ok(Done::Home) };
    };
    // The session ends when its client has heard what has become of the transaction.
    let at_home = match sequel {
        Sequel { releases: true, .. } => Cow::from(ends.name().as_bytes()),
        Sequel { chains: true, .. } => [ends.name().as_bytes(), b" AND CHAIN"].concat().into(),
        _ => text.into(),
    };
    let said = if ends == StatementKind::Commit {
        commit_with(entry, leg, &at_home, Some(sequel)).await?
    } else {
        roll_back_at_shards(entry, leg).await?;
        None
    };
    let may_pass = is_at_shards && ends == StatementKind::Rollback;
    let reply = match said {
        Some(reply) => reply,
        None if leg.state.begins_later() => {
            if !sequel.chains {
                end_unbegun(&mut leg.state);
            }
            ok_packet(&leg.state)
        }
        None if may_pass || sequel.chains => {
            let said = ask_here(entry, leg, &at_home).await?;
            // What shards had is gone: home does not keep its part.
            let is_passed = may_pass && error_of(&said).is_some_and(|error| is_undone(&error));
            if is_passed { pass_over_home(entry, leg, sequel).await? } else { said }
        }
        None => return Ok(Done::Home),
    };
    let shards = leg.links.away.role.shards();
    shards.last = Place::Home;
    if error_of(&reply).is_none() {
        // The one behind it has the same characteristics.
        let Transaction { beginning, is_special, .. } = std::mem::take(&mut shards.transaction);
        shards.transaction = Transaction { beginning, is_special, ..Transaction::default() };
        leg.state.past.set(Past::RELEASED, sequel.releases);
    }
    Ok(Done::Told(reply))
}

/// Home has refused the end of a transaction to which it has nothing to add: the transaction is
/// over there, too, and has ended as the statement says. So says the reply, if the one behind it
/// has begun.
async fn pass_over_home(entry: &BookEntry, leg: &mut Leg, sequel: Sequel) -> Result<Vec<u8>, Ending> {
    roll_back_everywhere(entry, leg).await?;
    leg.state.past.remove(Past::ROLLED_BACK);
    if sequel.releases || !sequel.chains {
        return Ok(ok_packet(&leg.state));
    }
    let begin = leg.links.away.role.shards().transaction.beginning.clone();
    ask_here(entry, leg, begin.as_deref().unwrap_or(b"BEGIN")).await
}

/// What tells the client that it is done.
pub(super) fn ok_packet(state: &SessionState) -> Vec<u8> {
    frame::answer(&ok(state.identity.capabilities, state.status))
}

/// Whether a transaction is open at home, or may be: without `autocommit`, an error does not tell.
pub(super) fn is_open_at_home(state: &SessionState) -> bool {
    state.in_transaction() || state.past.contains(Past::UNSURE) && has_one_connection(state)
}

/// Whether an error says that a statement was interrupted, or has come to no server.
fn is_undone(error: &[u8]) -> bool {
    let code = code(error).unwrap_or_default();
    code == INTERRUPTED || CODES_OF_CLIENTS.contains(&code) || code >= CODES_OF_PROXY
}

/// Whether all that this part has changed can still be committed.
fn is_still_open(part: &Part) -> bool {
    !part.wrote || part.refusal.as_deref().and_then(code) == Some(INTERRUPTED)
}

/// Has the transaction end at all shards that are in it. Nothing of it lasts.
pub(super) async fn roll_back_at_shards(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    say_at_shards(entry, leg, b"ROLLBACK").await?;
    let shards = leg.links.away.role.shards();
    // A connection on which that was refused is closed: that rolls back.
    shards.inner.retain(|inner| !inner.is_in_transaction());
    shards.inner.iter_mut().for_each(|inner| inner.wrote = false);
    Ok(())
}

/// Has all shards that are in the transaction run a statement at the same time. What each has
/// said.
async fn say_at_shards(entry: &BookEntry, leg: &mut Leg, text: &[u8]) -> Result<Vec<Part>, Ending> {
    let list = &mut leg.links.away.role.shards().inner;
    let mut open: Vec<Inner> = list.extract_if(.., |inner| inner.is_in_transaction()).collect();
    let is_one = open.len() == 1;
    for inner in &mut open {
        follow(inner, &leg.state);
        if !is_one {
            // What runs at the same time has controls of its own.
            inner.entry.control = entry.control.control_of_part();
        }
    }
    let controls: Vec<_> = open.iter().map(|inner| Rc::clone(&inner.entry.control)).collect();
    let said = {
        let asked = pin!(ask_all(&mut open, text));
        if is_one {
            asked.await
        } else {
            wait_for_parts((&entry.control, &leg.state), &controls, asked).await?
        }
    };
    let parts = said?;
    for mut inner in open {
        inner.entry.control = Rc::clone(&entry.control);
        leg.links.put_inner(inner);
    }
    Ok(parts)
}

/// The inner session of a shard, in the transaction if one is open.
pub(super) async fn enter(
    entry: &BookEntry,
    leg: &mut Leg,
    hostgroup: u32,
    slot: usize,
) -> Result<Inner, Halt> {
    if let Some(error) = leg.state.transaction.rolled_back.take() {
        // It was lost at a question about the statement.
        return Err(Halt::Answered(payload_of(&leg.state, &error)));
    }
    let is_open = leg.state.in_transaction() || leg.state.begins_later();
    let layout = entry.worker.settings().shards.clone();
    let shards = leg.links.away.role.shards();
    if shards.layout.is_none() || !shards.inner.iter().any(Inner::is_in_transaction) {
        shards.layout = layout;
    }
    let mut inner = take_inner_at(entry, leg, hostgroup, slot);
    if is_open && !inner.is_in_transaction() {
        inner.wrote = false;
        let transaction = &leg.links.away.role.shards().transaction;
        let begin = transaction.beginning.clone().unwrap_or_else(|| b"BEGIN"[..].into());
        let savepoints = transaction.savepoints.texts().map(Box::from);
        for text in std::iter::once(begin).chain(savepoints).collect::<Vec<_>>() {
            let reply = ask(&mut inner, &text).await?;
            if let Err(halt) = Halt::of_reply(&reply) {
                leg.links.put_inner(inner);
                return Err(halt);
            }
        }
    }
    Ok(inner)
}

/// Whether a statement may end a transaction by what it runs, which its own text does not tell.
fn may_end_unseen(what: StatementPlan) -> bool {
    let runs = matches!(
        what.kind,
        StatementKind::Call | StatementKind::Execute | StatementKind::Compound | StatementKind::Unknown
    );
    runs || what.several && what.effects.intersects(Effects::UNKNOWN)
}

/// Rolls back everywhere. The client hears why with its next statement.
pub(super) async fn lose_transaction(
    entry: &BookEntry,
    leg: &mut Leg,
    error: ClientError,
) -> Result<(), Ending> {
    roll_back_everywhere(entry, leg).await?;
    leg.state.transaction.rolled_back = Some(Box::new(error));
    Ok(())
}

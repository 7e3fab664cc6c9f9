//! Having a command run where its plan says.

use legs::entry::BookEntry;
use legs::io::Io;
use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::role::Place;
use runtime::scattered::Scattered;

use crate::error::ClientError;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{may_write, names_at};
use crate::session::shards::last_id::learn_last_id;
use crate::session::shards::limited::run_limited;
use crate::session::shards::load::run_load;
use crate::session::shards::lost::{leave_old_layout, was_rolled_back};
use crate::session::shards::many::run_many;
use crate::session::shards::one::{run_one, run_where};
use crate::session::shards::plan::way_of;
use crate::session::shards::transaction::leave_transaction;
use crate::session::shards::way::Way;

/// Runs a command, which the backlog begins with, where its statement goes. It is planned again
/// if its tables are defined in between.
pub(super) async fn run_command(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    mut command: Command<'_>,
) -> Result<Done, Halt> {
    loop {
        match run_planned(entry, io, leg, &mut command).await {
            Err(Halt::Outdated) => {}
            done => return done,
        }
    }
}

async fn run_planned(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: &mut Command<'_>,
) -> Result<Done, Halt> {
    if leave_old_layout(entry, leg).await? {
        // There the client hears that its transaction is over.
        return Ok(Done::Home);
    }
    let way = way_of(entry, leg, command).await?;
    if way.enters_shards() {
        // They do not come into a transaction that an error has ended at home.
        was_rolled_back(entry, leg).await?;
        if leg.state.transaction.rolled_back.is_some() {
            return Ok(Done::Home);
        }
    }
    match way {
        Way::Home => run_at_home(entry, leg, command).await,
        Way::At(place) => run_where(entry, io, leg, place, command).await,
        Way::One { branch, is_single }
            if branch.text.is_none()
                && !command.defines()
                && names_at(&entry.worker, branch.hostgroup).is_empty() =>
        {
            run_one(entry, io, leg, command, &branch, is_single).await
        }
        Way::One { branch, is_single } => {
            command.close_cursor();
            let one = Scattered { is_single, ..vec![branch].into() };
            run_many(entry, io, leg, command, one).await
        }
        Way::Many(scattered) => {
            command.close_cursor();
            run_many(entry, io, leg, command, *scattered).await
        }
        Way::Limited(limited, tables) => {
            command.close_cursor();
            run_limited(entry, io, leg, command, &limited, tables).await
        }
        Way::Load(load, tables) => run_load(entry, io, leg, command, &load, tables).await,
        Way::NeedsIds(_) => Err(ClientError::not_sharded("a statement", "it needs ids again").into()),
    }
}

/// The command in the backlog runs at home: what shards and the next statements are to know of
/// it.
pub(super) async fn run_at_home(
    entry: &BookEntry,
    leg: &mut Leg,
    command: &Command<'_>,
) -> Result<Done, Halt> {
    if command.needs_last_id() {
        learn_last_id(entry, leg).await?;
    }
    leave_transaction(entry, leg, command).await?;
    if command.writes() {
        may_write(&entry.worker, leg, Place::Home)?;
        // It may begin the transaction as well.
        leg.links.away.role.shards().transaction.wrote_at_home = true;
    }
    Ok(Done::Home)
}

//! A command of a session that has shards: whether it runs at home, and what its client hears.

use legs::backlog::{complete_front, skip_command};
use legs::entry::BookEntry;
use legs::facts::replies::write_to_client;
use legs::facts::shown::begin_own;
use legs::io::Io;
use legs::leg::Leg;
use legs::phase::Phase;
use legs::reply::{answer_here, refuse_here};
use legs::shards::command::Command;
use legs::shards::role::{Place, Role, Transaction};
use legs::state::Past;
use wire::command::Kind;

use crate::ending::Ending;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::execute::{prepare_at_shards, statement_at_shards};
use crate::session::shards::facts::too_long;
use crate::session::shards::fields::list_fields;
use crate::session::shards::lost::heed_lost_shards;
use crate::session::shards::planned::run_command;
use crate::session::shards::transaction::{
    change_transaction, is_about_transaction, is_open_at_home, roll_back_at_shards, roll_back_everywhere,
};
use crate::session::stage::local::ids::is_ours;
use crate::session::stage::owed;

/// Finds out where the command in the backlog goes, and has it run there.
pub(crate) async fn at_shards(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
) -> Result<Phase, Ending> {
    entry.control.set_busy();
    if !entry.worker.has_shards.get() && !leg.links.away.role.has_transaction() {
        // There are no sharded tables any more.
        leave_shards(entry, leg).await?;
        return Ok(Phase::Reading);
    }
    if leg.state.past.replace(Past::ROLLED_BACK, false) {
        // Home was rolled back. What is open there now came behind that.
        roll_back_at_shards(entry, leg).await?;
    }
    if ::command::is_about_transactions(kind) {
        heed_lost_shards(entry, leg).await?;
    }
    if owed::is_due(&leg.state, kind) {
        // The client is told so: it has lost what it did at shards, too.
        roll_back_at_shards(entry, leg).await?;
        if matches!(kind, Kind::ResetConnection | Kind::ChangeUser) {
            leave_shards(entry, leg).await?;
        }
        return Ok(leg.links.stay_home(kind));
    }
    if !is_open_at_home(&leg.state) {
        // Only now it is known that home has ended it.
        leg.links.away.role.shards().transaction = Transaction::default();
    }
    if matches!(kind, Kind::Query | Kind::StmtPrepare) {
        complete_front(entry, io, leg).await?;
    }
    if is_ours(entry, leg, io.command(leg.state.identity.capabilities)) {
        return Ok(leg.links.stay_home(kind));
    }
    let done = match kind {
        Kind::Query => query_at_shards(entry, io, leg).await,
        Kind::StmtPrepare => {
            let text = io.whole_front().and_then(|payload| payload.get(1..)).map(<[u8]>::to_vec);
            prepare_at_shards(entry, leg, text).await
        }
        Kind::FieldList => {
            complete_front(entry, io, leg).await?;
            let payload = io.whole_front().map(<[u8]>::to_vec).unwrap_or_default();
            list_fields(entry, leg, &payload).await
        }
        kind if kind.names_statement() => statement_at_shards(entry, io, leg, kind).await,
        Kind::ResetConnection | Kind::ChangeUser | Kind::Quit => {
            leave_shards(entry, leg).await?;
            Ok(Done::Home)
        }
        _ => Ok(Done::Home),
    };
    let phase = follow_up_at_shards(entry, io, leg, kind, done).await?;
    if leg.state.past.replace(Past::ROLLED_BACK, false) {
        roll_back_everywhere(entry, leg).await?;
        leg.state.transaction.rolled_back = None;
    }
    Ok(phase)
}

/// Tells the client what has come of the command in the backlog, unless it has heard that.
async fn follow_up_at_shards(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
    done: Result<Done, Halt>,
) -> Result<Phase, Ending> {
    if let Some(flight) = leg.flight.as_mut().filter(|_| !matches!(done, Ok(Done::Home))) {
        // It may have waited for a connection when there were no shards.
        flight.leave_way();
    }
    match done {
        Ok(Done::Home) => return Ok(leg.links.stay_home(kind)),
        Ok(Done::Over) => {}
        Ok(Done::Skipped) => drop(skip_command(entry, io, leg).await?),
        Ok(Done::Told(packets)) => {
            begin_own(entry, io, &mut leg.state, &mut leg.flight, kind);
            skip_command(entry, io, leg).await?;
            write_to_client(entry, io, &mut leg.state, &packets).await?;
            entry.answered_here(&leg.links, 0);
        }
        Err(Halt::Over(ending)) => return Err(ending),
        Err(Halt::Outdated) => return Ok(Phase::Sharded(kind)),
        Err(Halt::Refused(error)) => {
            leg.links.away.role.shards().last = Place::Home;
            // Of a transaction that was lost at a question about the statement, the client
            // hears first.
            let lost = leg.state.transaction.rolled_back.take();
            refuse_here(entry, io, leg, kind, lost.as_deref().unwrap_or(&error)).await?;
        }
        Err(Halt::Answered(error)) => answer_here(entry, io, leg, kind, &error).await?,
    }
    if leg.state.past.contains(Past::RELEASED) { Err(Ending::Silent) } else { Ok(Phase::Over) }
}

async fn query_at_shards(entry: &BookEntry, io: &mut Io, leg: &mut Leg) -> Result<Done, Halt> {
    let command = io.command(leg.state.identity.capabilities).filter(::command::Command::is_whole);
    let command = command.map(|all| (all.payload().to_vec(), all.text().to_vec()));
    let (payload, text) = command.ok_or_else(too_long)?;
    let what = entry.worker.routing.borrow_mut().look(&text, leg.state.reading());
    if is_about_transaction(what) {
        return change_transaction(entry, leg, what, &text).await;
    }
    run_command(entry, io, leg, Command::query(payload, text, what)).await
}

/// Ends what the session has at shards.
async fn leave_shards(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    if leg.links.away.role.0.is_some() {
        roll_back_at_shards(entry, leg).await?;
    }
    leg.links.away.role = Role::default();
    Ok(())
}

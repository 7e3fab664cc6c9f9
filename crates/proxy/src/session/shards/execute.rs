//! Commands about prepared statements over sharded tables.

use std::rc::Rc;

use command::renumber;
use legs::backlog::{complete_front, skip_command};
use legs::entry::BookEntry;
use legs::facts::shown::measure_own;
use legs::io::Io;
use legs::leg::Leg;
use legs::shards::command::{Command, with_types};
use legs::shards::prepared::{Site, Statement, depends_on_modes, prepared};
use legs::shards::values::values as values_of;
use sql::StatementKind;
use wire::command::{Kind, StmtExecute, statement_id};
use wire::{Codec as _, frame};

use crate::error::ClientError;
use crate::session::shards::done::{Done, Halt};
use crate::session::shards::facts::{as_prepared, has_one_connection, too_long};
use crate::session::shards::inner::{take_inner, take_inner_of};
use crate::session::shards::last_id::learn_last_id;
use crate::session::shards::one::lend;
use crate::session::shards::plan::sample_of;
use crate::session::shards::planned::{run_at_home, run_command};
use crate::session::shards::sites::{close_site, prepare};
use crate::session::shards::stored::stopped_since;
use crate::session::shards::transaction::{change_transaction, is_about_transaction, ok_packet};
use crate::state::Settings;

/// A command that names a prepared statement is in the backlog.
pub(super) async fn statement_at_shards(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
) -> Result<Done, Halt> {
    let Some(id) = leg.links.away.role.shards().statements.named(io.front()) else {
        return if matches!(kind, Kind::StmtExecute | Kind::StmtBulkExecute) {
            execute_at_home(entry, io, leg, kind).await
        } else {
            Ok(Done::Home)
        };
    };
    if kind == Kind::StmtBulkExecute {
        let reason = "its rows may be on several servers";
        return Err(ClientError::not_sharded("a bulk execution", reason).into());
    }
    complete_front(entry, io, leg).await?;
    if kind == Kind::SendLongData {
        // There is no reply to it: where it is too long, the execution is refused.
        if let Some(statement) = leg.links.statement_at_shards(id) {
            statement.add_part(io.whole_front());
        }
        return Ok(Done::Skipped);
    }
    let payload = io.whole_front().map(<[u8]>::to_vec).ok_or_else(too_long)?;
    match kind {
        Kind::StmtExecute => execute_at_shards(entry, io, leg, id, &payload).await,
        Kind::StmtReset | Kind::StmtFetch => pass_to_cursor(entry, io, leg, kind, id, payload).await,
        _ => close_at_shards(entry, io, leg, id).await,
    }
}

/// An execution of a statement that is none of the shards' is in the backlog.
async fn execute_at_home(entry: &BookEntry, io: &mut Io, leg: &mut Leg, kind: Kind) -> Result<Done, Halt> {
    let known = statement_id(io.front()).and_then(|id| leg.state.statement(id));
    let known = known.map(|prepared| (prepared.what.plan, prepared.what.text.clone()));
    // The statement may ask for it.
    learn_last_id(entry, leg).await?;
    let Some((what, text)) = known else { return Ok(Done::Home) };
    if is_about_transaction(what) {
        let part = "a prepared statement about transactions";
        let text = text.ok_or_else(|| ClientError::not_sharded(part, "its text is lost"))?;
        complete_front(entry, io, leg).await?;
        return change_transaction(entry, leg, what, &text).await;
    }
    let shows = matches!(what.kind, StatementKind::Show | StatementKind::Diagnostics);
    if text.as_deref().is_some_and(|text| shows && leg.links.place_of_last(what, text).is_some()) {
        let why = "that statement has run at shards; sent as text this is answered";
        return Err(ClientError::not_sharded("a prepared statement about the one before", why).into());
    }
    if let Some(text) = text {
        stopped_since(entry, leg, &text, what).await?;
    }
    run_at_home(entry, leg, &Command { kind, ..Command::query(Vec::new(), Vec::new(), what) }).await
}

async fn execute_at_shards(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    id: u32,
    payload: &[u8],
) -> Result<Done, Halt> {
    let phase = execute_with_parts(entry, io, leg, id, payload).await;
    // However it ends.
    if let Some(statement) = leg.links.statement_at_shards(id) {
        statement.forget_parts();
    }
    phase
}

async fn execute_with_parts(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    id: u32,
    payload: &[u8],
) -> Result<Done, Halt> {
    let caps = leg.state.identity.capabilities;
    let none = ClientError::NoTypes { id };
    let Some(statement) = leg.links.statement_at_shards(id) else { return Err(none.into()) };
    let typed = StmtExecute::decode(payload, caps).ok().and_then(|execute| {
        statement.note_types(&execute, caps);
        with_types(&execute, statement, caps)
    });
    let typed = typed.unwrap_or_default();
    let values = StmtExecute::decode(&typed, caps).ok();
    let values = values.and_then(|execute| values_of(&execute, statement, caps)).ok_or(none)?;
    let (text, is_cut) = (statement.text.to_vec(), statement.is_cut);
    let (payload, context) = (typed.clone(), statement.context.clone());
    if is_cut {
        return Err(ClientError::not_sharded("values sent in parts", "they are longer than 1 MiB").into());
    }
    let what = entry.worker.routing.borrow_mut().look(&text, leg.state.reading());
    let (kind, execution) = (Kind::StmtExecute, Some((id, values)));
    run_in_context(entry, io, leg, Command { kind, payload, text, what, execution, context }).await
}

/// Runs an execution, whose text means what it meant when it was prepared. If other SQL modes
/// would make it mean something else, inner sessions for this execution have those of then.
async fn run_in_context(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    command: Command<'_>,
) -> Result<Done, Halt> {
    let settings = leg.state.shared_settings();
    let then = command.context.as_ref().map(|context| &context.settings);
    let is_other =
        |then: &&Rc<Settings>| !Rc::ptr_eq(then, settings) && !then.sql_modes().eq(settings.sql_modes());
    let then = then.filter(is_other).filter(|_| depends_on_modes(&command.text));
    let Some(then) = then else { return run_command(entry, io, leg, command).await };
    if has_one_connection(&leg.state) {
        let part = "a statement that was prepared with another sql_mode";
        let reason = "a transaction is open, whose connections have the sql_mode of now";
        return Err(ClientError::not_sharded(part, reason).into());
    }
    let settings = Rc::new(settings.with_sql_modes_of(then));
    leg.links.away.role.shards().as_then = Some(settings);
    let phase = run_command(entry, io, leg, command).await;
    if leg.links.away.role.shards().end_as_then() {
        learn_last_id(entry, leg).await?;
    }
    leg.links.away.role.shards().forget_for_once();
    phase
}

/// The command in the backlog is about the cursor of a statement, or about parts of values.
async fn pass_to_cursor(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    kind: Kind,
    id: u32,
    mut payload: Vec<u8>,
) -> Result<Done, Halt> {
    let Some(statement) = leg.links.statement_at_shards(id) else { return Ok(Done::Home) };
    statement.forget_parts();
    let cursor = statement.cursor;
    let open = cursor.and_then(|(serial, known_as)| Some((take_inner_of(leg, serial)?, known_as)));
    let Some((mut inner, known_as)) = open else {
        if kind == Kind::StmtFetch {
            let is_mariadb = entry.worker.shared.says_mariadb().await;
            return Err(ClientError::NoCursor { id, is_mariadb }.into());
        }
        return Ok(Done::Told(ok_packet(&leg.state)));
    };
    if kind == Kind::StmtReset
        && let Some(statement) = leg.links.statement_at_shards(id)
    {
        statement.cursor = None;
    }
    renumber(&mut payload, known_as);
    let packets = frame::command(&payload);
    lend(io, &mut leg.state, &mut inner, Some(packets)).await?;
    leg.links.put_inner(inner);
    Ok(Done::Over)
}

async fn close_at_shards(entry: &BookEntry, io: &mut Io, leg: &mut Leg, id: u32) -> Result<Done, Halt> {
    measure_own(entry, io, &leg.state, &leg.flight, Kind::StmtClose);
    skip_command(entry, io, leg).await?;
    let sites = leg.links.away.role.shards().statements.remove(id).map(|statement| statement.sites);
    for site in sites.unwrap_or_default() {
        close_site(leg, &site).await?;
    }
    Ok(Done::Over)
}

/// Prepares this text, which is that of a `COM_STMT_PREPARE`; none if it is too long.
pub(super) async fn prepare_at_shards(
    entry: &BookEntry,
    leg: &mut Leg,
    text: Option<Vec<u8>>,
) -> Result<Done, Halt> {
    let text = text.ok_or_else(too_long)?;
    let what = entry.worker.routing.borrow_mut().look(&text, leg.state.reading());
    if is_about_transaction(what) {
        // Home says whether it can be prepared. Shards hear of its executions.
        leg.links.away.role.shards().statements.note_other();
        return Ok(Done::Home);
    }
    let Some((branch, context)) = sample_of(entry, leg, &text, what).await? else {
        let version = entry.worker.shared.definitions.version();
        let shards = leg.links.away.role.shards();
        shards.prepared_at.get_or_insert(version);
        shards.statements.note_other();
        return Ok(Done::Home);
    };
    let mut inner = take_inner(entry, leg, branch.hostgroup);
    let reply = prepare(&mut inner, branch.text.as_deref().unwrap_or(&text)).await?;
    let (serial, modes) = (inner.serial, inner.leg.state.modes());
    leg.links.put_inner(inner);
    Halt::of_reply(&as_prepared(&entry.worker, &leg.state, &reply, branch.hostgroup, 0))?;
    let (id, params) = prepared(&reply).unwrap_or_default();
    let hostgroup = branch.hostgroup;
    let site = Site { inner: serial, text: branch.text, id, modes };
    let context = Some(Rc::new(context));
    let statement =
        Statement { text: text.into(), context, params, sites: vec![site], ..Statement::default() };
    let id = leg.links.away.role.shards().statements.add(statement);
    let reason = "the session has all that it may have";
    let id = id.ok_or_else(|| ClientError::not_sharded("a prepared statement more", reason))?;
    if let Some(all) = &mut leg.state.prepared {
        // The one that was prepared last is none of home's.
        all.forget_last();
    }
    let reply = as_prepared(&entry.worker, &leg.state, &reply, hostgroup, id);
    Ok(Done::Told(reply))
}

//! Where a statement goes: what the planner says of its text, with what is known of its tables.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use legs::entry::BookEntry;
use legs::leg::Leg;
use legs::links::Links;
use legs::shards::command::Command;
use legs::shards::prepared::Context;
use legs::state::SessionState;
use planner::plan::{Asked, Branch, Plan, Request, Template};
use planner::seen::{Asker, Cells, Seen};
use route::StatementPlan;
use runtime::explain::shards::shard_hint;
use runtime::gates::TableName;
use runtime::scattered::Scattered;
use runtime::templates::{Found, Kept};
use runtime::worker::Worker;
use shard::{Layout, TableKind};
use sql::parse::{Settings, Tree};
use sql::shape::Effects;

use crate::error::ClientError;
use crate::session::shards::defining::stopped;
use crate::session::shards::definitions::learn_definitions;
use crate::session::shards::done::Halt;
use crate::session::shards::facts::{depends_on_time, holds, keeps_home};
use crate::session::shards::ids::{ids_for, raise_ids};
use crate::session::shards::last_id::{learn_last_id, learn_last_id_at_home};
use crate::session::shards::naming::{names_table, prepares_table, refused, unread};
use crate::session::shards::reading::{has_mode, is_current, read_settings, schema_of, select_limit};
use crate::session::shards::stored::{Named, stopped_behind};
use crate::session::shards::way::Way;
use crate::state::results::LastId;

/// Effects for which it matters what the session has done, or that change rows or tables: the plan
/// of a statement with one of them is not remembered.
const MATTERS_TO_SESSION: Effects = Effects::USER_VARIABLES
    .union(Effects::NAMED_LOCKS)
    .union(Effects::READS_LAST)
    .union(Effects::LAST_INSERT_ID)
    .union(Effects::COMMITS)
    .union(Effects::WRITES)
    .union(Effects::UNKNOWN)
    .union(Effects::FUNCTION);

/// What a statement does with variables of users.
const VARIABLES: Effects = Effects::SETS_USER_VARIABLES.union(Effects::READS_USER_VARIABLES);

/// A command whose text was read, with what its plan depends on beside the session.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) command: &'a Command<'a>,
    pub(super) tree: &'a Tree,
    pub(super) read: Settings,
    pub(super) layout: &'a Layout,
}

impl Reading<'_> {
    /// The tables of the layout that it names.
    pub(super) fn tables(&self, state: &SessionState) -> Vec<TableName> {
        let schema = String::from_utf8_lossy(schema_of(state, self.command));
        let named = planner::plan::tables(self.tree, &self.command.text, &schema).into_iter();
        named.filter(|(schema, table)| self.layout.table(schema, table).is_some()).collect()
    }
}

/// Where the statement of a command goes.
pub(super) async fn way_of(entry: &BookEntry, leg: &mut Leg, command: &Command<'_>) -> Result<Way, Halt> {
    let (text, what) = (&command.text, command.what);
    if command.execution.is_none()
        && let Some(place) = leg.links.place_of_last(what, text)
    {
        return Ok(Way::At(place));
    }
    let settings = entry.worker.settings();
    let Some(layout) = settings.shards.as_ref() else { return Ok(Way::Home) };
    if what.effects.intersects(Effects::PREPARED) && prepares_table(text, layout) {
        let reason = "its text is not planned; drivers' prepared statements are";
        return Err(ClientError::not_sharded("a statement that is prepared as text", reason).into());
    }
    let Some(now) = read_settings(&entry.worker, &leg.state, text, layout).await? else {
        return Ok(Way::Home);
    };
    let read = command.context.as_ref().map_or(now, |context| context.read);
    if read.modes.charset != now.modes.charset && !text.is_ascii() {
        // Its bytes are other characters now.
        return Err(ClientError::NeedReprepare.into());
    }
    if command.asks_last_id() {
        learn_last_id(entry, leg).await?;
    }
    let defined = entry.worker.shared.definitions_of_shards.load(Ordering::Relaxed);
    entry.worker.shards.note_definitions(defined);
    leg.links.away.role.shards().planned_at = defined;
    let holds = holds(entry, &leg.state, read);
    let known = if is_elsewhere(&leg.state, command) {
        None
    } else {
        entry.worker.shards.templates.borrow().find(layout, text, command.parameters(), holds)
    };
    let way = match known {
        Some(Found::One(branch)) => Way::One { branch, is_single: false },
        Some(Found::Many(scattered)) => Way::Many(scattered),
        None => match way_anew(entry, leg, command, read, layout).await {
            // What the session is in comes first.
            Err(halt @ Halt::Refused(_)) => {
                refused_by_session(&leg.links, what)?;
                keeps_home(leg)?;
                return Err(halt);
            }
            way => way?,
        },
    };
    let what = match way {
        // Its variables get what is read, and have the values of their line.
        Way::Load(..) => StatementPlan { effects: what.effects.difference(VARIABLES), ..what },
        _ => what,
    };
    if !matches!(way, Way::Home) {
        refused_by_session(&leg.links, what)?;
        keeps_home(leg)?;
    }
    Ok(way)
}

/// The same for a statement that is read and planned.
async fn way_anew(
    entry: &BookEntry,
    leg: &mut Leg,
    command: &Command<'_>,
    read: Settings,
    layout: &Arc<Layout>,
) -> Result<Way, Halt> {
    let text = &command.text;
    let mut tree = entry.worker.shards.tree.take();
    let way: Result<Way, Halt> = async {
        let way = match tree.read(text, &read) {
            Ok(_) => {
                let reading = Reading { command, tree: &tree, read, layout };
                learn_definitions(entry, leg, reading).await?;
                if command.asks_last_id() && !reading.tables(&leg.state).is_empty() {
                    learn_last_id_at_home(entry, leg).await?;
                }
                with_ids(entry, leg, reading).await?
            }
            Err(_) if !names_table(text, layout) => Way::Home,
            Err(refusal) => return Err(unread(text, refusal).into()),
        };
        let schema = String::from_utf8_lossy(schema_of(&leg.state, command)).into_owned();
        let readable = Some(&tree).filter(|tree| tree.root().is_some());
        let named = Named { text, what: command.what, modes: read.modes, schema: &schema, tree: readable };
        stopped_behind(entry, leg, &named, &way, layout).await?;
        Ok(way)
    }
    .await;
    let matters = command.what.several
        || command.what.effects.intersects(MATTERS_TO_SESSION)
        || is_elsewhere(&leg.state, command);
    if let Ok(way) = &way
        && !matters
        && is_current(&entry.worker, layout)
    {
        let reading = Reading { command, tree: &tree, read, layout };
        let kept = || kept(entry, &leg.state, reading, way);
        entry.worker.shards.templates.borrow_mut().learn(text, holds(entry, &leg.state, read), kept);
    }
    entry.worker.shards.tree.replace(tree);
    way
}

/// A statement that tells what one with this text is, at the server that it is for; none if it
/// names no table of the layout.
pub(super) async fn sample_of(
    entry: &BookEntry,
    leg: &mut Leg,
    text: &[u8],
    what: StatementPlan,
) -> Result<Option<(Branch, Context)>, Halt> {
    let settings = entry.worker.settings();
    let Some(layout) = settings.shards.as_ref() else { return Ok(None) };
    let Some(read) = read_settings(&entry.worker, &leg.state, text, layout).await? else {
        return Ok(None);
    };
    let mut tree = entry.worker.shards.tree.take();
    let schema = String::from_utf8_lossy(leg.state.caller.schema()).into_owned();
    let sample: Result<_, Halt> = match tree.read(text, &read) {
        Ok(_) => {
            let tables = entry.worker.shards.tables();
            let request = Request {
                sql: text,
                tree: &tree,
                modes: read.modes,
                schema: &schema,
                layout,
                definitions: &*tables,
                parameters: &[],
                asked: Asked::default(),
            };
            let asker = Asker { home: leg.state.account.hostgroup(), dialect: read.dialect };
            planner::seen::sample(&request, asker).map_err(|refusal| refused(text, refusal).into())
        }
        Err(_) if !names_table(text, layout) => Ok(None),
        Err(refusal) => Err(unread(text, refusal).into()),
    };
    let sample = match sample {
        Ok(None) => {
            let tree = Some(&tree).filter(|tree| tree.root().is_some());
            let named = Named { text, what, modes: read.modes, schema: &schema, tree };
            stopped_behind(entry, leg, &named, &Way::Home, layout).await.map(|()| None)
        }
        sample => sample,
    };
    entry.worker.shards.tree.replace(tree);
    let schema = leg.state.caller.schema().into();
    let context = Context { schema, read, settings: Rc::clone(leg.state.shared_settings()) };
    Ok(sample?.map(|branch| (branch, context)))
}

/// Where a statement goes, whose rows get ids if they need any.
async fn with_ids(entry: &BookEntry, leg: &mut Leg, reading: Reading<'_>) -> Result<Way, Halt> {
    let mut way = planned(entry, &leg.state, reading, &[])?;
    if let Way::NeedsIds(wanted) = &way {
        let ids = ids_for(entry, leg, reading.layout, wanted).await?;
        way = planned(entry, &leg.state, reading, &ids)?;
    }
    if let Way::Many(scattered) = &way
        && let Some(ids) = &scattered.ids
    {
        raise_ids(entry, leg, reading.layout, ids).await?;
    }
    Ok(way)
}

/// What is remembered of the plan of a query.
fn kept(entry: &BookEntry, state: &SessionState, reading: Reading<'_>, way: &Way) -> Option<Kept> {
    let (branches, many) = match way {
        Way::One { branch, .. } => (std::slice::from_ref(branch), None),
        Way::Many(scattered) if scattered.is_query() => (&scattered.branches[..], Some(scattered)),
        _ => return None,
    };
    let made = |request: &Request<'_>, _| Template::of(request, branches);
    let template = with_request(entry, state, reading, &[], made).flatten();
    let of_many = |plan: &Scattered| Box::new(Scattered { branches: Vec::new(), ..plan.clone() });
    match (template, many) {
        (Some(template), many) => Some(Kept::Template(template, many.map(|plan| of_many(plan)))),
        (None, Some(plan)) if reading.command.execution.is_none() => {
            Some(Kept::Repeated(reading.command.text.as_slice().into(), plan.clone()))
        }
        (None, _) => None,
    }
}

/// What a plan is made of, for a closure that makes one. Nothing if the session's schema has a
/// name that no layout has.
pub(super) fn with_request<T>(
    entry: &BookEntry,
    state: &SessionState,
    Reading { command, tree, read, layout }: Reading<'_>,
    ids: &[u64],
    use_it: impl FnOnce(&Request<'_>, Asker) -> T,
) -> Option<T> {
    let schema = std::str::from_utf8(schema_of(state, command)).ok()?;
    let tables = entry.worker.shards.tables();
    let request = Request {
        sql: &command.text,
        tree,
        modes: read.modes,
        schema,
        layout,
        definitions: &*tables,
        parameters: command.parameters(),
        asked: Asked {
            ids,
            names_all: is_elsewhere(state, command),
            ..asked_with(&entry.worker, state, &command.text)
        },
    };
    Some(use_it(&request, Asker { home: state.account.hostgroup(), dialect: read.dialect }))
}

fn planned(
    entry: &BookEntry,
    state: &SessionState,
    reading: Reading<'_>,
    ids: &[u64],
) -> Result<Way, ClientError> {
    let Reading { command, layout, .. } = reading;
    let planned = with_request(entry, state, reading, ids, |request, asker| {
        let seen = planner::seen::seen(request, asker);
        let seen = seen.unwrap_or_else(|| Seen::of_plan(request, planner::plan::plan(request)));
        if matches!(seen.plan, Plan::Home | Plan::One(_)) && !command.writes() {
            return (seen, Vec::new());
        }
        (seen, reading.tables(state))
    });
    let Some((Seen { plan, cells }, tables)): Option<(Seen, Vec<TableName>)> = planned else {
        return Ok(Way::Home);
    };
    if let Some(wrong) = wrong_with(&entry.worker, command, &tables) {
        return Err(wrong);
    }
    let many = |scattered| Way::Many(Box::new(scattered));
    let is_single = tables.iter().any(|(schema, table)| {
        matches!(layout.table(schema, table).map(|table| &table.kind), Some(TableKind::Single { .. }))
    });
    Ok(match plan {
        Plan::One(branch) if cells != Cells::Plain => many(Scattered { cells, ..vec![branch].into() }),
        Plan::Home => Way::Home,
        Plan::One(branch) => Way::One { branch, is_single },
        Plan::Many(scatter) => many(Scattered { cells, tables, ..scatter.into() }),
        // What the only shard says of it is what the client is to hear.
        Plan::Write(mut write) if write.branches.len() == 1 && write.ids.is_none() => {
            write.branches.pop().map_or(Way::Home, |branch| Way::One { branch, is_single })
        }
        Plan::Write(write) => {
            let has_time = depends_on_time(&entry.worker, state, command.what, &tables);
            many(Scattered { tables, has_time, ..write.into() })
        }
        Plan::Limited(limited) => Way::Limited(limited, tables),
        Plan::Load(load) => Way::Load(load, tables),
        Plan::Each(branches) => many(Scattered { tables, is_definition: true, ..branches.into() }),
        Plan::NeedsIds(wanted) => Way::NeedsIds(wanted),
        Plan::Refused(refusal) => return Err(refused(&command.text, refusal)),
    })
}

/// Whether a command is one of another schema than that of the session.
fn is_elsewhere(state: &SessionState, command: &Command<'_>) -> bool {
    schema_of(state, command) != state.caller.schema()
}

/// What a comment asks for, and what the session has set, that decides where a statement goes.
fn asked_with<'t>(worker: &Worker, state: &SessionState, text: &'t [u8]) -> Asked<'t> {
    Asked {
        ids: &[],
        names_all: false,
        select_limit: select_limit(state),
        keeps_zero: has_mode(state, b"NO_AUTO_VALUE_ON_ZERO"),
        choice: usize::try_from(worker.dice.roll() >> 1).unwrap_or_default(),
        shard: shard_hint(text),
        last_insert_id: match state.last.results.last_id() {
            LastId::Is(id) => Some(id),
            LastId::AtServer { .. } => None,
        },
    }
}

/// An error if a statement cannot run at a shard in the state that the session is in.
fn refused_by_session(links: &Links, what: StatementPlan) -> Result<(), ClientError> {
    let refused = |part: &str, reason: &str| Err(ClientError::not_sharded(part, reason));
    if let Some((pin, _)) = links.lock() {
        return refused(
            "a statement at a shard",
            &format!("the session is bound to its server: {}", pin.name()),
        );
    }
    if what.several {
        return refused("several statements in one text", "each may belong to another server");
    }
    if what.effects.intersects(Effects::SETS_USER_VARIABLES) {
        return refused("a user variable that is set", "it would be set at one server only");
    }
    if what.effects.intersects(Effects::READS_USER_VARIABLES)
        && links.has_pins(&[crate::state::Pin::UserVariable])
    {
        return refused("a user variable", "its value is known to the server that has set it only");
    }
    if what.effects.intersects(Effects::NAMED_LOCKS) {
        return refused("a lock by name", "it would be taken at one server only");
    }
    Ok(())
}

/// What is wrong with a table that a command writes to.
fn wrong_with(worker: &Worker, command: &Command<'_>, named: &[TableName]) -> Option<ClientError> {
    if !command.writes() || command.defines() {
        return None;
    }
    if let Some(id) = worker.shared.ddl.stopped_of(named) {
        return Some(stopped(id));
    }
    let tables = worker.shards.tables();
    let wrong = named.iter().find_map(|(schema, table)| tables.wrong(schema, table))?;
    Some(ClientError::not_sharded("a write to a table that is not as it should be", wrong))
}

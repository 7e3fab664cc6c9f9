//! Stored code beside sharded tables: servers are asked what is behind the names of a statement,
//! and what would see a part of a sharded table only does not run.

use std::collections::BTreeSet;
use std::sync::Arc;

use legs::entry::BookEntry;
use legs::facts::places::has_one_way;
use legs::leg::Leg;
use net::clock::millis;
use planner::plan::Branch;
use planner::stored::{Found, Object, Unreadable, Used, Wrong, objects, wrong};
use route::StatementPlan;
use runtime::explain::shards::shard_hint;
use runtime::limits::{DEFINITION_AGE_MAX, STORED_BEHIND_MAX};
use session::unjudged::add;
use shard::Layout;
use sql::lexer::{Kind as Token, Lexer};
use sql::parse::{Kind, Tree};
use sql::routine::Mentions;
use sql::shape::{Effects, Table, function_effects};
use sql::{Modes, StatementKind};
use wire::rows::cells;

use crate::error::ClientError;
use crate::session::facts::routing::judge;
use crate::session::shards::definitions::ask_at;
use crate::session::shards::done::Halt;
use crate::session::shards::inner::error_of;
use crate::session::shards::way::Way;

/// What a statement may do that calls something: its routines are looked for.
const CALLS: Effects = Effects::FUNCTION.union(Effects::UNKNOWN);

/// Statements that run nothing of what is behind the names that they have.
const DEFINES: [StatementKind; 6] = [
    StatementKind::AlterView,
    StatementKind::CreateTrigger,
    StatementKind::CreateView,
    StatementKind::Define,
    StatementKind::DropTrigger,
    StatementKind::DropView,
];

/// Tokens of a statement within which `EVENT` is what it defines: `CREATE OR REPLACE DEFINER = a@b
/// EVENT`.
const EVENT_WORDS: usize = 10;

/// A statement, as far as it matters to what is behind its names.
pub(super) struct Named<'a> {
    pub(super) text: &'a [u8],
    pub(super) what: StatementPlan,
    pub(super) modes: Modes,
    /// The session's schema.
    pub(super) schema: &'a str,
    /// The statement, if it could be read.
    pub(super) tree: Option<&'a Tree>,
}

/// An error if a statement does not go this way, for what is behind its names.
pub(super) async fn stopped_behind(
    entry: &BookEntry,
    leg: &mut Leg,
    named: &Named<'_>,
    way: &Way,
    layout: &Layout,
) -> Result<(), Halt> {
    if shard_hint(named.text).is_some() {
        // The client says which rows it means.
        return Ok(());
    }
    let at_shards =
        |branches: &[Branch]| branches.iter().map(|branch| branch.hostgroup).collect::<BTreeSet<_>>();
    let (hostgroups, is_home) = match way {
        Way::Home => (BTreeSet::new(), true),
        Way::One { branch, .. } => (BTreeSet::from([branch.hostgroup]), false),
        Way::Many(scattered) => (at_shards(&scattered.branches), false),
        Way::Load(load, _) => (at_shards(&load.branches), false),
        Way::Limited(limited, _) => (limited.hostgroups(), false),
        Way::At(_) | Way::NeedsIds(_) => return Ok(()),
    };
    if let Some(wrong) = named.wrong(layout) {
        return Err(ClientError::not_sharded("a statement", &wrong.to_string()).into());
    }
    let all = named.objects(layout, is_home);
    if all.is_empty() {
        return Ok(());
    }
    let hostgroups = if is_home { BTreeSet::from([home_of(entry, leg, named.text)]) } else { hostgroups };
    for hostgroup in hostgroups {
        look_behind(entry, leg, all.clone(), hostgroup, layout).await?;
    }
    Ok(())
}

/// An error if a statement is not executed at home that may have been prepared before something
/// was defined anew.
pub(super) async fn stopped_since(
    entry: &BookEntry,
    leg: &mut Leg,
    text: &[u8],
    what: StatementPlan,
) -> Result<(), Halt> {
    let (settings, version) = (entry.worker.settings(), entry.worker.shared.definitions.version());
    let Some(layout) = settings.shards.as_ref() else { return Ok(()) };
    if leg.links.away.role.shards().prepared_at.is_none_or(|before| before == version) {
        return Ok(());
    }
    let schema = String::from_utf8_lossy(leg.state.caller.schema()).into_owned();
    let modes = Modes { no_backslash_escapes: leg.state.reading().no_backslash_escapes, ..Modes::default() };
    let named = Named { text, what, modes, schema: &schema, tree: None };
    stopped_behind(entry, leg, &named, &Way::Home, layout).await
}

/// An error if something is wrong with these objects at a hostgroup, or with what they use.
async fn look_behind(
    entry: &BookEntry,
    leg: &mut Leg,
    all: Vec<Object>,
    hostgroup: u32,
    layout: &Layout,
) -> Result<(), Halt> {
    let mut at = 0;
    let mut all: Vec<_> = all.into_iter().map(|object| Used { object, is_certain: false }).collect();
    while let Some(Used { object, is_certain }) = all.get(at).cloned() {
        let found = found_behind(entry, leg, &object, hostgroup, layout).await?;
        let is_hidden = is_certain && !found.is_there && !is_native(&object);
        if let Some(wrong) = found.wrong.or(is_hidden.then_some(Wrong::Hidden)) {
            return Err(stopped(&object, &wrong).into());
        }
        add(&mut all, found.uses);
        at += 1;
        if all.len() > STORED_BEHIND_MAX {
            let why = format!("more than {STORED_BEHIND_MAX} tables and routines are behind its names");
            return Err(ClientError::not_sharded("a statement", &why).into());
        }
    }
    Ok(())
}

/// What a hostgroup has by the name of an object.
async fn found_behind(
    entry: &BookEntry,
    leg: &mut Leg,
    object: &Object,
    hostgroup: u32,
    layout: &Layout,
) -> Result<Found, Halt> {
    let version = entry.worker.shared.definitions.version();
    let (stored, caller) = (&entry.worker.shards.stored, Arc::clone(&leg.state.caller));
    let about = (caller.user(), hostgroup, object);
    stored.refresh(version);
    if let Some((found, _)) = stored.get(about, entry.worker.uptime_ms()) {
        return Ok(found);
    }
    let reply = ask_at(entry, leg, hostgroup, object.question().as_bytes()).await?;
    let part = || format!("a statement with '{}'", object.name());
    if error_of(&reply).is_some() {
        let why = format!("hostgroup {hostgroup} does not tell whether it is stored code");
        return Err(ClientError::not_sharded(&part(), &why).into());
    }
    let found = cells(&reply).ok_or(Unreadable).and_then(|rows| Found::of(layout, &rows));
    let found = found.map_err(|why| ClientError::not_sharded(&part(), &why.to_string()))?;
    let until = entry.worker.shared.uptime() + DEFINITION_AGE_MAX;
    stored.note(about, found.clone(), (version, millis(until)));
    Ok(found)
}

/// Where a statement goes that names no sharded table.
fn home_of(entry: &BookEntry, leg: &Leg, text: &[u8]) -> u32 {
    if has_one_way(&entry.worker, &leg.state) {
        return leg.state.account.hostgroup();
    }
    let decided = judge(entry, leg, (text, true), None, false);
    decided.target().unwrap_or(leg.state.account.hostgroup())
}

impl Named<'_> {
    /// What is wrong with a compound statement, with an event that it defines, or with a call that
    /// prepares its argument: these are not planned, and run at one server.
    fn wrong(&self, layout: &Layout) -> Option<Wrong> {
        let is_event = || self.what.kind == StatementKind::Define && defines_event(self.text, self.modes);
        let runs = self.what.kind == StatementKind::Compound || is_event();
        if self.what.kind == StatementKind::Call && Mentions::of(self.text, self.modes).prepares {
            return Some(Wrong::Prepares);
        }
        runs.then(|| wrong(layout, &Mentions::of(self.text, self.modes), self.schema)).flatten()
    }

    /// What may be stored code, or have some. At shards, routines may be in any schema: it may have
    /// another name there.
    fn objects(&self, layout: &Layout, is_home: bool) -> Vec<Object> {
        let mut named = Mentions::default();
        let calls = self.what.effects.intersects(CALLS);
        let kind = self.what.kind;
        if DEFINES.contains(&kind) {
            return Vec::new();
        }
        if matches!(kind, StatementKind::Prepare | StatementKind::Execute) {
            for text in texts(self.text, self.modes) {
                named.add(Mentions::of(text, self.modes));
            }
        } else if calls || self.tree.is_none() {
            named = Mentions::of(self.text, self.modes);
        }
        if !calls && kind != StatementKind::Prepare {
            named.routines.clear();
        }
        let schema = Some(self.schema).filter(|_| is_home);
        let mut all = objects(layout, &named, schema);
        if !is_home {
            all.retain(|object| matches!(object, Object::Routine { .. }));
        }
        if let Some(tree) = self.tree.filter(|_| is_home)
            && let Some(changed) = changed(kind, tree)
        {
            let tables = planner::plan::tables(tree, self.text, self.schema).into_iter();
            let tables = tables.map(|(schema, name)| Table { schema: Some(schema), name });
            let mut writes: Vec<_> = tables.collect();
            let reads = writes.split_off(changed.min(writes.len()));
            let named = Mentions { reads, writes, ..Mentions::default() };
            all.extend(objects(layout, &named, schema));
            all.sort_unstable();
            all.dedup();
        }
        all
    }
}

/// How many of a statement's tables it may change, the first ones of its text; nothing if it runs
/// nothing of what is behind their names.
fn changed(kind: StatementKind, tree: &Tree) -> Option<usize> {
    match kind {
        StatementKind::Describe => None,
        StatementKind::Insert | StatementKind::Replace => Some(1),
        StatementKind::Update | StatementKind::Delete | StatementKind::Load => Some(usize::MAX),
        StatementKind::CreateTable | StatementKind::CreateTemporary => Some(0),
        _ => uses_rows(tree).then_some(0),
    }
}

/// Whether a routine is a function that a server has built in.
fn is_native(object: &Object) -> bool {
    let is_it = |name: &str| function_effects(&name.to_ascii_lowercase(), true).is_some();
    matches!(object, Object::Routine { name, .. } if is_it(name))
}

/// Whether a statement reads or changes rows: others define what is behind names, or tell of it.
fn uses_rows(tree: &Tree) -> bool {
    tree.root().is_some_and(|root| !tree.children(root).any(|id| tree.kind(id) == Kind::Utility))
}

/// Whether `CREATE` or `ALTER` is about an event.
fn defines_event(text: &[u8], modes: Modes) -> bool {
    let mut words = Lexer::new(text, modes).take(EVENT_WORDS);
    words
        .any(|token| text.get(token.start..token.end).is_some_and(|word| word.eq_ignore_ascii_case(b"event")))
}

/// The texts in quotes within a statement that prepares or executes one.
fn texts(text: &[u8], modes: Modes) -> Vec<&[u8]> {
    let tokens = Lexer::new(text, modes).filter(|token| token.kind == Token::Text);
    tokens.filter_map(|token| text.get(token.start + 1..token.end.saturating_sub(1))).collect()
}

fn stopped(object: &Object, wrong: &Wrong) -> ClientError {
    let kind = match object {
        Object::Table { .. } => "a view, or a table with triggers",
        Object::Routine { .. } => "a routine",
    };
    ClientError::not_sharded(&format!("{kind}: {}", object.name()), &wrong.to_string())
}

//! Stored code beside sharded tables: servers are asked what is behind the names of a statement,
//! and what would see a part of a sharded table only does not run.

use route::StatementPlan;
use shard::Layout;
use shard::stored::{Found, Object, Wrong, objects};
use sql::lexer::{Kind as Token, Lexer};
use sql::parse::{Kind, Tree};
use sql::routine::Mentions;
use sql::shape::Effects;
use sql::{Modes, StatementKind};

use super::naming::shard_hint;
use super::plan::Way;
use super::rows::rows;
use super::transaction::error_of;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::limits::STORED_BEHIND_MAX;
use crate::session::Session;

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

impl Session {
    /// Why a statement does not go this way, for what is behind its names.
    pub(super) async fn stopped_behind(
        &mut self,
        named: &Named<'_>,
        way: &Way,
        layout: &Layout,
    ) -> Result<Option<ClientError>, Ending> {
        if shard_hint(named.text).is_some() {
            // The client says which rows it means.
            return Ok(None);
        }
        let at_shards = |branches: &[shard::plan::Branch]| {
            let mut all: Vec<_> = branches.iter().map(|branch| branch.hostgroup).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let (hostgroups, is_home) = match way {
            Way::Home => (vec![self.state.account.hostgroup()], true),
            Way::One { branch, .. } => (vec![branch.hostgroup], false),
            Way::Many(scattered) => (at_shards(&scattered.branches), false),
            Way::Load(load, _) => (at_shards(&load.branches), false),
            Way::Limited(limited, _) => (limited.hostgroups(), false),
            Way::At(_) | Way::NeedsIds(_) | Way::Refused(_) => return Ok(None),
        };
        let all = named.objects(layout, is_home);
        if all.is_empty() {
            return Ok(None);
        }
        for hostgroup in hostgroups {
            if let Some(error) = self.wrong_behind(all.clone(), hostgroup, layout).await? {
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    /// What is wrong with these objects at a hostgroup, and with what they use.
    async fn wrong_behind(
        &mut self,
        mut all: Vec<Object>,
        hostgroup: u32,
        layout: &Layout,
    ) -> Result<Option<ClientError>, Ending> {
        let mut at = 0;
        while let Some(object) = all.get(at).cloned() {
            let found = match self.found_behind(&object, hostgroup, layout).await? {
                Ok(found) => found,
                Err(error) => return Ok(Some(error)),
            };
            if let Some(wrong) = &found.wrong {
                return Ok(Some(stopped(&object, wrong)));
            }
            for used in found.uses {
                if !all.contains(&used) {
                    all.push(used);
                }
            }
            at += 1;
            if all.len() > STORED_BEHIND_MAX {
                let why = format!("more than {STORED_BEHIND_MAX} tables and routines are behind its names");
                return Ok(Some(ClientError::not_sharded("a statement", &why)));
            }
        }
        Ok(None)
    }

    /// What a hostgroup has by the name of an object.
    async fn found_behind(
        &mut self,
        object: &Object,
        hostgroup: u32,
        layout: &Layout,
    ) -> Result<Result<Found, ClientError>, Ending> {
        let version = self.worker.shared.definitions.version();
        let stored = &self.worker.shards.stored;
        stored.refresh(version);
        let key = (self.state.caller.user().into(), hostgroup, object.clone());
        if let Some(found) = stored.get(&key, self.worker.shared.uptime()) {
            return Ok(Ok(found));
        }
        let reply = self.ask_at(hostgroup, object.question().as_bytes()).await?;
        let part = || format!("a statement with '{}'", object.name());
        if error_of(&reply).is_some() {
            let why = format!("hostgroup {hostgroup} does not tell whether it is stored code");
            return Ok(Err(ClientError::not_sharded(&part(), &why)));
        }
        match Found::of(layout, &rows(&reply).unwrap_or_default()) {
            Ok(found) => {
                let now = self.worker.shared.uptime();
                self.worker.shards.stored.learn(key, &found, (now, version));
                Ok(Ok(found))
            }
            Err(why) => Ok(Err(ClientError::not_sharded(&part(), &why.to_string()))),
        }
    }
}

impl Named<'_> {
    /// What may be stored code, or have some. At shards, routines may be in any schema: it may have
    /// another name there.
    fn objects(&self, layout: &Layout, is_home: bool) -> Vec<Object> {
        let mut named = Mentions::default();
        let calls = self.what.effects.intersects(CALLS);
        if DEFINES.contains(&self.what.kind) {
            return Vec::new();
        }
        if matches!(self.what.kind, StatementKind::Prepare | StatementKind::Execute) {
            for text in texts(self.text, self.modes) {
                add(&mut named, Mentions::of(text, self.modes));
            }
        } else if calls || self.tree.is_none() || self.what.kind == StatementKind::CreateTable {
            named = Mentions::of(self.text, self.modes);
        }
        if !calls {
            named.routines.clear();
        }
        let schema = Some(self.schema).filter(|_| is_home);
        let mut all = objects(layout, &named, schema);
        if !is_home {
            all.retain(|object| matches!(object, Object::Routine { .. }));
        }
        if let Some(tree) = self.tree.filter(|tree| is_home && uses_rows(tree)) {
            let tables = shard::plan::tables(tree, self.text, self.schema).into_iter();
            let tables = tables.map(|(schema, name)| sql::shape::Table { schema: Some(schema), name });
            let named = Mentions { reads: tables.collect(), ..Mentions::default() };
            all.extend(objects(layout, &named, schema));
            all.sort_unstable();
            all.dedup();
        }
        all
    }
}

/// Whether a statement reads or changes rows: others define what is behind names, or tell of it.
fn uses_rows(tree: &Tree) -> bool {
    let does = |kind| {
        matches!(
            kind,
            Kind::Query | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Command
        )
    };
    tree.root().is_some_and(|root| tree.children(root).any(|id| does(tree.kind(id))))
}

/// The texts in quotes within a statement that prepares or executes one.
fn texts(text: &[u8], modes: Modes) -> Vec<&[u8]> {
    let tokens = Lexer::new(text, modes).filter(|token| token.kind == Token::Text);
    tokens.filter_map(|token| text.get(token.start + 1..token.end.saturating_sub(1))).collect()
}

fn add(all: &mut Mentions, more: Mentions) {
    all.reads.extend(more.reads);
    all.writes.extend(more.writes);
    all.routines.extend(more.routines);
}

fn stopped(object: &Object, wrong: &Wrong) -> ClientError {
    let kind = match object {
        Object::Table { .. } => "a view, or a table with triggers",
        Object::Routine { .. } => "a routine",
    };
    ClientError::not_sharded(&format!("{kind}: {}", object.name()), &wrong.to_string())
}

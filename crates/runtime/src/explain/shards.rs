//! Where a statement over sharded tables goes, in a session that is only assumed.

use planner::plan::{Asked, Definitions as _, Plan, Request, Row};
use planner::seen::Asker;
use route::{Explanation, Step};
use sql::Modes;
use sql::parse::Settings;

use crate::worker::Worker;

/// The row of a plan for tables of which no worker knows the columns.
const UNKNOWN: [&str; 3] = [
    "definitions",
    "not known",
    "no statement has named the tables yet; EXPLAIN ROUTE in a session asks the servers",
];

/// The plan of a statement, as `EXPLAIN ROUTE` tells it.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    rows: Vec<Row>,
    /// Whether the worker knows how all tables of the statement are defined.
    is_certain: bool,
}

impl Planned {
    /// The plan of a statement at a worker, for a user with this home; nothing if there are no
    /// sharded tables, or if the statement is not understood.
    pub(super) fn at(worker: &Worker, text: &[u8], schema: &str, home: u32) -> Option<Self> {
        let settings = worker.settings();
        let layout = settings.shards.as_ref()?;
        let catalog = &worker.shards;
        let dialect = catalog.likely_dialect()?;
        let read =
            Settings { modes: Modes::default(), dialect, pipes_as_concat: false, high_not_precedence: false };
        let mut tree = catalog.tree.take();
        let planned = tree.read(text, &read).is_ok().then(|| {
            let tables = catalog.tables();
            let request = Request {
                sql: text,
                tree: &tree,
                modes: read.modes,
                schema,
                layout,
                definitions: &*tables,
                parameters: &[],
                asked: Asked { shard: shard_hint(text), ..Asked::default() },
            };
            let mut named = planner::plan::tables(&tree, text, schema).into_iter();
            let is_known = |(schema, table): (String, String)| {
                layout.table(&schema, &table).is_none() || tables.columns(&schema, &table).is_some()
            };
            Self { is_certain: named.all(is_known), ..Self::of(&request, Asker { home, dialect }) }
        });
        catalog.tree.replace(tree);
        planned
    }

    /// The plan of a statement whose tables are known as far as they can be.
    pub fn of(request: &Request<'_>, asker: Asker) -> Self {
        let seen = planner::seen::seen(request, asker);
        let plan = seen.map_or_else(|| planner::plan::plan(request), |seen| seen.plan);
        Self { rows: planner::plan::explain(request, &plan), plan, is_certain: true }
    }

    /// That of several workers that knows most.
    pub(super) fn best(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.max_by_key(|planned| planned.is_certain)
    }

    /// Puts the plan in front of an explanation of what the statement is at its server.
    pub fn explain(self, explanation: &mut Explanation) {
        if !matches!(self.plan, Plan::Home | Plan::One(_)) {
            let is_kept =
                |step: &Step| matches!(step, Step::Session { .. } | Step::Digest { .. } | Step::Shape { .. });
            explanation.steps.retain(is_kept);
        }
        let unknown = (!self.is_certain).then(|| UNKNOWN.map(str::to_owned));
        let rows = self.rows.into_iter().chain(unknown);
        explanation.steps.splice(..0, rows.map(Step::Shards));
    }
}

/// The shard that a comment in front of a statement asks for: `/* shard=2 */`.
pub fn shard_hint(text: &[u8]) -> Option<&str> {
    let inside = text.trim_ascii_start().strip_prefix(b"/*")?;
    let end = inside.windows(2).position(|pair| pair == b"*/")?;
    let comment = std::str::from_utf8(inside.get(..end)?).ok()?;
    let pair =
        comment.split(';').find_map(|pair| pair.split_once('=').filter(|(key, _)| key.trim() == "shard"))?;
    Some(pair.1.trim()).filter(|shard| !shard.is_empty())
}

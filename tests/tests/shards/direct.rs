//! The way of a statement without a proxy: plan, execute at the shards, merge.

use shard::merge::{Columns, ColumnsError, Fate, Merge, Protocol, Step};
use shard::plan::{Branch, Cause, Plan, Request, Scatter, plan};
use sql::Modes;
use sql::parse::{Settings, Tree};
use testkit::client::Value;

use crate::answer::{self, Answer};
use crate::layout::SCHEMA;
use crate::query::Written;
use crate::world::World;

/// What became of a statement.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was refused, by the parser if there is no cause.
    Refused(Option<Cause>),
    /// One shard has answered.
    One(Answer),
    /// Several shards have answered.
    Many(Many),
    /// The replies could not be merged.
    Broken(ColumnsError),
}

/// The answer of several shards.
#[derive(Debug)]
pub(crate) struct Many {
    pub(crate) answer: Answer,
    pub(crate) shards: usize,
    /// Whether the shards' columns have different types.
    pub(crate) types_differ: bool,
}

/// Plans and executes a statement.
pub(crate) async fn execute(world: &mut World, written: &Written) -> Outcome {
    match planned(world, written) {
        None => Outcome::Refused(None),
        Some(Plan::Refused(refusal)) => Outcome::Refused(Some(refusal.cause)),
        Some(Plan::Home) => panic!("no table of the layout: {}", written.sql),
        Some(Plan::One(branch)) => Outcome::One(ask(world, written, &branch).await),
        Some(Plan::Many(scatter)) => scattered(world, written, scatter).await,
    }
}

/// The plan of a statement; nothing if the parser refuses it.
pub(crate) fn planned(world: &World, written: &Written) -> Option<Plan> {
    let sql = written.sql.as_bytes();
    let mut tree = Tree::default();
    tree.read(sql, &Settings::of(world.dialect)).ok()?;
    let parameters: Vec<_> = written.values.iter().flatten().map(parameter).collect();
    Some(plan(&Request {
        sql,
        tree: &tree,
        modes: Modes::default(),
        schema: SCHEMA,
        layout: &world.layout,
        definitions: &world.columns,
        parameters: &parameters,
    }))
}

fn parameter(value: &Value) -> shard::Value<'_> {
    match value {
        Value::Int(number) => shard::Value::Signed(*number),
        Value::Bytes(text) => shard::Value::Text(text),
        Value::Null | Value::Sent => shard::Value::Null,
    }
}

/// The answer of one shard.
async fn ask(world: &mut World, written: &Written, branch: &Branch) -> Answer {
    let at = usize::try_from(branch.hostgroup).unwrap_or_default() - 1;
    let sql = branch.text.as_deref().unwrap_or(written.sql.as_bytes());
    answer::query(&mut world.parts[at], sql, written.values.as_deref()).await
}

async fn scattered(world: &mut World, written: &Written, scatter: Scatter) -> Outcome {
    let mut answers = Vec::new();
    for branch in &scatter.branches {
        answers.push(ask(world, written, branch).await);
    }
    let shards = answers.len();
    let types_differ = answers.windows(2).any(|pair| pair[0].kinds() != pair[1].kinds());
    match merged(scatter, answers) {
        Ok(answer) => Outcome::Many(Many { answer, shards, types_differ }),
        Err(error) => Outcome::Broken(error),
    }
}

/// One answer out of those of all shards.
fn merged(scatter: Scatter, answers: Vec<Answer>) -> Result<Answer, ColumnsError> {
    if let Some(failed) = answers.iter().find(|answer| answer.error.is_some()) {
        return Ok(Answer { error: failed.error.clone(), ..Answer::default() });
    }
    let keys = scatter.order.len();
    let mut columns = Vec::new();
    for answer in &answers {
        let protocol = if answer.is_binary { Protocol::Binary } else { Protocol::Text };
        columns.push(Columns::new(protocol, &answer.decoded(), keys)?);
    }
    let mut out = Answer::default();
    for answer in &answers {
        out.warnings = out.warnings.saturating_add(answer.warnings);
    }
    out.columns = answers[0].columns.clone();
    out.columns.truncate(columns[0].visible());
    let mut heads = vec![0; answers.len()];
    let mut merge = Merge::new(scatter.order, answers.len());
    let mut window = scatter.window;
    loop {
        match merge.step() {
            Step::Over => return Ok(out),
            Step::Wait(shard) => match answers[shard].packets.get(heads[shard]) {
                Some(row) => merge.set_head(shard, |key| columns[shard].read_key(row, key))?,
                None => merge.end(shard),
            },
            Step::Row(shard) => {
                let row = &answers[shard].packets[heads[shard]];
                heads[shard] += 1;
                match window.take() {
                    Fate::Beyond => return Ok(out),
                    Fate::Skipped => {}
                    Fate::Sent => {
                        let mut visible = Vec::new();
                        columns[shard].put_visible(row, &mut visible)?;
                        let seen = answers[shard].decoded();
                        let seen = &seen[..columns[shard].visible()];
                        out.rows.push(answer::cells(&visible, answers[shard].is_binary, seen));
                    }
                }
            }
        }
    }
}

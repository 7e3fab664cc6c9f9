//! The way of a statement without a proxy: plan, execute at the shards, merge.

use planner::merge::{Columns, ColumnsError, Fate, Merge, Protocol, Step};
use planner::plan::{Asked, Branch, Cause, Counts, Limited, Plan, Request, Scatter, Write, plan};
use sql::Modes;
use sql::parse::{Settings, Tree};
use testkit::client::Value;
use wire::{StatusFlags, packet};

use crate::answer::{self, Answer};
use crate::layout::SCHEMA;
use crate::query::Written;
use crate::world::{Way, World};

/// What became of a statement.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was refused. Without a cause the proxy did so, which knows less of columns or more.
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

/// Executes a statement at the shards.
pub(crate) async fn executed(world: &mut World, written: &Written) -> Outcome {
    if world.way == Way::Direct {
        return execute(world, written).await;
    }
    let Some(proxied) = &mut world.proxied else { panic!("there is no proxy") };
    let answer = answer::query(proxied, written.sql.as_bytes(), written.values.as_deref()).await;
    let plan = planned(world, written);
    match (&answer.error, plan) {
        (Some((NOT_SUPPORTED, why)), plan) if why.contains("Pointsman") => {
            let cause = match plan {
                Some(Plan::Refused(refusal)) => Some(refusal.cause),
                _ => None,
            };
            Outcome::Refused(cause)
        }
        (_, Some(Plan::Many(scatter))) => {
            Outcome::Many(Many { answer, shards: scatter.branches.len(), types_differ: false })
        }
        (_, Some(Plan::Write(write))) => {
            Outcome::Many(Many { answer, shards: write.branches.len(), types_differ: false })
        }
        (_, Some(Plan::Limited(limited))) => {
            Outcome::Many(Many { answer, shards: limited.changes.len(), types_differ: false })
        }
        _ => Outcome::One(answer),
    }
}

/// `ER_NOT_SUPPORTED_YET`: what the proxy refuses.
const NOT_SUPPORTED: u16 = 1235;

/// Plans and executes a statement.
async fn execute(world: &mut World, written: &Written) -> Outcome {
    match planned(world, written) {
        None => Outcome::Refused(None),
        Some(Plan::Refused(refusal)) => Outcome::Refused(Some(refusal.cause)),
        Some(Plan::Home) => panic!("no table of the layout: {}", written.sql),
        Some(Plan::One(branch)) => Outcome::One(ask(world, written, &branch).await),
        Some(Plan::Many(scatter)) => scattered(world, written, scatter).await,
        Some(Plan::Write(write)) => changed(world, written, write).await,
        Some(Plan::Limited(limited)) => first_rows(world, written, *limited).await,
        Some(other @ (Plan::Each(_) | Plan::Load(_) | Plan::NeedsIds(_))) => {
            panic!("{other:?}: {}", written.sql)
        }
    }
}

/// The plan of a statement; nothing if the parser refuses it.
pub(crate) fn planned(world: &World, written: &Written) -> Option<Plan> {
    let sql = written.sql.as_bytes();
    let mut tree = Tree::default();
    tree.read(sql, &Settings::of(world.dialect)).ok()?;
    let parameters: Vec<_> = written.values.iter().flatten().map(|value| Some(parameter(value))).collect();
    Some(plan(&Request {
        sql,
        tree: &tree,
        modes: Modes::default(),
        schema: SCHEMA,
        layout: &world.layout,
        definitions: &world.columns,
        parameters: &parameters,
        asked: Asked::default(),
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
    let values = match (&written.values, &branch.placeholders) {
        (Some(values), Some(numbers)) => {
            let value = |number: &u32| values[usize::try_from(*number).unwrap_or_default()].clone();
            Some(numbers.iter().map(value).collect())
        }
        (values, _) => values.clone(),
    };
    answer::query(&mut world.parts[at], sql, values.as_deref()).await
}

/// The answer of shards that change their first rows.
async fn first_rows(world: &mut World, written: &Written, limited: Limited) -> Outcome {
    let Some(keys) = &limited.keys else {
        // Without an order all rows are the first ones here.
        let turns = (0..limited.changes.len()).filter_map(|shard| limited.turn(shard, limited.limit));
        let (branches, why) = (turns.collect(), limited.why);
        return changed(
            world,
            written,
            Write { branches, rows: Vec::new(), counts: Counts::Sum, ids: None, why },
        )
        .await;
    };
    let many = match scattered(world, written, keys.reads.clone()).await {
        Outcome::Many(many) if many.answer.error.is_none() => many,
        other => return other,
    };
    let rows: Vec<Vec<u8>> = many.answer.rows.iter().map(|row| row[0].clone().unwrap_or_default()).collect();
    let write = limited.changes_of(&rows).unwrap_or_else(|| panic!("no keys: {rows:?}"));
    changed(world, written, write).await
}

/// The answer of shards that change rows.
async fn changed(world: &mut World, written: &Written, write: Write) -> Outcome {
    let mut answers = Vec::new();
    for branch in &write.branches {
        answers.push(ask(world, written, branch).await);
    }
    let shards = answers.len();
    if let Some(failed) = answers.iter().find(|answer| answer.error.is_some()) {
        let answer = failed.clone();
        return Outcome::Many(Many { answer, shards, types_differ: false });
    }
    let mut sum = write.counts.summary();
    for answer in answers.iter().take(if write.counts == Counts::Same { 1 } else { shards }) {
        let (affected_rows, last_insert_id, info) = answer.change.clone().unwrap_or_default();
        let ok = packet::Ok {
            affected_rows,
            last_insert_id,
            warnings: answer.warnings,
            info: info.as_bytes(),
            ..packet::Ok::plain(StatusFlags::empty())
        };
        sum.add(&ok);
    }
    let ok = sum.ok();
    let info = String::from_utf8_lossy(ok.info).into_owned();
    let change = Some((ok.affected_rows, ok.last_insert_id, info));
    let answer = Answer { warnings: ok.warnings, change, ..Answer::default() };
    Outcome::Many(Many { answer, shards, types_differ: false })
}

async fn scattered(world: &mut World, written: &Written, scatter: Scatter) -> Outcome {
    let mut answers = Vec::new();
    for branch in &scatter.branches {
        answers.push(ask(world, written, branch).await);
    }
    let shards = answers.len();
    let types_differ = answers.windows(2).any(|pair| pair[0].kinds() != pair[1].kinds());
    match merged(scatter, &answers) {
        Ok(answer) => Outcome::Many(Many { answer, shards, types_differ }),
        Err(error) => Outcome::Broken(error),
    }
}

/// One answer out of those of all shards.
fn merged(scatter: Scatter, answers: &[Answer]) -> Result<Answer, ColumnsError> {
    if let Some(failed) = answers.iter().find(|answer| answer.error.is_some()) {
        return Ok(Answer { error: failed.error.clone(), ..Answer::default() });
    }
    let keys = scatter.order.len();
    let mut columns = Vec::new();
    for answer in answers {
        let protocol = if answer.is_binary { Protocol::Binary } else { Protocol::Text };
        columns.push(Columns::new(protocol, &answer.decoded(), keys)?);
    }
    let mut out = Answer::default();
    for answer in answers {
        out.warnings = out.warnings.saturating_add(answer.warnings);
    }
    out.columns.clone_from(&answers[0].columns);
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

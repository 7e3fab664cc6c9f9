//! The way of a statement without a proxy: plan, execute at the shards, merge.

use shard::merge::{Columns, ColumnsError, Fate, Merge, Protocol, Step};
use shard::plan::{Cause, Plan, Request, Scatter, plan};
use sql::Modes;
use sql::parse::{Settings, Tree};

use crate::answer::{self, Answer};
use crate::layout::SCHEMA;
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
pub(crate) async fn execute(world: &mut World, text: &str) -> Outcome {
    match planned(world, text) {
        None => Outcome::Refused(None),
        Some(Plan::Refused(refusal)) => Outcome::Refused(Some(refusal.cause)),
        Some(Plan::Home) => panic!("no table of the layout: {text}"),
        Some(Plan::One(branch)) => {
            let text = branch.text.as_deref().unwrap_or(text.as_bytes());
            let part = part(world, branch.hostgroup);
            answer::ask(part, text).await;
            Outcome::One(answer::read(part).await)
        }
        Some(Plan::Many(scatter)) => scattered(world, text, scatter).await,
    }
}

/// The plan of a statement; nothing if the parser refuses it.
pub(crate) fn planned(world: &World, text: &str) -> Option<Plan> {
    let mut tree = Tree::default();
    tree.read(text.as_bytes(), &Settings::of(world.dialect)).ok()?;
    Some(plan(&Request {
        sql: text.as_bytes(),
        tree: &tree,
        modes: Modes::default(),
        schema: SCHEMA,
        layout: &world.layout,
        definitions: &world.columns,
        parameters: &[],
    }))
}

fn part(world: &mut World, hostgroup: u32) -> &mut testkit::client::Client {
    let at = usize::try_from(hostgroup).unwrap_or_default() - 1;
    &mut world.parts[at]
}

async fn scattered(world: &mut World, text: &str, scatter: Scatter) -> Outcome {
    let mut answers = Vec::new();
    for branch in &scatter.branches {
        let part = part(world, branch.hostgroup);
        answer::ask(part, branch.text.as_deref().unwrap_or(text.as_bytes())).await;
        answers.push(answer::read(part).await);
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
        columns.push(Columns::new(Protocol::Text, &answer.decoded(), keys)?);
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
            Step::Wait(shard) => match answers[shard].rows.get(heads[shard]) {
                Some(row) => merge.set_head(shard, |key| columns[shard].read_key(row, key))?,
                None => merge.end(shard),
            },
            Step::Row(shard) => {
                let row = &answers[shard].rows[heads[shard]];
                heads[shard] += 1;
                match window.take() {
                    Fate::Beyond => return Ok(out),
                    Fate::Skipped => {}
                    Fate::Sent => {
                        let mut visible = Vec::new();
                        columns[shard].put_visible(row, &mut visible)?;
                        out.rows.push(visible);
                    }
                }
            }
        }
    }
}

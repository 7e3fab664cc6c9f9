//! Asking all servers for the tables of a layout: when it is loaded, and at a start.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use observe::plane::ShardCheck;
use planner::define::{Answer, Reader, Survey, TableDefinition, Unreadable, survey, table_statement};
use shard::{Layout, Node};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use wire::rows::cells;

use crate::asking::Asking;
use crate::limits::{DEFINITIONS_BYTES_MAX, DEFINITIONS_WAIT_MAX, HOSTGROUPS_ASKED_MAX};
use crate::worker::Worker;

/// Numbers of a table in the layout and of a node in the table.
type Place = (usize, usize);

/// What servers have answered so far.
#[derive(Default)]
struct Answers {
    found: HashMap<Place, Answer>,
    bytes: usize,
}

/// Asks for all tables of a layout, all servers at the same time, and judges them. Takes
/// [`DEFINITIONS_WAIT_MAX`] at most.
pub async fn inspect(worker: Rc<Worker>, layout: Arc<Layout>) -> ShardCheck {
    let deadline = Instant::now() + DEFINITIONS_WAIT_MAX;
    let answers: Rc<RefCell<Answers>> = Rc::default();
    let mut warnings = Vec::new();
    let mut tasks = JoinSet::new();
    for (hostgroup, places) in places(&layout) {
        if tasks.len() == HOSTGROUPS_ASKED_MAX {
            warnings.extend(tasks.join_next().await.and_then(Result::ok).flatten());
        }
        let (worker, layout, answers) = (Rc::clone(&worker), Arc::clone(&layout), Rc::clone(&answers));
        tasks.spawn_local(async move {
            let asked = timeout_at(deadline, ask(&worker, &layout, hostgroup, &places, &answers)).await;
            let why = match asked {
                Ok(Ok(())) => return None,
                Ok(Err(why)) => why,
                Err(_) => "no answer in time".to_owned(),
            };
            Some(format!("hostgroup {hostgroup} was not asked for all of its tables: {why}"))
        });
    }
    while let Some(ended) = tasks.join_next().await {
        warnings.extend(ended.ok().flatten());
    }
    warnings.sort_unstable();
    let mut answers = answers.take();
    let mut inspected = ShardCheck { problems: Vec::new(), warnings };
    for (number, table) in layout.tables().iter().enumerate() {
        let nodes = 0..table.nodes().len();
        let found = nodes.map(|node| answers.found.remove(&(number, node)).unwrap_or(Answer::Unknown));
        let Survey { problems, warnings, is_nowhere } = survey(&layout, table, &found.collect::<Vec<_>>());
        if is_nowhere {
            let warning = format!("table {}.{}: no server that was asked has it", table.schema, table.name);
            inspected.warnings.push(warning);
        }
        inspected.warnings.extend(warnings.iter().map(ToString::to_string));
        inspected.problems.extend(problems.iter().map(ToString::to_string));
    }
    inspected
}

/// The places of each hostgroup.
fn places(layout: &Layout) -> BTreeMap<u32, Vec<Place>> {
    let mut places: BTreeMap<u32, Vec<Place>> = BTreeMap::new();
    for (number, table) in layout.tables().iter().enumerate() {
        for (node, at) in table.nodes().iter().enumerate() {
            places.entry(at.hostgroup).or_default().push((number, node));
        }
    }
    places
}

/// Asks a hostgroup for its tables. The error says why not all of them were asked for.
async fn ask(
    worker: &Worker,
    layout: &Layout,
    hostgroup: u32,
    places: &[Place],
    answers: &RefCell<Answers>,
) -> Result<(), String> {
    let mut asking = Asking::at(&worker.upstream, hostgroup, None, None).await?;
    for place in places {
        let node = layout.tables().get(place.0).and_then(|table| table.nodes().get(place.1));
        let Some(Node { schema, table, .. }) = node else { continue };
        let text = table_statement(schema, table);
        let definition = asking.find(text.as_bytes(), |reply| read(reply).ok()?).await?;
        let mut answers = answers.borrow_mut();
        answers.bytes += definition.as_ref().map_or(0, TableDefinition::bytes);
        if answers.bytes > DEFINITIONS_BYTES_MAX {
            return Err("the definitions of all tables are too large".to_owned());
        }
        let found = definition.map_or(Answer::NoTable, Answer::Table);
        answers.found.insert(*place, found);
    }
    asking.close().await;
    Ok(())
}

/// The definition of a physical table by the reply to its statement; none without rows.
pub fn read(reply: &[u8]) -> Result<Option<TableDefinition>, Unreadable> {
    let mut reader = Reader::new();
    for row in cells(reply).unwrap_or_default() {
        reader.row(&row)?;
    }
    reader.finish()
}

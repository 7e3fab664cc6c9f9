//! Going on with a definition that has stopped: the nodes that have not executed it get it, as the
//! user whose session has sent it, or as another one of the configuration.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use planner::define::table_statement;
use tokio::time::timeout;

use super::record::{Record, State, Step, fingerprint};
use super::{Running, error_text};
use crate::asking::Asking;
use crate::inspection::read;
use crate::limits::DDL_RESUMED_MAX;
use crate::worker::Worker;

/// Has all nodes execute the rest. It has stopped again if this does not come to the end.
pub async fn resume(worker: Rc<Worker>, running: Running) {
    let Some(record) = running.record() else { return };
    let id = record.id;
    let shared = &worker.shared;
    let all = async {
        let _pass = shared.gates.pass(record.tables.clone(), true).await;
        // Dropped before the pass: who waits for that knows that the tables are others.
        let _defined = Defined(&shared.definitions_of_shards);
        for (number, step) in record.steps.iter().enumerate() {
            if step.state == State::Done {
                continue;
            }
            running.note(number, State::Asked, "").await;
            match execute(&worker, &record, step).await {
                Ok(()) => running.note(number, State::Done, "").await,
                Err(why) => {
                    running.note(number, State::Failed, &why).await;
                    return Err(why);
                }
            }
        }
        Ok(())
    };
    let ended = timeout(DDL_RESUMED_MAX, all).await;
    match ended {
        Ok(Ok(())) => {
            running.end().await;
            tracing::info!(id, "a definition has come to its end at all nodes");
        }
        Ok(Err(why)) => tracing::error!(id, why, "a definition has stopped again"),
        Err(_) => tracing::error!(id, "a definition has stopped again: its time is up"),
    }
}

/// Counts a definition when it is over.
struct Defined<'a>(&'a AtomicU64);

impl Drop for Defined<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Has a node execute the statement, unless it has.
async fn execute(worker: &Worker, record: &Record, step: &Step) -> Result<(), String> {
    let (user, collation) = (Some(record.user.as_slice()), Some(record.collation));
    let mut asking = Asking::at(&worker.upstream, step.hostgroup, user, collation).await?;
    let [schema, table] = &step.node;
    let seen = asking.find(table_statement(schema, table).as_bytes(), |reply| read(reply).ok()?).await?;
    if !step.is_done(fingerprint(seen.as_ref())) {
        let go = (!step.current.as_slice().is_empty())
            .then(|| [b"USE ", &quoted(step.current.as_slice())[..]].concat().into());
        for text in record.settings.iter().chain(&go).chain([&step.text]) {
            if let Some(error) = error_text(&asking.say(text.as_slice()).await?) {
                return Err(error);
            }
        }
    }
    asking.close().await;
    Ok(())
}

/// A name in backquotes.
fn quoted(name: &[u8]) -> Vec<u8> {
    let times = |byte: u8| if byte == b'`' { 2 } else { 1 };
    let doubled = name.iter().flat_map(|byte| std::iter::repeat_n(*byte, times(*byte)));
    std::iter::once(b'`').chain(doubled).chain([b'`']).collect()
}

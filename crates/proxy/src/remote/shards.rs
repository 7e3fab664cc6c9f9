//! Tables that are split over servers: whether they are alike at their nodes, and definitions that
//! have stopped between two nodes.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;

use observe::rows::ShardDdl;
use shard::Layout;
use tokio::task::spawn_local;

use super::Remote;
use crate::ddl;
use crate::inspection::{Inspected, inspect};
use crate::limits::{ASK_WAIT_MAX, DEFINITIONS_WAIT_MAX};
use crate::worker::{Message, Question};

impl Remote {
    /// Asks all servers for the tables of a layout, and judges them. Blocks for some seconds at
    /// most.
    pub fn inspect(&self, layout: &Arc<Layout>) -> Inspected {
        let (sender, answer) = channel();
        let layout = Arc::clone(layout);
        if let Some(worker) = self.workers.iter().find(|worker| worker.is_alive()) {
            worker.send(Message::Ask(Question::new(move |worker| {
                let inspected = inspect(Rc::clone(worker), layout);
                // The caller is gone if it was too late.
                spawn_local(async move { drop(sender.send(inspected.await)) });
            })));
        }
        let unasked =
            || Inspected { warnings: vec!["no server was asked".to_owned()], ..Inspected::default() };
        answer.recv_timeout(DEFINITIONS_WAIT_MAX + ASK_WAIT_MAX).unwrap_or_else(|_| unasked())
    }

    /// Definitions of sharded tables that have not come to their ends.
    pub fn shard_ddl(&self) -> Vec<ShardDdl> {
        self.shared.ddl.rows()
    }

    /// Has a definition that has stopped go on, and does not wait for its end.
    pub fn resume_ddl(&self, id: u64) -> Result<(), String> {
        let worker = self.workers.iter().find(|worker| worker.is_alive()).ok_or("the proxy ends")?;
        let running = self.shared.ddl.go_on(id).map_err(|error| error.to_string())?;
        worker.send(Message::Ask(Question::new(move |worker| {
            drop(spawn_local(ddl::resume(Rc::clone(worker), running)));
        })));
        Ok(())
    }

    /// Forgets a definition that has stopped.
    pub fn forget_ddl(&self, id: u64) -> Result<(), String> {
        self.shared.ddl.forget(id).map_err(|error| error.to_string())
    }
}

//! Tables that are split over servers: whether they are alike at their nodes, and definitions that
//! have stopped between two nodes.

use std::rc::Rc;
use std::sync::Arc;

use front::ClientInbox as _;
use observe::plane::ShardCheck;
use shard::Layout;
use tokio::task::spawn_local;

use super::Remote;
use crate::ddl;
use crate::inspection::inspect;
use crate::limits::{ASK_WAIT_MAX, DEFINITIONS_WAIT_MAX};
use crate::worker::{Message, Question};

impl Remote {
    /// Asks all servers for the tables of a layout, and judges them. Blocks for some seconds at
    /// most.
    pub(super) fn inspect(&self, layout: &Arc<Layout>) -> ShardCheck {
        let layout = Arc::clone(layout);
        let asked =
            self.ask_one(DEFINITIONS_WAIT_MAX + ASK_WAIT_MAX, |worker| inspect(Rc::clone(worker), layout));
        asked.unwrap_or_else(|| ShardCheck {
            warnings: vec!["no server was asked".to_owned()],
            ..ShardCheck::default()
        })
    }

    /// Has a definition that has stopped go on, and does not wait for its end.
    pub(super) fn resume_ddl(&self, id: u64) -> Result<(), String> {
        let worker = self.workers.iter().find(|worker| worker.is_alive()).ok_or("the proxy ends")?;
        let running = self.shared.ddl.go_on(id).map_err(|error| error.to_string())?;
        worker.send(Message::Ask(Question::new(move |worker| {
            drop(spawn_local(ddl::resume(Rc::clone(worker), running)));
        })));
        Ok(())
    }
}

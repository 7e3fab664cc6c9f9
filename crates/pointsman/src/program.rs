//! The process around the running proxy.

use std::sync::Arc;

use config::Config;
use observe::plane::{Order, Process};
use tokio::sync::mpsc::UnboundedSender;

use crate::log::Log;
use crate::memory;
use crate::overrides::Overrides;

/// The log and the command line of the process, and the channel to the task that can end it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) log: Log,
    pub(crate) overrides: Overrides,
    pub(crate) orders: UnboundedSender<Order>,
}

impl Process for Program {
    fn effective(&self, config: &Arc<Config>) -> Arc<Config> {
        self.overrides.effective(config)
    }

    fn order(&self, order: Order) -> Result<(), String> {
        if order == Order::FlushLogs {
            self.log.reopen();
            return Ok(());
        }
        self.orders.send(order).map_err(|_| "the process is about to end".to_owned())
    }

    fn memory(&self, digests: u64, texts: u64) -> Vec<(&'static str, u64)> {
        memory::metrics(digests, texts)
    }
}

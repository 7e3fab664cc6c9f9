//! What a worker counts. Every worker has its own cells, which no other worker writes: counting
//! costs an addition, and a reader of the sums asks all workers ([`report`]).
//!
//! - [`commands`]: statements by their kind, with the time that they took;
//! - [`Counter`]: what is counted one by one;
//! - [`errors`]: errors that servers answered;
//! - [`histogram`], [`hostgroups`]: times, and times by hostgroup;
//! - [`fingerprints`]: statements that looked like injected SQL;
//! - [`report`]: the sums of all workers.

pub mod commands;
#[cfg(test)]
mod cost;
mod counter;
pub mod errors;
pub mod fingerprints;
pub mod histogram;
pub mod hostgroups;
pub mod report;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use net::Flow;
use pool::Gauge;

use crate::digests::Digests;
use commands::Commands;
use counter::COUNTERS;
use errors::Errors;
use fingerprints::Fingerprints;
use hostgroups::Hostgroups;

pub use counter::{Counter, metrics};

/// What a worker counts of one server.
#[derive(Debug)]
pub struct ServerTally {
    /// Connections of which the server owes an answer: read when a server is chosen, on any worker.
    pub running: Arc<Gauge>,
    /// Idle connections.
    pub resting: Arc<Gauge>,
    /// Statements sent.
    pub queries: Cell<u64>,
    /// Those of them that had to see a transaction.
    pub synced: Cell<u64>,
    /// Bytes received from it, and sent to it.
    pub flow: Rc<Flow>,
}

/// Everything that one worker counts.
#[derive(Debug)]
pub struct Counts {
    counters: [Cell<u64>; COUNTERS],
    /// Statements by their kind.
    pub commands: Commands,
    /// Times by hostgroup.
    pub hostgroups: Hostgroups,
    /// Statements by their text without values.
    pub digests: Digests,
    /// Errors of servers.
    pub errors: RefCell<Errors>,
    /// What the query cache does.
    pub cache: RefCell<cache::stats::Stats>,
    /// What looks like injected SQL.
    pub fingerprints: Fingerprints,
    /// All clients.
    pub clients: Rc<Flow>,
    /// By the pool's id of the server.
    servers: RefCell<HashMap<u64, Rc<ServerTally>>>,
    /// What was counted of servers before their counters were set back, or they were configured no
    /// more.
    before: Flow,
}

impl Default for Counts {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Counts {
    /// Counts nothing yet; digests have places by this random number.
    pub fn new(seed: u64) -> Self {
        Self {
            counters: [const { Cell::new(0) }; COUNTERS],
            commands: Commands::default(),
            hostgroups: Hostgroups::default(),
            digests: Digests::new(seed),
            errors: RefCell::default(),
            cache: RefCell::default(),
            fingerprints: Fingerprints::default(),
            clients: Rc::default(),
            servers: RefCell::default(),
            before: Flow::default(),
        }
    }

    /// Counts one.
    pub fn note(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts `n` at once.
    pub fn add(&self, counter: Counter, n: u64) {
        if let Some(cell) = self.counters.get(counter as usize) {
            cell.set(cell.get().wrapping_add(n));
        }
    }

    /// What is counted of the server with this id. At first its gauges come from `gauges`: of
    /// connections that run something, and of idle ones.
    pub fn server(&self, id: u64, gauges: impl FnOnce() -> (Arc<Gauge>, Arc<Gauge>)) -> Rc<ServerTally> {
        let new = || {
            let (running, resting) = gauges();
            Rc::new(ServerTally {
                running,
                resting,
                queries: Cell::default(),
                synced: Cell::default(),
                flow: Rc::default(),
            })
        };
        Rc::clone(self.servers.borrow_mut().entry(id).or_insert_with(new))
    }

    /// Forgets the servers whose tally is not in use and for which `is_known` is false, and what
    /// they have answered.
    pub fn forget_servers(&self, is_known: impl Fn(u64) -> bool) {
        self.errors.borrow_mut().forget_servers(&is_known);
        self.servers.borrow_mut().retain(|&id, tally| {
            let keep = Rc::strong_count(tally) > 1 || is_known(id);
            if !keep {
                self.before.add(&tally.flow);
            }
            keep
        });
    }

    /// The counters, in the order of [`Counter`].
    fn counters(&self) -> [u64; COUNTERS] {
        self.counters.each_ref().map(Cell::get)
    }

    /// Bytes received from all servers, and sent to them.
    fn backends(&self) -> [u64; 2] {
        let sum = Flow::default();
        sum.add(&self.before);
        self.servers.borrow().values().for_each(|tally| sum.add(&tally.flow));
        [sum.received.get(), sum.sent.get()]
    }

    /// Server by server; with `reset` they count from 0 again.
    pub fn by_server(&self, reset: bool) -> HashMap<u64, report::ServerCounts> {
        let counts = |tally: &ServerTally| {
            let counts = report::ServerCounts {
                queries: tally.queries.get(),
                synced: tally.synced.get(),
                bytes_received: tally.flow.received.get(),
                bytes_sent: tally.flow.sent.get(),
            };
            if reset {
                self.before.add(&tally.flow);
                tally.queries.set(0);
                tally.synced.set(0);
                tally.flow.received.set(0);
                tally.flow.sent.set(0);
            }
            counts
        };
        self.servers.borrow().iter().map(|(&id, tally)| (id, counts(tally))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_servers_are_counted_beyond_their_own_counters() {
        let counts = Counts::default();
        let (first, second) = (counts.server(1, Default::default), counts.server(2, Default::default));
        first.flow.add_sent(5);
        second.flow.add_received(7);
        first.queries.set(1);
        first.synced.set(1);
        assert_eq!(
            counts.by_server(true)[&1],
            report::ServerCounts { queries: 1, synced: 1, bytes_received: 0, bytes_sent: 5 }
        );
        assert_eq!(counts.by_server(false)[&1], report::ServerCounts::default());
        assert_eq!(counts.backends(), [7, 5]);
        second.flow.add_received(1);
        drop(second);
        counts.forget_servers(|_| false);
        assert_eq!(counts.servers.borrow().len(), 1, "somebody uses the first one");
        assert_eq!(counts.backends(), [8, 5]);
    }
}

//! What the monitor makes of what servers of clusters say, and what it promises whatever they say.

mod aurora;
#[path = "../common/mod.rs"]
mod common;
mod galera;
mod group;

use std::collections::HashSet;
use std::time::Duration;

use monitor::{
    AlsoRead, Change, Check, Cluster, Event, Finding, Monitor, Pace, Plan, Row, Settings, Spare, Topology,
    Word,
};

use common::{Server, conclude, members, row, s};

/// The hostgroups of the cluster.
const WRITERS: u32 = 10;
const BACKUPS: u32 = 20;
const READERS: u32 = 30;
const OFFLINE: u32 = 40;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn cluster(topology: Topology) -> Cluster {
    Cluster {
        writer: WRITERS,
        reader: READERS,
        spare: Some(Spare { backup_writer: BACKUPS, offline: OFFLINE }),
        max_writers: 1,
        also_read: AlsoRead::NoWriters,
        pace: Pace { interval: s(5), limit: ms(800) },
        misses: 3,
        new_weight: 1,
        topology,
    }
}

fn plan(cluster: Cluster, rows: Vec<Row<Server>>) -> Plan<Server> {
    let pace = |interval, limit| Pace { interval, limit };
    Plan {
        settings: Settings {
            connect: pace(s(120), ms(600)),
            ping: pace(s(8), s(1)),
            read_only: pace(s(1), ms(800)),
            lag: pace(s(10), s(1)),
            ping_failures: 3,
            read_only_timeouts: 3,
            lag_checks: 1,
            writer_is_also_reader: false,
        },
        rows,
        pairs: Vec::new(),
        clusters: vec![cluster],
    }
}

/// A monitor and its time.
struct Scene {
    monitor: Monitor<Server>,
    check: Check,
    now: Duration,
}

impl Scene {
    fn new(plan: Plan<Server>) -> Self {
        let check = plan.clusters[0].topology.check();
        Self { monitor: Monitor::new(plan, s(100)), check, now: s(100) }
    }

    /// Goes on to the next question to this server, with all others unanswered and without
    /// consequence, and answers it.
    fn answer(
        &mut self,
        server: Server,
        check: Check,
        with: impl FnOnce(&mut Monitor<Server>, Duration) -> Vec<Event<Server>>,
    ) -> Vec<(u32, Server, Change)> {
        let events = conclude(&mut self.monitor, &mut self.now, (server, check), with);
        events.into_iter().map(|event| (event.hostgroup, event.server, event.change)).collect()
    }

    fn says(&mut self, server: Server, word: Word<Server>) -> Vec<(u32, Server, Change)> {
        let check = self.check;
        self.answer(server, check, |monitor, now| monitor.hear(&server, check, word, now))
    }

    fn fails(&mut self, server: Server, check: Check, finding: Finding) -> Vec<(u32, Server, Change)> {
        self.answer(server, check, |monitor, now| monitor.observe(&server, check, finding, "why", now))
    }

    /// The servers of a hostgroup, by name.
    fn of(&self, hostgroup: u32) -> Vec<Server> {
        members(&self.monitor, hostgroup)
    }
}

/// Whatever happens, a server that is in a place is there once.
fn each_once(servers: &[Server]) -> bool {
    servers.iter().collect::<HashSet<_>>().len() == servers.len()
}

//! Servers of pairs that the operator has not named: when they are found, what they are used for,
//! and when they are forgotten.

#[path = "../common/mod.rs"]
mod common;
mod rds;
mod replicas;

use std::time::Duration;

use monitor::{
    Change, Check, Discover, Event, Finding, Follower, Means, Monitor, Pace, Pair, Plan, ReplicaWord, Row,
    Settings, Told, Word,
};

use common::{Server, conclude, members, row, s};

const WRITERS: u32 = 10;
const READERS: u32 = 20;

const JOINED: (u32, Change) = (READERS, Change::Joined);
const LEFT: (u32, Change) = (READERS, Change::Left);

/// The operator has named `rows` only, and others are found in this way.
fn plan_by(means: Means, rows: &[Row<Server>]) -> Plan<Server> {
    let second = |interval| Pace { interval: s(interval), limit: s(1) };
    let discover = Discover {
        means,
        pace: second(10),
        forget_after: s(180),
        weight: 7,
        max_lag: Some(s(5)),
        lag_when_unknown: s(60),
    };
    Plan {
        settings: Settings {
            connect: second(120),
            ping: second(8),
            read_only: second(1),
            lag: second(10),
            ping_failures: 3,
            read_only_timeouts: 3,
            lag_checks: 1,
            writer_is_also_reader: false,
        },
        rows: rows.to_vec(),
        pairs: vec![Pair { writer: WRITERS, reader: READERS, discover: Some(discover) }],
        clusters: Vec::new(),
    }
}

/// The same, where they are replicas.
fn plan(rows: &[Row<Server>]) -> Plan<Server> {
    plan_by(Means::Replication, rows)
}

/// What a server says: its id, and which replicas may be where.
fn word(id: u32, followers: &[(u32, &[Server])]) -> Word<Server> {
    let follower = |(id, servers): &(u32, &[Server])| Follower { id: *id, servers: servers.to_vec() };
    Word::Replicas(ReplicaWord { id, follows: None, followers: followers.iter().map(follower).collect() })
}

/// A monitor and its time.
struct Scene {
    monitor: Monitor<Server>,
    means: Means,
    now: Duration,
}

impl Scene {
    fn new(rows: &[Row<Server>]) -> Self {
        Self::by(Means::Replication, rows)
    }

    fn by(means: Means, rows: &[Row<Server>]) -> Self {
        Self { monitor: Monitor::new(plan_by(means, rows), s(100)), means, now: s(100) }
    }

    /// `a` is the primary, with id 1.
    fn with_primary() -> Self {
        let mut scene = Self::new(&[row(WRITERS, "a")]);
        scene.is_read_only("a", false);
        scene
    }

    /// The same with the replica `b`, which is read-only and was found.
    fn with_replica() -> Self {
        let mut scene = Self::with_primary();
        scene.says("a", 1, &[(2, &["b"])]);
        assert_eq!(scene.says("b", 2, &[]), [("b", JOINED)]);
        scene.is_read_only("b", true);
        scene
    }

    /// Goes on to the next check of this kind of this server, and concludes it; nothing comes of
    /// all others.
    fn next(
        &mut self,
        server: Server,
        check: Check,
        with: impl FnOnce(&mut Monitor<Server>, Duration) -> Vec<Event<Server>>,
    ) -> Vec<(Server, (u32, Change))> {
        let events = conclude(&mut self.monitor, &mut self.now, (server, check), with);
        events.into_iter().map(|event| (event.server, (event.hostgroup, event.change))).collect()
    }

    fn says(
        &mut self,
        server: Server,
        id: u32,
        followers: &[(u32, &[Server])],
    ) -> Vec<(Server, (u32, Change))> {
        let (check, word) = (self.means.check(), word(id, followers));
        self.next(server, check, |monitor, now| monitor.hear(&server, check, word, now))
    }

    /// What a replica without replicas says.
    fn follows(&mut self, server: Server, id: u32, follows: bool) -> Vec<(Server, (u32, Change))> {
        let word = Word::Replicas(ReplicaWord { id, follows: Some(follows), followers: Vec::new() });
        self.next(server, Check::Replicas, |monitor, now| monitor.hear(&server, Check::Replicas, word, now))
    }

    fn finds(&mut self, server: Server, check: Check, finding: Finding) -> Vec<(Server, (u32, Change))> {
        self.next(server, check, |monitor, now| monitor.observe(&server, check, finding, "why", now))
    }

    fn is_read_only(&mut self, server: Server, read_only: bool) -> Vec<(Server, (u32, Change))> {
        self.finds(server, Check::ReadOnly, Finding::Well(Told::ReadOnly(read_only)))
    }

    fn dies(&mut self, server: Server) -> Vec<(Server, (u32, Change))> {
        (0..3).flat_map(|_| self.finds(server, Check::Ping, Finding::Unreachable)).collect()
    }

    fn is_asked(&mut self, server: Server, check: Check) -> bool {
        (0..1_000).any(|_| {
            self.now = self.monitor.next_due().expect("something is due").max(self.now);
            let orders = self.monitor.due(self.now);
            for order in &orders {
                self.monitor.observe(&order.server, order.check, Finding::Void, "", self.now);
            }
            orders.iter().any(|order| (order.server, order.check) == (server, check))
        })
    }

    /// The servers of a hostgroup, by name.
    fn of(&self, hostgroup: u32) -> Vec<Server> {
        members(&self.monitor, hostgroup)
    }
}

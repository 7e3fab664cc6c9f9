//! A primary and its replica, which change places and come back whatever was done to them. What was
//! acknowledged by one is at the other as well: replication is semi-synchronous.

use std::net::Ipv4Addr;

use testkit::guard::Sandbox;
use testkit::mariadb::{self, Topology};
use testkit::server::{PASSWORD, Server, USER};

use super::net::{Cable, Net};
use super::relay::{Relay, Way};

/// Both servers begin as read-only ones, also when they come back.
const OPTIONS: [&str; 11] = [
    "--log-bin=binlog",
    "--log-slave-updates=ON",
    "--binlog-format=ROW",
    "--read-only=ON",
    "--innodb-flush-log-at-trx-commit=2",
    "--rpl-semi-sync-slave-enabled=ON",
    "--rpl-semi-sync-master-timeout=60000",
    "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
    // Only one server dies in a round.
    "--rpl-semi-sync-master-wait-no-slave=OFF",
    // What a primary that has died has left behind gives way to what its successor has.
    "--slave-exec-mode=IDEMPOTENT",
    "--slave-net-timeout=5",
];

/// Makes a server the primary: it acknowledges what its replica has, and takes writes.
const PROMOTE: &str = "SET GLOBAL rpl_semi_sync_master_enabled = ON; SET GLOBAL read_only = OFF";

/// Two servers, one of which is the primary.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) sandbox: Sandbox,
    servers: [Server; 2],
    relays: [Relay; 2],
    /// The network between them and the proxy, where the machine lets the test have one.
    net: Option<Net>,
    primary: usize,
}

impl Pair {
    pub(crate) fn start() -> Self {
        let (mut binaries, sandbox) = (mariadb::find().unwrap(), Sandbox::new().unwrap());
        let net = Net::enter(&sandbox);
        match &net {
            Ok(net) => {
                println!("partitions: network namespaces");
                binaries = net.of_servers(&sandbox, binaries).unwrap();
            }
            Err(why) => println!("partitions: a relay that forwards nothing; no network namespaces: {why:#}"),
        }
        let net = net.ok();
        let Topology { primary, replicas } = Topology::start(&binaries, &sandbox, 1, &OPTIONS).unwrap();
        let replica = replicas.into_iter().next().unwrap();
        let relay = |server: usize, target: &Server| {
            let address = net.as_ref().map_or(Ipv4Addr::LOCALHOST, |_| Net::address(server));
            Relay::to(target.address(), address, net.as_ref().map(|net| net.servers().unwrap()))
        };
        let relays = [relay(0, &primary), relay(1, &replica)];
        let pair = Self { sandbox, servers: [primary, replica], relays, net, primary: 0 };
        pair.sql(PROMOTE);
        pair
    }

    /// What a statement returns at the primary.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.primary().sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"))
    }

    pub(crate) const fn primary(&self) -> &Server {
        &self.servers[self.primary]
    }

    const fn replica(&self) -> &Server {
        &self.servers[1 - self.primary]
    }

    /// Where the proxy reaches the servers.
    pub(crate) fn addresses(&self) -> [(Ipv4Addr, u16); 2] {
        let address = |server| self.net.as_ref().map_or(Ipv4Addr::LOCALHOST, |_| Net::address(server));
        [0, 1].map(|server| (address(server), self.relays[server].port()))
    }

    /// Has packets between the proxy and the primary, or the replica, arrive or not. Without a
    /// network of its own, the relay forwards nothing.
    pub(crate) fn cable(&self, to_primary: bool, cable: Cable) {
        let server = if to_primary { self.primary } else { 1 - self.primary };
        match &self.net {
            Some(net) => net.set(server, cable).unwrap(),
            None => self.relays[server].set(if cable == Cable::Whole { Way::Open } else { Way::Held }),
        }
    }

    /// The way to the primary, or to the replica.
    pub(crate) fn way(&self, to_primary: bool, way: Way) {
        self.relays[if to_primary { self.primary } else { 1 - self.primary }].set(way);
    }

    pub(crate) fn pause(&self, primary: bool) {
        let server = if primary { self.primary() } else { self.replica() };
        server.pause().unwrap();
    }

    pub(crate) fn resume(&self, primary: bool) {
        let server = if primary { self.primary() } else { self.replica() };
        server.resume().unwrap();
    }

    /// The primary dies at once.
    pub(crate) fn kill(&mut self) {
        self.servers[self.primary].kill().unwrap();
    }

    /// The primary comes back, as one.
    pub(crate) fn restart(&mut self) {
        self.servers[self.primary].restart().unwrap();
        self.sql(PROMOTE);
    }

    pub(crate) fn restart_replica(&mut self) {
        self.servers[1 - self.primary].kill().unwrap();
        self.servers[1 - self.primary].restart().unwrap();
        self.replica_sql("START SLAVE");
    }

    fn replica_sql(&self, sql: &str) {
        self.replica().sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"));
    }

    /// No write is done at the primary any more, and the replica has all of them.
    pub(crate) fn demote(&self) {
        self.sql("SET GLOBAL read_only = ON");
        let position = self.sql("SELECT @@gtid_binlog_pos");
        self.replica_sql(&format!("SELECT MASTER_GTID_WAIT('{}', 10)", position.trim()));
    }

    /// The replica is the primary from now on; where it was then.
    pub(crate) fn promote(&mut self) -> String {
        // What has come is done before it takes writes.
        self.replica_sql("STOP SLAVE IO_THREAD; DO SLEEP(0)");
        let received = self.replica().sql("SHOW ALL SLAVES STATUS").unwrap();
        let received =
            received.split('\t').find(|cell| cell.starts_with("0-")).unwrap_or_default().to_owned();
        self.replica_sql(&format!("DO MASTER_GTID_WAIT('{received}', 10); STOP SLAVE; RESET SLAVE ALL"));
        self.primary = 1 - self.primary;
        let position = self.sql("SELECT @@gtid_current_pos");
        self.sql(PROMOTE);
        position.trim().to_owned()
    }

    /// The former primary, which is there again, follows the one that was promoted at `position`.
    pub(crate) fn rejoin(&self, position: &str) {
        self.replica_sql(&format!(
            "SET GLOBAL read_only = ON; SET GLOBAL rpl_semi_sync_master_enabled = OFF; RESET MASTER; SET GLOBAL gtid_slave_pos = '{position}'; \
             CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='{USER}', MASTER_PASSWORD='{PASSWORD}', \
             MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos; START SLAVE",
            self.primary().port()
        ));
    }

    /// The former primary is ended for good, as a fence does, and comes back as a replica.
    pub(crate) fn fence(&mut self) {
        self.servers[1 - self.primary].kill().unwrap();
        self.servers[1 - self.primary].restart().unwrap();
    }

    /// Waits until the replica has what the primary has, and acknowledges what it gets.
    pub(crate) fn catch_up(&self) {
        let position = self.sql("SELECT @@gtid_current_pos");
        let wait = format!("SELECT MASTER_GTID_WAIT('{}', 30)", position.trim());
        let reached = self.replica().sql(&wait).unwrap();
        let status = || self.replica().sql("SHOW ALL SLAVES STATUS").unwrap();
        assert_eq!(reached.trim(), "0", "the replica does not follow: {}", status());
        e2e::wait_for("the replica to acknowledge", || {
            self.sql("SHOW STATUS LIKE 'Rpl_semi_sync_master_status'").contains("ON")
        });
    }
}

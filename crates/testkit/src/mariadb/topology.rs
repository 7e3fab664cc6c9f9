//! A primary with replicas.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};

use super::{Binaries, REPLICATION_PASSWORD, REPLICATION_USER, Server, Setup};
use crate::folders::copy_folder;
use crate::guard::Sandbox;
use crate::server::Programs as _;

/// Longest time for a replica to catch up, in seconds.
const CATCH_UP_SECONDS_MAX: u32 = 60;

/// What a replica says that has applied all that it has.
const ALL_APPLIED: &str = "Slave has read all relay log";
/// How often a wait looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A primary and its replicas, connected by GTID replication. Dropping it kills them all.
#[derive(Debug)]
pub struct Topology {
    /// The server that takes writes; server id 1.
    pub primary: Server,
    /// Read-only servers; server ids 2 and up.
    pub replicas: Vec<Server>,
}

/// Starts servers at the same time, their data directories copies of one.
///
/// # Errors
/// When one does not start.
pub fn start_all(binaries: &Binaries, sandbox: &Sandbox, setups: Vec<Setup>) -> anyhow::Result<Vec<Server>> {
    let template = sandbox.path().join("template");
    binaries.install(sandbox, &template)?;
    let start = |setup: Setup| {
        let server = setup.create(binaries, sandbox)?;
        copy_folder(&template, &server.datadir())?;
        server.started()
    };
    let servers = thread::scope(|scope| {
        let starts: Vec<_> = setups.into_iter().map(|setup| scope.spawn(|| start(setup))).collect();
        let ends = starts.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.unwrap_or_else(|_| Err(anyhow!("a thread has panicked")))).collect()
    });
    std::fs::remove_dir_all(&template)?;
    servers
}

impl Topology {
    /// Starts a primary and `replicas` replicas, all with the additional options `args`, and waits
    /// until the replicas have replayed a first change: the creation of the database `test`.
    ///
    /// # Errors
    /// When a server does not start or replication does not work.
    pub fn start(
        binaries: &Binaries,
        sandbox: &Sandbox,
        replicas: usize,
        args: &[&str],
    ) -> anyhow::Result<Self> {
        let setups = (0..=replicas).map(|index| setup(index, args)).collect();
        let servers = start_all(binaries, sandbox, setups)?;
        let mut servers = servers.into_iter();
        let primary = servers.next().context("no primary")?;
        let topology = Self { primary, replicas: servers.collect() };
        topology.replicate()?;
        Ok(topology)
    }

    /// Waits until every replica has what the primary has committed by now.
    ///
    /// # Errors
    /// When a replica needs more than 60 s or replication has stopped.
    pub fn catch_up(&self) -> anyhow::Result<()> {
        let position = self.primary.sql("SELECT @@gtid_binlog_pos")?;
        let position = position.trim_end();
        for replica in &self.replicas {
            let wait = format!("SELECT MASTER_GTID_WAIT('{position}', {CATCH_UP_SECONDS_MAX})");
            let answer = replica.sql(&wait)?;
            ensure!(
                answer.trim_end() == "0",
                "{} has not reached {position} in {CATCH_UP_SECONDS_MAX} s:\n{}",
                replica.name(),
                replica.sql("SHOW ALL SLAVES STATUS")?
            );
        }
        Ok(())
    }

    /// Kills the primary and makes the replica that has most of it the primary, which the others
    /// follow. They need `--log-bin` and `--log-slave-updates`.
    ///
    /// # Errors
    /// When there is no replica, or one does not do what it is told.
    pub fn fail_over(&mut self) -> anyhow::Result<()> {
        self.primary.kill()?;
        let mut most = None;
        for (index, replica) in self.replicas.iter().enumerate() {
            replica.sql("STOP SLAVE IO_THREAD")?;
            let deadline = Instant::now() + Duration::from_secs(CATCH_UP_SECONDS_MAX.into());
            while !replica.sql("SHOW ALL SLAVES STATUS")?.contains(ALL_APPLIED) {
                ensure!(Instant::now() < deadline, "{} does not apply what it has", replica.name());
                thread::sleep(LOOK_INTERVAL);
            }
            replica.sql("STOP SLAVE")?;
            let position = replica.sql("SELECT @@gtid_slave_pos")?;
            let position: u64 = position.trim_end().rsplit('-').next().unwrap_or_default().parse()?;
            most = most.max(Some((position, index)));
        }
        let (_, index) = most.context("no replica")?;
        self.primary = self.replicas.remove(index);
        self.primary.sql("RESET SLAVE ALL; SET GLOBAL read_only = OFF")?;
        for replica in &self.replicas {
            replica.sql(&self.follow())?;
        }
        Ok(())
    }

    /// Has a replica follow the primary.
    fn follow(&self) -> String {
        let port = self.primary.port();
        format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, \
             MASTER_USER='{REPLICATION_USER}', MASTER_PASSWORD='{REPLICATION_PASSWORD}', \
             MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos; START SLAVE"
        )
    }

    fn replicate(&self) -> anyhow::Result<()> {
        for replica in &self.replicas {
            replica.sql(&self.follow())?;
        }
        self.primary.sql("CREATE DATABASE test")?;
        self.catch_up()
    }
}

fn setup(index: usize, args: &[&str]) -> Setup {
    let id = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
    let setup = match index {
        0 => Setup::new("primary").args(["--log-bin=binlog"]),
        _ => Setup::new(&format!("replica{index}")).args(["--read-only=on"]),
    };
    setup.server_id(id).args(args)
}

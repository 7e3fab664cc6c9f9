//! A replication group of MySQL servers.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};

use super::{Binaries, PASSWORD, Server, Setup, USER};
use crate::guard::Sandbox;
use crate::net::free_port;
use crate::server::Programs as _;

/// The name of all groups: they are told apart by the ports of their members.
const NAME: &str = "7a0d3f70-5b0c-4f0e-9d7c-1f4e1c0f7a11";
/// Longest time until all members are online.
const JOIN_TIME_MAX: Duration = Duration::from_mins(1);
/// How often that is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Servers that form a group with one primary, which is the first one at the start. Dropping it
/// kills them all.
#[derive(Debug)]
pub struct Group {
    /// The members; server ids 1 and up.
    pub members: Vec<Server>,
}

impl Group {
    /// Starts so many servers, all with the additional options `args`, makes them a group and waits
    /// until all of them are online and have a database `test`.
    ///
    /// # Errors
    /// When a server does not start or does not join.
    pub fn start(
        binaries: &Binaries,
        sandbox: &Sandbox,
        members: u32,
        args: &[&str],
    ) -> anyhow::Result<Self> {
        // Others may make the same template meanwhile; the first server leaves it for the rest.
        binaries.install(sandbox, &sandbox.path().join("group.template"))?;
        std::fs::remove_dir_all(sandbox.path().join("group.template"))?;
        let ports = (0..members).map(|_| free_port()).collect::<Result<Vec<u16>, _>>()?;
        let seeds: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let starts: Vec<anyhow::Result<Server>> = thread::scope(|scope| {
            let starts: Vec<_> = (1..)
                .zip(&seeds)
                .map(|(id, address)| {
                    let setup = setup(id, address, &seeds).args(args.iter().copied());
                    scope.spawn(move || setup.start(binaries, sandbox))
                })
                .collect();
            let panicked = || Err(anyhow!("a thread has panicked"));
            starts.into_iter().map(|start| start.join().unwrap_or_else(|_| panicked())).collect()
        });
        let group = Self { members: starts.into_iter().collect::<anyhow::Result<_>>()? };
        group.join()?;
        Ok(group)
    }

    fn join(&self) -> anyhow::Result<()> {
        let (first, others) = self.members.split_first().context("a group without members")?;
        let join = format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_USER='{USER}', SOURCE_PASSWORD='{PASSWORD}' \
             FOR CHANNEL 'group_replication_recovery'; START GROUP_REPLICATION"
        );
        first.sql(&format!(
            "SET GLOBAL group_replication_bootstrap_group=ON; {join}; SET GLOBAL group_replication_bootstrap_group=OFF"
        ))?;
        first.sql("CREATE DATABASE test")?;
        for other in others {
            other.sql(&join)?;
        }
        let deadline = Instant::now() + JOIN_TIME_MAX;
        let online =
            "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE='ONLINE'";
        let expected = self.members.len().to_string();
        for member in &self.members {
            while member.sql(online)?.trim() != expected {
                if Instant::now() > deadline {
                    bail!("{}", member.sql("SELECT * FROM performance_schema.replication_group_members")?);
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(())
    }
}

fn setup(id: u32, address: &str, seeds: &[String]) -> Setup {
    Setup::new(&format!("member{id}")).server_id(id).args([
        "--log-bin=binlog".to_owned(),
        "--gtid-mode=ON".to_owned(),
        "--enforce-gtid-consistency=ON".to_owned(),
        // A member that was killed has what it has told the others.
        "--innodb-flush-log-at-trx-commit=2".to_owned(),
        // The tables with the members are empty without it.
        "--performance-schema=ON".to_owned(),
        "--report-host=127.0.0.1".to_owned(),
        "--plugin-load-add=group_replication.so".to_owned(),
        format!("--loose-group-replication-group-name={NAME}"),
        format!("--loose-group-replication-local-address={address}"),
        format!("--loose-group-replication-group-seeds={}", seeds.join(",")),
        "--loose-group-replication-start-on-boot=OFF".to_owned(),
        "--loose-group-replication-recovery-get-public-key=ON".to_owned(),
        // Who is lost is expelled when that is noticed, after five seconds.
        "--loose-group-replication-member-expel-timeout=0".to_owned(),
    ])
}

//! Reads that see writes: what they cost at a replica that has caught up, beside reads that need
//! not see any.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use testkit::guard::Sandbox;
use testkit::mariadb::{PASSWORD, Server, Setup};

use crate::load::turns;
use crate::plan::Cell;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::results::median;
use crate::sysbench::{SCHEMA, Sysbench};
use crate::target::{BACKENDS_MAX, Kind, Stage, Target};
use crate::written::read;

/// Clients that read.
const CLIENTS: u32 = 16;
/// Writes in a second of the load that is written to: about one per 100 reads.
const WRITES: u32 = 100;
/// How long the replica may take to have the tables.
const CATCH_UP_MAX: &str = "60";

/// What is compared: whether reads see the writes of their user, and whether there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    is_causal: bool,
    is_written: bool,
}

impl Way {
    const ALL: [Self; 4] = [
        Self { is_causal: false, is_written: false },
        Self { is_causal: true, is_written: false },
        Self { is_causal: false, is_written: true },
        Self { is_causal: true, is_written: true },
    ];

    const fn name(self) -> &'static str {
        match (self.is_causal, self.is_written) {
            (false, false) => "off, reads only",
            (true, false) => "user, reads only",
            (false, true) => "off, 100 writes/s",
            (true, true) => "user, 100 writes/s",
        }
    }

    /// Lines of the configuration, from the section of variables on.
    fn variables(self, replica: u16) -> String {
        let scope = if self.is_causal { "user" } else { "off" };
        format!(
            "read_write_split = true\n\n[pointsman_variables]\ncausal_reads = \"{scope}\"\n\n\
             [[mysql_replication_hostgroups]]\nwriter_hostgroup = 0\nreader_hostgroup = 1\n\n\
             [[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {replica}\n\
             max_connections = {BACKENDS_MAX}\n"
        )
    }
}

/// What each round has shown.
#[derive(Debug, Default, Clone)]
struct Samples {
    qps: Vec<f64>,
    cpu_us: Vec<f64>,
}

/// Starts a primary with the tables of `sysbench`, and a replica that has them, measures, and
/// prints a table.
///
/// # Errors
/// When a server or a proxy does not start, or the replica does not follow.
pub(crate) fn measure(
    programs: &Programs,
    sandbox: &Sandbox,
    threads: u32,
    (seconds, rounds): (u32, u32),
) -> anyhow::Result<()> {
    let sysbench = Sysbench::new(programs.sysbench.clone(), sandbox.clone());
    let (primary, replica) = replicated(programs, sandbox, &sysbench)?;
    let stage = Stage { programs, sandbox, database: &primary, threads };
    let start = |way: Way| {
        let target = Target::start_with(&stage, Kind::Pointsman, &way.variables(replica.port()), "")?;
        Ok((way, target))
    };
    let targets = Way::ALL.map(start).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let mut samples = Way::ALL.map(|way| (way, Samples::default()));
    let mut progress = Progress::new("causal", u32::try_from(targets.len())? * rounds);
    for round in 1..=rounds {
        for (way, target) in turns(&targets, round)? {
            progress.next(&format!("round {round} of {rounds}, {}", way.name()));
            let into = samples.iter_mut().find(|(one, _)| one == way).context("a way")?;
            // Writes of the same user.
            let writes = way.is_written.then_some(WRITES);
            let run = read(&sysbench, target, Cell::judged(CLIENTS), seconds, writes)?;
            into.1.qps.push(run.qps);
            into.1.cpu_us.push(run.cpu_us);
        }
    }
    drop(progress);
    print!("{}", table(&samples));
    Ok(())
}

/// A primary and its replica, which has what `sysbench` has prepared.
fn replicated(
    programs: &Programs,
    sandbox: &Sandbox,
    sysbench: &Sysbench,
) -> anyhow::Result<(Server, Server)> {
    let start = |name: &str, id: u32| {
        let options = ["--innodb-buffer-pool-size=256M", "--log-bin=binlog", "--sync-binlog=0"];
        let limits = [format!("--server-id={id}"), format!("--max-connections={BACKENDS_MAX}")];
        let options = options.map(str::to_owned).into_iter().chain(limits);
        Setup::new(name).args(options).start(&programs.mariadb, sandbox)
    };
    let (primary, replica) = (start("primary", 1)?, start("replica", 2)?);
    replica.sql("RESET MASTER")?;
    primary.sql(&format!(
        "RESET MASTER; CREATE DATABASE {SCHEMA}; CREATE USER repl@'%' IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION SLAVE ON *.* TO repl@'%'"
    ))?;
    sysbench.prepare(primary.port())?;
    let last = primary.sql("SELECT @@gtid_binlog_pos")?;
    let caught_up = replica.sql(&format!(
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='repl', \
         MASTER_PASSWORD='{PASSWORD}', MASTER_USE_GTID=slave_pos; START SLAVE; \
         SELECT MASTER_GTID_WAIT('{}', {CATCH_UP_MAX})",
        primary.port(),
        last.trim()
    ))?;
    ensure!(caught_up.trim() == "0", "the replica does not follow: {caught_up}");
    Ok((primary, replica))
}

/// Processor time of the proxy per read, and the ratio of both ways in the same round.
fn table(samples: &[(Way, Samples)]) -> String {
    let cpu = |way: Way| samples.iter().find(|(one, _)| *one == way).map(|(_, one)| &one.cpu_us[..]);
    let mut text =
        format!("{:<22}{:>10}{:>14}{:>8}  each round\n", "causal reads", "q/s", "CPU us/read", "x");
    for (way, samples) in samples {
        let base = cpu(Way { is_causal: false, ..*way }).unwrap_or_default();
        let ratios: Vec<f64> = samples.cpu_us.iter().zip(base).map(|(us, base)| us / base).collect();
        let each: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
        let _ = writeln!(
            text,
            "{:<22}{:>10.0}{:>14.2}{:>8.3}  {}",
            way.name(),
            median(samples.qps.iter().copied()),
            median(samples.cpu_us.iter().copied()),
            median(ratios),
            each.join(" "),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_is_compared_with_the_same_round_of_the_other_way() {
        let cpu = [[2.0, 4.0, 8.0], [3.0, 4.0, 8.0], [2.0, 2.0, 2.0], [1.0, 3.0, 4.0]];
        let samples = Way::ALL.into_iter().zip(cpu);
        let samples = samples.map(|(way, cpu_us)| (way, Samples { qps: vec![1.0], cpu_us: cpu_us.to_vec() }));
        let table = table(&samples.collect::<Vec<_>>());
        let line = |at: usize| table.lines().nth(at).unwrap().trim_end().to_owned();
        assert!(line(2).ends_with("4.00   1.000  1.500 1.000 1.000"), "{table}");
        assert!(line(4).ends_with("3.00   1.500  0.500 1.500 2.000"), "{table}");
    }
}

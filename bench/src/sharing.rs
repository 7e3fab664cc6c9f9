//! What sharing costs and saves: point selects of many clients over a connection each, over few
//! that they share, and directly.

use std::fmt;

use anyhow::Context as _;

use crate::cores::Apart;
use crate::load;
use crate::plan::Cell;
use crate::progress::Progress;
use crate::sysbench::Sysbench;
use crate::target::{Kind, Stage, Target};

/// Seconds of each target's run that opens connections and is not recorded.
const WARM_UP_SECONDS: u32 = 1;

/// How clients get to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Without a proxy.
    Direct,
    /// Through the layer-4 floor.
    Floor,
    /// Through Pointsman, with a connection for each (`mysql-multiplexing = false`).
    OneToOne,
    /// Through Pointsman, with as many connections as are needed.
    Shared,
    /// The same with at most so many.
    On(u32),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.pad("directly"),
            Self::Floor => f.pad("floor"),
            Self::OneToOne => f.pad("one each"),
            Self::Shared => f.pad("shared"),
            Self::On(most) => f.pad(&format!("{most} shared")),
        }
    }
}

/// The server, and where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// MariaDB, on the cores that all share.
    Mariadb,
    /// The same on a core of its own.
    MariadbApart,
    /// MySQL, where it is there, on the cores that all share.
    Mysql,
}

/// What is compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    /// How many clients.
    pub(crate) clients: u32,
    /// Whether they prepare their statements.
    pub(crate) prepared: bool,
    /// The server.
    pub(crate) at: At,
    /// How they get to it.
    pub(crate) ways: &'static [Way],
}

/// All that is compared.
pub(crate) const CASES: [Case; 7] = [
    Case { clients: 16, prepared: false, at: At::Mariadb, ways: &[Way::OneToOne, Way::Shared] },
    Case { clients: 128, prepared: false, at: At::Mariadb, ways: &[Way::OneToOne, Way::On(16)] },
    Case { clients: 1000, prepared: false, at: At::Mariadb, ways: THOUSAND },
    Case { clients: 1000, prepared: true, at: At::Mariadb, ways: THOUSAND },
    Case { clients: 1000, prepared: false, at: At::Mysql, ways: THOUSAND },
    Case { clients: 1000, prepared: true, at: At::Mysql, ways: THOUSAND },
    Case { clients: 1000, prepared: false, at: At::MariadbApart, ways: THOUSAND },
];

/// The ways of a thousand clients. A few connections are what a core or two can be busy with.
const THOUSAND: &[Way] = &[Way::Direct, Way::Floor, Way::OneToOne, Way::On(32), Way::On(4)];

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared {
    /// What it is a part of.
    pub(crate) case: Case,
    /// How its clients got to the server.
    pub(crate) way: Way,
    /// Statements per second.
    pub(crate) qps: f64,
    /// Time that 99 % of them stayed below, in milliseconds.
    pub(crate) p99_ms: f64,
    /// Processor time of the proxy per statement, in microseconds; 0 without one.
    pub(crate) cpu_us: f64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statements = if self.prepared { "prepared" } else { "text" };
        let server = match self.at {
            At::Mariadb => "MariaDB",
            At::MariadbApart => "MariaDB on a core of its own, all else on the others",
            At::Mysql => "MySQL",
        };
        write!(f, "{statements}, {server}")
    }
}

/// Runs point selects on all ways of each case in turn, in rounds; before MySQL if there is one.
pub(crate) fn measure(
    mariadb: &Stage,
    mysql: Option<&Stage>,
    sysbench: &Sysbench,
    seconds: u32,
    rounds: u32,
) -> anyhow::Result<Vec<Shared>> {
    let cases = CASES.iter().filter(|case| case.at != At::Mysql || mysql.is_some());
    let ways: usize = cases.clone().map(|case| case.ways.len()).sum();
    let mut progress = Progress::new("sharing", rounds * u32::try_from(ways)?);
    let mut results = Vec::new();
    for case @ Case { clients, prepared, at, ways } in cases {
        let stage = mysql.filter(|_| *at == At::Mysql).unwrap_or(mariadb);
        let server = stage.database.pid().context("the server has ended")?;
        // Those that are started from here on are where this process is.
        let cores = if *at == At::MariadbApart { Apart::new(server)? } else { None };
        if *at == At::MariadbApart && cores.is_none() {
            continue;
        }
        let cell = Cell { prepared: *prepared, ..Cell::judged(*clients) };
        let targets = ways.iter().map(|way| Ok((*way, target(stage, *way)?)));
        let targets = targets.collect::<anyhow::Result<Vec<_>>>()?;
        for (_, target) in &targets {
            let port = target.as_ref().map_or(stage.database.port(), |target| target.port);
            sysbench.run(port, cell, WARM_UP_SECONDS, || Ok(()))?;
        }
        for round in 1..=rounds {
            for (way, target) in load::turns(&targets, round)? {
                progress.next(&format!("{clients} clients, {case}, {way}"));
                let (figures, cpu_us) = match target {
                    None => (sysbench.run(stage.database.port(), cell, seconds, || Ok(()))?, 0.0),
                    Some(target) => {
                        let sample = load::run(sysbench, target, cell, round, seconds)?;
                        (sample.figures, sample.cpu_us)
                    }
                };
                let (way, qps, p99_ms) = (*way, figures.qps, figures.p99_ms);
                results.push(Shared { case: *case, way, qps, p99_ms, cpu_us });
            }
        }
    }
    Ok(results)
}

/// The proxy that a way goes through.
fn target(stage: &Stage, way: Way) -> anyhow::Result<Option<Target>> {
    let (kind, variables, more) = match way {
        Way::Direct => return Ok(None),
        Way::Floor => (Kind::Floor, "", String::new()),
        Way::OneToOne => (Kind::Pointsman, "multiplexing = false\n", String::new()),
        Way::Shared => (Kind::Pointsman, "", String::new()),
        Way::On(most) => {
            let limit = format!("{{\"max_backend_connections\":{most}}}");
            let row =
                format!("[[mysql_hostgroup_attributes]]\nhostgroup_id = 0\nhostgroup_settings = '{limit}'\n");
            (Kind::Pointsman, "", row)
        }
    };
    Target::start_with(stage, kind, variables, &more).map(Some)
}

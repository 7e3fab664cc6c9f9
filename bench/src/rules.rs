//! What deciding costs: point selects through Pointsman without rules, with a few and with many,
//! and with the split.

use std::fmt::Write as _;

use crate::load;
use crate::plan::Cell;
use crate::progress::Progress;
use crate::sysbench::Sysbench;
use crate::target::{Kind, Stage, Target};

/// Clients of the traffic.
const CLIENTS: u32 = 16;
/// Seconds of each target's run that fills caches and is not recorded.
const WARM_UP_SECONDS: u32 = 1;

/// What is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// No digests: nothing is found out about a statement.
    NoDigests,
    /// No rules.
    None,
    /// One rule, which matches.
    One,
    /// A hundred rules, of which the last one matches.
    Hundred,
    /// 10,000 rows of fast routing, of which one matches.
    FastRoutes,
    /// No rules, and the split: all statements go to the reader.
    Split,
}

impl Rules {
    /// In the order in which they are shown.
    pub(crate) const ALL: [Self; 6] =
        [Self::NoDigests, Self::None, Self::One, Self::Hundred, Self::FastRoutes, Self::Split];

    /// A name for tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NoDigests => "no digests",
            Self::None => "no rules",
            Self::One => "1 rule",
            Self::Hundred => "100 rules",
            Self::FastRoutes => "10,000 fast routes",
            Self::Split => "the split",
        }
    }

    /// What they add to a configuration whose server is at `port`.
    fn config(self, port: u16) -> String {
        let mut text = String::new();
        let rule = |text: &mut String, id: u32, pattern: &str| {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "[[mysql_query_rules]]\nrule_id = {id}\nactive = true\nmatch_digest = '{pattern}'\n\
                 destination_hostgroup = 0\napply = true\n"
            );
        };
        match self {
            Self::NoDigests | Self::None => {}
            Self::One => rule(&mut text, 1, "^SELECT"),
            Self::Hundred => {
                for id in 1..100 {
                    rule(&mut text, id, &format!("^(INSERT|UPDATE) .* table_{id}"));
                }
                rule(&mut text, 100, "^SELECT");
            }
            Self::FastRoutes => {
                for row in 0..10_000 {
                    let schema = if row == 5_000 { "sbtest".to_owned() } else { format!("schema_{row}") };
                    let _ = write!(
                        text,
                        "[[mysql_query_rules_fast_routing]]\nusername = \"app\"\nschemaname = \"{schema}\"\n\
                         flagIN = 0\ndestination_hostgroup = 0\ncomment = \"\"\n"
                    );
                }
            }
            Self::Split => {
                let _ = write!(
                    text,
                    "[[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {port}\n\
                     [[mysql_replication_hostgroups]]\nwriter_hostgroup = 0\nreader_hostgroup = 1\n"
                );
            }
        }
        text
    }

    /// What they set in `mysql_variables`.
    const fn variables(self) -> &'static str {
        match self {
            Self::NoDigests => "query_digests = false\n",
            Self::Split => "read_write_split = true\n",
            _ => "",
        }
    }
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ruled {
    /// With what.
    pub(crate) rules: Rules,
    /// Statements per second.
    pub(crate) qps: f64,
    /// Processor time of the proxy per statement, in microseconds.
    pub(crate) cpu_us: f64,
}

/// Runs point selects with each of the sets in turn, in rounds.
pub(crate) fn measure(
    stage: &Stage,
    sysbench: &Sysbench,
    seconds: u32,
    rounds: u32,
) -> anyhow::Result<Vec<Ruled>> {
    let cell = Cell::judged(CLIENTS);
    let mut targets = Vec::new();
    for rules in Rules::ALL {
        let more = rules.config(stage.database.port());
        let target = Target::start_with(stage, Kind::Pointsman, rules.variables(), &more)?;
        sysbench.run(target.port, cell, WARM_UP_SECONDS, || Ok(()))?;
        targets.push((rules, target));
    }
    let mut progress = Progress::new("rules", rounds * u32::try_from(targets.len())?);
    let mut results = Vec::new();
    for round in 1..=rounds {
        for (rules, target) in load::turns(&targets, round)? {
            progress.next(rules.name());
            let sample = load::run(sysbench, target, cell, round, seconds)?;
            results.push(Ruled { rules: *rules, qps: sample.figures.qps, cpu_us: sample.cpu_us });
        }
    }
    Ok(results)
}

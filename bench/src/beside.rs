//! Two builds of Pointsman in turn, with the same configuration, in which no rule caches anything:
//! what one costs more than the other.

use std::fmt::Write as _;
use std::path::Path;

use crate::load::{self, turns};
use crate::plan::{Cell, Workload};
use crate::programs::Programs;
use crate::progress::Progress;
use crate::target::{Kind, Stage, Target};
use crate::with_tables;

/// Clients that read.
const CLIENTS: [u32; 2] = [1, 16];
/// Seconds of each run that fills caches and is not recorded.
const WARM_UP_SECONDS: u32 = 1;

/// Processor time and rate of both builds in each round: the one that is measured, and the other.
type Rounds = Vec<[(f64, f64); 2]>;

/// Measures the program beside the one at `other`, and prints a table.
pub(crate) fn measure(
    programs: &Programs,
    other: &Path,
    threads: u32,
    (seconds, rounds): (u32, u32),
) -> anyhow::Result<()> {
    let (sandbox, database, sysbench) = with_tables(programs, None)?;
    let others = Programs { pointsman: other.canonicalize()?, ..programs.clone() };
    let start = |programs| {
        let stage = Stage { programs, sandbox: &sandbox, database: &database, threads };
        Target::start_with(&stage, Kind::Pointsman, "", "")
    };
    let targets = [(0, start(programs)?), (1, start(&others)?)];
    let cells = CLIENTS.into_iter().flat_map(|clients| [false, true].map(|prepared| cell(clients, prepared)));
    let cells: Vec<_> = cells.collect();
    let mut progress = Progress::new("beside", rounds * u32::try_from(cells.len() * targets.len())?);
    for (_, target) in &targets {
        sysbench.run(target.port, cell(CLIENTS[1], false), WARM_UP_SECONDS, || Ok(()))?;
    }
    let mut samples: Vec<(Cell, Rounds)> = cells.iter().map(|cell| (*cell, Vec::new())).collect();
    for round in 1..=rounds {
        for (cell, into) in &mut samples {
            let mut pair = [(0.0, 0.0); 2];
            for (at, target) in turns(&targets, round)? {
                progress.next(&format!("round {round} of {rounds}, {cell}"));
                let sample = load::run(&sysbench, target, *cell, round, seconds)?;
                pair[*at] = (sample.cpu_us, sample.figures.qps);
            }
            into.push(pair);
        }
    }
    drop(progress);
    print!("{}", table(&samples));
    Ok(())
}

const fn cell(clients: u32, prepared: bool) -> Cell {
    Cell { workload: Workload::PointSelect, prepared, clients, tls: false }
}

/// Medians, and the ratio to the other build: the median of those of single rounds, with the least
/// and the largest.
fn table(samples: &[(Cell, Rounds)]) -> String {
    let mut text =
        format!("{:<42}{:>14}{:>10}{:>26}\n", "", "CPU us/query", "the other", "x (least to largest)");
    for (cell, rounds) in samples {
        let sorted = |value: fn(&[(f64, f64); 2]) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |values: &[f64]| values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        let ratios = sorted(|[(one, _), (other, _)]| one / other);
        let [one, other] = [sorted(|[(one, _), _]| *one), sorted(|[_, (other, _)]| *other)];
        let rates = sorted(|[(_, one), (_, other)]| one / other);
        let _ = writeln!(
            text,
            "{:<42}{:>14.2}{:>10.2}{:>10.3} ({:.2} to {:.2})   q/s x {:.2}",
            cell.to_string(),
            median(&one),
            median(&other),
            median(&ratios),
            end(ratios.first()),
            end(ratios.last()),
            median(&rates),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_a_round_and_not_of_medians() {
        let rounds = vec![[(10.0, 1.0), (10.0, 1.0)], [(30.0, 1.0), (20.0, 2.0)], [(44.0, 1.0), (40.0, 1.0)]];
        let text = table(&[(cell(16, true), rounds)]);
        let line = text.lines().nth(1).unwrap();
        assert!(line.contains("30.00     20.00     1.100 (1.00 to 1.50)   q/s x 1.00"), "{line}");
    }
}

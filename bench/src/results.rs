//! What was measured, and the medians of it.

use std::time::Duration;

use crate::admin::Busy;
use crate::dump::Dump;
use crate::idle::Idle;
use crate::load::{Plan, Sample};
use crate::plan::Cell;
use crate::rules::{Ruled, Rules};
use crate::sharing::{Case, Shared, Way};
use crate::startup::Start;
use crate::target::Kind;

/// Everything that one benchmark has measured.
#[derive(Debug)]
pub(crate) struct Results {
    /// What was asked for.
    pub(crate) plan: Plan,
    /// Threads of each proxy.
    pub(crate) threads: u32,
    /// The load.
    pub(crate) samples: Vec<Sample>,
    /// The starts.
    pub(crate) starts: Vec<Start>,
    /// The idle clients.
    pub(crate) idles: Vec<Idle>,
    /// The compressed dumps.
    pub(crate) dumps: Vec<Dump>,
    /// Point selects with rules.
    pub(crate) ruled: Vec<Ruled>,
    /// Point selects of clients that share connections, and of others.
    pub(crate) shared: Vec<Shared>,
    /// The traffic while the admin port applies large configurations.
    pub(crate) busy: Vec<Busy>,
}

/// One figure of a sample.
pub(crate) type Figure = fn(&Sample) -> f64;

/// Statements per second.
pub(crate) const QPS: Figure = |sample| sample.figures.qps;
/// The median time of an event, in ms.
pub(crate) const P50: Figure = |sample| sample.figures.p50_ms;
/// The time that 95 % of the events stay below, in ms.
pub(crate) const P95: Figure = |sample| sample.figures.p95_ms;
/// The time that 99 % of the events stay below, in ms.
pub(crate) const P99: Figure = |sample| sample.figures.p99_ms;
/// The proxy's processor time per statement, in us.
pub(crate) const CPU: Figure = |sample| sample.cpu_us;
/// The proxy's resident memory, in MiB.
pub(crate) const RSS: Figure = |sample| f64::from(sample.rss_kib) / 1024.0;
/// Repeated transactions.
pub(crate) const ERRORS: Figure = |sample| f64::from(sample.figures.errors);

/// A ratio to the floor, or to another base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// Median to median.
    pub(crate) median: f64,
    /// The least of the ratios of single runs that followed each other.
    pub(crate) least: f64,
    /// The greatest of them.
    pub(crate) most: f64,
}

impl Results {
    /// The median of one figure; NaN if there are no samples.
    pub(crate) fn median(&self, cell: Cell, kind: Kind, figure: Figure) -> f64 {
        median(self.values(cell, kind, figure))
    }

    /// One figure in relation to that of the cell's [base](Cell::base).
    pub(crate) fn ratio(&self, cell: Cell, kind: Kind, figure: Figure) -> Ratio {
        let own = self.values(cell, kind, figure);
        let (base, base_kind) = cell.base();
        let floor = self.values(base, base_kind, figure);
        let singles = || own.iter().zip(&floor).map(|(own, floor)| own / floor);
        Ratio {
            least: singles().fold(f64::INFINITY, f64::min),
            most: singles().fold(f64::NEG_INFINITY, f64::max),
            median: median(own.clone()) / median(floor.clone()),
        }
    }

    /// In the order in which they were measured: the n-th values of two targets belong together.
    fn values(&self, cell: Cell, kind: Kind, figure: Figure) -> Vec<f64> {
        let samples = self.samples.iter().filter(|sample| sample.cell == cell && sample.kind == kind);
        samples.map(figure).collect()
    }

    /// Median statements per second and processor time of the proxy per statement, in us, with
    /// these rules.
    pub(crate) fn ruled(&self, rules: Rules) -> (f64, f64) {
        let runs = || self.ruled.iter().filter(|run| run.rules == rules);
        (median(runs().map(|run| run.qps)), median(runs().map(|run| run.cpu_us)))
    }

    /// Median statements per second, p99 in ms, and processor time of the proxy per statement, in
    /// us, of a case on this way.
    pub(crate) fn shared(&self, case: &Case, way: Way) -> (f64, f64, f64) {
        let is_one = |run: &&Shared| (run.case, run.way) == (*case, way);
        let runs = || self.shared.iter().filter(is_one);
        let median_of = |figure: fn(&Shared) -> f64| median(runs().map(figure));
        (median_of(|run| run.qps), median_of(|run| run.p99_ms), median_of(|run| run.cpu_us))
    }

    /// Median time and processor time of the proxy, in seconds, of the dumps through a proxy or
    /// directly.
    pub(crate) fn dump(&self, through: Option<Kind>) -> (f64, f64) {
        let dumps = || self.dumps.iter().filter(|dump| dump.through == through);
        (
            median(dumps().map(|dump| dump.time.as_secs_f64())),
            median(dumps().map(|dump| dump.cpu.as_secs_f64())),
        )
    }

    /// The median of the traffic's p99 in ms while `load` went on, and the longest of its LOADs.
    pub(crate) fn busy(&self, load: Option<&str>) -> (f64, Duration) {
        let runs = || self.busy.iter().filter(|busy| busy.load == load);
        let longest = runs().flat_map(|busy| &busy.times).max().copied();
        (median(runs().map(|busy| busy.p99_ms)), longest.unwrap_or_default())
    }

    /// What was loaded in those runs, each once.
    pub(crate) fn loads(&self) -> Vec<&'static str> {
        let mut loads: Vec<_> = self.busy.iter().filter_map(|busy| busy.load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads
    }

    /// Median and longest time of the starts.
    pub(crate) fn start(&self, kind: Kind) -> (Duration, Duration) {
        let times = || self.starts.iter().filter(|start| start.kind == kind).map(|start| start.time);
        let seconds = median(times().map(|time| time.as_secs_f64()));
        let median = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        (median, times().max().unwrap_or_default())
    }
}

/// The value in the middle, or the mean of both; NaN of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (None, _) => f64::NAN,
        (Some(value), 1) => *value,
        (Some(value), _) => f64::midpoint(values[middle - 1], *value),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sharing::CASES;
    use crate::sysbench::Figures;

    /// Two rounds: the floor needs 10 and 20 us, HAProxy 30 % and Pointsman 10 % more.
    pub(crate) fn example() -> Results {
        let cell = Cell::judged(16);
        let mut samples = Vec::new();
        for (round, floor_us) in [(1, 10.0), (2, 20.0)] {
            for (kind, factor) in [(Kind::Floor, 1.0), (Kind::Haproxy, 1.3), (Kind::Pointsman, 1.1)] {
                let figures = Figures {
                    queries: 50_000,
                    qps: 25_000.0 / factor,
                    p50_ms: 0.5,
                    p95_ms: 1.0,
                    p99_ms: 2.0,
                    errors: 0,
                };
                samples.push(Sample {
                    kind,
                    cell,
                    round,
                    figures,
                    cpu_us: floor_us * factor,
                    rss_kib: 10_240,
                });
            }
        }
        let dump = |through, seconds| Dump {
            through,
            mib: 1000,
            time: Duration::from_secs(seconds),
            cpu: Duration::from_secs(2),
        };
        let start = |kind, ms| Start { kind, time: Duration::from_millis(ms) };
        let shared = |way, qps, p99_ms, cpu_us| Shared { case: CASES[1], way, qps, p99_ms, cpu_us };
        Results {
            plan: Plan { cells: vec![cell], seconds: 2, rounds: 2 },
            threads: 2,
            samples,
            starts: vec![start(Kind::Pointsman, 20), start(Kind::Pointsman, 10), start(Kind::Pointsman, 120)],
            idles: vec![Idle {
                kind: Kind::Pointsman,
                clients: 5000,
                backend: false,
                tls: false,
                before_kib: 10_000,
                after_kib: 20_000,
            }],
            ruled: Vec::new(),
            shared: vec![shared(Way::OneToOne, 20_000.0, 8.0, 10.0), shared(Way::On(16), 22_000.0, 9.0, 9.0)],
            dumps: vec![dump(None, 10), dump(Some(Kind::Pointsman), 11)],
            busy: vec![
                Busy { load: None, p99_ms: 1.0, times: Vec::new() },
                Busy {
                    load: Some("users"),
                    p99_ms: 1.1,
                    times: [100, 200].map(Duration::from_millis).into(),
                },
            ],
        }
    }

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]).to_bits(), 2.5_f64.to_bits());
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn ratios_compare_runs_that_belong_together() {
        let ratio = example().ratio(Cell::judged(16), Kind::Pointsman, CPU);
        for value in [ratio.median, ratio.least, ratio.most] {
            assert!((value - 1.1).abs() < 1e-9, "{ratio:?}");
        }
    }

    #[test]
    fn a_start_has_a_median_and_a_maximum() {
        let start = example().start(Kind::Pointsman);
        assert_eq!(start, (Duration::from_millis(20), Duration::from_millis(120)));
    }
}

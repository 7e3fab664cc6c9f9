//! The project's limits, and whether this run keeps them.

use std::time::Duration;

use crate::admin::{READ, verb};
use crate::idle::Idle;
use crate::plan::Cell;
use crate::results::{CPU, P95, Results};
use crate::target::Kind;

/// Numbers of clients at which processor time is judged.
const CPU_CLIENTS: [u32; 2] = [16, 128];
/// Most processor time per statement, as a multiple of the floor's.
const CPU_RATIO_MAX: f64 = 1.20;
/// Most time of an event at one client (95 %), as a multiple of the floor's.
const P95_RATIO_MAX: f64 = 1.10;
/// Most resident memory per idle client, in KiB.
const IDLE_KIB_MAX: f64 = 4.0;
/// The same of one with TLS.
const IDLE_TLS_KIB_MAX: f64 = 24.0;
/// Most processor time per statement over TLS, as a multiple of that without.
const TLS_CPU_RATIO_MAX: f64 = 1.60;
/// Most time of a compressed dump, as a multiple of the server's own.
const DUMP_RATIO_MAX: f64 = 1.15;
/// Most p99 of the traffic while configurations are applied, as a multiple of that without.
const BUSY_P99_RATIO_MAX: f64 = 1.20;
/// Every LOAD ... TO RUNTIME of a large configuration takes less.
const LOAD_TIME_MAX: Duration = Duration::from_secs(1);
/// Every start takes less, in ms.
const START_MS_MAX: f64 = 100.0;

/// One limit, and what was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What is limited.
    pub(crate) what: String,
    /// What was measured.
    pub(crate) measured: String,
    /// The limit.
    pub(crate) limit: String,
    /// Whether it is kept.
    pub(crate) kept: bool,
}

/// All limits of which something was measured.
pub(crate) fn judge(results: &Results) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = CPU_CLIENTS
        .iter()
        .map(|&clients| ("CPU per query", clients, CPU, CPU_RATIO_MAX))
        .chain([("p95", 1, P95, P95_RATIO_MAX)])
        .filter_map(|(what, clients, figure, limit)| {
            let cell = Cell::judged(clients);
            let ratio = results.ratio(cell, Kind::Pointsman, figure);
            ratio.median.is_finite().then(|| Verdict {
                what: format!("{what}, {cell}"),
                measured: format!("{:.2} x floor ({:.2} to {:.2})", ratio.median, ratio.least, ratio.most),
                limit: format!("<= {limit:.2} x floor"),
                kept: ratio.median <= limit,
            })
        })
        .collect();
    verdicts.extend(tls(results));
    let idles = results.idles.iter().filter(|idle| idle.kind == Kind::Pointsman && !idle.backend);
    verdicts.extend(idles.map(|idle| Verdict {
        what: format!(
            "resident memory, {} idle clients{}",
            idle.clients,
            if idle.tls { ", TLS" } else { "" }
        ),
        measured: format!("{:.2} KiB each", idle.per_client_kib()),
        limit: format!("<= {} KiB each", idle_max(idle)),
        kept: idle.per_client_kib() <= idle_max(idle),
    }));
    verdicts.extend(dump(results));
    verdicts.extend(results.loads().into_iter().flat_map(|load| busy(results, load)));
    if results.starts.iter().any(|start| start.kind == Kind::Pointsman) {
        let (median, longest) = results.start(Kind::Pointsman);
        let [median_ms, longest_ms] = [median, longest].map(|time| time.as_secs_f64() * 1e3);
        verdicts.push(Verdict {
            what: "start to serving, longest".to_owned(),
            measured: format!("{longest_ms:.1} ms (median {median_ms:.1})"),
            limit: format!("< {START_MS_MAX} ms"),
            kept: longest_ms < START_MS_MAX,
        });
    }
    verdicts
}

/// Processor time over TLS.
fn tls(results: &Results) -> Option<Verdict> {
    let cell = Cell::judged_tls();
    let ratio = results.ratio(cell, Kind::Pointsman, CPU);
    ratio.median.is_finite().then(|| Verdict {
        what: format!("CPU per query, {cell}"),
        measured: format!("{:.2} x plain ({:.2} to {:.2})", ratio.median, ratio.least, ratio.most),
        limit: format!("<= {TLS_CPU_RATIO_MAX:.2} x plain"),
        kept: ratio.median <= TLS_CPU_RATIO_MAX,
    })
}

const fn idle_max(idle: &Idle) -> f64 {
    if idle.tls { IDLE_TLS_KIB_MAX } else { IDLE_KIB_MAX }
}

/// The compressed dump.
fn dump(results: &Results) -> Option<Verdict> {
    let first = results.dumps.first()?;
    let ((through, _), (direct, _)) = (results.dump(Some(Kind::Pointsman)), results.dump(None));
    Some(Verdict {
        what: format!("compressed dump of {} MiB", first.mib),
        measured: format!("{:.2} x direct ({through:.1} s)", through / direct),
        limit: format!("<= {DUMP_RATIO_MAX:.2} x direct"),
        kept: through / direct <= DUMP_RATIO_MAX,
    })
}

/// Traffic and LOADs of one large configuration, or readings.
fn busy(results: &Results, load: &str) -> Vec<Verdict> {
    let ((alone, _), (p99, longest)) = (results.busy(None), results.busy(Some(load)));
    let mut verdicts = vec![Verdict {
        what: format!("p99 while {load} are {}", verb(load)),
        measured: format!("{:.2} x alone ({p99:.2} ms)", p99 / alone),
        limit: format!("<= {BUSY_P99_RATIO_MAX:.2} x alone"),
        kept: p99 / alone <= BUSY_P99_RATIO_MAX,
    }];
    if load != READ {
        verdicts.push(Verdict {
            what: format!("LOAD of {load}, longest"),
            measured: format!("{} ms", longest.as_millis()),
            limit: format!("< {} ms", LOAD_TIME_MAX.as_millis()),
            kept: longest < LOAD_TIME_MAX,
        });
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Sample;
    use crate::results::tests::example;

    fn kept(results: &Results) -> Vec<bool> {
        judge(results).iter().map(|verdict| verdict.kept).collect()
    }

    #[test]
    fn each_limit_is_judged_by_its_own_figure() {
        let mut results = example();
        // Processor time 1.10 x, 2 KiB per client, a dump of 1.10 x, p99 1.1 x, LOADs of 200 ms,
        // and one start of 120 ms.
        assert_eq!(kept(&results), [true, true, true, true, true, false]);
        results.starts.pop();
        results.idles[0].after_kib += 10_001;
        results.dumps[1].time += Duration::from_secs(1);
        results.busy[1].p99_ms += 0.2;
        assert_eq!(kept(&results), [true, false, false, false, true, true]);
        results.busy[1].times.push(LOAD_TIME_MAX);
        for sample in &mut results.samples {
            sample.cpu_us *= if sample.kind == Kind::Pointsman { 1.2 } else { 1.0 };
        }
        assert_eq!(kept(&results), [false, false, false, false, false, true]);
    }

    #[test]
    fn tls_is_judged_by_the_same_without_it() {
        let mut results = example();
        let plain: Vec<_> =
            results.samples.iter().filter(|sample| sample.kind == Kind::Pointsman).copied().collect();
        for factor in [1.5, 1.7] {
            let over_tls = plain.iter().map(|sample| Sample {
                cell: Cell::judged_tls(),
                cpu_us: sample.cpu_us * factor,
                ..*sample
            });
            results.samples.retain(|sample| !sample.cell.tls);
            results.samples.extend(over_tls);
            assert_eq!(kept(&results)[1], factor < 1.6, "{factor}");
        }
        results.idles[0].tls = true;
        results.idles[0].after_kib += 100_000;
        assert!(kept(&results)[2], "22 KiB");
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let mut results = example();
        results.samples.clear();
        results.idles.clear();
        results.starts.clear();
        results.dumps.clear();
        results.busy.clear();
        assert_eq!(judge(&results), []);
    }
}

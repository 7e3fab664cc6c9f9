//! Figures of the exact modes as text, with what they are to be.

use std::fmt::Write as _;

use super::{CLIENTS, Case, Sample, Way};
use crate::results::median;

/// A strict hit takes at most so much longer than `SELECT 1`, half of them, in microseconds.
const STRICT_MORE_US: f64 = 60.0;
/// Questions for a strict hit, where clients wait together.
const PROBES_MAX: f64 = 1.0 / 8.0;
/// The part of the hits of mode `ttl`, and of its rate, that `bounded` has at least.
const BOUNDED_LEAST: f64 = 0.95;

/// The table of one make of server, and what it was to be.
pub(super) fn of(make: &str, samples: &[(Case, Vec<Sample>)]) -> String {
    let mut text = format!(
        "\n{make:<30}{:>9}{:>9}{:>9}{:>14}{:>8}{:>10}\n",
        "q/s", "p50 us", "p99 us", "CPU us/query", "hits %", "probes/q"
    );
    for (case, samples) in samples {
        let figure = |figure: fn(&Sample) -> f64| median(samples.iter().map(figure));
        let plural = if case.clients == 1 { "" } else { "s" };
        let written = if case.is_written { ", written" } else { "" };
        let _ = writeln!(
            text,
            "{:<30}{:>9.0}{:>9.0}{:>9.0}{:>14.2}{:>8.1}{:>10.3}",
            format!("{}, {} client{plural}{written}", case.way.name(), case.clients),
            figure(|one| one.qps),
            figure(|one| one.p50_us),
            figure(|one| one.p99_us),
            figure(|one| one.cpu_us),
            100.0 * figure(|one| one.hits),
            figure(|one| one.probes),
        );
    }
    for (what, measured, limit, is_kept) in verdicts(samples) {
        let missed = if is_kept { "" } else { "  MISSED" };
        let _ = writeln!(text, "{what:<48}{measured:>8.2}  {limit}{missed}");
    }
    text
}

/// What is limited, what was measured, the limit, and whether it is kept. Differences and ratios
/// are those of single rounds.
fn verdicts(samples: &[(Case, Vec<Sample>)]) -> Vec<(String, f64, String, bool)> {
    let of = |way, clients, is_written| {
        let case = Case { way, clients, is_written };
        samples.iter().find(|(one, _)| *one == case).map_or(&[][..], |(_, samples)| samples)
    };
    let mut verdicts = Vec::new();
    for clients in CLIENTS {
        let rounds = of(Way::Strict, clients, false).iter().zip(of(Way::One, clients, false));
        let more = median(rounds.map(|(strict, one)| strict.p50_us - one.p50_us));
        let what = format!("p50 of a strict hit - SELECT 1, clients: {clients}");
        verdicts.push((what, more, format!("<= {STRICT_MORE_US} us"), more <= STRICT_MORE_US));
    }
    let many = CLIENTS[1];
    let probes = median(of(Way::Strict, many, false).iter().map(|one| one.probes));
    let what = format!("questions for a strict hit, clients: {many}");
    verdicts.push((what, probes, format!("<= {PROBES_MAX}"), probes <= PROBES_MAX));
    let (bounded, ttl) = (of(Way::Bounded, many, true), of(Way::Ttl, many, true));
    let part = |figure: fn(&Sample) -> f64| {
        median(bounded.iter().zip(ttl).map(|(bounded, ttl)| figure(bounded) / figure(ttl)))
    };
    for (name, part) in [("hits", part(|one| one.hits)), ("q/s", part(|one| one.qps))] {
        let limit = format!(">= {BOUNDED_LEAST}");
        verdicts.push((format!("{name} of bounded / ttl"), part, limit, part >= BOUNDED_LEAST));
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(p50_us: f64, hits: f64, probes: f64) -> Sample {
        Sample { qps: 100.0, p50_us, p99_us: 0.0, cpu_us: 0.0, hits, probes }
    }

    #[test]
    fn a_missed_limit_is_said() {
        let case = |way, clients, is_written| Case { way, clients, is_written };
        let samples = [
            (case(Way::One, 16, false), vec![sample(100.0, 0.0, 0.0)]),
            (case(Way::Strict, 16, false), vec![sample(161.0, 1.0, 0.125)]),
            (case(Way::Ttl, 16, true), vec![sample(10.0, 1.0, 0.0)]),
            (case(Way::Bounded, 16, true), vec![sample(10.0, 0.94, 0.0)]),
        ];
        let kept: Vec<_> = verdicts(&samples).into_iter().map(|(_, _, _, is_kept)| is_kept).collect();
        // What was not measured is missed as well.
        assert_eq!(kept, [false, false, true, false, true]);
        assert_eq!(of("MariaDB", &samples).matches("MISSED").count(), 3);
    }
}

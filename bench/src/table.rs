//! The results as text, for a terminal and for the summary of a recorded run.

use std::fmt::Write as _;

use crate::limits::judge;
use crate::plan::Cell;
use crate::results::{CPU, ERRORS, P50, P95, P99, QPS, RSS, Results};
use crate::rules::Rules;
use crate::sharing::{CASES, Way};
use crate::target::Kind;

/// Everything, the limits last.
pub(crate) fn table(results: &Results) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, results);
    text
}

fn write(out: &mut String, results: &Results) -> std::fmt::Result {
    let plan = &results.plan;
    writeln!(
        out,
        "runs of {} s, rounds: {}, threads per proxy: {}; medians; x is the ratio to the floor, over TLS to Pointsman without",
        plan.seconds, plan.rounds, results.threads
    )?;
    let mut previous: Option<Cell> = None;
    // Measured in between, shown behind.
    let (tls, plain): (Vec<_>, Vec<_>) = plan.cells.iter().copied().partition(|cell| cell.tls);
    for cell in plain.into_iter().chain(tls) {
        let same = |other: Cell| other.workload == cell.workload && other.statements() == cell.statements();
        if !previous.is_some_and(same) {
            writeln!(out, "\n{}, {}", cell.workload, cell.statements())?;
            writeln!(
                out,
                "clients proxy          q/s     x    p50 ms    p95 ms     x    p99 ms  CPU us/query     x  \
                 RSS MiB  repeated"
            )?;
        }
        previous = Some(cell);
        for &kind in cell.kinds() {
            load_row(out, results, cell, kind)?;
        }
    }
    starts(out, results)?;
    idles(out, results)?;
    dumps(out, results)?;
    rules(out, results)?;
    sharing(out, results)?;
    busy(out, results)?;
    limits(out, results)
}

fn load_row(out: &mut String, results: &Results, cell: Cell, kind: Kind) -> std::fmt::Result {
    let median = |figure| results.median(cell, kind, figure);
    let ratio = |figure| results.ratio(cell, kind, figure).median;
    writeln!(
        out,
        "{:>7} {kind:<9} {:>8.0} {:>5.2} {:>9.3} {:>9.3} {:>5.2} {:>9.3}  {:>12.1} {:>5.2}  {:>7.1}  {:>8.0}",
        cell.clients,
        median(QPS),
        ratio(QPS),
        median(P50),
        median(P95),
        ratio(P95),
        median(P99),
        median(CPU),
        ratio(CPU),
        median(RSS),
        median(ERRORS),
    )
}

fn starts(out: &mut String, results: &Results) -> std::fmt::Result {
    if results.starts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nfrom the start of the process to the first greeting\nproxy      median ms    max ms")?;
    for kind in Kind::ALL {
        let (median, longest) = results.start(kind);
        let [median, longest] = [median, longest].map(|time| time.as_secs_f64() * 1e3);
        writeln!(out, "{kind:<9} {median:>10.1} {longest:>9.1}")?;
    }
    Ok(())
}

fn idles(out: &mut String, results: &Results) -> std::fmt::Result {
    if results.idles.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nidle clients, logged in\nproxy     clients  backends  TLS  RSS before KiB  after KiB  KiB each"
    )?;
    for idle in &results.idles {
        writeln!(
            out,
            "{:<9} {:>7}  {:>8}  {:>3}  {:>14}  {:>9}  {:>8.2}",
            idle.kind,
            idle.clients,
            if idle.backend { idle.clients } else { 0 },
            if idle.tls { "yes" } else { "no" },
            idle.before_kib,
            idle.after_kib,
            idle.per_client_kib()
        )?;
    }
    Ok(())
}

fn dumps(out: &mut String, results: &Results) -> std::fmt::Result {
    let Some(first) = results.dumps.first() else { return Ok(()) };
    writeln!(out, "\ncompressed dump of {} MiB\nfrom         seconds     x  CPU of the proxy s", first.mib)?;
    let (direct, _) = results.dump(None);
    for (name, through) in [("MariaDB", None), ("Pointsman", Some(Kind::Pointsman))] {
        let (seconds, cpu) = results.dump(through);
        writeln!(out, "{name:<9} {seconds:>10.2} {:>5.2}  {cpu:>18.2}", seconds / direct)?;
    }
    Ok(())
}

fn rules(out: &mut String, results: &Results) -> std::fmt::Result {
    if results.ruled.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\npoint select, text, 16 clients, by what decides\nwith                     q/s  CPU us/query  more us"
    )?;
    let (_, plain) = results.ruled(Rules::None);
    for rules in Rules::ALL {
        let (qps, cpu) = results.ruled(rules);
        writeln!(out, "{:<18} {qps:>9.0}  {cpu:>12.2}  {:>7.2}", rules.name(), cpu - plain)?;
    }
    Ok(())
}

/// The ratios are to the first way of the case, of the processor time to the first one with any.
fn sharing(out: &mut String, results: &Results) -> std::fmt::Result {
    if results.shared.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\npoint select, by connections to the server; x is the ratio to the first line of as many clients, of CPU to one each\n\
         clients connections       q/s     x    p99 ms  CPU us/query     x"
    )?;
    let mut title = String::new();
    for case in &CASES {
        let measured = |way: &&Way| !results.shared(case, **way).0.is_nan();
        if !case.ways.iter().any(|way| measured(&way)) {
            continue;
        }
        if title != case.to_string() {
            title = case.to_string();
            writeln!(out, "{title}:")?;
        }
        let mut base = None;
        for way in case.ways.iter().filter(measured) {
            let (qps, p99, cpu) = results.shared(case, *way);
            let (base_qps, (.., base_cpu)) = (*base.get_or_insert(qps), results.shared(case, Way::OneToOne));
            writeln!(
                out,
                "{:>7} {way:<11} {qps:>9.0} {:>5.2} {p99:>9.3}  {cpu:>12.2} {:>5.2}",
                case.clients,
                qps / base_qps,
                cpu / base_cpu
            )?;
        }
    }
    Ok(())
}

fn busy(out: &mut String, results: &Results) -> std::fmt::Result {
    let loads = results.loads();
    if loads.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\ntraffic while LOAD ... TO RUNTIME or a reading is repeated\nof                p99 ms     x       longest ms"
    )?;
    let (alone, _) = results.busy(None);
    writeln!(out, "{:<15} {alone:>8.3} {:>5.2}", "nothing", 1.0)?;
    for load in loads {
        let (p99, longest) = results.busy(Some(load));
        writeln!(out, "{load:<15} {p99:>8.3} {:>5.2}  {:>15}", p99 / alone, longest.as_millis())?;
    }
    Ok(())
}

fn limits(out: &mut String, results: &Results) -> std::fmt::Result {
    writeln!(out, "\nlimits of Pointsman")?;
    for verdict in judge(results) {
        writeln!(
            out,
            "{:<54} {:<29} {:<15} {}",
            verdict.what,
            verdict.measured,
            verdict.limit,
            if verdict.kept { "ok" } else { "MISSED" }
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::example;

    #[test]
    fn the_table_has_every_target_and_every_limit() {
        let text = table(&example());
        let row = text.lines().find(|line| line.starts_with("     16 Pointsman")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = [
            "16",
            "Pointsman",
            "22727",
            "0.91",
            "0.500",
            "1.000",
            "1.00",
            "2.000",
            "16.5",
            "1.10",
            "10.0",
            "0",
        ];
        assert_eq!(words, expected);
        let dumped = text.lines().find(|line| line.starts_with("Pointsman      11.00")).unwrap();
        assert!(dumped.ends_with(" 1.10                2.00"), "{dumped}");
        let verdicts: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("limits")).skip(1).collect();
        assert_eq!(verdicts.len(), 6);
        let loaded = text.lines().find(|line| line.starts_with("users")).unwrap();
        assert!(loaded.ends_with(" 1.100  1.10              200"), "{loaded}");
        let shared = text.lines().find(|line| line.contains("16 shared")).unwrap();
        assert!(shared.ends_with("22000  1.10     9.000          9.00  0.90"), "{shared}");
        assert!(verdicts[0].ends_with("<= 1.20 x floor ok"), "{}", verdicts[0]);
        assert!(verdicts[5].ends_with("MISSED"), "{}", verdicts[5]);
    }
}

//! Keeps a run: `bench/runs/DATE-MACHINE/` with a summary, every single figure, and the machine.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::admin::verb;
use crate::machine::{free_name, slug, today};
use crate::results::Results;
use crate::table::table;
use crate::target::Kind;

/// The columns of `raw.csv`. Cells that a measure does not have are empty.
const COLUMNS: &str = "measure,proxy,workload,statements,clients,round,seconds,queries,qps,p50_ms,p95_ms,p99_ms,\
                       cpu_us_per_query,rss_kib,repeated,start_ms,rss_before_kib\n";

/// Writes the run into a new folder below `parent` and returns the folder.
pub(crate) fn write(parent: &Path, results: &Results, facts: &str) -> anyhow::Result<PathBuf> {
    let date = today();
    let folder = free_name(parent, &format!("{date}-{}", slug()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(folder.join("README.md"), summary(&date, results, facts))?;
    fs::write(folder.join("raw.csv"), raw(results))?;
    fs::write(folder.join("machine.txt"), facts)?;
    Ok(folder)
}

fn summary(date: &str, results: &Results, facts: &str) -> String {
    let shown = facts.lines().filter(|line| line.starts_with("cpu:") || line.starts_with("cores:"));
    format!(
        "# Benchmark of {date}\n\n\
         {}.\n\
         `raw.csv` has every single run, `machine.txt` the versions of everything, and the benchmark's own\n\
         README says how it is made and how to read it.\n\n\
         ```\n{}```\n",
        shown.collect::<Vec<_>>().join(", "),
        table(results)
    )
}

fn raw(results: &Results) -> String {
    let mut csv = COLUMNS.to_owned();
    let seconds = results.plan.seconds;
    for sample in &results.samples {
        let (cell, figures) = (sample.cell, sample.figures);
        // Writing to a string cannot fail.
        let _ = writeln!(
            csv,
            "load,{},{},{},{},{},{seconds},{},{:.2},{},{},{},{:.3},{},{},,",
            sample.kind.id(),
            cell.workload.script(),
            cell.statements(),
            cell.clients,
            sample.round,
            figures.queries,
            figures.qps,
            figures.p50_ms,
            figures.p95_ms,
            figures.p99_ms,
            sample.cpu_us,
            sample.rss_kib,
            figures.errors
        );
    }
    for start in &results.starts {
        let ms = start.time.as_secs_f64() * 1e3;
        let _ = writeln!(csv, "start,{},,,,,,,,,,,,,,{ms:.3},", start.kind.id());
    }
    for idle in &results.idles {
        let measure = match (idle.backend, idle.tls) {
            (true, _) => "idle with backend",
            (false, true) => "idle over TLS",
            (false, false) => "idle",
        };
        let (kind, clients) = (idle.kind.id(), idle.clients);
        let _ =
            writeln!(csv, "{measure},{kind},,,{clients},,,,,,,,,{},,,{}", idle.after_kib, idle.before_kib);
    }
    for dump in &results.dumps {
        let (proxy, seconds) = (dump.through.map_or("", Kind::id), dump.time.as_secs_f64());
        let _ = writeln!(csv, "compressed dump,{proxy},,,1,,{seconds:.3},,,,,,,,,,");
    }
    for ruled in &results.ruled {
        let measure = format!("with {}", ruled.rules.name()).replace(',', "");
        let (qps, cpu) = (ruled.qps, ruled.cpu_us);
        let _ = writeln!(csv, "{measure},pointsman,oltp_point_select,text,16,,{seconds},,{qps},,,,{cpu},,,,");
    }
    for shared in &results.shared {
        let measure = format!("connections: {} {}", shared.way, shared.case.to_string().replace(',', ""));
        let (clients, qps, p99, cpu) = (shared.case.clients, shared.qps, shared.p99_ms, shared.cpu_us);
        let _ =
            writeln!(csv, "{measure},,oltp_point_select,text,{clients},,{seconds},,{qps},,,{p99},{cpu},,,,");
    }
    raw_busy(&mut csv, results);
    csv
}

/// Rows about the traffic while an operator changes the configuration.
fn raw_busy(csv: &mut String, results: &Results) {
    let seconds = results.plan.seconds;
    for busy in &results.busy {
        let measure = busy.load.map_or("traffic alone".to_owned(), |load| {
            format!("traffic while {load} are {}", verb(load)).replace(',', "")
        });
        let longest = busy
            .times
            .iter()
            .max()
            .map(|time| format!("{:.3}", time.as_secs_f64() * 1e3))
            .unwrap_or_default();
        let _ = writeln!(
            csv,
            "{measure},pointsman,oltp_point_select,text,16,,{seconds},,,,,{},,,,{longest},",
            busy.p99_ms
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::example;

    #[test]
    fn every_row_has_every_column() {
        let csv = raw(&example());
        let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(columns, [17; 17]);
        assert!(csv.contains("\nload,pointsman,oltp_point_select,text,16,2,2,50000,"), "{csv}");
        assert!(csv.contains("\nstart,pointsman,,,,,,,,,,,,,,120.000,\n"), "{csv}");
        assert!(csv.contains("\ncompressed dump,pointsman,,,1,,11.000,"), "{csv}");
        assert!(csv.contains("\nidle,pointsman,,,5000,,,,,,,,,20000,,,10000\n"), "{csv}");
    }

    #[test]
    fn the_summary_has_the_table_and_the_processor() {
        let text = summary("2026-01-31", &example(), "cpu: AMD EPYC\ncores: 2\nkernel: 6.1\n");
        assert!(text.starts_with("# Benchmark of 2026-01-31\n\ncpu: AMD EPYC, cores: 2.\n"), "{text}");
        assert!(text.contains("limits of Pointsman"), "{text}");
    }
}

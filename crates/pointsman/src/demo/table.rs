//! The summary.

use std::time::Duration;

use testkit::load::{Operation, Snapshot, Stats};

use super::say;

/// Prints the names of the columns.
pub(super) fn print_head() {
    say!(
        "\n{:<16} {:>9} {:>7} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "",
        "queries",
        "errors",
        "q/s",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "max ms"
    );
}

/// Prints what was done in this time, one row per kind of operation.
pub(super) fn print(snapshot: &Snapshot, time: Duration) {
    print_head();
    for operation in Operation::ALL {
        print_row(operation.name(), snapshot.operation(operation), time);
    }
    if snapshot.connection_errors > 0 {
        say!("{:<16} {:>9} {:>7}", "connect", "", snapshot.connection_errors);
    }
    print_row("total", &snapshot.total(), time);
}

/// Prints one row.
pub(super) fn print_row(name: &str, stats: &Stats, time: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = stats.queries as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
    let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|percent| millis(stats.latencies.percentile(percent)));
    say!(
        "{name:<16} {:>9} {:>7} {rate:>8.0} {p50:>8} {p95:>8} {p99:>8} {:>9}",
        stats.queries,
        stats.errors,
        millis(stats.latencies.max())
    );
}

/// A time in milliseconds with as many digits as mean something.
pub(super) fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1000.0;
    if millis < 10.0 { format!("{millis:.2}") } else { format!("{millis:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_or_one_digits() {
        assert_eq!(millis(Duration::from_micros(123)), "0.12");
        assert_eq!(millis(Duration::from_micros(12_345)), "12.3");
    }
}

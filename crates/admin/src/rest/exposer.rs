//! Metrics of `GET /metrics` itself, which prometheus-cpp's exposer adds in ProxySQL.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

/// What was counted since REST was begun with.
#[derive(Debug, Default)]
pub(super) struct Exposer(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    bytes: u64,
    scrapes: u64,
    time: Duration,
}

impl Exposer {
    /// A scrape was answered with `bytes` after `time`. As in prometheus-cpp its answer does not
    /// count it yet.
    pub(super) fn count(&self, bytes: usize, time: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        counts.bytes = counts.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        counts.scrapes = counts.scrapes.saturating_add(1);
        counts.time = counts.time.saturating_add(time);
    }

    /// Adds the metrics to `text`, in Prometheus' text format.
    pub(super) fn add_to(&self, text: &mut Vec<u8>) {
        let counts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Counts { bytes, scrapes, time } = &*counts;
        let mut out = String::new();
        let mut put = |name: &str, kind: &str, about: &str, lines: &[(&str, u128)]| {
            // Writing to a text cannot fail.
            let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} {kind}");
            for (suffix, value) in lines {
                let _ = writeln!(out, "{name}{suffix} {value}");
            }
        };
        let (bytes, scrapes) = (u128::from(*bytes), u128::from(*scrapes));
        put(
            "exposer_transferred_bytes_total",
            "counter",
            "Transferred bytes to metrics services",
            &[("", bytes)],
        );
        put("exposer_scrapes_total", "counter", "Number of times metrics were scraped", &[("", scrapes)]);
        put(
            "exposer_request_latencies",
            "summary",
            "Latencies of serving scrape requests, in microseconds",
            &[("_count", scrapes), ("_sum", time.as_micros())],
        );
        text.extend_from_slice(out.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrapes_are_counted_with_their_bytes_and_time() {
        let exposer = Exposer::default();
        exposer.count(100, Duration::from_micros(7));
        exposer.count(1, Duration::from_millis(1));
        let mut text = b"before 1\n".to_vec();
        exposer.add_to(&mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "before 1\n\
             # HELP exposer_transferred_bytes_total Transferred bytes to metrics services\n\
             # TYPE exposer_transferred_bytes_total counter\n\
             exposer_transferred_bytes_total 101\n\
             # HELP exposer_scrapes_total Number of times metrics were scraped\n\
             # TYPE exposer_scrapes_total counter\n\
             exposer_scrapes_total 2\n\
             # HELP exposer_request_latencies Latencies of serving scrape requests, in microseconds\n\
             # TYPE exposer_request_latencies summary\n\
             exposer_request_latencies_count 2\n\
             exposer_request_latencies_sum 1007\n"
        );
    }
}

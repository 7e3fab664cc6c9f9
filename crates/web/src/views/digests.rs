//! Statements by their share of time, all of it and that of the last minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use observe::rows::{DigestStats, NO_HOSTGROUP};
use serde_json::{Value, json};

use crate::limits::{DIGESTS_MAX, RECENT_VALUES, SLOW_INTERVAL, SPARK_VALUES, STATEMENTS_MAX};
use crate::percentile::float;

/// Longest time between two looks that are compared: beyond that, nothing is known of what is
/// recent.
const GAP_MAX: Duration = Duration::from_secs(15);

/// What tells rows apart: digest, hostgroup, user, schema, client.
type Key = (u64, u32, Arc<[u8]>, Arc<[u8]>, Arc<[u8]>);

/// The digests of the last look, with what was new at each look.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    known: HashMap<Key, Track>,
    last: Option<Instant>,
}

/// What happened between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Step {
    count: u64,
    time_us: u64,
    errors: u64,
}

/// One digest.
#[derive(Debug, Default, Clone)]
struct Track {
    total: Step,
    /// The newest last.
    steps: Vec<Step>,
}

impl Step {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.time_us = self.time_us.saturating_add(other.time_us);
        self.errors = self.errors.saturating_add(other.errors);
    }
}

impl Track {
    /// What came since the last look at a row that counts `total` now. Counts that went back began
    /// anew.
    fn next(&mut self, total: Step) {
        let since = if total.count < self.total.count {
            total
        } else {
            Step {
                count: total.count - self.total.count,
                time_us: total.time_us.saturating_sub(self.total.time_us),
                errors: total.errors.saturating_sub(self.total.errors),
            }
        };
        self.total = total;
        if self.steps.len() >= SPARK_VALUES {
            self.steps.remove(0);
        }
        self.steps.push(since);
    }

    fn recent(&self) -> Step {
        let mut sum = Step::default();
        self.steps.iter().rev().take(RECENT_VALUES).for_each(|step| sum.add(*step));
        sum
    }
}

impl Digests {
    /// The view of `rows`, read at `now`.
    pub(crate) fn view(&mut self, rows: Vec<DigestStats>, now: Instant) -> Value {
        let is_follow_up = self.last.is_some_and(|last| now.saturating_duration_since(last) <= GAP_MAX);
        self.last = Some(now);
        let mut before = std::mem::take(&mut self.known);
        let mut all: Vec<(DigestStats, Track)> = rows
            .into_iter()
            .map(|row| {
                let total = Step { count: row.count, time_us: row.sum_us, errors: row.errors };
                let track = match before.remove(&key(&row)) {
                    Some(mut track) if is_follow_up => {
                        track.next(total);
                        track
                    }
                    // New since the last look: all of it is.
                    None if is_follow_up => {
                        let mut track = Track::default();
                        track.next(total);
                        track
                    }
                    Some(_) | None => Track { total, steps: Vec::new() },
                };
                (row, track)
            })
            .collect();
        all.sort_by_cached_key(|(row, track)| std::cmp::Reverse((track.recent().time_us, row.sum_us)));
        let value = view(&all);
        all.truncate(DIGESTS_MAX);
        self.known = all.into_iter().map(|(row, track)| (key(&row), track)).collect();
        value
    }
}

fn key(row: &DigestStats) -> Key {
    (row.digest, row.hostgroup, Arc::clone(&row.user), Arc::clone(&row.schema), Arc::clone(&row.client))
}

fn view(all: &[(DigestStats, Track)]) -> Value {
    let (mut total, mut recent) = (Step::default(), Step::default());
    for (_, track) in all {
        total.add(track.total);
        recent.add(track.recent());
    }
    let rows: Vec<Value> =
        all.iter().take(STATEMENTS_MAX).map(|(digest, track)| row(digest, track, total, recent)).collect();
    json!({
        "window_s": SLOW_INTERVAL.as_secs() * RECENT_VALUES as u64,
        "spark_step_s": SLOW_INTERVAL.as_secs(),
        "rows": rows,
        "left_out": all.len().saturating_sub(STATEMENTS_MAX),
        "total": {
            "count": total.count,
            "time_us": total.time_us,
            "recent_count": recent.count,
            "recent_time_us": recent.time_us,
        },
    })
}

fn row(digest: &DigestStats, track: &Track, total: Step, all_recent: Step) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { float(part) / float(whole) };
    let recent = track.recent();
    let [p50, p95, p99, p999] = digest.percentiles_us;
    let hostgroup = if digest.hostgroup == NO_HOSTGROUP { -1 } else { i64::from(digest.hostgroup) };
    json!({
        "digest": format!("0x{:016X}", digest.digest),
        "text": text(&digest.text),
        "hostgroup": hostgroup,
        "user": text(&digest.user),
        "schema": text(&digest.schema),
        "client": text(&digest.client),
        "count": digest.count,
        "time_us": digest.sum_us,
        "share": share(digest.sum_us, total.time_us),
        "recent": {
            "count": recent.count,
            "time_us": recent.time_us,
            "share": share(recent.time_us, all_recent.time_us),
            "errors": recent.errors,
        },
        "p50_us": p50,
        "p95_us": p95,
        "p99_us": p99,
        "p999_us": p999,
        "min_us": digest.min_us,
        "max_us": digest.max_us,
        "errors": digest.errors,
        "rows_sent": digest.rows_sent,
        "rows_affected": digest.rows_affected,
        "bytes_out": digest.bytes_sent,
        "bytes_in": digest.bytes_received,
        "first_ms": digest.first_seen.saturating_mul(1000),
        "last_ms": digest.last_seen.saturating_mul(1000),
        "spark": track.steps.iter().map(|step| step.time_us).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(digest: u64, count: u64, sum_us: u64) -> DigestStats {
        DigestStats { digest, count, sum_us, ..DigestStats::default() }
    }

    fn told(view: &Value) -> Vec<(String, u64, u64)> {
        let number = |value: &Value| value.as_u64().unwrap();
        let row = |row: &Value| {
            let name = row["digest"].as_str().unwrap().trim_start_matches("0x000000000000000").to_owned();
            (name, number(&row["time_us"]), number(&row["recent"]["time_us"]))
        };
        view["rows"].as_array().unwrap().iter().map(row).collect()
    }

    #[test]
    fn the_most_recent_time_comes_first() {
        let (mut digests, begun) = (Digests::default(), Instant::now());
        let at = |look: u32| begun + SLOW_INTERVAL * look;
        let first = digests.view(vec![digest(1, 10, 1_000), digest(2, 10, 500)], at(0));
        assert_eq!(told(&first), [("1".into(), 1_000, 0), ("2".into(), 500, 0)]);
        let second = digests.view(vec![digest(1, 11, 1_010), digest(2, 20, 900), digest(3, 1, 20)], at(1));
        assert_eq!(told(&second), [("2".into(), 900, 400), ("3".into(), 20, 20), ("1".into(), 1_010, 10)]);
        assert_eq!(second["rows"][0]["spark"], json!([400]));
        assert_eq!(second["rows"][0]["recent"]["share"], json!(float(400) / float(430)));
        // Counters that were reset begin anew.
        let third = digests.view(vec![digest(1, 2, 30)], at(2));
        assert_eq!(told(&third), [("1".into(), 30, 40)]);
    }

    #[test]
    fn what_is_recent_ends() {
        let (mut digests, begun) = (Digests::default(), Instant::now());
        for look in 0..40_u32 {
            let view = digests.view(
                vec![digest(1, 1 + u64::from(look), u64::from(look) * 10)],
                begun + SLOW_INTERVAL * look,
            );
            assert!(view["rows"][0]["spark"].as_array().unwrap().len() <= SPARK_VALUES);
            assert!(told(&view)[0].2 <= 120);
        }
        let gap = begun + SLOW_INTERVAL * 40 + GAP_MAX;
        assert_eq!(told(&digests.view(vec![digest(1, 99, 9_000)], gap)), [("1".into(), 9_000, 0)]);
    }

    #[test]
    fn rows_are_bounded() {
        let rows = (0..6_000).map(|n| digest(n, 1, n)).collect();
        let mut digests = Digests::default();
        let view = digests.view(rows, Instant::now());
        assert_eq!(view["rows"].as_array().unwrap().len(), STATEMENTS_MAX);
        assert_eq!((&view["left_out"], digests.known.len()), (&json!(5_900), DIGESTS_MAX));
    }
}

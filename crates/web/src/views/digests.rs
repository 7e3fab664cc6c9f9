//! Statements by their share of time, all of it and that of the last minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use observe::rows::{DigestStats, NO_HOSTGROUP};
use serde_json::{Value, json};

use crate::limits::{RECENT_VALUES, SLOW_INTERVAL, SPARK_VALUES, STATEMENTS_MAX};
use crate::list::{Cell, Wanted};
use crate::percentile::float;

/// Longest time between two looks that are compared: beyond that, nothing is known of what is
/// recent.
const GAP_MAX: Duration = Duration::from_secs(15);

/// What tells rows apart: digest, hostgroup, user, schema, client.
type Key = (u64, u32, Arc<[u8]>, Arc<[u8]>, Arc<[u8]>);

/// The digests of the last look, with what was new at each look.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    listed: Arc<Listed>,
    last: Option<Instant>,
}

/// All digests of a look, those with the most recent time first.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    rows: Vec<Row>,
    total: Step,
    recent: Step,
}

/// A digest, and what was new of it.
#[derive(Debug)]
struct Row {
    digest: DigestStats,
    track: Track,
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
        // Most of many digests rest: those take no memory for that.
        if self.steps.iter().all(|step| *step == Step::default()) {
            self.steps = Vec::new();
        }
    }

    fn recent(&self) -> Step {
        let mut sum = Step::default();
        self.steps.iter().rev().take(RECENT_VALUES).for_each(|step| sum.add(*step));
        sum
    }
}

impl Digests {
    /// The list of `rows`, read at `now`.
    pub(crate) fn list(&mut self, rows: Vec<DigestStats>, now: Instant) -> Arc<Listed> {
        let is_follow_up = self.last.is_some_and(|last| now.saturating_duration_since(last) <= GAP_MAX);
        self.last = Some(now);
        let before: HashMap<Key, &Track> =
            self.listed.rows.iter().map(|row| (key(&row.digest), &row.track)).collect();
        let row = |digest: DigestStats| {
            let total = Step { count: digest.count, time_us: digest.sum_us, errors: digest.errors };
            let track = if is_follow_up {
                // What was not there is new since the last look, all of it.
                let mut track =
                    before.get(&key(&digest)).map_or_else(Track::default, |track| (*track).clone());
                track.next(total);
                track
            } else {
                Track { total, steps: Vec::new() }
            };
            Row { digest, track }
        };
        let mut rows: Vec<Row> = rows.into_iter().map(row).collect();
        rows.sort_by_cached_key(|row| std::cmp::Reverse((row.track.recent().time_us, row.digest.sum_us)));
        let (mut total, mut recent) = (Step::default(), Step::default());
        for row in &rows {
            total.add(row.track.total);
            recent.add(row.track.recent());
        }
        self.listed = Arc::new(Listed { rows, total, recent });
        Arc::clone(&self.listed)
    }
}

impl Listed {
    /// Columns that the list can be sorted by.
    pub(crate) const COLUMNS: &[&str] =
        &["Statement", "Share", "Hostgroup", "User", "Count", "Average", "p50", "p95", "p99", "Errors"];

    /// The view, with the first rows.
    pub(crate) fn view(&self) -> Value {
        let (rows, all) = self.chosen(&Wanted::first(STATEMENTS_MAX));
        json!({
            "window_s": SLOW_INTERVAL.as_secs() * RECENT_VALUES as u64,
            "spark_step_s": SLOW_INTERVAL.as_secs(),
            "left_out": all.saturating_sub(rows.len()),
            "rows": rows,
            "total": {
                "count": self.total.count,
                "time_us": self.total.time_us,
                "recent_count": self.recent.count,
                "recent_time_us": self.recent.time_us,
            },
        })
    }

    /// The rows that are wanted, and how many match.
    pub(crate) fn chosen(&self, wanted: &Wanted) -> (Vec<Value>, usize) {
        let text = |row: &Row| {
            let Row { digest, .. } = row;
            let [text, user, schema, client] =
                [&digest.text, &digest.user, &digest.schema, &digest.client].map(|part| lossy(part));
            format!("{} {text} {} {user} {schema} {client}", number(digest), place(digest))
        };
        let (rows, matching) = wanted.of(&self.rows, text, |row| row.cell(wanted));
        (rows.into_iter().map(|row| row.json(self.total, self.recent)).collect(), matching)
    }
}

impl Row {
    /// What the row is sorted by.
    fn cell(&self, wanted: &Wanted) -> Cell {
        let Self { digest, track } = self;
        let of = if wanted.recent { track.recent() } else { track.total };
        let since_reset = |value: u64| Cell::from((!wanted.recent).then_some(value));
        let [p50, p95, p99, _] = digest.percentiles_us;
        match wanted.sort.as_str() {
            "Statement" => Cell::Text(lossy(&digest.text)),
            "Hostgroup" => Cell::Text(place(digest)),
            "User" => Cell::Text(lossy(&digest.user)),
            "Count" => Cell::from(Some(of.count)),
            "Average" if of.count == 0 => Cell::Nothing,
            "Average" => Cell::Number(float(of.time_us) / float(of.count)),
            "p50" => since_reset(p50),
            "p95" => since_reset(p95),
            "p99" => since_reset(p99),
            "Errors" => Cell::from(Some(of.errors)),
            _ => Cell::from(Some(of.time_us)),
        }
    }

    fn json(&self, total: Step, all_recent: Step) -> Value {
        let Self { digest, track } = self;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { float(part) / float(whole) };
        let recent = track.recent();
        let [p50, p95, p99, p999] = digest.percentiles_us;
        let hostgroup = if digest.hostgroup == NO_HOSTGROUP { -1 } else { i64::from(digest.hostgroup) };
        json!({
            "digest": number(digest),
            "text": lossy(&digest.text),
            "hostgroup": hostgroup,
            "user": lossy(&digest.user),
            "schema": lossy(&digest.schema),
            "client": lossy(&digest.client),
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
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The digest as it is shown.
fn number(digest: &DigestStats) -> String {
    format!("0x{:016X}", digest.digest)
}

/// Where it was answered, as it is shown.
fn place(digest: &DigestStats) -> String {
    if digest.hostgroup == NO_HOSTGROUP { "proxy".to_owned() } else { digest.hostgroup.to_string() }
}

fn key(row: &DigestStats) -> Key {
    (row.digest, row.hostgroup, Arc::clone(&row.user), Arc::clone(&row.schema), Arc::clone(&row.client))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(digest: u64, count: u64, sum_us: u64) -> DigestStats {
        DigestStats { digest, count, sum_us, ..DigestStats::default() }
    }

    /// The rows of a look: digest, time, recent time.
    fn told(listed: &Listed) -> Vec<(String, u64, u64)> {
        let number = |value: &Value| value.as_u64().unwrap();
        let row = |row: &Value| {
            let name = row["digest"].as_str().unwrap().trim_start_matches("0x000000000000000").to_owned();
            (name, number(&row["time_us"]), number(&row["recent"]["time_us"]))
        };
        listed.view()["rows"].as_array().unwrap().iter().map(row).collect()
    }

    #[test]
    fn the_most_recent_time_comes_first() {
        let (mut digests, begun) = (Digests::default(), Instant::now());
        let at = |look: u32| begun + SLOW_INTERVAL * look;
        let first = digests.list(vec![digest(1, 10, 1_000), digest(2, 10, 500)], at(0));
        assert_eq!(told(&first), [("1".into(), 1_000, 0), ("2".into(), 500, 0)]);
        let second = digests.list(vec![digest(1, 11, 1_010), digest(2, 20, 900), digest(3, 1, 20)], at(1));
        assert_eq!(told(&second), [("2".into(), 900, 400), ("3".into(), 20, 20), ("1".into(), 1_010, 10)]);
        let row = &second.view()["rows"][0];
        assert_eq!(row["spark"], json!([400]));
        assert_eq!(row["recent"]["share"], json!(float(400) / float(430)));
        // Counters that were reset begin anew.
        let third = digests.list(vec![digest(1, 2, 30)], at(2));
        assert_eq!(told(&third), [("1".into(), 30, 40)]);
    }

    #[test]
    fn what_is_recent_ends() {
        let (mut digests, begun) = (Digests::default(), Instant::now());
        for look in 0..40_u32 {
            let listed = digests.list(
                vec![digest(1, 1 + u64::from(look), u64::from(look) * 10)],
                begun + SLOW_INTERVAL * look,
            );
            assert!(listed.rows[0].track.steps.len() <= SPARK_VALUES);
            assert!(told(&listed)[0].2 <= 120);
        }
        let gap = begun + SLOW_INTERVAL * 40 + GAP_MAX;
        assert_eq!(told(&digests.list(vec![digest(1, 99, 9_000)], gap)), [("1".into(), 9_000, 0)]);
    }

    /// However many rows there are, none that was there comes back as new.
    #[test]
    fn all_digests_are_followed() {
        let look = |extra: u64| (0..12_000).map(|n| digest(n, 10 + extra, 1_000 + n + extra)).collect();
        let (mut digests, begun) = (Digests::default(), Instant::now());
        let _ = digests.list(look(0), begun);
        for number in 1..=3_u32 {
            let listed = digests.list(look(number.into()), begun + SLOW_INTERVAL * number);
            let view = listed.view();
            assert_eq!(view["total"]["recent_count"], json!(12_000 * number));
            assert_eq!(view["rows"].as_array().unwrap().len(), STATEMENTS_MAX);
            assert_eq!(view["left_out"], json!(12_000 - STATEMENTS_MAX));
        }
        let rest = digests.list(look(3), begun + SLOW_INTERVAL * 4);
        assert_eq!(rest.recent.count, 36_000);
    }

    #[test]
    fn a_filter_and_an_order_see_all_digests() {
        let rows = (0..10_000_u64)
            .map(|n| DigestStats { user: format!("u{}", n % 20).into_bytes().into(), ..digest(n, n, 1) });
        let listed = Digests::default().list(rows.collect(), Instant::now());
        let chosen = |query: &str| {
            let wanted = Wanted::parse(&crate::form::Fields::of(query), Listed::COLUMNS).unwrap();
            let (rows, matching) = listed.chosen(&wanted);
            (rows.first().map(|row| row["count"].clone()), matching)
        };
        assert_eq!(chosen("sort=Count&recent=0"), (Some(json!(9_999)), 10_000));
        assert_eq!(chosen("filter=u7&sort=Count&recent=0&order=asc"), (Some(json!(7)), 500));
        assert_eq!(chosen("filter=nothing").1, 0);
    }
}

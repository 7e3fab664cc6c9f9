//! The tables about digests.

use std::sync::Arc;

use observe::plane::DataPlane;
use observe::rows::{DigestStats, NO_HOSTGROUP};
use rusqlite::types::Value;

use super::listed::{Found, Listed, lossy};
use super::tables::{Row, number, text};
use crate::store::Filling;
use crate::tables::{DIGEST_LATENCY, DIGESTS, DIGESTS_RESET};

/// Gives those of the tables that are among `names` their rows, all from one reading: what is reset
/// is lost.
pub(super) fn refresh(names: &[String], to: &mut Filling<'_>, plane: &dyn DataPlane) {
    let [digests, reset, latency] =
        [DIGESTS, DIGESTS_RESET, DIGEST_LATENCY].map(|table| names.iter().any(|name| name == table));
    if !(digests || reset || latency) {
        return;
    }
    let found = Arc::new(Found(plane.digests(reset, latency)));
    for (table, _) in [(DIGESTS, digests), (DIGESTS_RESET, reset)].iter().filter(|(_, named)| *named) {
        to.show(table, Arc::new(Listed { found: Arc::clone(&found), cell: counts }));
    }
    if latency {
        to.show(DIGEST_LATENCY, Arc::new(Listed { found, cell: latencies }));
    }
}

/// Columns of [`key`].
const KEY_COLUMNS: usize = 6;

/// What tells digests apart, and the text.
fn key(digest: &DigestStats, column: usize) -> Value {
    match column {
        // What the proxy answered itself.
        0 if digest.hostgroup == NO_HOSTGROUP => Value::Integer(-1),
        0 => number(digest.hostgroup.into()),
        1 => lossy(&digest.schema),
        2 => lossy(&digest.user),
        3 => lossy(&digest.client),
        4 => text(format!("0x{:016X}", digest.digest)),
        _ => lossy(&digest.text),
    }
}

/// A cell of `stats_mysql_query_digest`.
fn counts(digest: &DigestStats, column: usize) -> Value {
    let counters = [
        digest.count,
        digest.first_seen,
        digest.last_seen,
        digest.sum_us,
        digest.min_us,
        digest.max_us,
        digest.rows_affected,
        digest.rows_sent,
    ];
    cell(digest, column, &counters)
}

/// A cell of `stats_pointsman_digest_latency`.
fn latencies(digest: &DigestStats, column: usize) -> Value {
    let [p50, p95, p99, p999] = digest.percentiles_us;
    let counters = [
        digest.count,
        digest.first_seen,
        digest.last_seen,
        digest.min_us,
        p50,
        p95,
        p99,
        p999,
        digest.max_us,
        digest.rows_affected,
        digest.rows_sent,
        digest.bytes_received,
        digest.bytes_sent,
        digest.errors,
    ];
    cell(digest, column, &counters)
}

/// A cell of a row that begins with the [`key`].
fn cell(digest: &DigestStats, column: usize, counters: &[u64]) -> Value {
    match column.checked_sub(KEY_COLUMNS) {
        None => key(digest, column),
        Some(at) => counters.get(at).map_or(Value::Null, |counter| number(*counter)),
    }
}

/// Columns of `stats_mysql_query_digest`.
const COLUMNS: usize = 14;

/// A row of `stats_mysql_query_digest`.
pub(super) fn digest(digest: &DigestStats) -> Row {
    (0..COLUMNS).map(|column| counts(digest, column)).collect()
}

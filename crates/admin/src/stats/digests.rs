//! The tables about digests. There may be 100,000 rows: SQLite reads them where they are, and asks for the cells that a statement
//! needs.

use std::sync::Arc;

use config::in_turns;
use memtable::Rows;
use rusqlite::types::Value;

use super::tables::{Row, number, text};
use crate::plane::{DataPlane, Digest};
use crate::store::Store;
use crate::tables::{DIGEST_LATENCY, DIGESTS, DIGESTS_RESET};

/// Gives those of the tables that are among `names` their rows, all from one reading: what is reset is lost.
pub(super) fn refresh(names: &[String], store: &mut Store, plane: &dyn DataPlane) {
    let [digests, reset, latency] =
        [DIGESTS, DIGESTS_RESET, DIGEST_LATENCY].map(|table| names.iter().any(|name| name == table));
    if !(digests || reset || latency) {
        return;
    }
    let found = Arc::new(Found(plane.digests(reset, latency)));
    for (table, _) in [(DIGESTS, digests), (DIGESTS_RESET, reset)].iter().filter(|(_, named)| *named) {
        store.show(table, Arc::new(Listed { found: Arc::clone(&found), cell: counts }));
    }
    if latency {
        store.show(DIGEST_LATENCY, Arc::new(Listed { found, cell: latencies }));
    }
}

/// One reading.
struct Found(Vec<Digest>);

impl Drop for Found {
    /// To free so much takes a while.
    fn drop(&mut self) {
        in_turns(std::mem::take(&mut self.0)).for_each(drop);
    }
}

/// A reading as the rows of a table.
struct Listed {
    found: Arc<Found>,
    /// What is in the column with this number.
    cell: fn(&Digest, usize) -> Value,
}

impl Rows for Listed {
    fn count(&self) -> usize {
        self.found.0.len()
    }

    fn cell(&self, row: usize, column: usize) -> Value {
        self.found.0.get(row).map_or(Value::Null, |digest| (self.cell)(digest, column))
    }

    fn each(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new(in_turns(0..self.count()))
    }
}

/// Bytes as text: what is no UTF-8 in them is shown as such.
fn lossy(bytes: &[u8]) -> Value {
    text(String::from_utf8_lossy(bytes))
}

/// Columns of [`key`].
const KEY_COLUMNS: usize = 6;

/// What tells digests apart, and the text.
fn key(digest: &Digest, column: usize) -> Value {
    match column {
        0 => number(digest.hostgroup.into()),
        1 => lossy(&digest.schema),
        2 => lossy(&digest.user),
        3 => lossy(&digest.client),
        4 => text(format!("0x{:016X}", digest.digest)),
        _ => lossy(&digest.text),
    }
}

/// A cell of `stats_mysql_query_digest`.
fn counts(digest: &Digest, column: usize) -> Value {
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
fn latencies(digest: &Digest, column: usize) -> Value {
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
fn cell(digest: &Digest, column: usize, counters: &[u64]) -> Value {
    match column.checked_sub(KEY_COLUMNS) {
        None => key(digest, column),
        Some(at) => counters.get(at).map_or(Value::Null, |counter| number(*counter)),
    }
}

/// Columns of `stats_mysql_query_digest`.
const COLUMNS: usize = 14;

/// A row of `stats_mysql_query_digest`.
pub(super) fn digest(digest: &Digest) -> Row {
    (0..COLUMNS).map(|column| counts(digest, column)).collect()
}

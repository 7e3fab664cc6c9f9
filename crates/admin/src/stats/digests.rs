//! The tables about digests. There may be 100,000 rows: they go into SQLite one by one, and are never all there as cells.

use config::in_turns;
use rusqlite::types::Value;

use super::tables::{Row, number, text};
use crate::answer::AdminError;
use crate::plane::{DataPlane, Digest};
use crate::store::Store;

/// The tables, in one of which a statement's name must be; the second one starts the counters again.
const DIGESTS: &str = "stats_mysql_query_digest";
/// See [`DIGESTS`].
const RESET: &str = "stats_mysql_query_digest_reset";
/// See [`DIGESTS`].
const LATENCY: &str = "stats_pointsman_digest_latency";

/// Fills those of the tables that are among `names`, all from one reading: what is reset is lost.
pub(super) fn refresh(names: &[String], store: &mut Store, plane: &dyn DataPlane) -> Result<(), AdminError> {
    let [digests, reset, latency] =
        [DIGESTS, RESET, LATENCY].map(|table| names.iter().any(|name| name == table));
    if !(digests || reset || latency) {
        return Ok(());
    }
    let found = plane.digests(reset, latency);
    for (table, _) in [(DIGESTS, digests), (RESET, reset)].iter().filter(|(_, named)| *named) {
        store.refill(table, found.iter().map(digest))?;
    }
    if latency {
        store.refill(LATENCY, found.iter().map(latencies))?;
    }
    in_turns(found).for_each(drop);
    Ok(())
}

/// Bytes as text: what is no UTF-8 in them is shown as such.
fn lossy(bytes: &[u8]) -> Value {
    text(String::from_utf8_lossy(bytes))
}

/// What tells digests apart, and the text.
fn key(digest: &Digest) -> [Value; 6] {
    [
        number(digest.hostgroup.into()),
        lossy(&digest.schema),
        lossy(&digest.user),
        lossy(&digest.client),
        text(format!("0x{:016X}", digest.digest)),
        lossy(&digest.text),
    ]
}

/// A row of `stats_mysql_query_digest`.
pub(super) fn digest(digest: &Digest) -> Row {
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
    key(digest).into_iter().chain(counters.map(number)).collect()
}

/// A row of `stats_pointsman_digest_latency`.
fn latencies(digest: &Digest) -> Row {
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
    key(digest).into_iter().chain(counters.map(number)).collect()
}

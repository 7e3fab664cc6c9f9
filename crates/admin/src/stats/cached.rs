//! Rows of `stats_pointsman_cache` and `stats_pointsman_sources`.

use cache::Miss;
use cache::stats::RowKey;
use observe::plane::DataPlane;
use rusqlite::types::Value;

use super::tables::{Row, number, text};

/// A row for each rule and digest, those with the most hits first.
pub(super) fn rows(plane: &dyn DataPlane, reset: bool) -> Vec<Row> {
    let stats = plane.cache(reset);
    let mut rows: Vec<_> = stats.rows().collect();
    rows.sort_by_key(|(key, row)| (std::cmp::Reverse(row.hits), *key));
    rows.into_iter().map(|(key, row)| counted(key.unwrap_or_default(), row)).collect()
}

/// A row for each hostgroup whose server is to be followed.
pub(super) fn sources(plane: &dyn DataPlane) -> Vec<Row> {
    let row = |row: cache::SourceRow| {
        let cache::SourceRow { hostgroup, server, is_followed, behind_us, counters } = row;
        vec![
            number(u64::from(hostgroup)),
            server.map_or(Value::Null, text),
            number(u64::from(is_followed)),
            behind_us.map_or(Value::Null, number),
            number(counters.position.file),
            number(counters.position.offset),
            number(counters.transactions),
            number(counters.unsettled),
            number(counters.probes),
            number(counters.unknown),
            number(counters.flushes),
            number(counters.resumed),
            text(counters.reason),
        ]
    };
    plane.cache_sources().into_iter().map(row).collect()
}

fn counted(key: RowKey, row: &cache::stats::Row) -> Row {
    let RowKey { rule, digest } = key;
    vec![
        rule.map_or(Value::Null, Value::Integer),
        digest.map_or(Value::Null, |digest| text(format!("0x{digest:016X}"))),
        number(row.hits),
        number(row.near_hits),
        number(row.stale),
        number(row.misses()),
        number(row.missed(Miss::Absent)),
        number(row.missed(Miss::Expired)),
        number(row.missed(Miss::Invalidated)),
        number(row.missed(Miss::Unproven)),
        number(row.missed(Miss::Behind)),
        number(row.waited),
        number(row.stored),
        text(row.invalidated_text()),
        text(row.not_stored_text()),
        text(row.refused_text()),
        number(row.bytes_in),
        number(row.bytes_out),
        number(row.age_ms.checked_div(row.hits).unwrap_or_default()),
        number(row.saved_us()),
    ]
}

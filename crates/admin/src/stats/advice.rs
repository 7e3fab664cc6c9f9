//! The answer to `POINTSMAN CACHE ADVISE`.

use cache::advice::Advice;
use observe::plane::DataPlane;

use crate::answer::{AdminError, Answer};

const COLUMNS: [&str; 9] = [
    "digest",
    "queries_per_s",
    "keys",
    "hits_at_1_s_pct",
    "hits_at_60_s_pct",
    "memory_bytes",
    "server_ms_saved_per_s",
    "not_cached_because",
    "rule",
];

/// What to cache, that which saves servers most first.
pub(crate) fn advise(plane: &dyn DataPlane) -> Answer {
    let Some(advice) = plane.cache_advice() else {
        let how = "queries are not followed: SET pointsman-cache_advise=1; \
                   LOAD POINTSMAN VARIABLES TO RUNTIME; and ask again after some minutes";
        return AdminError::new(how).into();
    };
    let cells = |row: [String; 9]| row.map(|cell| Some(cell.into_bytes())).into();
    Answer::Rows {
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows: advice.iter().map(row).map(cells).collect(),
    }
}

fn row(advice: &Advice) -> [String; 9] {
    let Advice { digest, queries_per_second, keys, hit_rates, bytes, saved_us_per_second, refusal } = advice;
    let [short, long] = hit_rates.map(|rate| format!("{:.1}", rate * 100.0));
    let rule = format!(
        "INSERT INTO mysql_query_rules (active, digest, cache_ttl) VALUES (1, '0x{digest:016X}', 60000); \
         LOAD MYSQL QUERY RULES TO RUNTIME"
    );
    [
        format!("0x{digest:016X}"),
        format!("{queries_per_second:.1}"),
        keys.to_string(),
        short,
        long,
        bytes.to_string(),
        format!("{:.1}", saved_us_per_second / 1000.0),
        refusal.map_or("", cache::Refusal::text).to_owned(),
        if refusal.is_some() { String::new() } else { rule },
    ]
}

//! The series of samples: tables, their columns, and where the values come from.

use super::Facts;

/// A table with one row for each sample, and its twin with one for each hour.
#[derive(Debug)]
pub(super) struct Series {
    /// The table; the other one ends with `_hour`.
    pub(super) table: &'static str,
    /// The variable that says how often, without `admin-`.
    pub(super) interval: &'static str,
    /// The columns behind `timestamp`.
    pub(super) columns: &'static [Column],
}

/// A column of such a table.
#[derive(Debug)]
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// The value of now.
    pub(super) value: fn(&Facts) -> u64,
    /// Whether it only grows.
    counts: bool,
}

impl Series {
    /// The names of the columns behind `timestamp`, as SQL.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        names.join(", ")
    }

    /// Their values of an hour, as SQL over its samples.
    pub(super) fn sums(&self) -> String {
        let sums: Vec<String> = self.columns.iter().map(Column::of_an_hour).collect();
        sums.join(", ")
    }
}

impl Column {
    const fn counter(name: &'static str, value: fn(&Facts) -> u64) -> Self {
        Self { name, value, counts: true }
    }

    const fn gauge(name: &'static str, value: fn(&Facts) -> u64) -> Self {
        Self { name, value, counts: false }
    }

    fn of_an_hour(&self) -> String {
        let name = self.name;
        if self.counts { format!("max({name})") } else { format!("CAST(avg({name}) AS INTEGER)") }
    }
}

/// A value of `stats_mysql_global`.
fn global(facts: &Facts, name: &str) -> u64 {
    facts.globals.get(name).copied().unwrap_or(0)
}

/// A value of `stats_memory_metrics`.
fn memory(facts: &Facts, name: &str) -> u64 {
    facts.memory.get(name).copied().unwrap_or(0)
}

/// Every series.
pub(super) static SERIES: [Series; 5] = [
    Series { table: "mysql_connections", interval: "stats_mysql_connections", columns: CONNECTIONS },
    Series { table: "myhgm_connections", interval: "stats_mysql_connections", columns: POOL },
    Series { table: "mysql_query_cache", interval: "stats_mysql_query_cache", columns: CACHE },
    Series {
        table: "system_cpu",
        interval: "stats_system_cpu",
        columns: &[
            Column::counter("tms_utime", |facts| facts.cpu.0),
            Column::counter("tms_stime", |facts| facts.cpu.1),
        ],
    },
    Series { table: "system_memory", interval: "stats_system_memory", columns: MEMORY },
];

const CONNECTIONS: &[Column] = &[
    Column::counter("Client_Connections_aborted", |facts| global(facts, "Client_Connections_aborted")),
    Column::gauge("Client_Connections_connected", |facts| global(facts, "Client_Connections_connected")),
    Column::counter("Client_Connections_created", |facts| global(facts, "Client_Connections_created")),
    Column::counter("Server_Connections_aborted", |facts| global(facts, "Server_Connections_aborted")),
    Column::gauge("Server_Connections_connected", |facts| global(facts, "Server_Connections_connected")),
    Column::counter("Server_Connections_created", |facts| global(facts, "Server_Connections_created")),
    Column::counter("ConnPool_get_conn_failure", |facts| global(facts, "ConnPool_get_conn_failure")),
    Column::counter("ConnPool_get_conn_immediate", |facts| global(facts, "ConnPool_get_conn_immediate")),
    Column::counter("ConnPool_get_conn_success", |facts| global(facts, "ConnPool_get_conn_success")),
    Column::counter("Questions", |facts| global(facts, "Questions")),
    Column::counter("Slow_queries", |facts| global(facts, "Slow_queries")),
    Column::counter("GTID_consistent_queries", |facts| global(facts, "GTID_consistent_queries")),
];

const POOL: &[Column] = &[
    Column::counter("MyHGM_myconnpoll_destroy", |facts| global(facts, "MyHGM_myconnpoll_destroy")),
    Column::counter("MyHGM_myconnpoll_get", |facts| global(facts, "MyHGM_myconnpoll_get")),
    Column::counter("MyHGM_myconnpoll_get_ok", |facts| global(facts, "MyHGM_myconnpoll_get_ok")),
    Column::counter("MyHGM_myconnpoll_push", |facts| global(facts, "MyHGM_myconnpoll_push")),
    Column::counter("MyHGM_myconnpoll_reset", |facts| global(facts, "MyHGM_myconnpoll_reset")),
];

const CACHE: &[Column] = &[
    Column::counter("count_GET", |facts| global(facts, "Query_Cache_count_GET")),
    Column::counter("count_GET_OK", |facts| global(facts, "Query_Cache_count_GET_OK")),
    Column::counter("count_SET", |facts| global(facts, "Query_Cache_count_SET")),
    Column::counter("bytes_IN", |facts| global(facts, "Query_Cache_bytes_IN")),
    Column::counter("bytes_OUT", |facts| global(facts, "Query_Cache_bytes_OUT")),
    Column::counter("Entries_Purged", |facts| global(facts, "Query_Cache_Purged")),
    Column::gauge("Entries_In_Cache", |facts| global(facts, "Query_Cache_Entries")),
    Column::gauge("Memory_Bytes", |facts| global(facts, "Query_Cache_Memory_bytes")),
];

const MEMORY: &[Column] = &[
    Column::gauge("allocated", |facts| memory(facts, "jemalloc_allocated")),
    Column::gauge("resident", |facts| memory(facts, "jemalloc_resident")),
    Column::gauge("active", |facts| memory(facts, "jemalloc_active")),
    Column::gauge("mapped", |facts| memory(facts, "jemalloc_mapped")),
    Column::gauge("metadata", |facts| memory(facts, "jemalloc_metadata")),
    Column::gauge("retained", |facts| memory(facts, "jemalloc_retained")),
];

//! How much memory the process has, as its allocator counts it.

use tikv_jemalloc_ctl::{epoch, stats};

/// The rows of `stats_memory_metrics`, as ProxySQL has them, in bytes; 0 where there is no such
/// feature, or where the admin port knows better. `digests` is what the statistics per digest take,
/// `texts` what prepared statements do.
pub(crate) fn metrics(digests: u64, texts: u64) -> Vec<(&'static str, u64)> {
    // The allocator's figures are those of the last epoch.
    let refreshed = epoch::advance().is_ok();
    let bytes = |value: tikv_jemalloc_ctl::Result<usize>| match value {
        Ok(bytes) if refreshed => bytes as u64,
        _ => 0,
    };
    vec![
        ("SQLite3_memory_bytes", 0),
        ("jemalloc_resident", bytes(stats::resident::read())),
        ("jemalloc_active", bytes(stats::active::read())),
        ("jemalloc_allocated", bytes(stats::allocated::read())),
        ("jemalloc_mapped", bytes(stats::mapped::read())),
        ("jemalloc_metadata", bytes(stats::metadata::read())),
        ("jemalloc_retained", bytes(stats::retained::read())),
        ("Auth_memory", 0),
        ("query_digest_memory", digests),
        ("mysql_query_rules_memory", 0),
        ("mysql_firewall_users_table", 0),
        ("mysql_firewall_users_config", 0),
        ("mysql_firewall_rules_table", 0),
        ("mysql_firewall_rules_config", 0),
        ("prepare_statement_metadata_memory", texts),
        ("prepare_statement_backend_memory", 0),
        ("stack_memory_mysql_threads", 0),
        ("stack_memory_admin_threads", 0),
        ("stack_memory_cluster_threads", 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::metrics;

    #[test]
    fn what_is_allocated_is_counted() {
        let allocated = || metrics(0, 0).iter().find(|row| row.0 == "jemalloc_allocated").unwrap().1;
        let before = allocated();
        let much = vec![1_u8; 64 << 20];
        assert!(allocated() > before + (32 << 20), "{} MB more", much.len() >> 20);
    }
}

//! Metrics of a proxy at work, and what reads them: the dashboard and the alerts in `contrib/`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use e2e::{Setup, run, tools};
use testkit::client::{Client, Options};

use super::WRITER;

fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib").join(file)
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| {
            ["proxysql_", "pointsman_", "mysql_error_"].iter().any(|begin| word.starts_with(begin))
        })
        .collect()
}

/// What dashboards of ProxySQL and `KubeDB`, and alerts of `KubeDB`, ask Prometheus for: a metric,
/// and the labels that do not depend on the installation.
const SELECTED: &str = include_str!("dashboards.txt");

/// Whether a sample has the selector's metric and all of its labels.
fn selects(selector: &str, scrape: &str) -> bool {
    let (name, labels) = selector.split_once('{').unwrap_or((selector, ""));
    let labels = labels.trim_end_matches('}');
    scrape.lines().any(|line| {
        let (of, rest) = line.split_at(line.find(['{', ' ']).unwrap_or(line.len()));
        of == name && labels.split(',').all(|label| rest.contains(label))
    })
}

#[test]
fn the_dashboard_and_the_alerts_find_their_metrics() {
    let setup = Setup::before(&WRITER.sandbox, &WRITER.server);
    let proxy = setup.admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        client.query("SELECT nothing").await.unwrap_err();
        client.query("BEGIN").await.unwrap();
        let mut admin = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
        // A pair without a server.
        let pair =
            "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (7, 8)";
        for statement in [pair, "LOAD MYSQL SERVERS TO RUNTIME"] {
            admin.query(statement).await.unwrap();
        }
        let scrape = admin.query("SHOW PROMETHEUS METRICS").await.unwrap().first().unwrap();
        let samples: BTreeSet<&str> = scrape
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect();
        let missing: Vec<_> = SELECTED.lines().filter(|selector| !selects(selector, &scrape)).collect();
        assert!(missing.is_empty(), "dashboards of others: {missing:?}\n{scrape}");
        for file in ["grafana/pointsman.json", "prometheus/pointsman.rules.yml"] {
            let text = std::fs::read_to_string(contrib(file)).unwrap();
            let missing: Vec<_> = named(&text).into_iter().filter(|name| !samples.contains(name)).collect();
            assert!(missing.is_empty(), "{file}: {missing:?}");
        }
        for line in [
            r#"pointsman_statement_seconds_count{hostgroup="0"} 3"#,
            r#"pointsman_sessions{state="Sleep"} 1"#,
            r#"pointsman_pins{reason="transaction"} 1"#,
            r#"pointsman_server_events_total{kind="SHUNNED"} 0"#,
            r#"pointsman_hostgroup_usable_servers{hostgroup="0"} 1"#,
            r#"pointsman_hostgroup_connections_used{hostgroup="0"} 1"#,
            r#"pointsman_hostgroup_usable_servers{hostgroup="7",role="writer"} 0"#,
            r#"pointsman_hostgroup_usable_servers{hostgroup="8",role="reader"} 0"#,
            r#"pointsman_traces_total{kind="sent"} 0"#,
        ] {
            assert!(scrape.lines().any(|other| other == line), "{line}\n{scrape}");
        }
    });
}

#[test]
fn the_alerts_fire_when_they_should() {
    for arguments in [
        ["check", "rules", contrib("prometheus/pointsman.rules.yml").to_str().unwrap()],
        ["test", "rules", contrib("prometheus/pointsman.test.yml").to_str().unwrap()],
    ] {
        tools::Running::start(&WRITER.sandbox, "promtool", arguments).wait().expect_success();
    }
}

/// Statements of Percona's exporter for ProxySQL, each with the columns that it looks for.
const EXPORTED: [(&str, &str); 6] = [
    (
        "SELECT hostgroup, srv_host, srv_port, * FROM stats_mysql_connection_pool",
        "status ConnUsed ConnFree ConnOK ConnERR Queries Bytes_data_sent Bytes_data_recv Latency_us",
    ),
    (
        "SELECT COUNT(cli_host) as connection_count, cli_host FROM stats_mysql_processlist GROUP BY cli_host",
        "connection_count cli_host",
    ),
    (
        "SELECT user, db, cli_host, hostgroup, COUNT(*) as count from stats_mysql_processlist \
         group by user, db, cli_host, hostgroup",
        "user db cli_host hostgroup count",
    ),
    (
        "SELECT Command, Total_Time_us, Total_cnt, cnt_100us, cnt_500us, cnt_1ms, cnt_5ms, cnt_10ms, cnt_50ms, \
         cnt_100ms, cnt_500ms, cnt_1s, cnt_5s, cnt_10s, cnt_INFs FROM stats_mysql_commands_counters \
         WHERE Command IN ('CREATE_TEMPORARY', 'DELETE', 'INSERT', 'LOCK_TABLES', 'SELECT', \
         'SELECT_FOR_UPDATE', 'UPDATE')",
        "Command Total_Time_us Total_cnt cnt_INFs",
    ),
    (
        "SELECT hostgroup_id, hostname, port, gtid_port, * FROM runtime_mysql_servers",
        "status weight compression max_connections max_replication_lag use_ssl max_latency_ms",
    ),
    ("select variable_value from global_variables where variable_name = 'admin-version'", "variable_value"),
];

/// The variables that Percona's dashboard shows, in two tables of the admin port.
const SHOWN: [(&str, &str); 2] = [
    (
        "stats_mysql_global",
        "Client_Connections_connected ConnPool_memory_bytes Mirror_concurrency Mirror_queue_length \
         Query_Cache_bytes_IN Query_Cache_bytes_OUT Query_Cache_count_GET Query_Cache_count_GET_OK \
         Query_Cache_Entries Query_Cache_Memory_bytes Query_Processor_time_nsec Questions SQLite3_memory_bytes",
    ),
    (
        "stats_memory_metrics",
        "Auth_memory jemalloc_active jemalloc_allocated jemalloc_mapped jemalloc_metadata jemalloc_resident \
         jemalloc_retained query_digest_memory SQLite3_memory_bytes stack_memory_mysql_threads \
         stack_memory_admin_threads stack_memory_cluster_threads",
    ),
];

#[test]
fn the_exporter_of_percona_finds_its_columns() {
    let setup = Setup::before(&WRITER.sandbox, &WRITER.server);
    let proxy = setup.admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        // A row in each table of statistics.
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        let mut admin = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
        for (sql, wanted) in EXPORTED {
            let result = admin.query(sql).await.unwrap();
            let columns: BTreeSet<&str> = result.columns.iter().map(|column| column.name.as_str()).collect();
            let missing: Vec<_> = wanted.split(' ').filter(|name| !columns.contains(name)).collect();
            assert!(missing.is_empty() && result.first().is_some(), "{sql}: {missing:?} of {columns:?}");
        }
        for (table, wanted) in SHOWN {
            let sql = format!("SELECT Variable_Name FROM {table}");
            let rows = admin.query(&sql).await.unwrap().text().unwrap();
            let names: BTreeSet<&str> = rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
            let missing: Vec<_> = wanted.split(' ').filter(|name| !names.contains(name)).collect();
            assert!(missing.is_empty(), "{table}: {missing:?} of {names:?}");
        }
    });
}

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
        .filter(|word| word.starts_with("proxysql_") || word.starts_with("pointsman_"))
        .collect()
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

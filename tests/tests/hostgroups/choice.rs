//! The balance of a hostgroup, and servers that are shunned.

use e2e::{Backend, Proxy, run};
use testkit::client::Client;

use super::{ONE, TWO, admin, setup, value, wait_for_value};

/// The row of hostgroup 0 in `mysql_hostgroup_attributes`.
fn balance(word: &str) -> String {
    format!("hostgroup_id = 0\nhostgroup_settings = '{{\"balance\": \"{word}\"}}'")
}

/// The port of the server that a new client gets.
async fn port(proxy: &Proxy) -> (u16, Client) {
    let mut client = Client::connect(&proxy.options()).await.unwrap();
    (value(&mut client, "SELECT @@port").await.parse().unwrap(), client)
}

#[test]
fn clients_take_turns() {
    let proxy =
        setup().server(&TWO.server, "").row("mysql_hostgroup_attributes", &balance("round_robin")).start();
    run(async {
        let mut ports = Vec::new();
        for _ in 0..10 {
            ports.push(port(&proxy).await);
        }
        let first = ports.iter().filter(|(port, _)| *port == ONE.server.port()).count();
        assert_eq!(first, 5);
    });
}

#[test]
fn c24_a_server_that_is_down_is_shunned_and_comes_back() {
    let mut first = Backend::start(&[]);
    let proxy = e2e::Setup::before(&ONE.sandbox, &first.server)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .server(&TWO.server, "")
        .row("mysql_hostgroup_attributes", &balance("first_available"))
        .variable("shun_on_failures", 1)
        .variable("shun_recovery_time_sec", 1)
        .start();
    run(async {
        let mut admin = admin(&proxy).await;
        let status = format!(
            "SELECT status FROM stats_mysql_connection_pool WHERE srv_port = {}",
            first.server.port()
        );
        assert_eq!(port(&proxy).await.0, first.server.port());
        assert_eq!(value(&mut admin, &status).await, "ONLINE");
        let latency = status.replace("SELECT status", "SELECT Latency_us > 0");
        assert_eq!(value(&mut admin, &latency).await, "1");
        first.server.stop().unwrap();
        assert_eq!(port(&proxy).await.0, TWO.server.port());
        assert_eq!(value(&mut admin, &status).await, "SHUNNED");
        first.server.restart().unwrap();
        while port(&proxy).await.0 != first.server.port() {}
        assert_eq!(value(&mut admin, &status).await, "ONLINE");
    });
}

#[test]
fn a_session_waits_for_a_server_that_is_restarted() {
    let mut only = Backend::start(&[]);
    let proxy = e2e::Setup::before(&ONE.sandbox, &only.server)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .variable("connect_timeout_server_max", 60_000)
        .start();
    run(async {
        let mut admin = admin(&proxy).await;
        // It has vouched for the user: the next login does not ask it.
        drop(port(&proxy).await);
        only.server.stop().unwrap();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let waiting = tokio::spawn(async move { value(&mut client, "SELECT 7").await });
        wait_for_value(&mut admin, "SELECT status FROM stats_mysql_connection_pool", "SHUNNED").await;
        only.server.restart().unwrap();
        assert_eq!(waiting.await.unwrap(), "7");
    });
}

#[test]
fn a_balance_that_does_not_exist_is_refused_with_its_place() {
    let proxy = setup().start();
    run(async {
        let mut admin = admin(&proxy).await;
        let insert = "INSERT INTO mysql_hostgroup_attributes (hostgroup_id, hostgroup_settings) VALUES (7, ";
        admin.query(&format!("{insert}'{{\"balance\": \"best\"}}')")).await.unwrap();
        let error = admin.query("LOAD MYSQL SERVERS TO RUNTIME").await.unwrap_err().to_string();
        for part in [
            "mysql_hostgroup_attributes",
            "hostgroup_id=7",
            "hostgroup_settings",
            "`least_loaded`",
            "\"best\"",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let set =
            "UPDATE mysql_hostgroup_attributes SET hostgroup_settings = '{\"balance\": \"least_loaded\"}'";
        admin.query(set).await.unwrap();
        admin.query("LOAD MYSQL SERVERS TO RUNTIME").await.unwrap();
    });
}

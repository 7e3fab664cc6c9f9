//! Listeners with roles: what their clients' statements and bytes get, whatever rules and the split
//! would say.

use config::{Config, Listener, QueryRule, Role, Strategy};
use proxy::stage::Stage;
use wire::StatusFlags;

use super::support::{
    CAPACITY, Client, Database, Servers, options, pair_of_servers, play, rule, run, settle, stage, stage_with,
};

/// A writer and a reader with the split, and a rule that sends what it matches to the writer's
/// hostgroup.
fn config() -> Config {
    let mut config = pair_of_servers();
    config.query_rules.push(QueryRule {
        destination_hostgroup: Some(0),
        apply: true,
        ..rule(1, "^SELECT .* FROM ruled")
    });
    config
}

fn listener(role: Role, hostgroup: Option<u32>, strategy: Option<Strategy>) -> Listener {
    Listener { role, hostgroup, strategy, ..Listener::default() }
}

async fn log_in(stage: &Stage, listener: &Listener) -> Client {
    let end = stage.client_of(listener, CAPACITY).expect("room for a client");
    Client::connect(end, &options()).await
}

/// The server that gets the client's next statement, and its side of the connection.
async fn first(client: &mut Client, servers: &mut Servers, sql: &str) -> (String, Database) {
    client.send_query(sql).await;
    let (name, end) = servers.dialled().await;
    let mut server = Database::accept(end).await.0;
    server.expect_query(sql).await;
    server.ok().await;
    client.expect_ok().await;
    (name, server)
}

async fn destination(client: &mut Client, sql: &str) -> String {
    let told = client.query(&format!("EXPLAIN ROUTE {sql}")).await.expect("it is explained");
    let rows: Vec<Vec<String>> =
        told.text().expect("texts").into_iter().map(|row| row.into_iter().flatten().collect()).collect();
    let row = rows.into_iter().find(|row| row.first().is_some_and(|step| step == "destination"));
    row.expect("a destination")[1..].join(" | ")
}

#[test]
fn everything_goes_where_the_role_says() {
    for (role, hostgroup, name) in [
        (Role::ReadWrite, None, "db:3306"),
        (Role::ReadWrite, Some(1), "reader:3306"),
        (Role::ReadOnly, None, "reader:3306"),
        (Role::ReadOnly, Some(0), "db:3306"),
    ] {
        play(async || {
            let (stage, mut servers) = stage(config());
            let mut client = log_in(&stage, &listener(role, hostgroup, None)).await;
            let (to, mut server) = first(&mut client, &mut servers, "SELECT a FROM t").await;
            assert_eq!(to, name);
            for sql in [
                "DELETE FROM t",
                "SELECT a FROM ruled",
                "SELECT a FROM t FOR UPDATE",
                "/* access_mode=read_write */ SELECT 1",
                "/* access_mode=read_only */ SELECT 1",
                "/* hostgroup=0 */ SELECT 1",
                "/* hostgroup=1 */ SELECT 1",
            ] {
                run(&mut client, &mut server, sql).await;
            }
            server.status |= StatusFlags::IN_TRANSACTION;
            run(&mut client, &mut server, "BEGIN").await;
            run(&mut client, &mut server, "SELECT a FROM t").await;
            assert!(servers.settled().await.is_none(), "one server gets all");
        });
    }
}

#[test]
fn the_listener_is_named_as_the_one_who_decides() {
    play(async || {
        let (stage, _servers) = stage(config());
        let mut client = log_in(&stage, &listener(Role::ReadOnly, None, None)).await;
        let told = destination(&mut client, "DELETE FROM t").await;
        assert_eq!(told, "hostgroup 1 | the listener has the role read_only");
        let mut client = log_in(&stage, &listener(Role::ReadWrite, None, None)).await;
        let told = destination(&mut client, "SELECT a FROM t").await;
        assert_eq!(told, "hostgroup 0 | the listener has the role read_write");
        let mut client = log_in(&stage, &Listener::default()).await;
        let told = destination(&mut client, "SELECT a FROM t").await;
        assert_eq!(told, "hostgroup 1 | split: a plain read outside a transaction");
    });
}

/// A reader would refuse to write, and who knows what else could.
#[test]
fn without_readers_nothing_is_written_where_only_reads_belong() {
    play(async || {
        let mut config = config();
        config.replication_hostgroups.clear();
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage, &listener(Role::ReadOnly, None, None)).await;
        client.send_query("DELETE FROM t").await;
        let error = client.expect_err(1148).await;
        assert!(error.message.contains("has no readers of hostgroup 0"), "{}", error.message);
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn a_listener_for_readers_may_fall_back() {
    for (strategy, falls_back) in [(Strategy::RoundRobinWithFallback, true), (Strategy::RoundRobin, false)] {
        play(async || {
            let listener = listener(Role::ReadOnly, Some(1), Some(strategy));
            let mut config = config();
            config.listeners = vec![listener.clone()];
            config.variables.connect_timeout_server_max = std::time::Duration::from_secs(1);
            let is_reader = |endpoint: &config::Endpoint| endpoint.to_string() == "reader:3306";
            let (stage, mut servers) = stage_with(config, CAPACITY, is_reader);
            let mut client = log_in(&stage, &listener).await;
            if falls_back {
                let (to, mut server) = first(&mut client, &mut servers, "SELECT a FROM t").await;
                assert_eq!(to, "db:3306");
                run(&mut client, &mut server, "SELECT b FROM t").await;
            } else {
                client.send_query("SELECT a FROM t").await;
                client.expect_err(9001).await;
                assert!(servers.settled().await.is_none());
            }
        });
    }
}

#[test]
fn bytes_may_fall_back_as_well() {
    play(async || {
        let listener = listener(Role::Tcp, Some(1), Some(Strategy::RoundRobinWithFallback));
        let mut config = config();
        config.listeners = vec![listener.clone()];
        let is_reader = |endpoint: &config::Endpoint| endpoint.to_string() == "reader:3306";
        let (stage, mut servers) = stage_with(config, CAPACITY, is_reader);
        let _client = stage.client_of(&listener, CAPACITY).expect("room for a client");
        assert_eq!(servers.dialled().await.0, "db:3306");
        settle().await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

/// MySQL Router's `next-available`: a server that comes back is not tried again.
#[test]
fn what_has_failed_once_is_not_tried_again() {
    play(async || {
        let listener = listener(Role::Tcp, Some(0), Some(Strategy::NextAvailable));
        let mut config = config();
        config.listeners = vec![listener.clone()];
        config.servers = vec![super::support::database("first"), super::support::database("second")].into();
        let down = std::rc::Rc::new(std::cell::Cell::new(false));
        let is_down = std::rc::Rc::clone(&down);
        let (stage, mut servers) = stage_with(config, CAPACITY, move |endpoint| {
            is_down.get() && endpoint.to_string() == "first:3306"
        });
        let connect = || stage.client_of(&listener, CAPACITY).expect("room for a client");
        let _one = connect();
        assert_eq!(servers.dialled().await.0, "first:3306");
        down.set(true);
        let _two = connect();
        assert_eq!(servers.dialled().await.0, "second:3306");
        down.set(false);
        tokio::time::sleep(std::time::Duration::from_hours(1)).await;
        let _three = connect();
        assert_eq!(servers.dialled().await.0, "second:3306");
    });
}

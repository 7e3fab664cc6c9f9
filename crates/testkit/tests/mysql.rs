//! MySQL servers and Router, where they are there, do what MariaDB's do.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::TcpStream;
use std::time::Instant;

use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::mysql::{self, PASSWORD, Router, Setup, USER};

#[test]
fn a_server_starts_stops_and_comes_back() {
    let Some(binaries) = mysql::find_or_skip().unwrap() else { return };
    let sandbox = Sandbox::new().unwrap();
    let started = Instant::now();
    let mut server = Setup::new("single").args(["--max-connections=77"]).start(&binaries, &sandbox).unwrap();
    println!("MySQL {} in {:?}", binaries.version, started.elapsed());
    assert_eq!(
        server.sql("SELECT VERSION(), @@max_connections, @@log_bin").unwrap(),
        format!("{}\t77\t0\n", binaries.version)
    );
    assert!(server.sql("SELECT nonsense").unwrap_err().to_string().contains("1054"));

    server.sql("CREATE DATABASE kept").unwrap();
    let (port, first) = (server.port(), server.pid().unwrap());
    server.restart().unwrap();
    assert_eq!(server.port(), port);
    assert_ne!(server.pid().unwrap(), first);
    assert_eq!(server.sql("SHOW DATABASES LIKE 'kept'").unwrap(), "kept\n");

    server.kill().unwrap();
    assert!(server.is_dead().unwrap());
    assert!(TcpStream::connect(server.address()).is_err());
    server.restart().unwrap();
    assert_eq!(server.sql("SHOW DATABASES LIKE 'kept'").unwrap(), "kept\n");
}

#[tokio::test]
async fn servers_differ_and_router_stands_before_one() {
    let Some(binaries) = mysql::find_or_skip().unwrap() else { return };
    let sandbox = Sandbox::new().unwrap();
    let start = |name: &str, id| {
        Setup::new(name).server_id(id).args(["--log-bin=binlog"]).start(&binaries, &sandbox).unwrap()
    };
    let servers = [start("one", 1), start("two", 2)];
    let [one, two] = servers.each_ref().map(|server| server.sql("SELECT @@server_uuid, @@log_bin").unwrap());
    assert_ne!(one, two);
    assert!(one.ends_with("\t1\n"), "{one}");
    let addresses = [servers[1].address()];
    let router = Router::start(&binaries, &sandbox, "router", &addresses, "").unwrap();
    let mut client = Client::connect(&Options::tcp(router.address(), USER, PASSWORD)).await.unwrap();
    assert_eq!(client.query("SELECT @@server_id").await.unwrap().first().as_deref(), Some("2"));
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let Some(binaries) = mysql::find_or_skip().unwrap() else { return };
    let sandbox = Sandbox::new().unwrap();
    let error = Setup::new("broken").args(["--no-such-option"]).start(&binaries, &sandbox).unwrap_err();
    assert!(error.to_string().contains("unknown option '--no-such-option'"), "{error}");
}

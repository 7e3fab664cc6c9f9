//! Real servers start, stop, die and replicate.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::TcpStream;
use std::time::{Duration, Instant};

use testkit::guard::Sandbox;
use testkit::mariadb::{self, Setup, Topology};

#[test]
fn a_server_starts_stops_and_comes_back() {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let mut server = Setup::new("single").args(["--max-connections=77"]).start(&binaries, &sandbox).unwrap();
    assert_eq!(
        server.sql("SELECT VERSION(), @@max_connections").unwrap(),
        format!("{}\t77\n", binaries.version)
    );
    assert!(server.sql("SELECT nonsense").unwrap_err().to_string().contains("1054"));
    assert!(TcpStream::connect(server.address()).is_ok());

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

#[test]
fn a_paused_server_is_silent_until_it_is_resumed() {
    use std::io::Read as _;
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let server = Setup::new("paused").start(&binaries, &sandbox).unwrap();
    server.pause().unwrap();
    // The kernel completes the connection; no server greets.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut greeting = [0; 5];
    assert!(stream.read_exact(&mut greeting).is_err());
    server.resume().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(greeting[4], 10);
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let error = Setup::new("broken").args(["--no-such-option"]).start(&binaries, &sandbox).unwrap_err();
    assert!(error.to_string().contains("unknown option '--no-such-option'"), "{error}");
}

#[test]
fn replicas_follow_their_primary_also_after_its_restart() {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let started = Instant::now();
    let mut topology = Topology::start(&binaries, &sandbox, 2, &[]).unwrap();
    println!("a primary and two replicas in {:?}", started.elapsed());
    for replica in &topology.replicas {
        assert_eq!(replica.sql("SHOW DATABASES LIKE 'test'").unwrap(), "test\n");
        assert_eq!(replica.sql("SELECT @@read_only").unwrap(), "1\n");
    }
    topology.primary.restart().unwrap();
    topology.primary.sql("CREATE TABLE test.t (a INT PRIMARY KEY); INSERT INTO test.t VALUES (7)").unwrap();
    topology.catch_up().unwrap();
    for replica in &topology.replicas {
        assert_eq!(replica.sql("SELECT a FROM test.t").unwrap(), "7\n");
    }
}

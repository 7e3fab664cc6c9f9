//! The page for operators in front of real servers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use e2e::admin::{connect as admin, value};
use e2e::{Proxy, Setup, run, wait_for};
use serde_json::Value;
use testkit::certificates::believer;
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Topology};
use testkit::server::{PASSWORD, USER};

/// The user of the monitor.
const WATCHER: &str = "watcher";

/// `admin:admin` as HTTP has it.
const ADMIN: &str = "Authorization: Basic YWRtaW46YWRtaW4=";

/// What the page's address is behind in the log.
const LISTENS: &str = "listening for the page";

fn start(sandbox: &Sandbox) -> (Topology, Proxy, SocketAddr) {
    let topology = Topology::start(&mariadb::find().unwrap(), sandbox, 1, &[]).unwrap();
    let watcher = format!(
        "CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {WATCHER}@'127.0.0.1'"
    );
    topology.primary.sql(&watcher).unwrap();
    topology.catch_up().unwrap();
    let [replica] = topology.replicas.as_slice() else { panic!("a replica") };
    let proxy = Setup::new(sandbox)
        .monitor(WATCHER, PASSWORD)
        .user(USER, PASSWORD, "default_schema = 'test'")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .admin("web_enabled", true)
        .pointsman_variable("web_address", "\"127.0.0.1:0\"")
        .server(&topology.primary, "comment = \"first\"")
        .server(replica, "hostgroup_id = 1\ncomment = \"second\"")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("read_write_split", true)
        .variable("monitor_writer_is_also_reader", false)
        .variable("monitor_ping_interval", 100)
        .variable("monitor_ping_timeout", 100)
        .start();
    let line = proxy.wait_for_log(LISTENS);
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let address = address.parse().unwrap();
    (topology, proxy, address)
}

fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{ADMIN}\r\n\r\n")
}

/// The whole reply to a `GET`.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request(path).as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn the_verdict_turns_when_a_server_dies() {
    let sandbox = Sandbox::new().unwrap();
    let (mut topology, _proxy, address) = start(&sandbox);
    wait_for("a good verdict", || get(address, "/api/state?views=now").contains("all 2 servers work"));
    let replica = topology.replicas.first_mut().unwrap();
    replica.kill().unwrap();
    let dead = format!("1 of 2 servers out: second ({})", replica.address());
    let mut reply = String::new();
    wait_for("a bad verdict", || {
        reply = get(address, "/api/state?views=now,servers");
        reply.contains(&dead)
    });
    assert!(reply.contains("\"level\":\"bad\"") && reply.contains("hostgroup 1 has none"), "{reply}");
    wait_for("its state in the timeline", || get(address, "/api/state?views=now").contains("\"SHUNNED\""));
}

#[test]
fn explain_route_is_that_of_the_admin_port() {
    let sandbox = Sandbox::new().unwrap();
    let (_topology, proxy, address) = start(&sandbox);
    let path = format!("/api/explain?user={USER}&schema=test&statement=SELECT+*+FROM+t");
    let sql = format!("EXPLAIN ROUTE USER {USER} SCHEMA test FORMAT=JSON SELECT * FROM t");
    // What is known of servers may change between the two answers.
    wait_for("the same answer", || {
        let reply = get(address, &path);
        let page: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
        let json = run(async { value(&mut admin(&proxy).await, &sql).await });
        page["route"]["hostgroup"] == 1 && page["route"] == serde_json::from_str::<Value>(&json).unwrap()
    });
}

#[test]
fn https_is_served_at_the_same_port() {
    let sandbox = Sandbox::new().unwrap();
    let (_topology, _proxy, address) = start(&sandbox);
    let name = address.ip().into();
    let mut tls = rustls::ClientConnection::new(believer(None).unwrap(), name).unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    stream.write_all(request("/api/session").as_bytes()).unwrap();
    let mut reply = String::new();
    // The end of the connection may come without one of TLS.
    let _ = stream.read_to_string(&mut reply);
    assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("\"rights\":\"admin\""), "{reply}");
}

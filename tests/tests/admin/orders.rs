//! Orders: pause and resume, KILL CONNECTION, the end of the process.

use e2e::{Setup, run, wait_for};
use testkit::client::Client;
use testkit::guard::Signal;
use tokio::net::TcpStream;

use super::{DB, admin, cli, with_admin};

#[test]
fn a_paused_proxy_takes_no_new_clients_and_keeps_those_it_has() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut admin = admin(&proxy).await;
        admin.query("PROXYSQL PAUSE").await.unwrap();
        let again = admin.query("PROXYSQL PAUSE").await.unwrap_err().to_string();
        assert!(again.contains("is already paused, impossible to pause"), "{again}");
        assert!(TcpStream::connect(proxy.tcp()).await.is_err());
        client.query("SELECT 1").await.unwrap();
        admin.query("PROXYSQL RESUME").await.unwrap();
        Client::connect(&proxy.options()).await.unwrap();
    });
}

#[test]
fn a_session_is_killed_by_its_id() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        let mut admin = admin(&proxy).await;
        let id = client.server().connection_id;
        let unknown = admin.query("KILL CONNECTION 4294967295").await.unwrap_err().to_string();
        assert!(unknown.contains("Unknown thread id: 4294967295"), "{unknown}");
        admin.query(&format!("KILL CONNECTION {id}")).await.unwrap();
        loop {
            // It may be told that it was killed, and is gone afterwards.
            match client.query("SELECT 1").await {
                Err(error) if error.code().is_none() => break,
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        }
    });
}

#[test]
fn shutdown_ends_the_process() {
    for order in ["PROXYSQL SHUTDOWN", "PROXYSQL KILL", "PROXYSQL SHUTDOWN SLOW"] {
        let mut proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
        // No answer: the client says that the connection is lost.
        let _ = cli(&proxy, order);
        assert_eq!(proxy.wait().code(), Some(0), "{order}");
    }
}

/// So that another process can take its place while its transactions finish.
#[test]
fn a_process_that_drains_listens_nowhere() {
    let rest = testkit::net::free_port().unwrap();
    let setup = with_admin(Setup::before(&DB.sandbox, &DB.server));
    let mut proxy = setup.admin("restapi_enabled", "true").admin("restapi_port", rest).start();
    let rest = std::net::SocketAddr::from((std::net::Ipv4Addr::UNSPECIFIED, rest));
    wait_for("REST", || std::net::TcpStream::connect(("127.0.0.1", rest.port())).is_ok());
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("BEGIN").await.unwrap();
        proxy.signal(Signal::TERM);
        for address in [proxy.tcp(), proxy.admin(), rest] {
            wait_for(&format!("a place at {address}"), || std::net::TcpListener::bind(address).is_ok());
        }
        client.query("COMMIT").await.unwrap();
    });
    assert_eq!(proxy.wait().code(), Some(0));
}

#[test]
fn a_slow_statement_of_an_admin_delays_no_traffic() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    run(async {
        let mut admin = admin(&proxy).await;
        let endless = b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n";
        admin.send_command(wire::command::Kind::Query, endless).await.unwrap();
        for _ in 0..100 {
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            client.query("SELECT 1").await.unwrap();
        }
    });
}

#[test]
fn metrics_are_served_over_http() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    let port = testkit::net::free_port().unwrap();
    let sql = format!(
        "SET admin-restapi_port={port}; SET admin-restapi_enabled='true'; LOAD ADMIN VARIABLES TO RUNTIME"
    );
    cli(&proxy, &sql).expect_success();
    wait_for("REST", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
}

//! Connections that the proxy ends: over TLS their clients learn that no attacker has cut them.

use e2e::tools::{Running, start_mariadb};
use e2e::{Proxy, Setup, run, wait_for};
use testkit::certificates::believer;
use testkit::client::{Client, Io, Options};
use testkit::guard::Signal;
use testkit::mariadb::{PASSWORD, USER};
use tokio::net::TcpStream;
use wire::command::Kind;

use super::DB;

/// A client with TLS that runs a statement which does not end by itself; `name` is how to find it
/// at the server.
fn busy(proxy: &Proxy, name: &str) -> Running {
    let (port, user) = (format!("--port={}", proxy.tcp().port()), format!("--user={USER}"));
    let (password, sql) =
        (format!("--password={PASSWORD}"), format!("--execute=SELECT SLEEP(1000), '{name}'"));
    let client = start_mariadb(
        &DB.sandbox,
        &["--ssl", "--protocol=TCP", "--host=127.0.0.1", &port, &user, &password, &sql],
    );
    let running =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%1000), ''{name}'''");
    wait_for("the statement to run", || DB.sql(&running) == "1\n");
    client
}

/// The client has lost its server, as if that had ended, and TLS has nothing against it.
fn expect_lost(client: Running) {
    let output = client.wait();
    assert!(output.stderr.contains("ERROR 2013"), "{output:?}");
}

/// A connection to the admin port that waits.
async fn idle_admin(proxy: &Proxy) -> Client<impl Io + use<>> {
    let stream = TcpStream::connect(proxy.admin()).await.unwrap();
    let options = Options::tcp(proxy.admin(), "admin", "admin");
    Client::over_tls(stream, &options, believer(None).unwrap()).await.unwrap()
}

fn setup() -> Setup {
    Setup::before(&DB.sandbox, &DB.server).admin("mysql_ifaces", "\"127.0.0.1:0\"")
}

#[test]
fn who_is_cut_off_at_the_end_of_the_drain_hears_the_end_of_tls() {
    let mut proxy = setup().drain_timeout_ms(100).start();
    run(async {
        let (busy, mut admin) = (busy(&proxy, "drained"), idle_admin(&proxy).await);
        proxy.signal(Signal::TERM);
        expect_lost(busy);
        assert!(admin.packets().at_end().await.unwrap());
        assert_eq!(proxy.wait().code(), Some(0));
    });
}

#[test]
fn who_is_cut_off_by_an_order_hears_the_end_of_tls() {
    for (order, name) in [("PROXYSQL SHUTDOWN", "shut down"), ("PROXYSQL KILL", "killed")] {
        let mut proxy = setup().drain_timeout_ms(3_600_000).start();
        run(async {
            let busy = busy(&proxy, name);
            let (mut idle, mut admin) = (idle_admin(&proxy).await, idle_admin(&proxy).await);
            admin.send_command(Kind::Query, order.as_bytes()).await.unwrap();
            expect_lost(busy);
            for client in [&mut admin, &mut idle] {
                assert!(client.packets().at_end().await.unwrap(), "{order}");
            }
            assert_eq!(proxy.wait().code(), Some(0));
        });
    }
}

#[test]
fn a_kill_ends_tls_as_well() {
    let proxy = setup().start();
    run(async {
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let mut client = Client::over_tls(stream, &proxy.options(), believer(None).unwrap()).await.unwrap();
        let id = client.query("SELECT CONNECTION_ID()").await.unwrap().first().unwrap();
        idle_admin(&proxy).await.query(&format!("KILL CONNECTION {id}")).await.unwrap();
        // What it was told is in the place of its next answer.
        client.query("SELECT 1").await.unwrap_err();
        assert!(client.packets().at_end().await.unwrap());
    });
}

/// It does not listen any more. An end that is said reaches it as one more packet, and servers say
/// nothing either.
#[test]
fn who_has_said_goodbye_is_told_nothing() {
    let proxy = setup().start();
    run(async {
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let mut client = Client::over_tls(stream, &proxy.options(), believer(None).unwrap()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        client.send_command(Kind::Quit, b"").await.unwrap();
        assert!(client.packets().at_end().await.is_err(), "the end of the socket alone is no end of TLS");
    });
}

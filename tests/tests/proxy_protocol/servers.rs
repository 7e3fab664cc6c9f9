//! Headers towards servers.

use std::net::SocketAddr;

use e2e::{Backend, Setup, mysql_or_skip, run};
use testkit::client::{Client, Options};
use testkit::mariadb::PASSWORD;
use tokio::net::TcpStream;

use super::{
    BINARY, DB, FAR, FAR6, LINE, LINE6, MYSQL, announcing, behind, query, refusal, row, setup, user_behind,
};

const VERSIONS: [u8; 2] = [1, 2];

#[test]
fn the_server_sees_the_clients_address() {
    for version in VERSIONS {
        let proxy = announcing(version).start();
        run(async {
            for header in [LINE, BINARY] {
                assert_eq!(user_behind(&proxy, header).await, format!("far@{FAR}"));
            }
            assert_eq!(user_behind(&proxy, LINE6).await, format!("far@{FAR6}"));
            // Without an address in the header it is the one that the socket has.
            assert_eq!(user_behind(&proxy, b"PROXY UNKNOWN\r\n").await, "far@127.0.0.1");
            let mut client = behind(proxy.tcp(), LINE, "far", PASSWORD).await.unwrap();
            let sql = "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()";
            assert_eq!(query(&mut client, sql).await, format!("{FAR}:4711"));
        });
    }
}

/// The port tells that it is the client's own address, not the proxy's.
#[test]
fn clients_without_a_proxy_in_front_are_announced_as_well() {
    for version in VERSIONS {
        let proxy = Setup::before(&DB.sandbox, &DB.server)
            .row("pointsman_servers", &row(&DB.server, version))
            .start();
        run(async {
            let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            let here = stream.local_addr().unwrap();
            let mut client = Client::over(stream, &proxy.options()).await.unwrap();
            let sql = "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()";
            let host = client.query(sql).await.unwrap().first().unwrap();
            assert_eq!(host.parse::<SocketAddr>().unwrap(), here);
        });
    }
}

/// Accounts that exist for some hosts only: the client's address decides, not the proxy's.
#[test]
fn grants_by_host_work() {
    DB.sql(&format!("CREATE USER near@'{FAR}' IDENTIFIED BY '{PASSWORD}'"));
    for version in VERSIONS {
        let proxy = announcing(version).user("near", PASSWORD, "").start();
        run(async {
            let mut client = behind(proxy.tcp(), LINE, "near", PASSWORD).await.unwrap();
            assert_eq!(query(&mut client, "SELECT CURRENT_USER()").await, format!("near@{FAR}"));
            let error = refusal(behind(proxy.tcp(), LINE6, "near", PASSWORD).await).await;
            assert!(error.contains("1045") && error.contains(&format!("'near'@'{FAR6}'")), "{error}");
        });
    }
    // Without headers the server knows the proxy's address only.
    let proxy = setup().user("near", PASSWORD, "").start();
    run(async {
        let error = refusal(behind(proxy.tcp(), LINE, "near", PASSWORD).await).await;
        assert!(error.contains("'near'@'127.0.0.1'"), "{error}");
    });
}

#[test]
fn clients_on_a_unix_socket_are_not_announced() {
    for version in VERSIONS {
        let proxy = announcing(version).start();
        run(async {
            let mut client = Client::connect(&Options::unix(proxy.socket(), "far", PASSWORD)).await.unwrap();
            let user = client.query("SELECT USER()").await.unwrap().first().unwrap();
            assert_eq!(user, "far@127.0.0.1", "the proxy's own address");
        });
    }
}

#[test]
fn layer_4_listeners_read_and_send_headers() {
    for version in VERSIONS {
        let proxy = announcing(version).layer4().start();
        run(async {
            for (header, host) in [(LINE, FAR), (BINARY, FAR), (LINE6, FAR6)] {
                let mut client = behind(proxy.layer4(), header, "far", PASSWORD).await.unwrap();
                assert_eq!(query(&mut client, "SELECT USER()").await, format!("far@{host}"));
            }
        });
    }
}

#[test]
fn a_server_that_does_not_believe_the_proxy_is_named() {
    let db = Backend::start(&["--proxy-protocol-networks=192.0.2.0/24"]);
    expect_hints(&db);
}

/// MySQL does not have the PROXY protocol.
#[test]
fn a_server_that_does_not_know_headers_is_named() {
    if let Some(db) = mysql_or_skip(&MYSQL) {
        expect_hints(db);
    }
}

/// A client hears what may be wrong with a server that gets headers, of version 1 or 2, and does
/// not want them.
fn expect_hints(db: &Backend) {
    for version in VERSIONS {
        let row = row(&db.server, version);
        let proxy = Setup::before(&db.sandbox, &db.server).row("pointsman_servers", &row).start();
        run(async {
            let error = refusal(Client::connect(&proxy.options()).await).await;
            let hint = "it was sent a PROXY header (pointsman_servers.proxy_protocol)";
            // The one if the server could say something before it closed, the other if not.
            let code = ["9002", "9001"].iter().any(|code| error.contains(code));
            assert!(code && error.contains(hint), "{error}");
        });
    }
}

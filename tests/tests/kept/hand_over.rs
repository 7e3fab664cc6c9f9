//! Sessions that share one connection: what one of them has, the other one neither gets nor takes
//! away.

use e2e::{Backend, Proxy, Setup, run};
use testkit::client::{Client, ClientError, Options};
use testkit::server::PASSWORD;

use super::{USER, value};

/// A proxy that has one connection for all sessions.
fn proxy(backend: &Backend) -> Proxy {
    Setup::new(&backend.sandbox)
        .server(&backend.server, "max_connections = 1")
        .one_thread()
        .variable("multiplexing", true)
        .variable("connect_timeout_server_max", 500)
        .user(USER, PASSWORD, "")
        .start()
}

fn options(proxy: &Proxy) -> Options {
    Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")
}

/// Another session has a statement carried out, or has to wait in vain where the connection is
/// bound.
async fn meanwhile(other: &mut Client) {
    match other.query("SELECT 7").await {
        Ok(_) => {}
        Err(ClientError::Server(error)) if error.code == 9001 => {}
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn c04_a_savepoint_without_autocommit_stays_with_its_session(backend: &Backend) {
    backend.sql("CREATE TABLE test.marked (id INT PRIMARY KEY, at CHAR(1)) ENGINE = InnoDB");
    let proxy = proxy(backend);
    run(async {
        let options = options(&proxy);
        let mut one = Client::connect(&options).await.unwrap();
        let mut other = Client::connect(&options).await.unwrap();
        for sql in [
            "SET autocommit = 0",
            "SAVEPOINT a",
            "INSERT INTO marked VALUES (1, 'x')",
            "ROLLBACK TO SAVEPOINT a",
            "RELEASE SAVEPOINT a",
            "INSERT INTO marked VALUES (2, 'y')",
            "COMMIT",
            "SAVEPOINT b",
            "RELEASE SAVEPOINT b",
            "ROLLBACK",
        ] {
            one.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            meanwhile(&mut other).await;
        }
        let kept = value(&mut one, "SELECT GROUP_CONCAT(id) FROM marked").await;
        assert_eq!(kept.as_deref(), Some("2"), "what was rolled back is not there");
    });
}

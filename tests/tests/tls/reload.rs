//! New files while the proxy runs.

use std::sync::Arc;

use e2e::run;
use testkit::client::{Client, Options};
use testkit::guard::Signal;
use testkit::mariadb::{PASSWORD, USER};
use tokio::net::TcpStream;

use super::{Pki, client, showing};

#[test]
fn sighup_changes_the_certificate_of_new_connections_only() {
    let old = Pki::new("old");
    let new = Pki::new("new");
    let proxy = showing(&old.server).start();
    let believes = |pki: &Pki| {
        let ca = format!("--ssl-ca={}", pki.ca.display());
        client(&proxy, &[&ca, "--ssl-verify-server-cert", "--execute=SELECT 1"]).code == Some(0)
    };
    assert!(believes(&old) && !believes(&new));
    run(async {
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD);
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let config = old.authority.client(None).unwrap();
        let mut session = Client::over_tls(stream, &options, Arc::clone(&config)).await.unwrap();
        session.query("SELECT 1").await.unwrap();

        // A key that does not fit: everything stays as it is, and the log says why.
        let key = std::fs::read(&old.server.key).unwrap();
        std::fs::copy(&new.server.key, &old.server.key).unwrap();
        proxy.signal(Signal::HUP);
        proxy.wait_for_log("TLS stays as it was");
        assert!(believes(&old) && !believes(&new));
        std::fs::write(&old.server.key, key).unwrap();

        std::fs::copy(&new.server.cert, &old.server.cert).unwrap();
        std::fs::copy(&new.server.key, &old.server.key).unwrap();
        proxy.signal(Signal::HUP);
        proxy.wait_for_log("the files of TLS were read again");
        assert!(!believes(&old) && believes(&new));
        assert_eq!(session.query("SELECT 2").await.unwrap().first().as_deref(), Some("2"));
    });
}

#[test]
fn a_certificate_made_in_memory_stays_the_same() {
    let proxy = e2e::Setup::before(&super::DB.sandbox, &super::DB.server).start();
    proxy.signal(Signal::HUP);
    assert!(proxy.wait_for_log("the files of TLS were read again").contains("in memory only"));
}

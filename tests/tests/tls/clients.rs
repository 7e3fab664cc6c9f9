//! Clients: certificates on either side, users that must use TLS, connections that break off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use e2e::{Setup, run, wait_for};
use testkit::certificates::{Identity, believer};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{DB, Pki, STATUS, cipher, client, quoted, showing};

#[test]
fn the_command_line_client_speaks_both_versions_and_verifies() {
    let pki = Pki::new("ca");
    let proxy = showing(&pki.server).start();
    for (version, suite) in [("TLSv1.2", "ECDHE-ECDSA-AES"), ("TLSv1.3", "TLS_AES_")] {
        let cipher = cipher(client(&proxy, &[&format!("--tls-version={version}"), STATUS]));
        assert!(cipher.contains(suite), "{version}: {cipher}");
        let show = "--execute=SHOW STATUS LIKE 'Ssl%'";
        let told = client(&proxy, &[&format!("--tls-version={version}"), show]).expect_success();
        let name = told.lines().next().and_then(|line| line.strip_prefix("Ssl_cipher\t")).unwrap_or_default();
        assert!(name.starts_with(suite) && cipher.contains(name), "{cipher}: {told}");
        assert_eq!(told, format!("Ssl_cipher\t{name}\nSsl_version\t{version}\n"));
        assert_eq!(client(&proxy, &["--skip-ssl", show]).expect_success(), "Ssl_cipher\t\nSsl_version\t\n");
    }
    let ca = format!("--ssl-ca={}", pki.ca.display());
    let verify = [&ca, "--ssl-verify-server-cert", "--execute=SELECT 'verified'"];
    assert_eq!(client(&proxy, &verify).expect_success(), "verified\n");
    // The authority of another PKI.
    let other = format!("--ssl-ca={}", Pki::new("other").ca.display());
    let output = client(&proxy, &[&other, "--ssl-verify-server-cert", "--execute=SELECT 1"]);
    assert_ne!(output.code, Some(0), "{output:?}");
    assert_eq!(client(&proxy, &["--skip-ssl", "--execute=SELECT 'plain'"]).expect_success(), "plain\n");
}

#[test]
fn certificates_of_clients_are_optional_and_those_that_are_shown_are_verified() {
    let pki = Pki::new("clients");
    let good = pki.authority.issue(&pki.folder, "client", &["somebody"]).unwrap();
    let other = Pki::new("other");
    let bad = other.authority.issue(&other.folder, "client", &["somebody"]).unwrap();
    let proxy = showing(&pki.server).pointsman("tls_ca", quoted(&pki.ca)).start();
    let with = |identity: &Identity| {
        let cert = format!("--ssl-cert={}", identity.cert.display());
        let key = format!("--ssl-key={}", identity.key.display());
        client(&proxy, &[&cert, &key, "--execute=SELECT 1"])
    };
    assert_eq!(client(&proxy, &["--execute=SELECT 1"]).expect_success(), "1\n");
    assert_eq!(with(&good).expect_success(), "1\n");
    assert_ne!(with(&bad).code, Some(0));
    proxy.wait_for_log("a client gets no TLS");
    // Without an authority no client is asked for a certificate, and any will do.
    let proxy = showing(&pki.server).start();
    let cert = format!("--ssl-cert={}", bad.cert.display());
    let key = format!("--ssl-key={}", bad.key.display());
    assert_eq!(client(&proxy, &[&cert, &key, "--execute=SELECT 1"]).expect_success(), "1\n");
}

#[test]
fn a_user_with_a_spiffe_id_needs_a_certificate_with_it() {
    let pki = Pki::new("workloads");
    let issue = |name: &str, uri: &str| pki.authority.issue(&pki.folder, name, &["somebody", uri]).unwrap();
    let (shop, other) =
        (issue("shop", "spiffe://example.org/shop"), issue("other", "spiffe://example.org/shopping"));
    for id in ["spiffe://example.org/shop", "!spiffe://example.org/(shop|store)"] {
        let proxy = Setup::new(&DB.sandbox)
            .server(&DB.server, "")
            .pointsman("tls_cert", quoted(&pki.server.cert))
            .pointsman("tls_key", quoted(&pki.server.key))
            .pointsman("tls_ca", quoted(&pki.ca))
            .user(USER, PASSWORD, &format!("attributes = '{{\"spiffe_id\": \"{id}\"}}'"))
            .start();
        let with = |identity: &Identity| {
            let cert = format!("--ssl-cert={}", identity.cert.display());
            let key = format!("--ssl-key={}", identity.key.display());
            client(&proxy, &[&cert, &key, "--execute=SELECT 1"])
        };
        assert_eq!(with(&shop).expect_success(), "1\n", "{id}");
        let refused =
            [with(&other), client(&proxy, &["--execute=SELECT 1"]), client(&proxy, &["--skip-ssl", STATUS])];
        for output in refused {
            assert!(output.stderr.contains("1045"), "{id}: {output:?}");
        }
        proxy.wait_for_log("no certificate with the user's spiffe_id");
    }
}

#[test]
fn a_user_that_must_use_tls_is_refused_without() {
    let proxy = Setup::new(&DB.sandbox).server(&DB.server, "").user(USER, PASSWORD, "use_ssl = 1").start();
    assert!(cipher(client(&proxy, &[STATUS])).contains("in use"));
    let output = client(&proxy, &["--skip-ssl", STATUS]);
    let expected = format!("Access denied for user '{USER}'@'127.0.0.1' (using password: YES)");
    assert!(output.stderr.contains("1045") && output.stderr.contains(&expected), "{output:?}");
    assert_ne!(output.code, Some(0));
    // Nor over a Unix socket, where passwords could be shown.
    run(async {
        let error = Client::connect(&Options::unix(proxy.socket(), USER, PASSWORD)).await.err().unwrap();
        assert!(error.to_string().contains("1045"), "{error}");
    });
}

#[test]
fn tls_works_over_a_unix_socket_too() {
    let proxy = Setup::before(&DB.sandbox, &DB.server).start();
    run(async {
        let stream = tokio::net::UnixStream::connect(proxy.socket()).await.unwrap();
        let options = Options::unix(proxy.socket(), USER, PASSWORD);
        let mut client = Client::over_tls(stream, &options, believer(None).unwrap()).await.unwrap();
        assert_eq!(client.query("SELECT 7").await.unwrap().first().as_deref(), Some("7"));
    });
}

#[test]
fn sessions_over_tls_end_when_their_clients_do_and_only_they() {
    // Connections to the server end with their clients, too.
    let proxy = Setup::before(&DB.sandbox, &DB.server).variable("multiplexing", false).start();
    run(async {
        let config = believer(None).unwrap();
        let connect = || async {
            let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            Client::over_tls(stream, &proxy.options(), Arc::clone(&config)).await.unwrap()
        };
        let mut other = connect().await;
        let before = e2e::memory::descriptors(proxy.pid());
        for _ in 0..20 {
            // Without a close_notify, as a killed client does, with and without a statement.
            drop(connect().await);
            let mut client = connect().await;
            client.query("SELECT 1").await.unwrap();
            drop(client);
        }
        assert_eq!(other.query("SELECT 2").await.unwrap().first().as_deref(), Some("2"));
        let after = || e2e::memory::descriptors(proxy.pid()) <= before + 1;
        wait_for("the descriptors of clients that left", after);
    });
}

#[test]
fn bytes_that_are_no_records_end_one_session() {
    let proxy = Setup::before(&DB.sandbox, &DB.server).start();
    run(async {
        let config = believer(None).unwrap();
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let mut other = Client::over_tls(stream, &proxy.options(), Arc::clone(&config)).await.unwrap();
        // TLS from the first byte, as for HTTPS: the greeting comes, then an error, and the end.
        for garbage in
            [&b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03"[..], &[0xff; 300], b"GET / HTTP/1.0\r\n\r\n"]
        {
            let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            stream.write_all(garbage).await.unwrap();
            let mut all = Vec::new();
            // A reset is an end as well.
            let _ = tokio::time::timeout(e2e::WAIT_MAX, stream.read_to_end(&mut all)).await.unwrap();
        }
        // A session that turns to garbage.
        let (mine, theirs) = tokio::io::duplex(1 << 16);
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let now = Arc::new(AtomicBool::new(false));
        let spoiler = tokio::spawn(spoil(stream, theirs, Arc::clone(&now)));
        let mut client = Client::over_tls(mine, &proxy.options(), config).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        now.store(true, Ordering::Relaxed);
        assert!(client.query("SELECT 'spoil'").await.is_err());
        drop(client);
        spoiler.await.unwrap();
        assert_eq!(other.query("SELECT 2").await.unwrap().first().as_deref(), Some("2"));
    });
}

/// Passes bytes on, and spoils what the client sends from `now` on.
async fn spoil(proxy: TcpStream, client: tokio::io::DuplexStream, now: Arc<AtomicBool>) {
    let (mut from_proxy, mut to_proxy) = proxy.into_split();
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let up = async {
        let mut buffer = vec![0; 1 << 14];
        while let Ok(n @ 1..) = from_client.read(&mut buffer).await {
            if now.load(Ordering::Relaxed) {
                buffer[n / 2] ^= 1;
            }
            if to_proxy.write_all(&buffer[..n]).await.is_err() {
                break;
            }
        }
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_proxy, &mut to_client).await;
        let _ = to_client.shutdown().await;
    };
    tokio::join!(up, down);
}

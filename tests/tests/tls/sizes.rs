//! Payloads of every size over TLS on both sides, and what a large one costs.

use std::sync::Arc;

use e2e::{Backend, Setup, run};
use testkit::certificates::believer;
use testkit::client::Client;
use testkit::mariadb::{PASSWORD, USER};
use tokio::net::TcpStream;

use super::Pki;

/// Around a record, and around the longest packet.
const SIZES: [usize; 7] = [1, 1 << 14, (1 << 14) + 1, 1 << 16, (1 << 24) - 1, 1 << 24, (1 << 24) + 1];

#[test]
fn c17_payloads_of_every_size_arrive_with_tls_on_either_side() {
    let pki = Pki::new("sizes");
    let db = Backend::start(&[
        &format!("--ssl-cert={}", pki.server.cert.display()),
        &format!("--ssl-key={}", pki.server.key.display()),
    ]);
    for use_ssl in [0, 1] {
        let proxy = Setup::new(&db.sandbox)
            .server(&db.server, &format!("use_ssl = {use_ssl}"))
            .user(USER, PASSWORD, "")
            .variable("max_allowed_packet", 64 << 20)
            .start();
        run(async {
            // Above a record the version makes no difference.
            for (version, sizes) in
                [(&rustls::version::TLS12, &SIZES[..4]), (&rustls::version::TLS13, &SIZES)]
            {
                let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
                let config = believer(Some(version)).unwrap();
                let mut client = Client::over_tls(stream, &proxy.options(), config).await.unwrap();
                for &size in sizes {
                    // Up: a statement of about this many bytes. Down: the same number of them.
                    let text = "x".repeat(size);
                    let sql = format!("SELECT LENGTH('{text}')");
                    let len = client.query(&sql).await.unwrap().first();
                    assert_eq!(len, Some(size.to_string()), "use_ssl = {use_ssl}");
                    let cell = client.query(&format!("SELECT REPEAT('y', {size})")).await.unwrap().first();
                    assert!(cell.is_some_and(|cell| cell == "y".repeat(size)), "{size}, use_ssl = {use_ssl}");
                }
            }
        });
    }
}

#[test]
fn a_large_result_costs_little_memory() {
    let proxy = Setup::before(&super::DB.sandbox, &super::DB.server).start();
    run(async {
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let mut client =
            Client::over_tls(stream, &proxy.options(), Arc::clone(&believer(None).unwrap())).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        let before = e2e::memory::rss_kib(proxy.pid());
        let watch = e2e::memory::Watch::start(proxy.pid());
        // The server is faster than this client, which looks at every row.
        let result = client.query("SELECT REPEAT('z', 1000000) FROM seq_1_to_100").await.unwrap();
        assert_eq!(result.rows.len(), 100);
        let grown = watch.highest_kib().saturating_sub(before);
        assert!(grown < 8 * 1024, "{grown} KiB");
    });
}

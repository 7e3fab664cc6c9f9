//! Payloads of every size over TLS on both sides, also with compression inside it, and what a large
//! one costs.

use std::sync::Arc;

use e2e::payloads::every_size;
use e2e::{Backend, Setup, run};
use testkit::certificates::believer;
use testkit::client::Client;
use testkit::mariadb::{PASSWORD, USER};
use tokio::net::TcpStream;
use wire::compress::Method;

use super::Pki;

/// Around a record and around the longest packet.
const SIZES: [usize; 8] = [0, 1, 1 << 14, (1 << 14) + 1, 1 << 16, (1 << 24) - 1, 1 << 24, (1 << 24) + 1];

#[test]
fn c17_payloads_of_every_size_arrive_over_tls() {
    let pki = Pki::new("sizes");
    let db = Backend::start(&[
        "--max-allowed-packet=64M",
        &format!("--ssl-cert={}", pki.server.cert.display()),
        &format!("--ssl-key={}", pki.server.key.display()),
    ]);
    let tls12 = &rustls::version::TLS12;
    let tls13 = &rustls::version::TLS13;
    let zlib = Some(Method::Zlib);
    let zstd = Some(Method::Zstd { level: 3 });
    // The server's side, and the client's. Above a record the version makes no difference, and the
    // two sides know nothing of each other.
    for (use_ssl, compression, sides) in [
        (0, 0, &[(tls12, None, &SIZES[..4]), (tls13, None, &SIZES), (tls13, zstd, &SIZES)][..]),
        (1, 0, &[(tls13, None, &SIZES), (tls13, zlib, &SIZES)]),
        (1, 1, &[(tls13, zlib, &SIZES)]),
    ] {
        let proxy = Setup::new(&db.sandbox)
            .server(&db.server, &format!("use_ssl = {use_ssl}\ncompression = {compression}"))
            .user(USER, PASSWORD, "")
            .variable("max_allowed_packet", 64 << 20)
            .start();
        for &(version, method, sizes) in sides {
            let options =
                method.map_or_else(|| proxy.options(), |method| proxy.options().compression(method));
            run(async {
                let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
                let config = believer(Some(version)).unwrap();
                let mut client = Client::over_tls(stream, &options, config).await.unwrap();
                assert_eq!(client.packets().is_compressed(), method.is_some());
                every_size(&mut client, sizes).await;
            });
        }
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

//! How often a client waits in a login over TLS: as often as with the server itself.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use e2e::{Backend, Setup, run};
use rustls::ClientConfig;
use testkit::certificates::believer;
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Pki;

/// A connection that counts how often its owner begins to read after it has written. What arrives
/// when does not change that, as it would for who watches the network: tickets of TLS come while a
/// client is speaking.
struct Counted {
    stream: TcpStream,
    has_written: AtomicBool,
    turns: Arc<AtomicUsize>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let turns = usize::from(self.has_written.swap(false, Ordering::Relaxed));
        self.turns.fetch_add(turns, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.has_written.store(true, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// How often a client waits for what it has asked for: in its login, and in a statement behind it.
async fn turns(options: &Options, port: u16, config: Arc<ClientConfig>) -> [usize; 2] {
    let turns = Arc::default();
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let stream = Counted { stream, has_written: AtomicBool::new(false), turns: Arc::clone(&turns) };
    let mut client = Client::over_tls(stream, options, config).await.unwrap();
    let login = turns.load(Ordering::Relaxed);
    assert_eq!(client.query("SELECT 7").await.unwrap().first().as_deref(), Some("7"));
    [login, turns.load(Ordering::Relaxed) - login]
}

fn logins_take_what_they_take_at(db: Option<&Backend>, pki: &Pki) {
    let Some(db) = db else { return };
    let proxy = Setup::before(&db.sandbox, &db.server)
        .pointsman("tls_cert", format!("'{}'", pki.server.cert.display()))
        .pointsman("tls_key", format!("'{}'", pki.server.key.display()))
        .start();
    // That of a Unix socket stands for a password that may be shown.
    let options = Options::unix(proxy.socket(), USER, PASSWORD).schema("test");
    run(async {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            // The first of all shows its password, where the server wants to see it once; the
            // second one finds all ready, and the third one also has what the first ones were given
            // for a shorter handshake.
            for again in [false, false, true] {
                let [direct, proxied] = [(); 2].map(|()| believer(Some(version)).unwrap());
                for _ in 0..usize::from(again) {
                    turns(&options, db.server.port(), Arc::clone(&direct)).await;
                    turns(&options, proxy.tcp().port(), Arc::clone(&proxied)).await;
                }
                let direct = turns(&options, db.server.port(), direct).await;
                let proxied = turns(&options, proxy.tcp().port(), proxied).await;
                assert!(direct[0] >= 2, "a login over TLS takes two turns at least: {direct:?}");
                for (direct, proxied) in direct.into_iter().zip(proxied) {
                    assert!(
                        proxied <= direct,
                        "{:?} {:?}, again: {again}: {proxied} turns, {direct} without the proxy",
                        db.make,
                        version.version
                    );
                }
            }
        }
    });
}

/// Options of a server that shows this certificate.
fn certified(pki: &Pki) -> [String; 2] {
    [format!("--ssl-cert={}", pki.server.cert.display()), format!("--ssl-key={}", pki.server.key.display())]
}

#[test]
fn logins_take_what_they_take_at_mariadb() {
    let pki = Pki::new("trips");
    let db = Backend::start(&certified(&pki).each_ref().map(String::as_str));
    logins_take_what_they_take_at(Some(&db), &pki);
}

#[test]
fn logins_take_what_they_take_at_mysql() {
    let pki = Pki::new("trips");
    let db = Backend::start_mysql_or_skip(&certified(&pki).each_ref().map(String::as_str));
    logins_take_what_they_take_at(db.as_ref(), &pki);
}

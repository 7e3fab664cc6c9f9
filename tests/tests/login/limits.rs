//! Limits: of connections, of time, of size.

use std::time::{Duration, Instant};

use e2e::run;
use testkit::client::{Client, Options};
use testkit::script::ScriptedClient;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::{CLEAR, SECRET, SHA2, SHA2_PLUGIN, setup};

#[test]
fn a_user_has_no_more_connections_than_it_may() {
    let proxy = setup().user("nothing", "", "max_connections = 2").start();
    run(async {
        let options = Options::tcp(proxy.tcp(), "nothing", "");
        let mut first = Client::connect(&options).await.unwrap();
        let second = Client::connect(&options).await.unwrap();
        for _ in 0..3 {
            let error = Client::connect(&options).await.unwrap_err();
            assert_eq!(error.code(), Some(1226));
            assert!(error.to_string().contains("'nothing'") && error.to_string().contains("2)"), "{error}");
        }
        // Others have their own limits.
        let other = Options::tcp(proxy.tcp(), CLEAR, SECRET);
        Client::connect(&other).await.unwrap().ping().await.unwrap();
        second.quit().await.unwrap();
        let mut third = Client::connect(&options).await.unwrap();
        first.ping().await.unwrap();
        third.ping().await.unwrap();
    });
}

#[test]
fn the_proxy_has_no_more_clients_than_it_may() {
    let proxy = setup().variable("max_connections", 2).layer4().start();
    run(async {
        let options = Options::tcp(proxy.tcp(), CLEAR, SECRET);
        let mut first = Client::connect(&options).await.unwrap();
        let second = Client::connect(&options).await.unwrap();
        let error = Client::connect(&options).await.unwrap_err();
        assert_eq!(error.code(), Some(1040));
        assert!(error.to_string().contains("mysql-max_connections is 2"), "{error}");
        let unix = Options::unix(proxy.socket(), CLEAR, SECRET);
        assert_eq!(Client::connect(&unix).await.unwrap_err().code(), Some(1040));
        let layer4 = Options::tcp(proxy.layer4(), CLEAR, SECRET);
        assert_eq!(Client::connect(&layer4).await.unwrap_err().code(), Some(1040));
        second.quit().await.unwrap();
        // The place is free soon after the connection is closed.
        let deadline = Instant::now() + e2e::WAIT_MAX;
        let mut third = loop {
            match Client::connect(&options).await {
                Ok(client) => break client,
                Err(error) => assert!(error.code() == Some(1040) && Instant::now() < deadline, "{error}"),
            }
        };
        third.query("SELECT 1").await.unwrap();
        first.query("SELECT 1").await.unwrap();
    });
}

#[test]
fn clients_wait_for_places_where_they_are_to() {
    let wait = setup().variable("client_queue_timeout_ms", 60_000).variable("client_queue_size", 1);
    let proxy = wait.variable("max_connections", 1).user("nothing", "", "max_connections = 1").start();
    run(async {
        let options = Options::tcp(proxy.tcp(), "nothing", "");
        let first = Client::connect(&options).await.unwrap();
        let second = tokio::spawn({
            let options = options.clone();
            async move {
                loop {
                    match Client::connect(&options).await {
                        Err(error) if error.code() == Some(1040) => {}
                        connected => return connected,
                    }
                }
            }
        });
        // One waits, or soon will; one more is refused then. Who leaves the line makes room in it.
        let deadline = Instant::now() + e2e::WAIT_MAX;
        loop {
            let third = tokio::time::timeout(Duration::from_millis(100), Client::connect(&options)).await;
            match third {
                Ok(Err(error)) if error.code() == Some(1040) => break,
                Ok(_) => panic!("nobody gets in"),
                // It was first in line itself, and has left.
                Err(_) => assert!(Instant::now() < deadline),
            }
        }
        assert!(!second.is_finished());
        first.quit().await.unwrap();
        second.await.unwrap().unwrap().ping().await.unwrap();
    });
}

#[test]
fn c24_a_login_has_a_deadline() {
    const DEADLINE: Duration = Duration::from_millis(700);
    let proxy = setup().variable("connect_timeout_client", DEADLINE.as_millis()).start();
    run(async {
        let started = Instant::now();
        let mut silent = TcpStream::connect(proxy.tcp()).await.unwrap();
        // In the middle of its login packet, byte by byte, so that it is never quiet.
        let dribbling = async {
            let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            let mut interval = tokio::time::interval(Duration::from_millis(50));
            let bytes = [&[200, 0, 0, 1][..], &[0; 200]].concat();
            for byte in bytes {
                interval.tick().await;
                if tokio::io::AsyncWriteExt::write_all(&mut stream, &[byte]).await.is_err() {
                    return;
                }
            }
            panic!("the proxy has taken 10 s for a login");
        };
        // In the middle of the full exchange.
        let unfinished = async {
            let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            let mut client = ScriptedClient::new(stream);
            let server = client.read_greeting().await.unwrap();
            let options = Options::tcp(proxy.tcp(), SHA2, SECRET).auth_plugin(SHA2_PLUGIN);
            client.send_login(&server, &options, &[7; 32]).await;
            client.expect(&[1, 4]).await;
            client.expect_gone().await;
        };
        let silence = async {
            let mut bytes = Vec::new();
            silent.read_to_end(&mut bytes).await.unwrap();
            assert!(bytes.len() > 40, "no greeting");
            started.elapsed()
        };
        let ((), (), took) = tokio::join!(dribbling, unfinished, silence);
        assert!(took >= DEADLINE, "{took:?}");
        // Who is in has all the time that it wants.
        let mut client = Client::connect(&Options::tcp(proxy.tcp(), CLEAR, SECRET)).await.unwrap();
        client.query(&format!("DO SLEEP({})", 2.0 * DEADLINE.as_secs_f64())).await.unwrap();
    });
}

#[test]
fn a_command_that_is_too_long_is_refused() {
    const LIMIT: usize = 100_000;
    let proxy = setup().variable("max_allowed_packet", LIMIT).start();
    let options = Options::tcp(proxy.tcp(), CLEAR, SECRET);
    run(async {
        // Of this length including the command byte.
        let sql = |len: usize| format!("SELECT LENGTH('{}')", "x".repeat(len - "qSELECT LENGTH('')".len()));
        for with_backend in [false, true] {
            for len in [LIMIT + 1, 1_000_000, 20_000_000] {
                let mut client = Client::connect(&options).await.unwrap();
                if with_backend {
                    client.query("SELECT 1").await.unwrap();
                    let longest = client.query(&sql(LIMIT)).await.unwrap().first();
                    assert_eq!(longest.as_deref(), Some("99982"));
                }
                let error = client.query(&sql(len)).await.unwrap_err();
                assert_eq!(error.code(), Some(1153), "{len}: {error}");
                assert!(error.to_string().contains("100000"), "{error}");
            }
        }
    });
}

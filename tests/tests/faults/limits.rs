//! Clients that do nothing for too long are disconnected, wherever they stopped.

use std::time::{Duration, Instant};

use e2e::{Backend, on_each_server, run, wait_for};
use testkit::client::{Client, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{raw, setup, setup_for};

on_each_server! {
    c24_an_idle_transaction_is_rolled_back,
    c24_a_client_is_idle_no_longer_than_it_has_set,
    c24_a_client_that_does_not_read_is_disconnected,
}

/// How long clients may be idle here.
const IDLE: Duration = Duration::from_millis(1500);

#[test]
fn c24_an_idle_client_is_disconnected() {
    let proxy = setup().variable("wait_timeout", IDLE.as_millis()).start();
    run(async {
        let started = Instant::now();
        let mut idle = Client::connect(&proxy.options()).await.unwrap();
        let mut with_backend = Client::connect(&proxy.options()).await.unwrap();
        with_backend.query("SELECT 1").await.unwrap();
        let mut in_transaction = Client::connect(&proxy.options()).await.unwrap();
        in_transaction.query("BEGIN").await.unwrap();
        let mut busy = Client::connect(&proxy.options()).await.unwrap();
        let mut active = Client::connect(&proxy.options()).await.unwrap();
        let ends = async {
            for client in [&mut idle, &mut with_backend] {
                let mut rest = Vec::new();
                // Gone, with or without a word.
                let _ = client.packets().stream().read_to_end(&mut rest).await;
                assert!(started.elapsed() >= IDLE, "ended after {:?}", started.elapsed());
            }
        };
        let goes_on = async {
            for _ in 0..40 {
                active.query("DO SLEEP(0.1)").await.unwrap();
            }
        };
        let runs_long = async { busy.query("DO SLEEP(4)").await.unwrap() };
        tokio::join!(ends, goes_on, runs_long);
        in_transaction.query("COMMIT").await.unwrap();
    });
}

/// As the server does it: MySQL says why.
fn c24_a_client_is_idle_no_longer_than_it_has_set(db: &Backend) {
    db.sql("CREATE USER limits_itself IDENTIFIED BY 'pw'");
    let proxy = setup_for(db).user("limits_itself", "pw", "").start();
    run(async {
        let options = Options::tcp(proxy.tcp(), "limits_itself", "pw");
        let mut client = Client::connect(&options).await.unwrap();
        client.query("SET SESSION wait_timeout := 1").await.unwrap();
        // The connection is another session's from now on.
        let mut other = Client::connect(&options).await.unwrap();
        other.query("SELECT 1").await.unwrap();
        let mut word = Vec::new();
        let _ = client.packets().stream().read_to_end(&mut word).await;
        let is_4031 = word.get(4..7) == Some(&[0xff, 0xbf, 0x0f]);
        assert_eq!(is_4031, db.is_mysql(), "{word:?}");
        other.query("SELECT 1").await.unwrap();
    });
}

fn c24_an_idle_transaction_is_rolled_back(db: &Backend) {
    db.sql("CREATE TABLE test.forgotten (a INT) ENGINE=InnoDB");
    db.sql("CREATE USER forgets IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO forgets");
    let proxy = setup_for(db)
        .user("forgets", "pw", "")
        .variable("max_transaction_idle_time", IDLE.as_millis())
        .start();
    run(async {
        let options = Options::tcp(proxy.tcp(), "forgets", "pw").schema("test");
        let mut client = Client::connect(&options).await.unwrap();
        client.query("BEGIN").await.unwrap();
        client.query("INSERT INTO forgotten VALUES (1)").await.unwrap();
        wait_for("the backend to be closed", || db.connections_of("forgets") == 0);
        assert!(client.query("COMMIT").await.is_err());
    });
    assert_eq!(db.sql("SELECT COUNT(*) FROM test.forgotten"), "0\n");
}

#[test]
fn c24_a_client_that_stops_in_the_middle_of_a_command_is_disconnected() {
    let proxy = setup().variable("wait_timeout", IDLE.as_millis()).start();
    run(async {
        let pieces: [&[u8]; 4] = [
            b"\x05",
            b"\x05\0\0\0",
            // A command of 16 MB; a change of user.
            &[&b"\0\0\xf0\0\x03"[..], &b" ".repeat(100_000)].concat(),
            b"\x50\0\0\0\x11app\0",
        ];
        for piece in pieces {
            let mut stream = raw(&proxy.options(), &proxy).await;
            let started = Instant::now();
            stream.write_all(piece).await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            let start = piece[..piece.len().min(5)].escape_ascii();
            assert!(started.elapsed() >= IDLE, "{start}: ended after {:?}", started.elapsed());
        }
    });
}

fn c24_a_client_that_does_not_read_is_disconnected(db: &Backend) {
    let proxy = setup_for(db).variable("wait_timeout", IDLE.as_millis()).start();
    run(async {
        let mut stream = raw(&proxy.options(), &proxy).await;
        let started = Instant::now();
        stream.write_all(b"\x2f\0\0\0\x03SELECT REPEAT('x', 100000) FROM seq_1_to_10000").await.unwrap();
        wait_for("the statement to run", || db.sql(LARGE_RESULTS) == "1\n");
        wait_for("the backend to be closed", || db.sql(LARGE_RESULTS) == "0\n");
        assert!(started.elapsed() >= IDLE, "ended after {:?}", started.elapsed());
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.len() < 1_000_000_000, "all of the result was there");
    });
}

/// Number of statements like the one above.
const LARGE_RESULTS: &str =
    "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT REPEAT%seq_1_to_10000'";

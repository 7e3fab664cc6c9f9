//! How the proxy ends: by SIGTERM, by two of them, by kill -9; and what does not end it.

use std::time::{Duration, Instant};

use e2e::{Backend, Setup, on_each_server, run, wait_for};
use testkit::client::{Client, ClientError, Options};
use testkit::guard::Signal;
use testkit::mariadb::{PASSWORD, USER};
use testkit::net::free_port;
use testkit::script::ScriptedClient;
use tokio::net::TcpStream;
use wire::command::Kind;

use super::{DB, setup, setup_for};

on_each_server! {
    sigterm_tells_idle_clients_and_lets_transactions_finish,
    a_transaction_that_does_not_finish_in_time_is_rolled_back,
    c09_kill_9_of_the_proxy_leaves_nothing_and_it_can_start_again,
}

/// The server without a proxy.
fn direct(db: &Backend) -> Options {
    Options::tcp(db.server.address(), USER, PASSWORD)
}

fn sigterm_tells_idle_clients_and_lets_transactions_finish(db: &Backend) {
    db.sql("CREATE TABLE test.finished (a INT) ENGINE=InnoDB");
    let mut proxy = setup_for(db).start();
    let options = proxy.options();
    run(async {
        let connect = async || {
            let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            ScriptedClient::connect(stream, &options).await
        };
        let (mut idle, mut with_backend) = (connect().await, connect().await);
        with_backend.query("SELECT 1").await.unwrap();
        let mut in_transaction = connect().await;
        in_transaction.query("BEGIN").await.unwrap();
        // A statement that runs for as long as another client has the lock.
        let mut holder = Client::connect(&direct(db)).await.unwrap();
        holder.query("SELECT GET_LOCK('held', 0)").await.unwrap();
        let mut busy = connect().await;
        busy.send_query("SELECT GET_LOCK('held', 1000), 'busy'").await;
        let running =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%1000), ''busy'''";
        wait_for("the statement to run", || db.sql(running) == "1\n");

        proxy.signal(Signal::TERM);
        for client in [&mut idle, &mut with_backend] {
            // Where the answer to its next command will be.
            client.packets().expect_seq(1);
            let error = client.expect_err(1053).await;
            assert_eq!(error.sql_state, "08S01", "{error}");
            client.expect_end().await;
        }
        // No client was sent away before the listeners were closed.
        let refused = TcpStream::connect(proxy.tcp()).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        assert!(!proxy.socket().exists());

        in_transaction.query("INSERT INTO finished VALUES (1)").await.unwrap();
        in_transaction.query("COMMIT").await.unwrap();
        in_transaction.packets().expect_seq(1);
        in_transaction.expect_err(1053).await;
        holder.query("SELECT RELEASE_LOCK('held')").await.unwrap();
        busy.expect_rows(&[&[Some("1"), Some("busy")]]).await;
        busy.packets().expect_seq(1);
        busy.expect_err(1053).await;
    });
    assert_eq!(proxy.wait().code(), Some(0));
    assert_eq!(db.sql("SELECT COUNT(*) FROM test.finished"), "1\n");
}

fn a_transaction_that_does_not_finish_in_time_is_rolled_back(db: &Backend) {
    const TIMEOUT: Duration = Duration::from_millis(700);
    db.sql("CREATE TABLE test.unfinished (a INT) ENGINE=InnoDB");
    let mut proxy =
        setup_for(db).layer4().drain_timeout_ms(u64::try_from(TIMEOUT.as_millis()).unwrap()).start();
    run(async {
        let mut in_transaction = Client::connect(&proxy.options()).await.unwrap();
        in_transaction.query("BEGIN").await.unwrap();
        in_transaction.query("INSERT INTO unfinished VALUES (1)").await.unwrap();
        let mut busy = Client::connect(&proxy.options()).await.unwrap();
        busy.send_command(Kind::Query, b"SELECT SLEEP(1000)").await.unwrap();
        let layer4 = Options::tcp(proxy.layer4(), USER, PASSWORD);
        let mut tunnel = Client::connect(&layer4).await.unwrap();
        let mut reading = Client::connect(&proxy.options()).await.unwrap();
        reading
            .send_command(Kind::Query, b"SELECT REPEAT('x', 100000) FROM seq_1_to_2000 a, seq_1_to_2000 b")
            .await
            .unwrap();
        reading.packets().read().await.unwrap();

        let started = Instant::now();
        proxy.signal(Signal::TERM);
        assert_eq!(proxy.wait().code(), Some(0));
        assert!(started.elapsed() >= TIMEOUT, "{:?}", started.elapsed());
        proxy.wait_for_log("drain_timeout_ms is over: what is left is cut off");
        assert!(in_transaction.query("COMMIT").await.is_err());
        assert!(busy.read_result().await.is_err());
        assert!(tunnel.query("SELECT 1").await.is_err());
        // The result is cut; nothing in it looks like its end.
        while let Ok(packet) = reading.packets().read().await {
            assert_ne!(packet.first(), Some(&0xfe));
        }
    });
    wait_for("the server to roll back", || {
        db.sql("SELECT COUNT(*) FROM information_schema.innodb_trx") == "0\n"
    });
    assert_eq!(db.sql("SELECT COUNT(*) FROM test.unfinished"), "0\n");
}

#[test]
fn a_second_sigterm_ends_at_once() {
    for (first, second) in [(Signal::TERM, Signal::TERM), (Signal::INT, Signal::INT)] {
        let mut proxy = setup().drain_timeout_ms(3_600_000).start();
        run(async {
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            client.query("BEGIN").await.unwrap();
            proxy.signal(first);
            proxy.wait_for_log("shutting down");
            // The transaction may go on, until the second signal.
            client.query("SELECT 1").await.unwrap();
            assert!(proxy.runs());
            proxy.signal(second);
            assert_eq!(proxy.wait().code(), Some(0));
            assert!(client.query("SELECT 1").await.is_err());
        });
    }
}

#[test]
fn sigterm_ends_those_who_log_in_and_those_who_wait_for_a_server() {
    let mut proxy = Setup::new(&DB.sandbox)
        .server(&DB.server, "max_connections = 1")
        .user(USER, PASSWORD, "")
        .variable("connect_timeout_server_max", 3_600_000)
        .drain_timeout_ms(1000)
        .start();
    run(async {
        let mut first = Client::connect(&proxy.options()).await.unwrap();
        first.query("SELECT 1").await.unwrap();
        let mut waiting = Client::connect(&proxy.options()).await.unwrap();
        waiting.send_command(Kind::Query, b"SELECT 2").await.unwrap();
        let mut half_open = ScriptedClient::new(TcpStream::connect(proxy.tcp()).await.unwrap());
        half_open.read_greeting().await.unwrap();
        proxy.signal(Signal::TERM);
        half_open.expect_gone().await;
        // The place of the first, which is idle and leaves, is the second's; whether it is used or
        // not, it ends.
        let _ = waiting.read_result().await;
        assert_eq!(proxy.wait().code(), Some(0));
    });
}

#[test]
fn sighup_ends_nothing() {
    let mut proxy = setup().start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("BEGIN").await.unwrap();
        proxy.signal(Signal::HUP);
        proxy.wait_for_log("the files of TLS were read again");
        client.query("COMMIT").await.unwrap();
        Client::connect(&proxy.options()).await.unwrap().query("SELECT 1").await.unwrap();
    });
    assert!(proxy.runs());
}

fn c09_kill_9_of_the_proxy_leaves_nothing_and_it_can_start_again(db: &Backend) {
    db.sql("CREATE TABLE test.killed (a INT) ENGINE=InnoDB");
    db.sql("CREATE USER survivor IDENTIFIED BY 'pw'; GRANT ALL ON test.* TO survivor");
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let setup = Setup::new(&db.sandbox)
        .row("listeners", &format!("address = \"{address}\""))
        .server(&db.server, "")
        .user("survivor", "pw", "");
    for round in 0..3_u64 {
        let mut proxy = setup.clone().start();
        let options = Options::tcp(address.parse().unwrap(), "survivor", "pw").schema("test");
        run(async {
            let mut clients = Vec::new();
            for _ in 0..20 {
                let mut client = Client::connect(&options).await.unwrap();
                client.query("BEGIN").await.unwrap();
                client.send_command(Kind::Query, b"INSERT INTO killed VALUES (1)").await.unwrap();
                clients.push(client);
            }
            // The moment of the fault, not a synchronisation.
            std::thread::sleep(Duration::from_millis(round * 3));
            proxy.signal(Signal::KILL);
            assert_eq!(proxy.wait().code(), None);
            for mut client in clients {
                let _ = client.read_result().await;
                let error = client.query("COMMIT").await.unwrap_err();
                assert!(matches!(error, ClientError::Io(_)), "{error}");
            }
        });
        wait_for("the server to notice", || db.connections_of("survivor") == 0);
        assert_eq!(db.sql("SELECT COUNT(*) FROM test.killed"), "0\n");
    }
    // The socket's file of the killed proxy does not stop the next one.
    let proxy = setup.start();
    run(async {
        let options = Options::unix(proxy.socket(), "survivor", "pw");
        Client::connect(&options).await.unwrap().query("SELECT 1").await.unwrap();
    });
}

#[test]
fn two_proxies_cannot_have_the_same_address() {
    let proxy = setup().start();
    let config = DB.sandbox.path().join("second.toml");
    for address in [proxy.tcp().to_string(), proxy.socket().display().to_string()] {
        std::fs::write(&config, format!("[[listeners]]\naddress = \"{address}\"\n")).unwrap();
        let arguments = ["serve".as_ref(), "--config".as_ref(), config.as_os_str()];
        let output = e2e::tools::pointsman(&DB.sandbox, arguments);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stderr.contains(&format!("cannot listen on {address}: ")), "{output:?}");
    }
    // Nothing of the first was touched.
    run(async {
        let options = Options::unix(proxy.socket(), USER, PASSWORD);
        Client::connect(&options).await.unwrap().query("SELECT 1").await.unwrap();
    });
}

#[test]
fn another_instance_takes_over_the_port() {
    let mut first = setup().argument("--reuse-port").start();
    let address = format!("address = \"{}\"", first.tcp());
    let second = setup().argument("--reuse-port").row("listeners", &address).start();
    let options = first.options();
    run(async {
        // One of them gets each client, and clients of the first one go on while it ends.
        let mut clients = Vec::new();
        for _ in 0..40 {
            let mut client = Client::connect(&options).await.unwrap();
            client.query("BEGIN").await.unwrap();
            clients.push(client);
        }
        first.signal(Signal::TERM);
        let line = first.wait_for_log("shutting down");
        let here: usize = line.rsplit_once("sessions=").unwrap().1.parse().unwrap();
        assert!((1..40).contains(&here), "{here} of 40 clients are at the first instance");
        for client in &mut clients {
            client.query("COMMIT").await.unwrap();
        }
        // Those of the first one are sent away when it has closed its doors.
        while clients.len() > 40 - here {
            let mut left = Vec::new();
            for mut client in clients {
                if client.query("SELECT 1").await.is_ok() {
                    left.push(client);
                }
            }
            clients = left;
        }
        for _ in 0..40 {
            Client::connect(&options).await.unwrap().query("SELECT 1").await.unwrap();
        }
    });
    assert_eq!(first.wait().code(), Some(0));
    drop(second);
}

//! The server dies at any moment.

use std::time::{Duration, Instant};

use e2e::admin::{connect as admin, value, wait_for_value};
use e2e::{Backend, Setup, on_each_own_server, run, wait_for};
use testkit::client::{Client, ClientError, Options};
use testkit::load::{Group, Load, Mix, create_schema};
use testkit::mariadb::{PASSWORD, USER};
use wire::command::Kind;

on_each_own_server! {
    kill_9_of_the_server_under_load_fails_statements_and_nothing_else,
    c08_a_transaction_does_not_go_on_after_its_server_has_died,
    a_server_that_dies_in_the_middle_of_data_ends_the_session,
    c24_a_server_that_freezes_is_left_alone_until_it_is_back,
    a_session_that_the_server_ends_is_over,
}

/// How long a session waits for a backend here.
const WAIT: Duration = Duration::from_secs(2);

fn setup(db: &Backend) -> Setup {
    Setup::before(&db.sandbox, &db.server)
        .variable("connect_timeout_server_max", WAIT.as_millis())
        .variable("connect_retries_on_failure", 10)
}

/// The part of a command that comes before the server dies.
const PART_BYTES: usize = 100_000;

/// What a client hears whose server has died: that, or that its connection has ended.
fn is_loss(error: &ClientError) -> bool {
    match error {
        ClientError::Server(error) => error.code == 2013 && error.message.contains("Lost connection"),
        ClientError::Io(_) => true,
        _ => false,
    }
}

fn kill_9_of_the_server_under_load_fails_statements_and_nothing_else(db: &mut Backend) {
    const CONNECTIONS: usize = 16;
    // At the end no connection is left, not even one that is kept for other clients.
    let proxy = setup(db).variable("multiplexing", false).start();
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD);
    run(async { create_schema(&mut Client::connect(&options).await.unwrap()).await.unwrap() });
    let group = Group { options: options.clone(), connections: CONNECTIONS, mix: Mix::ReadsAndWrites };
    let load = Load::start(vec![group]).unwrap();
    let queries = || load.snapshot().total().queries;
    for round in 0..3_u32 {
        let target = queries() + 500;
        wait_for("the load to run", || load.snapshot().connections == CONNECTIONS && queries() > target);
        // The moment of the fault, not a synchronisation.
        std::thread::sleep(Duration::from_millis(u64::from(round) * 37));
        let failed = load.snapshot().total().errors;
        db.server.kill().unwrap();
        wait_for("all clients to fail", || load.snapshot().total().errors >= failed + CONNECTIONS as u64);
        // There is no server: the proxy lets clients in and says why they get nothing else.
        run(async {
            let mut client = Client::connect(&options).await.unwrap();
            let error = client.query("SELECT 1").await.unwrap_err();
            assert_eq!(error.code(), Some(9001), "{error}");
        });
        db.server.restart().unwrap();
    }
    let target = queries() + 500;
    wait_for("the load to go on", || load.snapshot().connections == CONNECTIONS && queries() > target);
    let end = load.stop();
    println!(
        "{} queries, {} errors, the first: {:?}",
        end.total().queries,
        end.total().errors,
        end.first_error
    );
    wait_for("the backends to be gone", || db.connections_of(USER) == 0);
}

fn c08_a_transaction_does_not_go_on_after_its_server_has_died(db: &mut Backend) {
    db.sql("CREATE TABLE test.t (a INT) ENGINE=InnoDB");
    let proxy = setup(db).start();
    run(async {
        let mut in_transaction = Client::connect(&proxy.options()).await.unwrap();
        in_transaction.query("BEGIN").await.unwrap();
        in_transaction.query("INSERT INTO t VALUES (1)").await.unwrap();
        let mut idle = Client::connect(&proxy.options()).await.unwrap();
        idle.query("SET @a = 1").await.unwrap();
        let mut bound = Client::connect(&proxy.options()).await.unwrap();
        bound.query("CREATE TEMPORARY TABLE test.own (a INT)").await.unwrap();
        let mut fresh = Client::connect(&proxy.options()).await.unwrap();
        let mut busy = Client::connect(&proxy.options()).await.unwrap();
        busy.send_command(Kind::Query, b"SELECT SLEEP(100)").await.unwrap();
        wait_for("the statement to run", || {
            let running =
                "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'";
            db.sql(running) == "1\n"
        });
        db.server.kill().unwrap();

        // It is sent again, and there is no server.
        let error = busy.read_result().await.unwrap_err();
        assert_eq!(error.code(), Some(9001), "{error}");
        db.server.restart().unwrap();

        let error = bound.query("SELECT 1").await.unwrap_err();
        assert!(is_loss(&error) || error.code() == Some(1053), "{error}");
        assert!(bound.query("SELECT 1").await.is_err());
        let error = in_transaction.query("INSERT INTO t VALUES (2)").await.unwrap_err();
        assert_eq!(error.code(), Some(1213), "{error}");
        in_transaction.query("COMMIT").await.unwrap();
        assert_eq!(idle.query("SELECT @a").await.unwrap().first().as_deref(), Some("1"));
        // Who had nothing on that server loses nothing.
        let count = fresh.query("SELECT COUNT(*) FROM t").await.unwrap().first();
        assert_eq!(count.as_deref(), Some("0"));
    });
}

fn a_server_that_dies_in_the_middle_of_data_ends_the_session(db: &mut Backend) {
    const SENT: &str = "SELECT sum(Bytes_data_sent) FROM stats_mysql_connection_pool";
    let setup = setup(db).variable("max_allowed_packet", 256 << 20);
    let proxy = setup.admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    for round in 0..3 {
        run(async {
            let mut admin = admin(&proxy).await;
            // In the middle of a result.
            let mut reading = Client::connect(&proxy.options()).await.unwrap();
            let sql = "SELECT REPEAT('x', 100000) FROM seq_1_to_2000 a, seq_1_to_2000 b";
            reading.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
            for _ in 0..=10 * round {
                reading.packets().read().await.unwrap();
            }
            // In the middle of a file.
            let mut loading = Client::connect(&proxy.options()).await.unwrap();
            loading.query("CREATE TEMPORARY TABLE t (a TEXT)").await.unwrap();
            let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t";
            loading.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
            assert_eq!(loading.packets().read().await.unwrap()[0], 0xfb);
            for _ in 0..=10 * round {
                loading.packets().write(b"a line of the file\n").await.unwrap();
            }
            // In the middle of a command: the length says 16 MB, a part of it comes.
            let mut sending = Client::connect(&proxy.options()).await.unwrap();
            sending.query("DO 0").await.unwrap();
            let before: u64 = value(&mut admin, SENT).await.parse().unwrap();
            sending
                .packets()
                .write_bytes(&[&[0, 0, 0xf0, 0, 3][..], &b" ".repeat(PART_BYTES)].concat())
                .await
                .unwrap();
            sending.packets().expect_seq(1);
            // Of a command that no server has seen the client would hear when it has sent all of
            // it.
            let is_there = format!("SELECT ({SENT}) >= {}", before + PART_BYTES as u64);
            wait_for_value(&mut admin, &is_there, "1").await;

            db.server.kill().unwrap();
            let rest = loop {
                match reading.packets().read().await {
                    Ok(packet) if packet.first() == Some(&0xff) => break Ok(packet),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                }
            };
            // Told between two rows, or cut within one: never an end that looks like one.
            if let Ok(packet) = rest {
                assert!(packet.starts_with(&[0xff, 0xdd, 0x07]), "{}", packet.escape_ascii());
            }
            // The file is sent to its end, if the connection still takes it; then there is an
            // answer, or the end.
            let _ = loading.packets().write(&[]).await;
            let error = loading.read_result().await.unwrap_err();
            assert!(is_loss(&error), "{error}");
            let error = sending.read_result().await.unwrap_err();
            assert!(is_loss(&error), "{error}");
            db.server.restart().unwrap();
            let mut after = Client::connect(&proxy.options()).await.unwrap();
            assert_eq!(after.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
        });
    }
}

fn c24_a_server_that_freezes_is_left_alone_until_it_is_back(db: &mut Backend) {
    let proxy = setup(db).variable("connect_timeout_server", 700).start();
    run(async {
        let mut before = Client::connect(&proxy.options()).await.unwrap();
        before.query("SET @a = 7").await.unwrap();
        db.server.pause().unwrap();
        // New sessions have a deadline for their connection.
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let started = Instant::now();
        let error = client.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.code(), Some(9001), "{error}");
        assert!(error.to_string().contains("no answer within "), "{error}");
        assert!(started.elapsed() >= WAIT, "{:?}", started.elapsed());
        db.server.resume().unwrap();
        // The same session works as soon as the server does, and the one that had a backend has it
        // still.
        assert_eq!(client.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
        assert_eq!(before.query("SELECT @a").await.unwrap().first().as_deref(), Some("7"));
    });
}

fn a_session_that_the_server_ends_is_over(db: &mut Backend) {
    let proxy = setup(db).start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut busy = Client::connect(&proxy.options()).await.unwrap();
        client.query("CREATE TEMPORARY TABLE t (a INT)").await.unwrap();
        busy.send_command(Kind::Query, b"DO SLEEP(100)").await.unwrap();
        let id = |which: &str| {
            let sql = format!(
                "SELECT id FROM information_schema.processlist WHERE user = '{USER}' AND IFNULL(info, '') {which}"
            );
            db.sql(&sql).trim_end().to_owned()
        };
        wait_for("the statement to run", || !id("LIKE 'DO SLEEP%'").is_empty());
        let (idle_id, busy_id) = (id("= ''"), id("LIKE 'DO SLEEP%'"));
        db.sql(&format!("KILL {idle_id}"));
        let error = client.query("SELECT 1").await.unwrap_err();
        assert!(is_loss(&error) || [Some(1053), Some(1927)].contains(&error.code()), "{error}");
        assert!(client.query("SELECT 1").await.is_err());
        db.sql(&format!("KILL {busy_id}"));
        let error = busy.read_result().await.unwrap_err();
        assert!([Some(1927), Some(1317), Some(9009)].contains(&error.code()), "{error}");
    });
}

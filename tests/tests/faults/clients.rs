//! Clients die at any moment; what they held is free again.

use std::time::Duration;

use e2e::tools::{Running, start_mariadb, start_sysbench, sysbench};
use e2e::{Backend, Proxy, Setup, on_each_server, run, wait_for};
use testkit::client::{Client, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::command::Kind;
use wire::frame::put_message;

use super::{Bystander, Leave, raw, setup_for};

on_each_server! {
    c23_kill_9_of_clients_gives_their_backends_back,
    c09_a_client_may_go_at_any_moment_and_leaves_nothing,
}

/// Connections that the proxy may have to the server in these tests.
const LIMIT: usize = 4;

/// A proxy that may have [`LIMIT`] connections to the server, for a user of its own, whose sessions
/// share them or not.
fn limited(db: &Backend, user: &str, wait_ms: u32, shares: bool) -> Proxy {
    db.sql(&format!(
        "DROP USER IF EXISTS {user}; CREATE USER {user} IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO {user}"
    ));
    Setup::new(&db.sandbox)
        .server(&db.server, &format!("max_connections = {LIMIT}"))
        .user(user, "pw", "")
        .variable("connect_timeout_server_max", wait_ms)
        .variable("multiplexing", shares)
        .start()
}

/// [`LIMIT`] clients can have a backend at the same time: none was lost.
async fn take_all(options: &Options) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..LIMIT {
        let mut client = Client::connect(options).await.unwrap();
        // A session keeps its connection while a transaction is open.
        client.query("BEGIN").await.unwrap();
        clients.push(client);
    }
    clients
}

/// Exactly [`LIMIT`] clients can have a backend at the same time: none was lost, none is too many.
async fn assert_exact(options: &Options) {
    let clients = take_all(options).await;
    let error = Client::connect(options).await.unwrap().query("SELECT 1").await.unwrap_err();
    assert_eq!(error.code(), Some(9001), "{error}");
    assert!(error.to_string().contains("4 of 4 connections of 1 servers are in use"), "{error}");
    drop(clients);
}

/// MariaDB's client with a statement that does not end.
fn sleeper(db: &Backend, proxy: &Proxy, user: &str) -> Running {
    let (port, name) = (format!("--port={}", proxy.tcp().port()), format!("--user={user}"));
    let fixed = ["--host=127.0.0.1", "--password=pw", "--execute=SELECT SLEEP(1000)"];
    start_mariadb(&db.sandbox, &[&fixed[..], &[&port, &name]].concat())
}

fn c23_kill_9_of_clients_gives_their_backends_back(db: &Backend) {
    let proxy = limited(db, "killed", 5000, false);
    let options = Options::tcp(proxy.tcp(), "killed", "pw");
    let sleepers = || {
        let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'killed' AND info LIKE '%SLEEP%'";
        db.sql(sql).trim().parse::<usize>().unwrap()
    };
    for _ in 0..2 {
        let mut clients: Vec<Running> = (0..LIMIT).map(|_| sleeper(db, &proxy, "killed")).collect();
        wait_for("all statements to run", || sleepers() == LIMIT);
        // One more has to wait, and gets the place of the first that dies.
        let waiting = sleeper(db, &proxy, "killed");
        clients.remove(0).process().kill().unwrap();
        wait_for("one statement to end", || db.connections_of("killed") == LIMIT);
        wait_for("the next to run", || sleepers() == LIMIT);
        for mut client in clients.into_iter().chain([waiting]) {
            client.process().kill().unwrap();
        }
        drop(run(take_all(&options)));
        wait_for("the backends to be gone", || db.connections_of("killed") == 0);
    }
    run(assert_exact(&options));
}

#[test]
fn c23_kill_9_of_a_loaded_client_at_any_moment_loses_no_place() {
    let db = Backend::start(&[]);
    let proxy = limited(&db, "app", 5000, true);
    let client = Options::tcp(proxy.tcp(), "app", "pw");
    let threads = format!("--threads={LIMIT}");
    let options = ["--mysql-db=test", "--table-size=1000", &threads, "--time=60", "--mysql-password=pw"];
    sysbench(&db.sandbox, &proxy, "oltp_read_write", "prepare", &options).expect_success();
    for round in 0..6_u64 {
        let mut load = start_sysbench(&db.sandbox, &proxy, "oltp_read_write", "run", &options);
        wait_for("the load to run", || db.connections_of("app") == LIMIT);
        // The moment of the fault, not a synchronisation.
        std::thread::sleep(Duration::from_millis(round * 13));
        load.process().kill().unwrap();
        drop(run(take_all(&client)));
    }
    run(assert_exact(&client));
    wait_for("the transactions to be gone", || {
        db.sql("SELECT COUNT(*) FROM information_schema.innodb_trx") == "0\n"
    });
    // Nothing of what was interrupted is left: locks are free and the table is whole.
    db.sql("CHECK TABLE test.sbtest1; UPDATE test.sbtest1 SET k = 0");
    assert_eq!(db.sql("SELECT COUNT(*) FROM test.sbtest1"), "1000\n");
}

/// What a client has done when it goes away.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// Half of a command's header is sent.
    Header,
    /// A part of a command is sent.
    Command,
    /// A part of a parameter that comes in packets ahead of its statement is sent.
    LongData,
    /// A statement runs.
    Running,
    /// The start of a large result has been read.
    Result,
    /// Nothing of a large result is read.
    UnreadResult,
    /// Nothing of many results is read, and more commands are sent than are answered.
    Pipeline,
    /// The server wants a file.
    FileRequest,
    /// A part of a packet of the file is sent.
    File,
    /// A transaction is open.
    Transaction,
}

impl Moment {
    const ALL: [Self; 10] = [
        Self::Header,
        Self::Command,
        Self::LongData,
        Self::Running,
        Self::Result,
        Self::UnreadResult,
        Self::Pipeline,
        Self::FileRequest,
        Self::File,
        Self::Transaction,
    ];

    /// Brings a logged-in client there.
    async fn reach(self, stream: &mut TcpStream) {
        let command = |payload: &[u8]| {
            let mut bytes = Vec::new();
            put_message(&mut bytes, 0, payload);
            bytes
        };
        let large =
            command(b"\x03SELECT REPEAT('x', 100000) FROM test.seq_1_to_2000 a, test.seq_1_to_2000 b");
        let load = command(b"\x03LOAD DATA LOCAL INFILE 'x' INTO TABLE test.abandoned");
        let bytes = match self {
            Self::Header => vec![5, 0],
            Self::Command => [&[0, 0, 0xf0, 0, 3][..], &b" ".repeat(100_000)].concat(),
            Self::LongData => {
                [&[0, 0, 0xf0, 0, Kind::SendLongData as u8, 1, 0, 0, 0, 0, 0][..], &[7; 1000]].concat()
            }
            Self::Running => command(b"\x03SELECT SLEEP(1000)"),
            Self::Result | Self::UnreadResult => large,
            Self::Pipeline => command(b"\x03SELECT REPEAT('x', 100000)").repeat(100),
            Self::FileRequest | Self::File => load,
            Self::Transaction => command(b"\x03BEGIN; INSERT INTO test.abandoned VALUES ('transaction')"),
        };
        stream.write_all(&bytes).await.unwrap();
        let mut read = [0; 9];
        match self {
            Self::Result => drop(stream.read_exact(&mut read).await.unwrap()),
            Self::FileRequest | Self::File => {
                stream.read_exact(&mut read[..6]).await.unwrap();
                assert_eq!(read[4..6], *b"\xfbx");
            }
            Self::Transaction => drop(stream.read_exact(&mut [0; 22]).await.unwrap()),
            _ => {}
        }
        if matches!(self, Self::File) {
            stream.write_all(b"\x05\0\0\x02line\n\x05\0\0\x03hal").await.unwrap();
        }
    }
}

fn c09_a_client_may_go_at_any_moment_and_leaves_nothing(db: &Backend) {
    db.sql("CREATE TABLE test.abandoned (line TEXT) ENGINE=InnoDB");
    db.sql("CREATE USER goes IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO goes");
    // What is over is over then, and not kept for others.
    let proxy = setup_for(db).user("goes", "pw", "").variable("multiplexing", false).start();
    let options = Options::tcp(proxy.tcp(), "goes", "pw");
    run(async {
        let mut bystander = Bystander::new(&proxy).await;
        for leave in Leave::BOTH {
            for moment in Moment::ALL {
                let mut stream = raw(&options, &proxy).await;
                moment.reach(&mut stream).await;
                leave.leave(stream);
                wait_for(&format!("the backend to be gone after {moment:?}, {leave:?}"), || {
                    db.connections_of("goes") == 0
                });
                bystander.check().await;
            }
        }
    });
    assert_eq!(db.sql("SELECT COUNT(*) FROM test.abandoned"), "0\n");
}

//! Writes statements into a server's log, and reads the log as a replica does.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use binlog::request::{Replica, Start};
use binlog::{Checksum, Event, Reader};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, Server, USER};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use wire::command::Kind;
use wire::frame::put_message;

use crate::common::facts;

/// What writes the recordings and their facts anew.
const WRITE: &str = "POINTSMAN_WRITE_RECORDINGS";

/// How long a file may be in use.
const PURGE_MAX: Duration = Duration::from_mins(1);

/// How long a server may send nothing.
const ANSWER_MAX: Duration = Duration::from_mins(1);

const REPLICA: Replica =
    Replica { server_id: 4_000_000_007, uuid: 77, heartbeat: Duration::from_secs(1), waits: false };

/// Runs a future on a runtime of its own.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(future)
}

fn options(server: &Server) -> Options {
    Options::tcp(server.address(), USER, PASSWORD)
}

/// A new session.
pub(crate) async fn client(server: &Server) -> Client {
    Client::connect(&options(server)).await.unwrap()
}

/// Executes statements, each of which must succeed.
pub(crate) async fn execute<S: AsyncRead + AsyncWrite + Unpin>(client: &mut Client<S>, statements: &[&str]) {
    for statement in statements {
        client.query(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// Begins another file of the log, and purges the first one.
pub(crate) async fn purge(client: &mut Client) {
    execute(client, &["FLUSH BINARY LOGS"]).await;
    let begun = Instant::now();
    loop {
        // MariaDB leaves the file alone until it has noted that it needs the file no more.
        execute(client, &["PURGE BINARY LOGS TO 'binlog.000002'"]).await;
        let first = client.query("SHOW BINARY LOGS").await.unwrap().first();
        if first.is_some_and(|file| file != "binlog.000001") {
            return;
        }
        assert!(begun.elapsed() < PURGE_MAX, "the file is not purged");
    }
}

/// The bytes that a server sends of its log from a position to the end of the log.
pub(crate) async fn stream(server: &Server, start: &Start) -> Vec<u8> {
    // The server sends the end of the log, or an error, and waits for another command.
    let is_last = |event: &Event<'_>| matches!(event, Event::End | Event::Refused { .. });
    stream_up_to(server, start, &REPLICA, is_last).await
}

/// Where the log ends, by the first heartbeat that a server sends behind a position: the file and
/// the offset.
pub(crate) async fn heartbeat(server: &Server, start: &Start) -> (String, u64) {
    let replica = Replica { waits: true, heartbeat: Duration::from_millis(100), ..REPLICA };
    let mut end = None;
    let is_last = |event: &Event<'_>| {
        if let Event::Heartbeat { file, position } = event {
            end = Some((String::from_utf8_lossy(file).into_owned(), *position));
        }
        end.is_some()
    };
    stream_up_to(server, start, &replica, is_last).await;
    end.unwrap()
}

/// The bytes that a server sends to a replica, up to an event.
async fn stream_up_to(
    server: &Server,
    start: &Start,
    replica: &Replica,
    mut is_last: impl FnMut(&Event<'_>) -> bool,
) -> Vec<u8> {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let mut client = Client::over(&mut socket, &options(server)).await.unwrap();
    execute(&mut client, &replica.settings(start).iter().map(String::as_str).collect::<Vec<_>>()).await;
    let register = replica.register();
    client.send_command(Kind::RegisterReplica, &register[1..]).await.unwrap();
    client.read_result().await.unwrap();
    drop(client);
    let mut command = Vec::new();
    put_message(&mut command, 0, &replica.dump(start));
    socket.write_all(&command).await.unwrap();
    let (mut bytes, mut reader, mut is_over) = (Vec::new(), Reader::new(Checksum::Crc32), false);
    while !is_over {
        let before = bytes.len();
        let len = timeout(ANSWER_MAX, socket.read_buf(&mut bytes)).await.unwrap().unwrap();
        assert_ne!(len, 0, "the server has closed the connection");
        reader.feed(&bytes[before..], |logged| is_over |= is_last(&logged.event)).unwrap();
    }
    bytes
}

/// The stream has the facts of the recording `name`. Both are written anew if that is wanted.
pub(crate) fn check(name: &str, bytes: &[u8]) {
    let (lines, state) = facts([bytes]);
    assert_eq!(state, Ok(true));
    let said = lines.join("\n") + "\n";
    let path =
        |end: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.{end}"));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path("bin"), bytes).unwrap();
        std::fs::write(path("out"), &said).unwrap();
    }
    let expected = std::fs::read_to_string(path("out")).unwrap_or_default();
    assert_eq!(said, expected, "{name}: run with {WRITE}=1 to write it anew");
}

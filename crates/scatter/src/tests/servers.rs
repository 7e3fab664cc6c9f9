//! Replies of real servers: rows split over three schemas against all rows in one.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use planner::merge::{Order, Protocol, Window};
use testkit::client::{CAPABILITIES, Client, Options, Value};
use testkit::guard::Sandbox;
use testkit::server::{PASSWORD, Server, Setup, USER};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use wire::Capabilities;

use super::super::{Kind, What};
use super::script::*;

const SHARDS: usize = 3;

/// A stream that keeps what is read.
struct Recorder {
    stream: TcpStream,
    read: Rc<RefCell<Vec<u8>>>,
}

impl AsyncRead for Recorder {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, into);
        self.read.borrow_mut().extend_from_slice(&into.filled()[before..]);
        read
    }
}

impl AsyncWrite for Recorder {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A client whose replies are kept as bytes.
struct Recorded {
    client: Client<Recorder>,
    read: Rc<RefCell<Vec<u8>>>,
}

impl Recorded {
    async fn connect(server: &Server, schema: &str, caps: Capabilities) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let read = Rc::new(RefCell::new(Vec::new()));
        let recorder = Recorder { stream, read: Rc::clone(&read) };
        let options = Options::tcp(server.address(), USER, PASSWORD).schema(schema).capabilities(caps);
        let client = Client::over(recorder, &options).await.unwrap();
        Self { client, read }
    }

    /// The reply to a statement in text, also if it is an error.
    async fn text(&mut self, sql: &str) -> Vec<u8> {
        self.read.borrow_mut().clear();
        let _ = self.client.query(sql).await;
        self.read.take()
    }

    /// The replies to the preparation and to the execution of a statement.
    async fn binary(&mut self, sql: &str, values: &[Value]) -> (Vec<u8>, Vec<u8>) {
        self.read.borrow_mut().clear();
        let statement = self.client.prepare(sql).await.unwrap();
        let prepared = self.read.take();
        let _ = self.client.execute(&statement, values).await;
        (prepared, self.read.take())
    }
}

/// A statement of the client.
struct Statement {
    /// With `#table` where the name of the table stands, and `#key` behind the select list.
    text: &'static str,
    /// What `#key` is at shards.
    key: &'static str,
    /// LIMIT and OFFSET, with the text for shards.
    window: Window,
    limit: &'static str,
    shard_limit: &'static str,
}

const fn plain(text: &'static str) -> Statement {
    Statement { text, key: "", window: Window::ALL, limit: "", shard_limit: "" }
}

const fn ordered(text: &'static str) -> Statement {
    Statement { key: ", o.id AS pointsman_key_0", ..plain(text) }
}

/// Statements whose replies have one form only, whatever the order of their execution.
const STATEMENTS: [Statement; 14] = [
    ordered("SELECT o.*#key FROM #table o ORDER BY o.id"),
    ordered("SELECT o.note AS n, o.at, o.price, 1 + 1#key FROM #table o ORDER BY o.id"),
    ordered("SELECT o.id, o.note#key FROM #table o WHERE o.id < 0 ORDER BY o.id"),
    Statement {
        window: Window::new(3, 4),
        limit: "LIMIT 3, 4",
        shard_limit: "LIMIT 7",
        ..ordered("SELECT o.id, o.flags#key FROM #table o ORDER BY o.id")
    },
    plain("SELECT o.id FROM #table o WHERE o.id = 7"),
    plain("UPDATE #table o SET o.price = o.price + 1 WHERE o.id > 5"),
    plain("UPDATE #table o SET o.price = o.price WHERE o.id > 5"),
    plain("DELETE FROM #table WHERE id > 28"),
    plain("SELECT nothing FROM #table"),
    // The first shard has 6, and all three rows are refused at once.
    plain("INSERT INTO #table (id) VALUES (6), (7), (8)"),
    ordered("SELECT o.id, COUNT(*)#key FROM #table o GROUP BY o.id ORDER BY o.id"),
    ordered("SELECT o.id, o.note#key FROM (SELECT * FROM #table p) o ORDER BY o.id"),
    ordered(
        "SELECT o.id, MAX(p.note)#key FROM #table o, #table p WHERE p.id = o.id GROUP BY o.id ORDER BY o.id",
    ),
    ordered("SELECT DISTINCT o.id, #table.id AS i#key FROM #table o JOIN #table USING (id) ORDER BY o.id"),
];

const COLUMNS: &str = "(id INT PRIMARY KEY, note VARCHAR(20), at DATETIME(3), price DECIMAL(10,2) UNSIGNED, \
     flags SET('a','b'), blob_ BLOB)";

fn fill(server: &Server) {
    let mut sql = format!("CREATE DATABASE shop; CREATE TABLE shop.orders {COLUMNS};");
    for at in 0..SHARDS {
        write!(sql, "CREATE DATABASE shop_{at}; CREATE TABLE shop_{at}.orders_{at} {COLUMNS};").unwrap();
    }
    for id in 0..30 {
        let values = format!(
            "({id}, IF({id} % 4, 'note {id}', NULL), '2026-11-27 10:00:{id:02}.5', {id}.25, 'b', REPEAT('x', {id} * 20))"
        );
        let at = id % SHARDS;
        write!(sql, "INSERT INTO shop.orders VALUES {values};").unwrap();
        write!(sql, "INSERT INTO shop_{at}.orders_{at} VALUES {values};").unwrap();
    }
    server.sql(&sql).unwrap();
}

/// What the engine makes of the replies of shards.
fn merged(what: What, replies: &[Vec<u8>]) -> Vec<u8> {
    let mut scatter = scatter(what, SHARDS);
    let sent = run(&mut scatter, replies, 333);
    assert!(scatter.is_quiet());
    sent
}

fn assert_equal(sent: &[u8], expected: &[u8], statement: &str) {
    assert!(sent == expected, "{statement}\n{}\n{}", sent.escape_ascii(), expected.escape_ascii());
}

async fn compare(server: &Server, caps: Capabilities) {
    fill(server);
    let mut whole = Recorded::connect(server, "shop", caps).await;
    let mut shards = Vec::new();
    for at in 0..SHARDS {
        shards.push(Recorded::connect(server, &format!("shop_{at}"), caps).await);
    }
    let caps = whole.client.capabilities();
    for statement in STATEMENTS {
        let order = || if statement.key.is_empty() { Order::default() } else { ascending() };
        let window = statement.window;
        let what = || What { order: order(), window, ..what(caps) };
        let of_shard = |at: usize| {
            let text = statement.text.replace("#table", &format!("orders_{at}"));
            format!("{} {}", text.replace("#key", statement.key), statement.shard_limit)
        };
        let text = statement.text.replace("#table", "orders").replace("#key", "");
        let text = format!("{text} {}", statement.limit);
        let is_query = statement.text.starts_with("SELECT") && !statement.text.contains("nothing");

        let expected = whole.text(&text).await;
        let mut replies = Vec::new();
        for (at, shard) in shards.iter_mut().enumerate() {
            replies.push(shard.text(&of_shard(at)).await);
        }
        assert_equal(&merged(what(), &replies), &expected, &text);
        if !is_query {
            continue;
        }
        let (prepared, expected) = whole.binary(&text, &[]).await;
        let (mut definitions, mut replies) = (Vec::new(), Vec::new());
        for (at, shard) in shards.iter_mut().enumerate() {
            let (prepared, reply) = shard.binary(&of_shard(at), &[]).await;
            definitions.push(prepared);
            replies.push(reply);
        }
        let id = u32::from_le_bytes(*prepared[5..].first_chunk().unwrap());
        let preparation = What { kind: Kind::Prepared { id }, ..what() };
        assert_equal(&merged(preparation, &definitions), &prepared, &text);
        let binary = What { protocol: Protocol::Binary, ..what() };
        assert_equal(&merged(binary, &replies), &expected, &text);
    }
    server
        .sql("DROP DATABASE shop; DROP DATABASE shop_0; DROP DATABASE shop_1; DROP DATABASE shop_2")
        .unwrap();
}

async fn compare_all(server: &Server) {
    let classic = CAPABILITIES - Capabilities::DEPRECATE_EOF;
    let modern = CAPABILITIES | Capabilities::DEPRECATE_EOF;
    for caps in [classic, modern, modern | Capabilities::MARIADB_EXTENDED_METADATA] {
        compare(server, caps).await;
    }
}

#[tokio::test]
async fn replies_of_mariadb_become_the_one_of_an_unsharded_server() {
    let binaries = testkit::mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    compare_all(&Setup::new("whole").start(&binaries, &sandbox).unwrap()).await;
}

#[tokio::test]
async fn replies_of_mysql_become_the_one_of_an_unsharded_server() {
    let Some(binaries) = testkit::mysql::find_or_skip().unwrap() else { return };
    let sandbox = Sandbox::new().unwrap();
    compare_all(&Setup::new("whole").start(&binaries, &sandbox).unwrap()).await;
}

//! How often the proxy allocates for a query once everything is warm: a session with a connection
//! of its own, and sessions that take turns on one.
//!
//! Client and server are scripts on the same thread, which allocate as well. What they allocate is
//! counted in a conversation without the proxy, and taken off.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use config::{CheckLogins, Config, QueryRule, Server, User};
use proxy::memory::{End, pair};
use proxy::stage::Stage;
use testkit::client::Options;
use testkit::script::{ScriptedClient, ScriptedServer};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use wire::command::Kind;
use wire::frame::HEADER_LEN;

type Client = ScriptedClient<End>;
type Database = ScriptedServer<End>;

/// Bytes that a connection holds per direction.
const CAPACITY: usize = 16 * 1024;

/// Queries before counting begins, and those that are counted.
const WARM: u64 = 64;
const COUNTED: u64 = 256;

const QUERY: &str = "SELECT c FROM t WHERE id = 7";

/// The statement 1 is executed without parameters.
const EXECUTION: [u8; 9] = [1, 0, 0, 0, 0, 1, 0, 0, 0];

fn runtime() -> LocalRuntime {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .unwrap()
}

fn options() -> Options {
    Options::tcp(SocketAddr::from(([127, 0, 0, 1], 3306)), "app", "secret").schema("db")
}

fn config(multiplexing: bool) -> Config {
    let mut config = Config::default();
    let hostname = "db".to_owned();
    config.servers.push(Server { hostname, port: 3306, max_connections: 1, ..Server::default() });
    let (username, password) = ("app".to_owned(), "secret".to_owned());
    config.users.push(User { username, password, ..User::default() });
    config.pointsman.check_logins = CheckLogins::Never;
    config.pointsman.judge_tables = false;
    config.monitor.enabled = false;
    config.variables.multiplexing = multiplexing;
    config
}

fn stage(config: Config) -> (Stage, UnboundedReceiver<End>) {
    let (sender, servers) = unbounded_channel();
    let stage = Stage::new(config, move |_| {
        let (ours, theirs) = pair(CAPACITY);
        sender.send(theirs).map(|()| ours).map_err(std::io::Error::other)
    });
    (stage, servers)
}

async fn log_in(stage: &Stage) -> Client {
    ScriptedClient::connect(stage.client(CAPACITY).unwrap(), &options()).await
}

/// Clients that take turns, and their server.
struct Conversation {
    clients: Vec<Client>,
    server: Database,
    /// What keeps the proxy alive, if there is one.
    _stage: Option<Stage>,
}

/// How a client has its statement carried out.
#[derive(Clone, Copy)]
enum By {
    Text,
    Execution,
}

impl Conversation {
    /// Without a proxy.
    async fn direct() -> Self {
        let (ours, theirs) = pair(CAPACITY);
        let options = options();
        let (client, (server, _)) =
            tokio::join!(ScriptedClient::connect(ours, &options), ScriptedServer::accept(theirs));
        Self { clients: vec![client], server, _stage: None }
    }

    /// So many clients of a proxy with one connection.
    async fn proxied(clients: usize, multiplexing: bool) -> Self {
        let (stage, mut servers) = stage(config(multiplexing));
        let mut first = log_in(&stage).await;
        first.send_query("DO 0").await;
        let (mut server, _) = ScriptedServer::accept(servers.recv().await.unwrap()).await;
        server.expect_query("DO 0").await;
        server.ok().await;
        first.expect_ok().await;
        let mut all = vec![first];
        for _ in 1..clients {
            let mut client = log_in(&stage).await;
            client.send_query("DO 0").await;
            // What is said and asked before it.
            loop {
                let command = String::from_utf8_lossy(&server.read_command().await).into_owned();
                match command.matches(',').count() + 1 {
                    _ if command.ends_with("DO 0") => break,
                    columns if command.contains("SELECT ") => {
                        let row = ["0", "16777216", "0.000000", "0.000000"].map(Some);
                        let row = if columns == 1 { &row[1..2] } else { &row[..columns] };
                        server.rows(&["?"; 4][..columns], &[row]).await;
                    }
                    _ => server.ok().await,
                }
            }
            server.ok().await;
            client.expect_ok().await;
            all.push(client);
        }
        Self { clients: all, server, _stage: Some(stage) }
    }

    async fn prepare(&mut self) {
        for client in &mut self.clients {
            client.send_command(Kind::StmtPrepare, QUERY.as_bytes()).await;
            self.server.expect_command(Kind::StmtPrepare, QUERY.as_bytes()).await;
            // OK, number 1, without columns and parameters.
            self.server.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
            client.read().await;
        }
    }

    async fn queries(&mut self, count: u64, by: By) {
        for turn in 0..count {
            let clients = self.clients.len() as u64;
            let client = &mut self.clients[usize::try_from(turn % clients).unwrap()];
            match by {
                By::Text => {
                    client.send_query(QUERY).await;
                    self.server.expect_query(QUERY).await;
                }
                By::Execution => {
                    client.send_command(Kind::StmtExecute, &EXECUTION).await;
                    self.server.expect_command(Kind::StmtExecute, &EXECUTION).await;
                }
            }
            self.server.ok().await;
            client.expect_ok().await;
        }
    }
}

/// Allocations for the counted queries of a conversation.
fn counted(runtime: &LocalRuntime, mut conversation: Conversation, by: By) -> u64 {
    if matches!(by, By::Execution) {
        runtime.block_on(conversation.prepare());
    }
    runtime.block_on(conversation.queries(WARM, by));
    let conversation = Rc::new(RefCell::new(conversation));
    let info = allocation_counter::measure(|| {
        runtime.block_on(conversation.borrow_mut().queries(COUNTED, by));
    });
    info.count_total
}

/// Allocations of the proxy alone for a query, in hundredths.
fn of_proxy(clients: usize, multiplexing: bool, by: By) -> u64 {
    let runtime = runtime();
    let direct = runtime.block_on(Conversation::direct());
    let direct = counted(&runtime, direct, by);
    let proxied = runtime.block_on(Conversation::proxied(clients, multiplexing));
    let proxied = counted(&runtime, proxied, by);
    proxied.saturating_sub(direct) * 100 / COUNTED
}

/// A query of a session that finds its connection where it left it allocates nothing. One for which
/// a connection changes hands allocates once: the idle connection is boxed on its way.
#[test]
fn a_warm_query_allocates_nothing() {
    for (case, clients, multiplexing, by, most) in [
        ("text, a connection of its own", 1, false, By::Text, 0),
        ("prepared, a connection of its own", 1, false, By::Execution, 0),
        ("text, multiplexed", 1, true, By::Text, 0),
        ("prepared, multiplexed", 1, true, By::Execution, 0),
        ("text, two sessions in turns", 2, true, By::Text, 100),
    ] {
        let hundredths = of_proxy(clients, multiplexing, by);
        assert!(hundredths <= most, "{case}: {hundredths} hundredths of an allocation per query");
    }
}

/// The description of a column, and the packets of a reply with one row.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01c\0\x0c?\0\x01\0\0\0\xfd\0\0\0\0\0";
const REPLY: [&[u8]; 4] = [b"\x01", COLUMN, b"\x0242", b"\xfe\0\0\x02\0\0\0"];

/// Has a client send its statement so many times, and read so many bytes for each.
async fn ask(client: &mut Client, count: u64, len: usize, by: By) {
    for _ in 0..count {
        match by {
            By::Text => client.send_query(QUERY).await,
            By::Execution => client.send_command(Kind::StmtExecute, &EXECUTION).await,
        }
        client.read_bytes(len).await;
    }
}

/// Bytes of a reply.
fn reply_len() -> usize {
    REPLY.iter().map(|packet| HEADER_LEN + packet.len()).sum()
}

/// A server's reply.
async fn reply(server: &mut Database) {
    for packet in REPLY {
        server.send(packet).await;
    }
}

/// Allocations of a client that finds its replies, without a proxy.
fn of_client(runtime: &LocalRuntime, by: By) -> u64 {
    let alone = runtime.block_on(async {
        let (ours, theirs) = pair(1 << 20);
        let options = options();
        let (client, (mut server, _)) =
            tokio::join!(ScriptedClient::connect(ours, &options), ScriptedServer::accept(theirs));
        for _ in 0..COUNTED {
            server.send_bytes(&vec![0; reply_len()]).await;
        }
        (client, server)
    });
    let alone = RefCell::new(alone);
    let own = allocation_counter::measure(|| {
        runtime.block_on(ask(&mut alone.borrow_mut().0, COUNTED, reply_len(), by));
    });
    own.count_total
}

/// Allocations of the proxy alone for a hit, in hundredths: a client that is warm asks.
fn of_hit(runtime: &LocalRuntime, client: Client, by: By) -> u64 {
    let client = RefCell::new(client);
    let all = allocation_counter::measure(|| {
        runtime.block_on(ask(&mut client.borrow_mut(), COUNTED, reply_len(), by));
    });
    all.count_total.saturating_sub(of_client(runtime, by)) * 100 / COUNTED
}

/// A proxy with a rule that caches answers, with these attributes.
fn caching(attributes: &str) -> Config {
    let mut config = config(true);
    let rule = QueryRule {
        rule_id: 1,
        active: true,
        match_digest: Some("^SELECT".to_owned()),
        cache_ttl: Some(std::time::Duration::from_hours(1)),
        attributes: attributes.to_owned(),
        ..Default::default()
    };
    config.query_rules = vec![rule].into();
    config
}

/// An answer from a worker's first level of the query cache allocates nothing: neither digest nor
/// rules are asked again. One hit in 33 asks the store, as what it counts decides about eviction.
#[test]
fn a_warm_hit_allocates_nothing() {
    let runtime = runtime();
    let (client, _proxy) = runtime.block_on(async {
        let (stage, mut servers) = stage(caching(""));
        let mut client = log_in(&stage).await;
        client.send_query(QUERY).await;
        let (mut server, _) = ScriptedServer::accept(servers.recv().await.unwrap()).await;
        server.expect_query(QUERY).await;
        reply(&mut server).await;
        client.read_bytes(reply_len()).await;
        ask(&mut client, WARM, reply_len(), By::Text).await;
        (client, (stage, server))
    });
    let hundredths = of_hit(&runtime, client, By::Text);
    assert!(hundredths <= 25, "{hundredths} hundredths of an allocation per hit");
}

/// Answers the proxy's questions about the table of a statement, until the statement comes.
async fn tell_of_table(server: &mut Database) {
    loop {
        let command = server.read_command().await;
        let text = String::from_utf8_lossy(&command).into_owned();
        match text.as_str() {
            text if text.contains("ROW_COUNT()") => {
                let row = [Some("-1"), Some("1"), Some("utf8mb4"), Some("")];
                server.rows(&["a", "b", "c", "d"], &[&row]).await;
            }
            text if text.contains("sql_auto_is_null") => server.rows(&["a"], &[&[Some("1")]]).await,
            text if text.contains("TABLE_TYPE") => {
                let table = [Some("table"), Some("BASE TABLE"), Some("InnoDB")];
                let may = |privilege| [Some("may"), Some(privilege), Some("")];
                server.rows(&["a", "b", "c"], &[&table, &may("TRIGGER"), &may("SELECT")]).await;
            }
            text if text.contains("information_schema") => server.rows(&["a", "b", "c"], &[]).await,
            _ => return,
        }
    }
}

/// No text is remembered of an execution of a prepared statement. What definitions and proofs say
/// about it in the mode `own` is remembered by its digest. What rules say has a box and a list.
#[test]
fn a_warm_hit_of_an_execution_asks_no_definitions() {
    let runtime = runtime();
    let (client, _proxy) = runtime.block_on(async {
        let mut config = caching(r#"{"cache": {"mode": "own"}}"#);
        config.pointsman.judge_tables = true;
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        client.send_command(Kind::StmtPrepare, QUERY.as_bytes()).await;
        let (mut server, _) = ScriptedServer::accept(servers.recv().await.unwrap()).await;
        server.expect_command(Kind::StmtPrepare, QUERY.as_bytes()).await;
        server.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        client.read().await;
        // What is behind the table is asked for behind the first one, its definition behind the
        // second.
        for _ in 0..3 {
            client.send_command(Kind::StmtExecute, &EXECUTION).await;
            tell_of_table(&mut server).await;
            reply(&mut server).await;
            client.read_bytes(reply_len()).await;
        }
        ask(&mut client, WARM, reply_len(), By::Execution).await;
        (client, (stage, server))
    });
    let hundredths = of_hit(&runtime, client, By::Execution);
    assert!(hundredths <= 200, "{hundredths} hundredths of an allocation per hit");
}

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

/// Has a client send its query so many times, and read so many bytes for each.
async fn ask(client: &mut Client, count: u64, len: usize) {
    for _ in 0..count {
        client.send_query(QUERY).await;
        client.read_bytes(len).await;
    }
}

/// An answer from a worker's first level of the query cache allocates nothing: neither digest nor
/// rules are asked again. One hit in 33 asks the store, as what it counts decides about eviction.
#[test]
fn a_warm_hit_allocates_nothing() {
    let len = REPLY.iter().map(|packet| HEADER_LEN + packet.len()).sum();
    let runtime = runtime();
    // A client that finds its replies.
    let alone = runtime.block_on(async {
        let (ours, theirs) = pair(1 << 20);
        let options = options();
        let (client, (mut server, _)) =
            tokio::join!(ScriptedClient::connect(ours, &options), ScriptedServer::accept(theirs));
        for _ in 0..COUNTED {
            server.send_bytes(&vec![0; len]).await;
        }
        (client, server)
    });
    let alone = RefCell::new(alone);
    let own = allocation_counter::measure(|| {
        runtime.block_on(ask(&mut alone.borrow_mut().0, COUNTED, len));
    });
    let mut config = config(true);
    let hour = Some(std::time::Duration::from_hours(1));
    let pattern = Some("^SELECT".to_owned());
    let rule =
        QueryRule { rule_id: 1, active: true, match_digest: pattern, cache_ttl: hour, ..Default::default() };
    config.query_rules = vec![rule].into();
    let proxied = runtime.block_on(async {
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        client.send_query(QUERY).await;
        let (mut server, _) = ScriptedServer::accept(servers.recv().await.unwrap()).await;
        server.expect_query(QUERY).await;
        for packet in REPLY {
            server.send(packet).await;
        }
        client.read_bytes(len).await;
        ask(&mut client, WARM, len).await;
        (client, stage, server)
    });
    let proxied = RefCell::new(proxied);
    let all = allocation_counter::measure(|| {
        runtime.block_on(ask(&mut proxied.borrow_mut().0, COUNTED, len));
    });
    let hundredths = all.count_total.saturating_sub(own.count_total) * 100 / COUNTED;
    assert!(hundredths <= 25, "{hundredths} hundredths of an allocation per hit");
}

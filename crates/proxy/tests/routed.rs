//! How often the proxy allocates for a query that goes to the shard of its key, once everything is
//! warm: not more often than for one of a proxy without shards.
//!
//! Client and servers are scripts on the same thread, which allocate as well. What they allocate is
//! counted in a conversation without the proxy, and taken off.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use config::{CheckLogins, Config, Server, User};
use proxy::memory::{End, pair};
use proxy::stage::Stage;
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Layout, Node, Table};
use testkit::client::Options;
use testkit::script::{ScriptedClient, ScriptedServer};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

type Client = ScriptedClient<End>;
type Database = ScriptedServer<End>;

/// Bytes that a connection holds per direction.
const CAPACITY: usize = 16 * 1024;

/// Queries before counting begins, and those that are counted.
const WARM: usize = 64;
const COUNTED: usize = 256;

/// Queries of both shards in turn.
const QUERIES: [&str; 2] = ["SELECT c FROM t WHERE id = 6", "SELECT c FROM t WHERE id = 7"];

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

/// The table `db.t`, by `id` on two servers.
fn layout() -> Layout {
    let node = |hostgroup| Node { hostgroup, schema: "db".to_owned(), table: "t".to_owned() };
    let function = Function::Modulo(Modulo { shards: 2, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    let table = Table::sharded(["db", "t"], vec![node(0), node(1)], vec!["id".to_owned()], vec![level]);
    Layout::new(Draft { hostgroups: vec![0, 1], tables: vec![table], ..Draft::default() }).unwrap()
}

fn config(multiplexing: bool) -> Config {
    let mut config = Config::default();
    for hostgroup_id in [0, 1] {
        let hostname = format!("db{hostgroup_id}");
        config.servers.push(Server { hostgroup_id, hostname, port: 3306, ..Server::default() });
    }
    let (username, password) = ("app".to_owned(), "secret".to_owned());
    config.users.push(User { username, password, ..User::default() });
    config.pointsman.check_logins = CheckLogins::Never;
    config.pointsman.judge_tables = false;
    config.monitor.enabled = false;
    config.variables.multiplexing = multiplexing;
    config.shards = Some(Arc::new(layout()));
    config
}

/// The definition of the table.
async fn define(server: &mut Database) {
    let wide = |cells: &[Option<&'static str>]| {
        let mut row = [None; 13];
        row[..cells.len()].copy_from_slice(cells);
        row
    };
    let head = [Some("0"), Some("BASE TABLE"), Some("InnoDB"), Some("8.4.3"), Some("1024")];
    let column = [Some("1"), Some("1"), Some("id"), Some("int"), Some("int(11)"), Some("NO"), None, Some("")];
    server.rows(&["?"; 13], &[&wide(&head), &wide(&column)]).await;
}

/// Answers what the proxy asks until this query comes.
async fn serve(server: &mut Database, query: &str) {
    loop {
        let command = String::from_utf8_lossy(&server.read_command().await).into_owned();
        match () {
            () if command.ends_with(query) => return server.ok().await,
            () if command.contains("information_schema") => define(server).await,
            () => server.ok().await,
        }
    }
}

/// A client and the servers of the queries.
struct Conversation {
    client: Client,
    servers: Vec<Database>,
    /// What keeps the proxy alive, if there is one.
    _stage: Option<Stage>,
}

impl Conversation {
    /// Without a proxy: one server gets all queries.
    async fn direct() -> Self {
        let (ours, theirs) = pair(CAPACITY);
        let options = options();
        let (client, (server, _)) =
            tokio::join!(ScriptedClient::connect(ours, &options), ScriptedServer::accept(theirs));
        Self { client, servers: vec![server], _stage: None }
    }

    async fn proxied(multiplexing: bool) -> Self {
        let (sender, mut dialed): (_, UnboundedReceiver<End>) = unbounded_channel();
        let stage = Stage::new(config(multiplexing), move |_| {
            let (ours, theirs) = pair(CAPACITY);
            sender.send(theirs).map(|()| ours).map_err(std::io::Error::other)
        });
        let mut client = ScriptedClient::connect(stage.client(CAPACITY).unwrap(), &options()).await;
        let mut servers = Vec::new();
        client.send_query(QUERIES[0]).await;
        // Both are asked what the table is, in their order.
        for _ in QUERIES {
            let (mut server, _) = ScriptedServer::accept(dialed.recv().await.unwrap()).await;
            server.read_command().await;
            define(&mut server).await;
            servers.push(server);
        }
        serve(&mut servers[0], QUERIES[0]).await;
        client.expect_ok().await;
        client.send_query(QUERIES[1]).await;
        serve(&mut servers[1], QUERIES[1]).await;
        client.expect_ok().await;
        Self { client, servers, _stage: Some(stage) }
    }

    async fn queries(&mut self, count: usize) {
        for turn in 0..count {
            let at = turn % QUERIES.len();
            self.client.send_query(QUERIES[at]).await;
            let server = at % self.servers.len();
            self.servers[server].expect_query(QUERIES[at]).await;
            self.servers[server].ok().await;
            self.client.expect_ok().await;
        }
    }
}

/// Allocations for the counted queries of a conversation.
fn counted(runtime: &LocalRuntime, mut conversation: Conversation) -> u64 {
    runtime.block_on(conversation.queries(WARM));
    let conversation = RefCell::new(conversation);
    let info = allocation_counter::measure(|| {
        runtime.block_on(conversation.borrow_mut().queries(COUNTED));
    });
    info.count_total
}

#[test]
fn a_warm_query_of_one_shard_allocates_nothing() {
    let runtime = runtime();
    let direct = runtime.block_on(Conversation::direct());
    let direct = counted(&runtime, direct);
    for multiplexing in [false, true] {
        let proxied = runtime.block_on(Conversation::proxied(multiplexing));
        let own = counted(&runtime, proxied).saturating_sub(direct);
        assert_eq!(own, 0, "of {COUNTED} queries; multiplexing: {multiplexing}");
    }
}

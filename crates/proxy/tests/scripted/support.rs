//! What every scripted test begins with.

use std::cell::RefCell;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use config::{CheckLogins, Config, Endpoint, QueryRule, ReplicationHostgroups, Server, User};
use proptest::strategy::Strategy;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use proxy::memory::{End, pair};
use proxy::stage::Stage;
use testkit::client::{CAPABILITIES, Options};
use testkit::script::{ScriptedClient, ScriptedServer};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

/// Bytes that a connection made of memory holds per direction, unless a test is about full sockets.
pub(super) const CAPACITY: usize = 16 * 1024;

/// Bytes that the proxy reads at once.
pub(super) const SCRATCH: usize = 64 * 1024;

/// Seconds, short.
pub(super) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Inputs that a generated test tries.
const CASES: u32 = 200;

/// A client that ends results with EOF packets, as clients before MySQL 5.7.5 do.
pub(super) const CLASSIC: Capabilities = CAPABILITIES.difference(Capabilities::DEPRECATE_EOF);

/// SHA1(SHA1("secret")) in hexadecimal digits, as `mysql_native_password` stores it.
pub(super) const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";

/// `secret` as `caching_sha2_password` stores it.
pub(super) const SHA2: &str = "$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

pub(super) type Client = ScriptedClient<End>;
pub(super) type Database = ScriptedServer<End>;

/// Runs a test on a runtime of its own whose clock moves only when everything waits.
pub(super) fn play(test: impl AsyncFnOnce()) {
    runtime().block_on(within_a_day(test()));
}

/// What waits for this long waits for ever; the day passes at once.
async fn within_a_day(test: impl Future<Output = ()>) {
    let day = Duration::from_hours(24);
    assert!(tokio::time::timeout(day, test).await.is_ok(), "the test waits for something that never comes");
}

/// Runs a test with many inputs, the same in every run, on one stage.
pub(super) fn play_all<T: Debug>(
    config: Config,
    inputs: impl Strategy<Value = T>,
    test: impl AsyncFn(&Stage, &mut Servers, T),
) {
    let runtime = runtime();
    let (stage, servers) = runtime.block_on(async { stage(config) });
    let servers = RefCell::new(servers);
    let config = proptest::test_runner::Config { cases: CASES, ..Default::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&inputs, move |input| {
        let mut servers = servers.borrow_mut();
        // What an input that failed has left behind.
        while servers.0.try_recv().is_ok() {}
        runtime.block_on(within_a_day(test(&stage, &mut servers, input)));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

fn runtime() -> LocalRuntime {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime can be made")
}

/// Milliseconds.
pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Lets all tasks run until all of them wait: only then a paused clock moves.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// One server in hostgroup 0, one user `app` with the password `secret`.
///
/// Clients get their connection to it with their first statement, so that a login and a connection
/// are two steps.
pub(super) fn config() -> Config {
    let mut config = Config::default();
    config.servers.push(database("db"));
    config.users.push(user("app", "secret"));
    config.pointsman.check_logins = CheckLogins::Never;
    config.pointsman.judge_tables = false;
    config.monitor.enabled = false;
    // When a client leaves, so does its connection.
    config.variables.multiplexing = false;
    config
}

/// The same server as the writer, and `reader` in hostgroup 1, with the split.
pub(super) fn pair_of_servers() -> Config {
    let mut config = config();
    config.servers.push(Server { hostgroup_id: 1, ..database("reader") });
    config.replication_hostgroups.push(ReplicationHostgroups {
        writer_hostgroup: 0,
        reader_hostgroup: 1,
        ..ReplicationHostgroups::default()
    });
    config.variables.read_write_split = true;
    config
}

/// A server of hostgroup 0.
pub(super) fn database(host: &str) -> Server {
    Server { hostgroup_id: 0, hostname: host.to_owned(), port: 3306, ..Server::default() }
}

/// A rule for statements in which `pattern` is found, which does nothing with them.
pub(super) fn rule(rule_id: i64, pattern: &str) -> QueryRule {
    QueryRule { rule_id, active: true, match_pattern: Some(pattern.to_owned()), ..QueryRule::default() }
}

/// A row of `mysql_users`.
pub(super) fn user(username: &str, password: &str) -> User {
    User { username: username.to_owned(), password: password.to_owned(), ..User::default() }
}

/// How `app` logs in.
pub(super) fn options() -> Options {
    options_for("app", "secret")
}

/// How a user logs in. The address is not used: the stream is there already.
pub(super) fn options_for(user: &str, password: &str) -> Options {
    Options::tcp(SocketAddr::from(([127, 0, 0, 1], 3306)), user, password)
}

/// The servers' ends of the connections that the proxy opens.
pub(super) struct Servers(UnboundedReceiver<(Endpoint, End)>);

impl Servers {
    /// The next connection: to which server, and its end of it.
    pub(super) async fn dialled(&mut self) -> (String, End) {
        let (endpoint, end) = self.0.recv().await.expect("the stage is there");
        (endpoint.to_string(), end)
    }

    /// The next connection, which must be there already; `None` if there is none.
    pub(super) async fn settled(&mut self) -> Option<(String, End)> {
        settle().await;
        self.0.try_recv().ok().map(|(endpoint, end)| (endpoint.to_string(), end))
    }

    /// From now on each connection is a conversation of its own: with the server's name, and its
    /// end.
    pub(super) fn converse<T: Future<Output = ()> + 'static>(
        mut self,
        conversation: impl Fn(String, End) -> T + 'static,
    ) {
        tokio::task::spawn_local(async move {
            loop {
                let (name, end) = self.dialled().await;
                tokio::task::spawn_local(conversation(name, end));
            }
        });
    }

    /// The server's side of the next connection, logged in.
    pub(super) async fn accept(&mut self) -> Database {
        ScriptedServer::accept(self.dialled().await.1).await.0
    }
}

/// A proxy, and the servers that it connects to.
pub(super) fn stage(config: Config) -> (Stage, Servers) {
    stage_with(config, CAPACITY, |_| false)
}

/// The same with connections to servers that hold `capacity` bytes per direction, and with the
/// servers for which `refused` is true refusing connections.
pub(super) fn stage_with(
    config: Config,
    capacity: usize,
    refused: impl Fn(&Endpoint) -> bool + 'static,
) -> (Stage, Servers) {
    let refusal = io::ErrorKind::ConnectionRefused;
    stage_failing(config, capacity, move |endpoint| refused(endpoint).then(|| refusal.into()))
}

/// The same with connections that do not come about because of what `failure` returns.
pub(super) fn stage_failing(
    config: Config,
    capacity: usize,
    failure: impl Fn(&Endpoint) -> Option<io::Error> + 'static,
) -> (Stage, Servers) {
    let (sender, receiver) = unbounded_channel();
    let stage = Stage::new(config, move |endpoint| {
        if let Some(error) = failure(endpoint) {
            return Err(error);
        }
        let (ours, theirs) = pair(capacity);
        let dialled = sender.send((endpoint.clone(), theirs));
        dialled.map(|()| ours).map_err(|_| io::ErrorKind::ConnectionRefused.into())
    });
    (stage, Servers(receiver))
}

/// A proxy that watches its servers, which answer by themselves, each connection as a conversation
/// of its own. Connections do not come about because of what `failure` returns.
pub(super) fn watched<W: 'static, T: Future<Output = ()> + 'static>(
    config: Config,
    world: &Rc<W>,
    failure: impl Fn(&W, &Endpoint) -> Option<io::Error> + 'static,
    conversation: impl Fn(Rc<W>, String, End) -> T + 'static,
) -> Stage {
    let (away, served) = (Rc::clone(world), Rc::clone(world));
    let (stage, servers) = stage_failing(config, CAPACITY, move |endpoint| failure(&away, endpoint));
    servers.converse(move |name, end| conversation(Rc::clone(&served), name, end));
    stage.watch();
    stage
}

/// The side of a server that accepts every login, and waits for commands as long as tests take.
pub(super) async fn lets_in(end: End) -> Database {
    let mut server = ScriptedServer::new(end);
    server.patience(Duration::from_hours(1));
    server.greet().await;
    let login = server.read_login().await;
    server.let_in(&login).await;
    server
}

/// The end of a client's connection, before its login.
pub(super) fn connect(stage: &Stage) -> End {
    stage.client(CAPACITY).expect("room for a client")
}

/// A client that is logged in.
pub(super) async fn log_in(stage: &Stage) -> Client {
    log_in_as(stage, &options()).await
}

/// The same with these options.
pub(super) async fn log_in_as(stage: &Stage, options: &Options) -> Client {
    ScriptedClient::connect(connect(stage), options).await
}

/// A stage with the default configuration, a client that is logged in, and its server, which has
/// answered a first query.
pub(super) async fn session() -> (Stage, Client, Database) {
    session_of(&options()).await
}

/// The same with another client.
pub(super) async fn session_of(options: &Options) -> (Stage, Client, Database) {
    let (stage, mut servers) = stage(config());
    let mut client = log_in_as(&stage, options).await;
    let server = first_query(&mut client, &mut servers).await;
    (stage, client, server)
}

/// The same with this configuration, and all servers.
pub(super) async fn session_in(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    let server = first_query(&mut client, &mut servers).await;
    (stage, servers, client, server)
}

/// A client's first query, which opens a connection to a server.
pub(super) async fn first_query(client: &mut Client, servers: &mut Servers) -> Database {
    client.send_query("DO 0").await;
    let mut server = servers.accept().await;
    server.expect_query("DO 0").await;
    server.ok().await;
    client.expect_ok().await;
    server
}

/// A statement without rows, and its answer.
pub(super) async fn run(client: &mut Client, server: &mut Database, sql: &str) {
    client.send_query(sql).await;
    server.expect_query(sql).await;
    server.ok().await;
    client.expect_ok().await;
}

/// The client resets its connection, and its server with it.
pub(super) async fn reset(client: &mut Client, server: &mut Database) {
    client.send_command(Kind::ResetConnection, b"").await;
    server.expect_command(Kind::ResetConnection, b"").await;
    server.ok().await;
    client.expect_ok().await;
}

/// The client begins a transaction.
pub(super) async fn begin(client: &mut Client, server: &mut Database) {
    server.status |= StatusFlags::IN_TRANSACTION;
    run(client, server, "BEGIN").await;
}

/// It is over.
pub(super) async fn commit(client: &mut Client, server: &mut Database) {
    client.send_query("COMMIT").await;
    server.expect_query("COMMIT").await;
    server.status = StatusFlags::AUTOCOMMIT;
    server.ok().await;
    client.expect_ok().await;
}

/// A query and its answer: the session works.
pub(super) async fn expect_alive(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT 'alive'").await;
    server.expect_query("SELECT 'alive'").await;
    server.rows(&["alive"], &[&[Some("alive")]]).await;
    client.expect_rows(&[&[Some("alive")]]).await;
}

/// No session is left, and no connection to a server.
pub(super) async fn expect_nothing_left(stage: &Stage) {
    settle().await;
    let usage = stage.usage(0);
    assert_eq!((stage.sessions(), usage.open, usage.waiting), (0, 0, 0), "sessions, connections, waiting");
}

/// The payload of a `COM_QUERY` of this many bytes.
pub(super) fn long_query(len: usize) -> Vec<u8> {
    let mut payload = vec![b'x'; len];
    payload[0] = Kind::Query as u8;
    payload
}

/// Messages as bytes, the first with sequence id `seq`.
pub(super) fn messages(seq: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut seq = seq;
    for payload in payloads {
        seq = put_message(&mut bytes, seq, payload);
    }
    bytes
}

/// Cuts `bytes` into pieces of these lengths and a rest.
pub(super) fn pieces<'a>(mut bytes: &'a [u8], lens: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for len in lens {
        let (piece, rest) = bytes.split_at((*len).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// What a server says of a statement that it has prepared: this number, no parameter, no column.
pub(super) const fn prepare_ok(id: u32) -> packet::PrepareOk {
    packet::PrepareOk { statement_id: id, columns: 0, params: 0, warnings: 0, metadata_follows: None }
}

/// The client prepares a statement without parameters and columns, which the server calls `id`.
pub(super) async fn prepare(client: &mut Client, server: &mut Database, text: &[u8], id: u32) {
    client.send_command(Kind::StmtPrepare, text).await;
    server.expect_command(Kind::StmtPrepare, text).await;
    let ok = prepare_ok(id);
    server.send_packet(&ok).await;
    let answer = ok.encode(client.capabilities());
    client.expect(&answer).await;
}

//! Real clusters behind the proxy: who writes and who reads, and what happens when the writer dies.

mod galera;
mod group;
mod rds;
mod replication;

use e2e::Proxy;
use e2e::admin::value;
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::server::{PASSWORD, Server, USER};

/// May look at what the monitor looks at, and at nothing else.
const WATCHER: &str = "watcher";

/// Rows that are written before a writer is killed, and after it.
const ROWS: u32 = 20;

/// What clients may notice of a writer's death: the statement that was running, and one that was
/// sent to a socket whose end was not known yet.
const ERRORS_MAX: usize = 2;

/// A proxy that watches, with an admin port, in front of these servers in the reader hostgroup. The
/// row of `table` has more columns in `more`.
fn proxy(
    sandbox: &Sandbox,
    servers: &[&Server],
    table: &str,
    more: &str,
    variables: &[(&str, u32)],
) -> Proxy {
    let hostgroups =
        "writer_hostgroup = 0\nbackup_writer_hostgroup = 1\nreader_hostgroup = 2\noffline_hostgroup = 3";
    let setup = e2e::Setup::new(sandbox)
        .monitor(WATCHER, PASSWORD)
        .user(USER, PASSWORD, "default_schema = 'test'")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .row(table, &format!("{hostgroups}\n{more}"))
        .variable("read_write_split", true)
        // Writes wait as long as an election takes.
        .variable("connect_timeout_server_max", 30_000);
    let setup = servers.iter().fold(setup, |setup, server| setup.server(server, "hostgroup_id = 2"));
    variables.iter().fold(setup, |setup, (name, value)| setup.variable(name, value)).start()
}

async fn client(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")).await.unwrap()
}

/// The ports of the servers in a hostgroup, in their order.
fn ports_in(hostgroup: u32) -> String {
    format!(
        "SELECT group_concat(port) FROM (SELECT port FROM runtime_mysql_servers WHERE hostgroup_id = {hostgroup} ORDER BY port)"
    )
}

/// The ports of servers, as [`ports_in`] gives them.
fn ports<'a>(servers: impl IntoIterator<Item = &'a Server>) -> String {
    let mut ports: Vec<u16> = servers.into_iter().map(Server::port).collect();
    ports.sort_unstable();
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

/// Writes numbered rows until so many more are acknowledged, and says which were, and how many
/// errors there were.
async fn write(proxy: &Proxy, first: u32, count: u32) -> (Vec<u32>, usize) {
    let (mut written, mut errors) = (Vec::new(), Vec::new());
    let mut writer = client(proxy).await;
    for id in first.. {
        match writer.query(&format!("INSERT INTO t (id) VALUES ({id})")).await {
            Ok(_) => written.push(id),
            Err(error) => {
                errors.push(error.to_string());
                assert!(errors.len() <= ERRORS_MAX, "{errors:?}");
                writer = client(proxy).await;
            }
        }
        if written.len() == count as usize {
            break;
        }
    }
    (written, errors.len())
}

/// The rows that a server has.
fn rows(server: &Server) -> Vec<u32> {
    let ids = server.sql("SELECT id FROM test.t ORDER BY id").unwrap();
    ids.lines().map(|id| id.parse().unwrap()).collect()
}

/// A plain read, after which a server of the reader hostgroup has answered one more statement.
async fn read(proxy: &Proxy, admin: &mut Client) {
    const ANSWERED: &str = "SELECT sum(Queries) FROM stats_mysql_connection_pool WHERE hostgroup = 2";
    let answered: u64 = value(admin, ANSWERED).await.parse().unwrap();
    client(proxy).await.query("SELECT COUNT(*) FROM t").await.unwrap();
    assert_eq!(value(admin, ANSWERED).await, (answered + 1).to_string());
}

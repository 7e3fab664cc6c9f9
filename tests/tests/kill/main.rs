//! KILL through the proxy: by its connection ids, by Ctrl-C, and of what vanished clients left
//! running.

mod cli;
mod forms;
mod ids;
mod statements;
mod vanished;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, wait_for};
use testkit::client::{Client, Options};
use wire::command::Kind;

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

/// A proxy for this user, which no other test uses.
fn proxy_for(db: &Backend, user: &str) -> Proxy {
    db.sql(&format!("CREATE USER {user} IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO {user}"));
    Setup::before(&db.sandbox, &db.server).user(user, "pw", "").start()
}

fn options(proxy: &Proxy, user: &str) -> Options {
    Options::tcp(proxy.tcp(), user, "pw")
}

/// Statements that this user runs on the server at the moment, other than looking.
fn running(db: &Backend, user: &str) -> usize {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{user}' AND info LIKE '%SLEEP(1000)%'"
    );
    db.sql(&sql).trim().parse().unwrap()
}

/// A client whose statement runs on the server.
async fn sleeper(db: &Backend, user: &str, options: &Options) -> Client {
    let mut client = Client::connect(options).await.unwrap();
    client.send_command(Kind::Query, b"SELECT SLEEP(1000) FROM (SELECT 1) t").await.unwrap();
    wait_for("the statement to run", || running(db, user) == 1);
    client
}

/// What the client of a killed statement hears: an error, or that it has slept enough.
async fn expect_interrupted(client: &mut Client) {
    match client.read_result().await {
        Ok(result) => assert_eq!(result.first().as_deref(), Some("1"), "a SLEEP that was interrupted"),
        Err(error) => assert_eq!(error.code(), Some(1317), "{error}"),
    }
}

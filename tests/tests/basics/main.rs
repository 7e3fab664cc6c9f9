//! Statements and commands reach the server and their answers the client, as if there were no
//! proxy.

mod commands;
mod files;
mod prepared;
mod sessions;
mod statements;
mod ways;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::Client;

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

fn proxy(db: &Backend) -> Proxy {
    Setup::before(&db.sandbox, &db.server).start()
}

async fn connect(proxy: &Proxy) -> Client {
    Client::connect(&proxy.options()).await.unwrap()
}

async fn value(client: &mut Client, sql: &str) -> Option<String> {
    client.query(sql).await.unwrap().first()
}

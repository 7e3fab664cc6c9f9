//! The span parser against real servers: it takes every statement that they take, and groups
//! operators as they do.
//!
//! `POINTSMAN_SPANS_LIST=FILE` has the ignored tests read other statements, separated by zero
//! bytes, and `POINTSMAN_SPANS_CASES=100000` more expressions.

mod acceptance;
mod grouping;

use std::sync::LazyLock;

use e2e::Backend;
use sql::parse::Settings;
use sql::{Dialect, Modes};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

const USER: &str = "plain";

static DB: LazyLock<Backend> = LazyLock::new(|| prepared(Backend::start(&[])));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]).map(prepared));

fn prepared(server: Backend) -> Backend {
    server.sql(&format!(
        "CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {USER}@'127.0.0.1'"
    ));
    server
}

e2e::on_each_server! {
    servers_and_parser_take_the_same_statements,
    operators_are_grouped_as_servers_group_them,
}

use acceptance::servers_and_parser_take_the_same_statements;
use grouping::operators_are_grouped_as_servers_group_them;

async fn connected(db: &Backend) -> Client {
    let options = Options::tcp(db.server.address(), USER, PASSWORD).schema("test");
    Client::connect(&options).await.unwrap()
}

/// The settings of a new session of this server.
fn settings(db: &Backend) -> Settings {
    let version = db.sql("SELECT VERSION()");
    Settings { modes: Modes::default(), ..Settings::of(Dialect::of(version.trim().as_bytes()).unwrap()) }
}

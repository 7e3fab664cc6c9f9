//! The span parser against real servers: it takes every statement that they take, groups operators
//! and nests joins as they do.
//!
//! `POINTSMAN_SPANS_LIST=FILE` has the ignored tests read other statements, separated by zero
//! bytes, and `POINTSMAN_SPANS_CASES=100000` more expressions.

mod acceptance;
mod grouping;
mod joins;

use std::sync::LazyLock;

use e2e::Backend;
use sql::Dialect;
use sql::digest::Span;
use sql::parse::{Kind, Settings, Splices, Step, Tree};
use testkit::client::{Client, ClientError, Options};
use testkit::server::PASSWORD;

const USER: &str = "plain";

/// The code of a statement that the server cannot parse.
const SYNTAX_ERROR: u16 = 1064;

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
    words_are_reserved_that_servers_reserve,
    operators_are_grouped_as_servers_group_them,
    joins_are_nested_as_servers_nest_them,
}

use acceptance::{servers_and_parser_take_the_same_statements, words_are_reserved_that_servers_reserve};
use grouping::operators_are_grouped_as_servers_group_them;
use joins::joins_are_nested_as_servers_nest_them;

async fn connected(db: &Backend) -> Client {
    let options = Options::tcp(db.server.address(), USER, PASSWORD).schema("test");
    Client::connect(&options).await.unwrap()
}

/// What a `SELECT` answers: its cells or the code of its error.
async fn answer(client: &mut Client, sql: &str) -> Result<Vec<Option<String>>, u16> {
    match client.query(sql).await {
        Ok(result) => Ok(result.text().unwrap().concat()),
        Err(ClientError::Server(error)) => Err(error.code),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// Whether a node is an operator with its operands.
const fn is_operation(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Binary(_)
            | Kind::Unary(_)
            | Kind::Between { .. }
            | Kind::In { .. }
            | Kind::Like { .. }
            | Kind::Regexp { .. }
            | Kind::Is { .. }
            | Kind::Collate
    )
}

/// The statement with parentheses around all nodes of its tree that are `parts`.
fn parenthesised(sql: &str, settings: &Settings, parts: fn(Kind) -> bool) -> Result<String, String> {
    let mut tree = Tree::default();
    let root = tree.read(sql.as_bytes(), settings).map_err(|refusal| refusal.to_string())?;
    let mut splices = Splices::default();
    for step in tree.walk(root) {
        let (id, text) = match step {
            Step::Enter(id) => (id, "("),
            Step::Leave(id) => (id, ")"),
        };
        if tree.kind(id) == Kind::Opaque {
            return Err(format!("opaque at {}", tree.span(id).start));
        }
        if parts(tree.kind(id)) {
            let span = tree.span(id);
            let at = if text == "(" { span.start } else { span.end };
            splices.add(Span { start: at, end: at }, text).map_err(|overlap| overlap.to_string())?;
        }
    }
    let mut out = Vec::new();
    splices.apply(sql.as_bytes(), &mut out).map_err(|overlap| overlap.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// The settings of a new session of this server.
fn settings(db: &Backend) -> Settings {
    let version = db.sql("SELECT VERSION()");
    Settings::of(Dialect::of(version.trim().as_bytes()).unwrap())
}

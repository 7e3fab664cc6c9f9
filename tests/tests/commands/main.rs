//! Every command gets through the proxy the answer that the server itself gives, byte for byte.

mod binary;
mod binlog;
mod charsets;
mod session;
mod text;
mod types;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{CAPABILITIES, Client, Options};
use testkit::server::{PASSWORD, USER};
use wire::Capabilities;
use wire::codec::put_lenenc_bytes;
use wire::command::Kind;

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

fn proxy(db: &Backend) -> Proxy {
    Setup::before(&db.sandbox, &db.server).start()
}

/// Creates procedures in a schema, with the protocol: command-line clients would cut their
/// statements at semicolons.
async fn create_procedures(db: &Backend, schema: &str, procedures: &[&str]) {
    let options = Options::tcp(db.server.address(), USER, PASSWORD).schema(schema);
    let mut client = Client::connect(&options).await.unwrap();
    for procedure in procedures {
        client.query(&format!("CREATE PROCEDURE {procedure}")).await.unwrap();
    }
}

/// `utf8mb4_general_ci`.
const COLLATION: u16 = 45;

/// What clients announce that changes the form of answers.
fn capabilities() -> [Capabilities; 5] {
    let optional = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
    [
        CAPABILITIES,
        CAPABILITIES - Capabilities::DEPRECATE_EOF,
        CAPABILITIES - Capabilities::SESSION_TRACK,
        (CAPABILITIES - optional) | Capabilities::FOUND_ROWS,
        CAPABILITIES
            | Capabilities::QUERY_ATTRIBUTES
            | Capabilities::OPTIONAL_RESULTSET_METADATA
            | Capabilities::MARIADB_EXTENDED_METADATA
            | Capabilities::MARIADB_CACHE_METADATA,
    ]
}

/// The payload of a command.
fn command(kind: Kind, body: &[u8]) -> Vec<u8> {
    [&[kind as u8], body].concat()
}

fn prepare(sql: &str) -> Vec<u8> {
    command(Kind::StmtPrepare, sql.as_bytes())
}

/// Runs a statement without parameters; `flags` are those of cursors.
fn execute(id: u32, flags: u8) -> Vec<u8> {
    command(Kind::StmtExecute, &[&id.to_le_bytes()[..], &[flags, 1, 0, 0, 0]].concat())
}

/// Runs a statement with one parameter of this type.
fn execute_with(id: u32, flags: u8, kind: u8, value: &[u8]) -> Vec<u8> {
    [&execute(id, flags)[..], &[0, 1, kind, 0], value].concat()
}

fn fetch(id: u32, rows: u32) -> Vec<u8> {
    command(Kind::StmtFetch, &[id.to_le_bytes(), rows.to_le_bytes()].concat())
}

fn long_data(id: u32, param: u16, data: &[u8]) -> Vec<u8> {
    command(Kind::SendLongData, &[&id.to_le_bytes()[..], &param.to_le_bytes(), data].concat())
}

fn of_statement(kind: Kind, id: u32) -> Vec<u8> {
    command(kind, &id.to_le_bytes())
}

/// A length-encoded string.
fn text(value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_lenenc_bytes(&mut bytes, value);
    bytes
}

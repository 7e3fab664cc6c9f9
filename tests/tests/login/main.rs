//! Logins of clients to the proxy and of the proxy to servers: who gets in, how, and what the
//! others are told.

mod clear;
mod limits;
mod matrix;
mod methods;
mod refused;
mod servers;

use std::net::SocketAddr;
use std::sync::LazyLock;

use e2e::{Backend, Setup};
use testkit::client::{Options, ServerError};
use testkit::script::ScriptedClient;
use tokio::net::TcpStream;

static DB: LazyLock<Backend> = LazyLock::new(|| {
    let db = Backend::start(&[]);
    for user in [CLEAR, NATIVE, SHA2] {
        db.sql(&format!("CREATE USER {user} IDENTIFIED BY '{SECRET}'"));
    }
    db.sql("CREATE USER nothing; INSTALL SONAME 'auth_ed25519'");
    db
});

static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

/// The password of the three users below.
const SECRET: &str = "secret";
/// Has a clear text in the configuration.
const CLEAR: &str = "clear";
/// Has the hash of `mysql_native_password`.
const NATIVE: &str = "native";
/// Has the hash of `caching_sha2_password`.
const SHA2: &str = "sha2";
/// [`SECRET`] as `mysql_native_password` stores it.
const NATIVE_HASH: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
/// [`SECRET`] as `caching_sha2_password` stores it.
const SHA2_HASH: &str = "$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

const NATIVE_PLUGIN: &str = "mysql_native_password";
const SHA2_PLUGIN: &str = "caching_sha2_password";

/// Messages of a login up to its end: greeting, login, OK or ERR.
const NATIVE_MESSAGES: u8 = 3;
/// The same with the word that the fast exchange was enough.
const FAST_MESSAGES: u8 = 4;
/// The same with the request for the full exchange, for the key, the key and the password.
const FULL_MESSAGES: u8 = 7;

fn setup() -> Setup {
    Setup::new(&DB.sandbox)
        .server(&DB.server, "")
        .user(CLEAR, SECRET, "")
        .user(NATIVE, NATIVE_HASH, "")
        .user(SHA2, SHA2_HASH, "")
}

/// Logs in over TCP; returns the number of messages in both directions, and the client or the
/// proxy's error.
async fn log_in(
    address: SocketAddr,
    user: &str,
    password: &str,
    plugin: &str,
) -> (u8, Result<ScriptedClient<TcpStream>, ServerError>) {
    let options = Options::tcp(address, user, password).auth_plugin(plugin);
    let mut client = ScriptedClient::new(TcpStream::connect(address).await.unwrap());
    let outcome = client.log_in(&options).await;
    let messages = client.packets().next_seq();
    (messages, outcome.map(|_| client))
}

async fn refused(address: SocketAddr, user: &str, password: &str, plugin: &str) -> (u8, String) {
    let (messages, outcome) = log_in(address, user, password, plugin).await;
    (messages, outcome.unwrap_err().to_string())
}

async fn query(client: &mut ScriptedClient<TcpStream>, sql: &str) -> String {
    client.send_query(sql).await;
    client.expect_result().await.first().unwrap()
}

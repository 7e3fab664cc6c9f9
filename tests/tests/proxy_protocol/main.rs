//! The PROXY protocol with real peers: headers of HAProxy in front, and MariaDB, which understands
//! them, behind.

mod clients;
mod haproxy;
mod servers;

use std::net::SocketAddr;
use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, ClientError, Options};
use testkit::mariadb::{PASSWORD, Server};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The only test server that believes headers from all addresses.
static DB: LazyLock<Backend> = LazyLock::new(|| {
    let db = Backend::start(&["--proxy-protocol-networks=*", "--skip-name-resolve"]);
    for host in [FAR, FAR6, "127.0.0.1"] {
        db.sql(&format!("CREATE USER far@'{host}' IDENTIFIED BY '{PASSWORD}'"));
    }
    db
});

static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

/// Where clients seem to come from. No machine has these addresses: they are for documentation.
const FAR: &str = "198.51.100.7";
const FAR6: &str = "2001:db8::7";

/// What a proxy says of them.
const LINE: &[u8] = b"PROXY TCP4 198.51.100.7 192.0.2.80 4711 3306\r\n";
const LINE6: &[u8] = b"PROXY TCP6 2001:db8::7 2001:db8::80 4711 3306\r\n";
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc6\x33\x64\x07\xc0\0\x02\x50\x12\x67\x0c\xea";

/// A proxy that believes headers from loopback; the account `far` exists for some hosts only.
fn setup() -> Setup {
    Setup::before(&DB.sandbox, &DB.server)
        .user("far", PASSWORD, "")
        .variable("proxy_protocol_networks", "\"127.0.0.0/8, ::1\"")
}

/// The same, which also sends headers of this version to the server.
fn announcing(version: u8) -> Setup {
    setup().row("pointsman_servers", &row(&DB.server, version))
}

/// A server's row of `pointsman_servers`.
fn row(server: &Server, version: u8) -> String {
    let port = server.port();
    format!("hostname = \"127.0.0.1\"\nport = {port}\nproxy_protocol = {version}")
}

/// Logs in with these bytes in front.
async fn behind(
    address: SocketAddr,
    header: &[u8],
    user: &str,
    password: &str,
) -> Result<Client<TcpStream>, ClientError> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(header).await.unwrap();
    Client::over(stream, &Options::tcp(address, user, password)).await
}

async fn query(client: &mut Client<TcpStream>, sql: &str) -> String {
    client.query(sql).await.unwrap().first().unwrap()
}

/// Who `far` is to the server, when these bytes stand in front of its login to the proxy.
async fn user_behind(proxy: &Proxy, header: &[u8]) -> String {
    let mut client = behind(proxy.tcp(), header, "far", PASSWORD).await.unwrap();
    query(&mut client, "SELECT USER()").await
}

/// What a server has against a client, who hears it at the login or with the first statement.
async fn refusal<S: AsyncRead + AsyncWrite + Unpin>(login: Result<Client<S>, ClientError>) -> String {
    match login {
        Ok(mut client) => client.query("SELECT 1").await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

//! The compressed protocol with real servers and real clients: each side on its own, in all
//! combinations.

mod clients;
mod memory;
mod payloads;
mod sessions;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};
use wire::compress::Method;

/// Bytes that servers and proxies accept in one message.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

static DB: LazyLock<Backend> = LazyLock::new(|| {
    Backend::start(&["--max-allowed-packet=64M", "--log-bin=bin", "--server-id=1", "--binlog-format=ROW"])
});
static MYSQL: LazyLock<Option<Backend>> =
    LazyLock::new(|| Backend::start_mysql(&["--max-allowed-packet=64M"]));

/// What clients choose.
const METHODS: [Option<Method>; 3] = [None, Some(Method::Zlib), Some(Method::Zstd { level: 3 })];

/// A proxy that compresses, or not, what it exchanges with its server.
fn proxy(db: &Backend, compression: bool) -> Proxy {
    Setup::new(&db.sandbox)
        .server(&db.server, &format!("compression = {compression}"))
        .user(testkit::mariadb::USER, testkit::mariadb::PASSWORD, "")
        .variable("max_allowed_packet", MESSAGE_BYTES_MAX)
        .start()
}

fn options(proxy: &Proxy, method: Option<Method>) -> Options {
    method.map_or_else(|| proxy.options(), |method| proxy.options().compression(method))
}

async fn connect(proxy: &Proxy, method: Option<Method>) -> Client {
    let mut client = Client::connect(&options(proxy, method)).await.unwrap();
    assert_eq!(client.packets().is_compressed(), method.is_some());
    client
}

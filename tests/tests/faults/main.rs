//! Everything that can go wrong between a client and a server: a client, a server or the proxy
//! dies, or talks nonsense. The sessions concerned get an error, the others notice nothing.

mod clients;
mod descriptors;
mod limits;
mod packets;
mod servers;
mod shutdown;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, Options};
use tokio::net::TcpStream;
use wire::StatusFlags;

/// The server of the tests that do not kill it.
static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| Backend::start_mysql(&[]));

fn setup() -> Setup {
    setup_for(&DB)
}

fn setup_for(db: &Backend) -> Setup {
    Setup::before(&db.sandbox, &db.server)
}

/// How a client goes away.
#[derive(Debug, Clone, Copy)]
enum Leave {
    /// It closes its socket, or is killed.
    Close,
    /// Its machine says that there is no such connection.
    Reset,
}

impl Leave {
    const BOTH: [Self; 2] = [Self::Close, Self::Reset];

    fn leave(self, stream: TcpStream) {
        if matches!(self, Self::Reset) {
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
    }
}

/// A connection that has logged in, and run a statement, with nothing above it: bytes go out as
/// they are.
async fn raw(options: &Options, proxy: &Proxy) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
    let mut client = Client::over(&mut stream, options).await.unwrap();
    client.query("DO 0").await.unwrap();
    drop(client);
    stream
}

/// A client with a transaction and a temporary table, whose connection must survive whatever others
/// do.
struct Bystander(Client);

impl Bystander {
    async fn new(proxy: &Proxy) -> Self {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("CREATE TEMPORARY TABLE mine (a INT)").await.unwrap();
        client.query("BEGIN").await.unwrap();
        client.query("INSERT INTO mine VALUES (42)").await.unwrap();
        Self(client)
    }

    /// Sees whether everything is as it was.
    async fn check(&mut self) {
        let answer = self.0.query("SELECT a FROM mine").await.unwrap();
        assert_eq!(answer.first().as_deref(), Some("42"));
        assert!(self.0.status().contains(StatusFlags::IN_TRANSACTION));
    }
}

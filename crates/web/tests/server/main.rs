//! The page over real sockets: logins, tokens, statistics, streams, actions.

#[path = "../../../admin/tests/common/mod.rs"]
mod common;

mod access;
mod actions;
mod client;
mod streams;
mod views;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::{Answer, Module, Move, Port, Rights, Store, Who};
use client::{Reply, Request};
use common::FakePlane;
use observe::plane::DataPlane;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use web::Web;

/// How long a test waits for what must come. Nothing takes that long.
const PATIENCE: Duration = Duration::from_mins(1);

/// Time between two looks at what must come.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// A page that is served.
struct Site {
    address: SocketAddr,
    port: Port,
    plane: Arc<FakePlane>,
    web: Option<Web>,
}

impl Site {
    async fn start() -> Self {
        Self::start_after(&[]).await
    }

    /// One that is served after these statements on the admin port. The page looks at the
    /// configuration when it starts, and then for some seconds not again.
    async fn start_after(statements: &[&str]) -> Self {
        let plane = Arc::new(FakePlane::default());
        let mut store = Store::open(None).unwrap();
        let port = testkit::net::free_port().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listed = address.to_string();
        for (name, value) in [
            ("admin-mysql_ifaces", ""),
            ("admin-admin_credentials", "admin:admin;radmin:secret"),
            ("admin-stats_credentials", "stats:stats"),
            ("admin-web_enabled", "true"),
            ("pointsman-web_address", &listed),
        ] {
            let sql =
                format!("UPDATE global_variables SET variable_value='{value}' WHERE variable_name='{name}'");
            let _ = store.query(&sql);
        }
        for module in [Module::AdminVariables, Module::PointsmanVariables] {
            let answer = store.shift(module, Move::MemoryToRuntime, "test");
            assert!(matches!(answer, Answer::Ok { .. }), "{answer:?}");
        }
        let as_plane: Arc<dyn DataPlane> = Arc::<FakePlane>::clone(&plane);
        store.attach(Arc::clone(&as_plane));
        let runtime = Handle::current();
        let port = Port::start(store, &as_plane, &runtime).unwrap();
        for sql in statements {
            execute(&port, sql).await;
        }
        let web = Web::start(port.engine(), &as_plane, &runtime);
        until("a listener", async || TcpStream::connect(address).await.is_ok()).await;
        Self { address, port, plane, web: Some(web) }
    }

    /// Executes a statement on the admin port.
    async fn execute(&self, sql: &str) -> Answer {
        execute(&self.port, sql).await
    }

    /// `GET` with a password.
    async fn get(&self, path: &str) -> Reply {
        Request::new("GET", path).header("Authorization", ADMIN).ask(self.address).await
    }

    async fn log_in(&self, user: &str, password: &str) -> Reply {
        login(user, password).ask(self.address).await
    }

    /// A cookie and its token.
    async fn cookie(&self, user: &str, password: &str) -> (String, String) {
        let reply = self.log_in(user, password).await;
        assert_eq!(reply.code, 200, "{reply:?}");
        let cookie = reply.header("Set-Cookie").unwrap().split(';').next().unwrap().to_owned();
        (cookie, reply.json()["csrf"].as_str().unwrap().to_owned())
    }
}

async fn execute(port: &Port, sql: &str) -> Answer {
    let who = Who { user: "admin".to_owned(), rights: Rights::Admin, address: None };
    let answer = port.engine().ask(&who, sql.to_owned()).answer().await;
    assert!(!matches!(answer, Answer::Error(_)), "{sql}: {answer:?}");
    answer
}

/// `admin` with the password `admin`.
const ADMIN: &str = "Basic YWRtaW46YWRtaW4=";

/// `stats` with the password `stats`.
const STATS: &str = "Basic c3RhdHM6c3RhdHM=";

fn login(user: &str, password: &str) -> Request {
    let form = format!("user={user}&password={password}");
    Request::new("POST", "/login").body("application/x-www-form-urlencoded", &form)
}

/// Waits until `done` says so.
///
/// # Panics
///
/// When it does not within [`PATIENCE`].
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done().await {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        // The thread that samples stands back behind threads that ask without a break.
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

//! Two proxies in front of a server: clients read through the first one, and write through both
//! and at the server itself.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use e2e::{Backend, Proxy, Setup, WAIT_MAX, admin};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use tokio::time::{sleep, timeout};

use crate::load::prepare;
use crate::relay::Relay;
use crate::writer::Clock;

/// How often a client tries to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(5);
/// Longest time of one login.
const LOGIN_MAX: Duration = Duration::from_secs(10);
/// `max_staleness_ms` of [`BOUNDED`]. Clocks of the proxy count whole microseconds.
const BOUND: Duration = Duration::from_micros(100_002);

/// What is promised of answers, and to which writers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    /// `attributes` of the rule that caches all reads.
    pub(crate) attributes: &'static str,
    /// Clients write everywhere; else only through the first proxy.
    pub(crate) writes_elsewhere: bool,
    /// How late a write elsewhere is seen.
    pub(crate) bound: Duration,
}

/// The mode `own`. Clients fetch answers anew all the time, while others still get them.
pub(crate) const OWN: Promise = Promise {
    attributes: r#"{"cache": {"mode": "own", "soft_ttl_ms": 20}}"#,
    writes_elsewhere: false,
    bound: Duration::ZERO,
};
/// The same without answers that are fetched anew.
pub(crate) const OWN_UNTIL_OLD: Promise = Promise { attributes: r#"{"cache": {"mode": "own"}}"#, ..OWN };
/// The mode `strict`.
pub(crate) const STRICT: Promise = Promise {
    attributes: r#"{"cache": {"mode": "strict", "soft_ttl_ms": 20}}"#,
    writes_elsewhere: true,
    bound: Duration::ZERO,
};
/// The mode `bounded`.
pub(crate) const BOUNDED: Promise = Promise {
    attributes: r#"{"cache": {"mode": "bounded", "max_staleness_ms": 100, "soft_ttl_ms": 20}}"#,
    writes_elsewhere: true,
    bound: BOUND,
};
/// The same two without answers that are fetched anew.
pub(crate) const STRICT_UNTIL_OLD: Promise =
    Promise { attributes: r#"{"cache": {"mode": "strict"}}"#, ..STRICT };
pub(crate) const BOUNDED_UNTIL_OLD: Promise =
    Promise { attributes: r#"{"cache": {"mode": "bounded", "max_staleness_ms": 100}}"#, ..BOUNDED };
/// The mode `ttl`.
pub(crate) const TTL: Promise = Promise { attributes: r#"{"cache": {"mode": "ttl"}}"#, ..OWN };

/// Where clients connect to; a proxy that is started anew is at another address.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    address: Arc<Mutex<SocketAddr>>,
    schema: String,
    /// Statements that a session begins with.
    setup: Option<&'static str>,
}

impl Site {
    fn new(address: SocketAddr, schema: &str) -> Self {
        Self { address: Arc::new(Mutex::new(address)), schema: schema.to_owned(), setup: None }
    }

    /// How clients log in now.
    pub(crate) fn options(&self) -> Options {
        Options::tcp(*lock(&self.address), USER, PASSWORD).schema(&self.schema)
    }

    /// The schema that clients are in.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Sessions begin with these statements.
    pub(crate) fn with_setup(self, setup: Option<&'static str>) -> Self {
        Self { setup, ..self }
    }

    /// Connects; what is down at the moment comes back in time.
    pub(crate) async fn connect(&self) -> Client {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            // Of a process that is killed before it has accepted a connection, Linux does not
            // always tell the other end.
            match timeout(LOGIN_MAX, self.try_connect()).await {
                Ok(Ok(client)) => return client,
                Ok(Err(error)) => assert!(Instant::now() < deadline, "{:?}: {error}", self.options()),
                Err(late) => assert!(Instant::now() < deadline, "{:?}: {late}", self.options()),
            }
            sleep(CONNECT_INTERVAL).await;
        }
    }

    async fn try_connect(&self) -> Result<Client, testkit::client::ClientError> {
        let mut client = Client::connect(&self.options()).await?;
        if let Some(setup) = self.setup {
            client.query(setup).await?;
        }
        Ok(client)
    }
}

/// One of the two proxies.
#[derive(Debug)]
pub(crate) struct Place {
    setup: Setup,
    proxy: Mutex<Option<Proxy>>,
    pub(crate) site: Site,
}

impl Place {
    fn new(setup: Setup, schema: &str) -> Self {
        let proxy = setup.clone().start();
        let site = Site::new(proxy.tcp(), schema);
        Self { setup, proxy: Mutex::new(Some(proxy)), site }
    }

    /// Kills the process with SIGKILL and starts another one.
    pub(crate) fn restart(&self) {
        let mut place = lock(&self.proxy);
        drop(place.take());
        let proxy = self.setup.clone().start();
        *lock(&self.site.address) = proxy.tcp();
        *place = Some(proxy);
    }

    /// The admin port.
    pub(crate) async fn admin(&self) -> Client {
        let address = lock(&self.proxy).as_ref().map(Proxy::admin).unwrap();
        Client::connect(&Options::tcp(address, "admin", "admin")).await.unwrap()
    }
}

/// A server, two proxies that cache all reads, and a schema: tests run at the same time.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) promise: Promise,
    /// The proxy that clients read through.
    pub(crate) place: Place,
    /// The other proxy, where clients write elsewhere.
    pub(crate) other: Option<Place>,
    /// The server itself.
    pub(crate) direct: Site,
    pub(crate) clock: Clock,
    /// The first proxy's way to the server.
    pub(crate) relay: Relay,
    pub(crate) schema: String,
    /// Statements that writers begin with.
    pub(crate) setup: Option<&'static str>,
    /// Connections may be lost.
    pub(crate) has_losses: bool,
}

impl World {
    /// Starts the proxies.
    pub(crate) fn new(server: &Backend, promise: Promise) -> Self {
        let schema = fresh_schema();
        prepare(server, &schema);
        let address = server.server.address();
        let relay = Relay::start(address);
        let place = |port| Place::new(setup(server, port, promise.attributes), &schema);
        let first = place(relay.port());
        let other = promise.writes_elsewhere.then(|| place(address.port()));
        let direct = Site::new(address, &schema);
        let clock = Clock(Instant::now());
        Self { promise, place: first, other, direct, clock, relay, schema, setup: None, has_losses: false }
    }

    /// Writers begin with these statements.
    pub(crate) fn with_setup(self, setup: &'static str) -> Self {
        Self { setup: Some(setup), ..self }
    }

    /// Connections may be lost.
    pub(crate) fn with_losses(self) -> Self {
        Self { has_losses: true, ..self }
    }

    /// How clients log in through the first proxy.
    pub(crate) fn options(&self) -> Options {
        self.place.site.options()
    }

    /// Answers from the first proxy's cache so far.
    pub(crate) async fn hits(&self) -> usize {
        self.count("COALESCE(SUM(hits), 0) FROM stats_pointsman_cache").await
    }

    /// How many streams of a log the first proxy has had.
    pub(crate) async fn streams(&self) -> usize {
        self.count("COALESCE(SUM(flushes + resumed), 0) FROM stats_pointsman_sources").await
    }

    /// What the first proxy tells of its cache and of the log that it follows.
    pub(crate) async fn said(&self) -> String {
        let mut operator = self.place.admin().await;
        let mut said = Vec::new();
        for table in ["stats_pointsman_sources", "stats_pointsman_cache"] {
            let result = operator.query(&format!("SELECT * FROM {table}")).await.unwrap();
            said.extend(result.rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()));
        }
        said.join("\n")
    }

    /// A number that the first proxy's admin port tells.
    pub(crate) async fn count(&self, what: &str) -> usize {
        let mut operator = self.place.admin().await;
        admin::value(&mut operator, &format!("SELECT {what}")).await.parse().unwrap()
    }
}

/// The name of a schema that no other test uses.
pub(crate) fn fresh_schema() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("history{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A proxy in front of the server at this port.
fn setup(server: &Backend, port: u16, attributes: &str) -> Setup {
    let rule = "rule_id = 1\nactive = true\nmatch_digest = \"^SELECT\"\ncache_ttl = 3600000\n\
        cache_empty_result = true\napply = true";
    Setup::new(&server.sandbox)
        .row("mysql_servers", &format!("hostname = \"127.0.0.1\"\nport = {port}"))
        .user(USER, PASSWORD, "")
        .monitor(USER, PASSWORD)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .row("mysql_query_rules", &format!("{rule}\nattributes = '{attributes}'"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A round: all writers and some readers at once, and what all texts show at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use e2e::dice::Dice;
use e2e::history::{Fate, Read, Span, Write, Wrong, check};
use e2e::{Backend, Proxy, Setup, admin};
use testkit::client::Options;
use testkit::server::{PASSWORD, USER};
use tokio::task::JoinSet;

use crate::load::{Load, prepare};
use crate::pace::Pace;
use crate::reader::Reader;
use crate::relay::Relay;
use crate::writer::{Clock, Writer};

/// Readers at once.
const READERS: usize = 8;

/// What `attributes` of the rule say for the mode `own`. Clients fetch answers anew all the time,
/// while others still get them.
pub(crate) const OWN: &str = r#"{"cache": {"mode": "own", "soft_ttl_ms": 20}}"#;
/// The same without answers that are fetched anew.
pub(crate) const OWN_UNTIL_OLD: &str = r#"{"cache": {"mode": "own"}}"#;
/// For the mode `strict`: writers write at the server itself.
pub(crate) const STRICT: &str = r#"{"cache": {"mode": "strict", "soft_ttl_ms": 20}}"#;
/// For the mode `ttl`.
pub(crate) const TTL: &str = r#"{"cache": {"mode": "ttl"}}"#;

/// A proxy with a rule that caches all reads, in front of a server.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) server: &'static Backend,
    pub(crate) proxy: Proxy,
    pub(crate) clock: Clock,
    /// The proxy's way to the server.
    pub(crate) relay: Relay,
    /// Its own: tests run at the same time.
    pub(crate) schema: String,
    /// How writers log in.
    pub(crate) writers: Options,
}

impl World {
    /// Starts the proxy.
    pub(crate) fn new(server: &'static Backend, attributes: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let schema = format!("history{}", COUNT.fetch_add(1, Ordering::Relaxed));
        prepare(server, &schema);
        let rule = "rule_id = 1\nactive = true\nmatch_digest = \"^SELECT\"\ncache_ttl = 3600000\ncache_empty_result = true\napply = true";
        let relay = Relay::start(server.server.address());
        let proxy = Setup::new(&server.sandbox)
            .row("mysql_servers", &format!("hostname = \"127.0.0.1\"\nport = {}", relay.port()))
            .user(USER, PASSWORD, "")
            .monitor(USER, PASSWORD)
            .admin("mysql_ifaces", "\"127.0.0.1:0\"")
            .row("mysql_query_rules", &format!("{rule}\nattributes = '{attributes}'"))
            .start();
        let writers = Options::tcp(proxy.tcp(), USER, PASSWORD).schema(&schema);
        Self { server, proxy, relay, clock: Clock(Instant::now()), schema, writers }
    }

    /// The same with writers that the proxy does not see.
    pub(crate) fn with_direct_writers(server: &'static Backend, attributes: &str) -> Self {
        let world = Self::new(server, attributes);
        let writers = world.direct();
        Self { writers, ..world }
    }

    /// How clients log in through the proxy.
    pub(crate) fn options(&self) -> Options {
        Options::tcp(self.proxy.tcp(), USER, PASSWORD).schema(&self.schema)
    }

    /// How clients log in to the server itself.
    pub(crate) fn direct(&self) -> Options {
        Options::tcp(self.server.server.address(), USER, PASSWORD).schema(&self.schema)
    }

    /// Answers from the cache so far.
    pub(crate) async fn hits(&self) -> usize {
        let mut operator = admin::connect(&self.proxy).await;
        let hits =
            admin::value(&mut operator, "SELECT COALESCE(SUM(hits), 0) FROM stats_pointsman_cache").await;
        hits.parse().unwrap()
    }

    /// Runs a round with so many reads; returns those that are wrong.
    pub(crate) async fn round(&self, reads: usize) -> Vec<Wrong> {
        let (written, seen) = self.load(reads).await;
        check(&written, &seen)
    }

    /// All writers and readers.
    async fn load(&self, reads: usize) -> (Vec<Write>, Vec<Read>) {
        let pace = Arc::new(Pace::new(reads));
        let mut writers = JoinSet::new();
        let first = self.first_writes().await;
        for (load, first) in Load::ALL.into_iter().zip(first) {
            let mut writer = Writer::new(load, self.writers.clone(), self.clock, first).await;
            let pace = Arc::clone(&pace);
            writers.spawn(async move {
                while pace.may_write().await {
                    writer.write().await;
                    pace.end_write();
                }
                writer.written
            });
        }
        let mut readers = JoinSet::new();
        for number in 0..READERS {
            let dice = Dice::new(Dice::fresh_seed(), number);
            let mut reader = Reader::new(&self.options(), self.clock, dice).await;
            let pace = Arc::clone(&pace);
            readers.spawn(async move {
                while pace.may_read() {
                    reader.read().await;
                }
                reader.seen
            });
        }
        let seen = readers.join_all().await.concat();
        pace.end();
        (writers.join_all().await.concat(), seen)
    }

    /// What all texts show at rest. They show at the server itself what they show through the
    /// proxy.
    pub(crate) async fn rest(&self) -> Vec<Read> {
        let mut direct = Reader::new(&self.direct(), self.clock, Dice::new(0, 0)).await;
        direct.read_all().await;
        let mut seen = Vec::new();
        for number in 0..2 {
            let mut reader = Reader::new(&self.options(), self.clock, Dice::new(0, number)).await;
            reader.read_all().await;
            let versions =
                |reads: &[Read]| reads.iter().map(|read| (read.key, read.seen)).collect::<Vec<_>>();
            assert_eq!(versions(&reader.seen), versions(&direct.seen), "an answer stays old");
            seen.extend(reader.seen);
        }
        seen
    }

    /// What the server has, as writes that are over.
    pub(crate) async fn first_writes(&self) -> Vec<Write> {
        let mut direct = Reader::new(&self.direct(), self.clock, Dice::new(0, 0)).await;
        direct.read_all().await;
        let of = |load: Load| {
            let read = direct.seen.iter().find(|read| read.key == load.key());
            let version =
                read.and_then(|read| read.seen).unwrap_or_else(|| panic!("{load:?} has no version"));
            let span = Span { sent: 0, done: 0 };
            Write { key: load.key(), version, removes: false, span, fate: Fate::Done }
        };
        Load::ALL.map(of).to_vec()
    }
}

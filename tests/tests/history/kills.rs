//! Writers that are killed, or leave, while their write waits at the server.

use std::time::Duration;

use e2e::WAIT_MAX;
use e2e::dice::Dice;
use e2e::history::{Fate, Read, Span, Write, Wrong, check};
use testkit::client::Client;
use tokio::time::{Instant, sleep, timeout};

use crate::load::Load;
use crate::reader::Reader;
use crate::world::World;

/// How often processes of the server are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// How long there may be no hits behind a write whose end is not known.
const UNKNOWN_TIME_MAX: Duration = Duration::from_secs(90);
/// How often all texts are read while a write is not over.
const READS: usize = 3;

/// How a writer ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// `KILL` through the proxy.
    AtProxy,
    /// `KILL` at the server, of which the proxy does not know.
    AtServer,
    /// The client leaves without a word.
    Leaves,
    /// The proxy loses its connection, and the server does the write nevertheless.
    Cut,
}

impl World {
    /// A write of each kind; returns the reads that are wrong.
    pub(crate) async fn with_kills(&self) -> Vec<Wrong> {
        let (mut writes, mut seen) = (self.first_writes().await, Vec::new());
        for end in [End::AtProxy, End::AtServer, End::Leaves, End::Cut] {
            // What is read twice is in the cache.
            seen.extend(self.read_often(2).await);
            seen.extend(self.killed_write(end, &mut writes).await);
            seen.extend(self.rest().await);
        }
        check(&writes, &seen)
    }

    /// Reads all texts, as a new client.
    async fn read_often(&self, times: usize) -> Vec<Read> {
        let mut reader = Reader::new(&self.place.site, self.clock, Dice::new(0, 0)).await;
        for _ in 0..times {
            reader.read_all().await;
        }
        reader.seen
    }

    /// Waits until there are hits again. One reader is slower than answers are fetched anew, so it
    /// reads each text twice in a row.
    pub(crate) async fn wait_for_hits(&self) {
        let mut reader = Reader::new(&self.place.site, self.clock, Dice::new(0, 0)).await;
        let (before, deadline) = (self.hits().await, Instant::now() + UNKNOWN_TIME_MAX);
        while self.hits().await == before {
            assert!(Instant::now() < deadline, "there are no hits any more: {}", self.said().await);
            reader.read_all_twice().await;
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// One write that ends so; returns what is read meanwhile and afterwards.
    async fn killed_write(&self, end: End, writes: &mut Vec<Write>) -> Vec<Read> {
        let key = Load::Autocommit.key();
        let last = writes.iter().filter(|write| write.key == key).map(|write| write.version).max();
        let version = last.unwrap_or_default() + 1;
        let mut blocker = Client::connect(&self.direct.options()).await.unwrap();
        blocker.query("BEGIN").await.unwrap();
        blocker.query("SELECT v FROM plain WHERE id = 1 FOR UPDATE").await.unwrap();
        let mut writer = Client::connect(&self.options()).await.unwrap();
        let own_id = writer.server().connection_id;
        let sent = self.clock.now();
        let text = format!("UPDATE plain SET v = {version} WHERE id = 1");
        let write = tokio::spawn(async move { writer.query(&text).await.map(|_| ()) });
        let mut watcher = Client::connect(&self.direct.options()).await.unwrap();
        let id = self.wait_for_process(&mut watcher, version, true).await;
        match end {
            End::AtProxy => {
                let mut other = Client::connect(&self.options()).await.unwrap();
                other.query(&format!("KILL {own_id}")).await.unwrap();
            }
            End::AtServer => drop(watcher.query(&format!("KILL {id}")).await.unwrap()),
            End::Leaves => write.abort(),
            End::Cut => self.relay.cut(),
        }
        let mut seen = self.read_often(READS).await;
        let result =
            timeout(WAIT_MAX, write).await.unwrap_or_else(|_| panic!("{end:?}: the writer hears nothing"));
        assert!(!matches!(result, Ok(Ok(()))), "{end:?}: the write was acknowledged");
        let span = Span { sent, done: self.clock.now() };
        writes.push(Write { key, version, removes: false, span, fate: Fate::Unknown });
        blocker.query("ROLLBACK").await.unwrap();
        self.wait_for_process(&mut watcher, version, false).await;
        if matches!(end, End::Cut) {
            let written = watcher.query("SELECT v FROM plain WHERE id = 1").await.unwrap().first();
            assert_eq!(written, Some(version.to_string()), "the server has not gone on");
        }
        seen.extend(self.read_often(READS).await);
        seen
    }

    /// Waits until the server has a connection that writes this version, or has none; returns its
    /// id.
    async fn wait_for_process(&self, watcher: &mut Client, version: u64, is_there: bool) -> String {
        let sql = format!(
            "SELECT id FROM information_schema.processlist WHERE db = '{}' AND info LIKE 'UPDATE plain SET v = {version} %'",
            self.schema
        );
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            let id = watcher.query(&sql).await.unwrap().first();
            if id.is_some() == is_there {
                return id.unwrap_or_default();
            }
            assert!(Instant::now() < deadline, "{sql}: {id:?}");
            sleep(LOOK_INTERVAL).await;
        }
    }
}

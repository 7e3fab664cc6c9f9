//! A stream of the binary log that is frozen or cut, step by step: what is served, and until when.

use e2e::{Backend, WAIT_MAX, run};
use testkit::client::Client;
use tokio::time::{Instant, timeout};

use crate::faults::alone;
use crate::world::{BOUNDED_UNTIL_OLD, STRICT_UNTIL_OLD, World};

/// What is read.
const READ: &str = "SELECT v FROM plain WHERE id = 1";
/// Reads until there is a hit, at most.
const READS_MAX: usize = 10_000;
/// Reads behind the bound.
const READS: usize = 50;

#[test]
fn c20_a_frozen_stream_ends_hits_on_mariadb() {
    alone(false, frozen);
}

#[test]
fn c20_a_frozen_stream_ends_hits_on_mysql() {
    alone(true, frozen);
}

#[test]
fn c20_an_xa_transaction_that_was_prepared_in_another_stream_is_seen_on_mariadb() {
    alone(false, prepared_before);
}

#[test]
fn c20_an_xa_transaction_that_was_prepared_in_another_stream_is_seen_on_mysql() {
    alone(true, prepared_before);
}

/// From a write on that the frozen stream holds back, hits of `bounded` end within the bound, and
/// each refusal is counted; `strict` has none.
pub(crate) fn frozen(server: &mut Backend) {
    run(async {
        let world = World::new(server, BOUNDED_UNTIL_OLD);
        let (mut client, mut direct) = (world.place.site.connect().await, world.direct.connect().await);
        world.read_until_hit(&mut client).await;
        world.relay.freeze_log();
        direct.query("UPDATE plain SET v = 2 WHERE id = 1").await.unwrap();
        let done = Instant::now();
        let mut sent = done;
        while sent - done <= world.promise.bound {
            sent = Instant::now();
            let seen = world.value(&mut client).await;
            assert!(seen == "2" || sent - done <= world.promise.bound, "an answer is older than the bound");
        }
        let (hits, behind) = (world.hits().await, world.behind().await);
        for _ in 0..READS {
            assert_eq!(world.value(&mut client).await, "2");
        }
        assert_eq!(world.hits().await, hits, "nobody knows what the stream holds back");
        assert_eq!(world.behind().await, behind + READS);
        world.relay.thaw();
        assert_eq!(world.read_until_hit(&mut client).await, "2");
    });
    run(async {
        let world = World::new(server, STRICT_UNTIL_OLD);
        let (mut client, mut direct) = (world.place.site.connect().await, world.direct.connect().await);
        world.read_until_hit(&mut client).await;
        world.relay.freeze_log();
        direct.query("UPDATE plain SET v = 2 WHERE id = 1").await.unwrap();
        let hits = world.hits().await;
        // The read waits until the stream counts as lost.
        assert_eq!(world.value(&mut client).await, "2");
        assert_eq!(world.hits().await, hits, "nobody knows what the stream holds back");
        world.relay.thaw();
        assert_eq!(world.read_until_hit(&mut client).await, "2");
    });
}

/// The rows are in the log before the stream breaks, and the commit behind that.
pub(crate) fn prepared_before(server: &mut Backend) {
    run(async {
        let world = World::new(server, STRICT_UNTIL_OLD);
        let (mut client, mut direct) = (world.place.site.connect().await, world.direct.connect().await);
        world.read_until_hit(&mut client).await;
        for sql in [
            "XA START 'prepared_before'",
            "UPDATE plain SET v = 2 WHERE id = 1",
            "XA END 'prepared_before'",
            "XA PREPARE 'prepared_before'",
        ] {
            direct.query(sql).await.unwrap();
        }
        let streams = world.streams().await;
        world.relay.cut_log();
        let another = async { while world.streams().await == streams {} };
        timeout(WAIT_MAX, another).await.unwrap();
        assert_eq!(world.read_until_hit(&mut client).await, "1");
        direct.query("XA COMMIT 'prepared_before'").await.unwrap();
        assert_eq!(world.value(&mut client).await, "2", "the commit was acknowledged");
        assert_eq!(world.read_until_hit(&mut client).await, "2");
    });
}

impl World {
    /// The version at the moment.
    pub(crate) async fn value(&self, client: &mut Client) -> String {
        client.query(READ).await.unwrap().first().unwrap()
    }

    /// Reads until an answer comes from the cache; returns it.
    pub(crate) async fn read_until_hit(&self, client: &mut Client) -> String {
        for _ in 0..READS_MAX {
            let before = self.hits().await;
            let seen = self.value(client).await;
            if self.hits().await > before {
                return seen;
            }
        }
        panic!("there are no hits: {}", self.said().await);
    }

    /// Lookups of the first proxy without an answer that is known to be new enough.
    async fn behind(&self) -> usize {
        self.count("COALESCE(SUM(misses_behind), 0) FROM stats_pointsman_cache").await
    }
}

//! Commits that hang between the log and the engine: others have the event, and do not see the row.

use std::time::Instant;

use e2e::history::{Fate, Read, Span, Write, check};
use e2e::{Backend, admin, run};
use testkit::client::Client;

use crate::{connect, elsewhere, hits, prepared, proxy, value, warm};

/// How often it is read while a commit hangs, at least.
const READS: usize = 20;

#[test]
fn c20_what_is_logged_and_not_visible_is_not_stored_on_mariadb() {
    let options = [
        "--log-bin=binlog",
        "--server-id=7",
        "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
        "--rpl-semi-sync-master-timeout=1000",
    ];
    let server = prepared(Backend::start(&options));
    // It waits for a replica, and there is none. After that it would wait for none any more.
    let again = "SET GLOBAL rpl_semi_sync_master_enabled = OFF; SET GLOBAL rpl_semi_sync_master_enabled = ON";
    run(reads_beside_a_commit(&server, again));
}

#[test]
fn c20_what_is_logged_and_not_visible_is_not_stored_on_mysql() {
    let options = [
        "--log-bin=binlog",
        "--server-id=7",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--sync-binlog=0",
    ];
    let Some(server) = Backend::start_mysql_or_skip(&options).map(prepared) else { return };
    // The log is sent behind its flush, and this delays what follows.
    run(reads_beside_a_commit(&server, "SET GLOBAL binlog_group_commit_sync_delay = 1000000"));
}

/// What is read.
const READ: &str = "SELECT a FROM kept WHERE id = 1";

/// Reads while a write hangs in its commit, for which `hang` cares, and after it.
async fn reads_beside_a_commit(server: &Backend, hang: &str) {
    let proxy = proxy(server, "watch", r#""mode": "strict""#);
    let (mut client, mut operator) = (connect(&proxy).await, admin::connect(&proxy).await);
    let clock = Instant::now();
    let first =
        Write { key: 0, version: 0, removes: false, span: Span { sent: 0, done: 0 }, fate: Fate::Done };
    let (mut writes, mut reads) = (vec![first], Vec::new());
    for version in 1..=2 {
        warm(&mut operator, &mut client, READ).await;
        server.sql(hang);
        let mut writer = elsewhere(server).await;
        let writing = tokio::spawn(async move {
            let sent = now(clock);
            writer.query("UPDATE test.kept SET a = a + 1 WHERE id = 1").await.unwrap();
            Span { sent, done: now(clock) }
        });
        // From the moment on when its event is there, answers come from the server alone.
        let unsettled = "SELECT unsettled FROM stats_pointsman_sources";
        admin::wait_for_value(&mut operator, unsettled, "1").await;
        let before = hits(&mut operator).await;
        for _ in 0..READS {
            reads.push(read(&mut client, clock).await);
        }
        let is_over = writing.is_finished();
        assert_eq!(hits(&mut operator).await, before, "version {version}: the row may be either");
        writes.push(Write { version, span: writing.await.unwrap(), ..first });
        reads.push(read(&mut client, clock).await);
        assert!(!is_over, "the commit did not hang");
        // What was stored meanwhile is read once more, when it comes from the cache again.
        warm(&mut operator, &mut client, READ).await;
        reads.push(read(&mut client, clock).await);
    }
    assert_eq!(check(&writes, &reads), []);
}

async fn read(client: &mut Client, clock: Instant) -> Read {
    let sent = now(clock);
    let seen = value(client, READ).await.parse().ok();
    Read { key: 0, seen, span: Span { sent, done: now(clock) } }
}

/// Nanoseconds since the beginning.
fn now(clock: Instant) -> u64 {
    u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

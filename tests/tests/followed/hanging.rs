//! Commits that hang between the log and the engine: others have the event, and do not see the row.

use e2e::{Backend, admin, run};

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

/// Reads while a write hangs in its commit, for which `hang` cares, and after it.
async fn reads_beside_a_commit(server: &Backend, hang: &str) {
    let proxy = proxy(server, "watch", r#""mode": "strict""#);
    let (mut client, mut operator) = (connect(&proxy).await, admin::connect(&proxy).await);
    let sql = "SELECT a FROM kept WHERE id = 1";
    for round in 1..=2 {
        warm(&mut operator, &mut client, sql).await;
        server.sql(hang);
        let mut writer = elsewhere(server).await;
        let writing = tokio::spawn(async move {
            writer.query("UPDATE test.kept SET a = a + 1 WHERE id = 1").await.unwrap();
        });
        // From the moment on when its event is there, answers come from the server alone.
        let unsettled = "SELECT unsettled FROM stats_pointsman_sources";
        admin::wait_for_value(&mut operator, unsettled, "1").await;
        let before = hits(&mut operator).await;
        for _ in 0..READS {
            value(&mut client, sql).await;
        }
        let is_over = writing.is_finished();
        assert_eq!(hits(&mut operator).await, before, "round {round}: the row may be either");
        writing.await.unwrap();
        assert_eq!(value(&mut client, sql).await, round.to_string(), "the write was acknowledged");
        assert!(!is_over, "the commit did not hang");
    }
}

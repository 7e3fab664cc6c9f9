//! Statements that end a transaction over shards: home interrupts them, another transaction begins
//! behind them, or the session ends with them.

use config::ShardTransactions;

use super::shards_lost::{Fault, config, ok, scene, scene_of};
use super::support::{Client, play};

const READ: &str = "SELECT id FROM t WHERE id = 2";
const WRITE: &str = "INSERT INTO t (id) VALUES (2)";

async fn refused(client: &mut Client, sql: &str, code: u16) -> String {
    client.send_query(sql).await;
    client.expect_err(code).await.to_string()
}

/// Its home has it as before.
#[test]
fn c08_a_transaction_whose_end_is_interrupted_at_home_has_still_written_there() {
    for (before, end) in [(READ, "COMMIT"), ("DO 1", "ROLLBACK"), (READ, "BEGIN")] {
        play(async || {
            let (_stage, world, mut client) = scene().await;
            ok(&mut client, &["BEGIN", "DELETE FROM h", before]).await;
            world.fails("home", if end == "BEGIN" { "COMMIT" } else { end }, Fault::Interrupted);
            refused(&mut client, end, 1317).await;
            ok(&mut client, &[WRITE]).await;
            world.fails("home", "COMMIT", Fault::Interrupted);
            let error = refused(&mut client, "COMMIT", 9010).await;
            assert!(error.contains("rolled back at the home (error 1317)"), "{end}: {error}");
        });
    }
}

#[test]
fn c08_a_transaction_whose_commit_is_interrupted_at_home_writes_at_no_second_server() {
    play(async || {
        let mut config = config();
        config.pointsman.shard_transactions = ShardTransactions::Single;
        let (_stage, world, mut client) = scene_of(config).await;
        ok(&mut client, &["BEGIN", "DELETE FROM h", READ]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        refused(&mut client, "COMMIT", 1317).await;
        refused(&mut client, WRITE, 1235).await;
        ok(&mut client, &["COMMIT", WRITE]).await;
    });
}

/// A shard that comes into it has all that home has of it.
#[test]
fn c08_a_transaction_whose_commit_is_interrupted_at_home_is_what_it_was() {
    play(async || {
        let (_stage, world, mut client) = scene().await;
        ok(&mut client, &["START TRANSACTION READ ONLY", "SAVEPOINT s", READ]).await;
        world.fails("home", "COMMIT", Fault::Interrupted);
        refused(&mut client, "COMMIT", 1317).await;
        world.take();
        ok(&mut client, &[READ, "ROLLBACK TO s"]).await;
        let expected = [
            "a: START TRANSACTION READ ONLY",
            "a: SAVEPOINT s",
            &format!("a: {READ}"),
            "home: ROLLBACK TO s",
            "a: ROLLBACK TO s",
        ];
        assert_eq!(world.take(), expected);
    });
}

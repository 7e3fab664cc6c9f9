//! Replicas that lag: who gets what they do not.

use std::time::Duration;

use config::Server;
use tokio::time::sleep;

use super::support::{config as usual, database, log_in, ms, play};
use super::world::{World, events, pair, say, status, until};

#[test]
fn c12_a_replica_that_lags_gets_no_reads() {
    play(async || {
        let mut config = usual();
        let replica = |name| Server { max_replication_lag: Duration::from_secs(10), ..database(name) };
        config.servers = vec![replica("a"), replica("b")].into();
        config.monitor.replication_lag_interval = ms(1_000);
        config.monitor.replication_lag_count = 2;
        let (world, stage) = World::of(config);
        world.lag.borrow_mut().extend([("a:3306".to_owned(), Some("0")), ("b:3306".to_owned(), Some("10"))]);
        sleep(ms(3_000)).await;
        assert_eq!(events(&stage), []);
        world.lags("b", Some("11"));
        sleep(ms(2_100)).await;
        assert_eq!(status(&stage, 0, "b"), Some("SHUNNED_REPLICATION_LAG"));
        for _ in 0..20 {
            say(&mut log_in(&stage).await, "SELECT 1").await;
        }
        assert!(!world.told("SELECT 1").contains(&"b:3306".to_owned()));
        // Replication has stopped: that counts as a lag of a minute by default.
        world.lags("b", None);
        sleep(ms(2_000)).await;
        assert_eq!(status(&stage, 0, "b"), Some("SHUNNED_REPLICATION_LAG"));
        world.lags("b", Some("3"));
        sleep(ms(1_100)).await;
        assert_eq!((status(&stage, 0, "b"), events(&stage).len()), (Some("ONLINE"), 2));
        assert_eq!(stage.checks(observe::plane::Check::Lag).last().and_then(|check| check.value), Some(3));
    });
}

#[test]
fn c12_sessions_leave_a_replica_that_lags() {
    for multiplexing in [false, true] {
        play(async || {
            let mut config = pair();
            config.variables.read_write_split = true;
            config.variables.multiplexing = multiplexing;
            config.servers[1].max_replication_lag = Duration::from_secs(10);
            config.monitor.writer_is_also_reader = false;
            config.monitor.replication_lag_interval = ms(1_000);
            let (world, stage) = World::of(config);
            world.demote("b");
            world.lags("b", Some("3"));
            sleep(ms(2_000)).await;
            let mut client = log_in(&stage).await;
            say(&mut client, "SELECT 1 FROM t").await;
            world.lags("b", Some("11"));
            until(&stage, (1, "b", "SHUNNED_REPLICATION_LAG")).await;
            say(&mut client, "SELECT 2 FROM t").await;
            world.lags("b", Some("3"));
            until(&stage, (1, "b", "CAUGHT_UP")).await;
            say(&mut client, "SELECT 3 FROM t").await;
            let told = [1, 2, 3].map(|number| world.told(&format!("SELECT {number} FROM t")).concat());
            assert_eq!(told, ["b:3306", "a:3306", "b:3306"], "multiplexing: {multiplexing}");
        });
    }
}

#[test]
fn c12_a_replica_that_is_promoted_takes_writes_though_it_does_not_know_its_lag() {
    play(async || {
        let mut config = pair();
        config.servers[1].max_replication_lag = Duration::from_secs(10);
        config.monitor.replication_lag_interval = ms(1_000);
        let (world, stage) = World::of(config);
        world.demote("b");
        world.lags("b", None);
        until(&stage, (1, "b", "SHUNNED_REPLICATION_LAG")).await;
        world.demote("a");
        until(&stage, (0, "a", "LEFT")).await;
        let mut client = log_in(&stage).await;
        client.send_query("INSERT 1").await;
        world.promote("b");
        client.expect_ok().await;
        sleep(Duration::from_mins(1)).await;
        say(&mut client, "INSERT 2").await;
        assert_eq!(world.told("INSERT 2"), ["b:3306"]);
    });
}

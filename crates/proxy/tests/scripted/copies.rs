//! Copies for servers that are watched.

use config::{Config, QueryRule, Server};
use tokio::time::{Instant, sleep};

use super::support::{config as usual, database, log_in, ms, play, rule};
use super::world::{World, pair, say, status, until};

/// A server `a`, and a server `copies` that gets copies of what is selected there.
fn mirrored() -> Config {
    let mut config = usual();
    config.servers = vec![database("a"), Server { hostgroup_id: 1, ..database("copies") }].into();
    config.query_rules = vec![QueryRule { mirror_hostgroup: Some(1), ..rule(1, "^SELECT") }].into();
    (config.monitor.ping_interval, config.monitor.ping_timeout) = (ms(1_000), ms(500));
    config.variables.connect_timeout_server = ms(30_000);
    config.variables.connect_timeout_server_max = ms(60_000);
    config
}

#[test]
fn c24_no_copy_waits_for_a_server_that_is_found_down_while_it_is_connected_to() {
    play(async || {
        let (world, stage) = World::of(mirrored());
        world.freeze("copies");
        let mut client = log_in(&stage).await;
        let begun = Instant::now();
        say(&mut client, "SELECT 1").await;
        until(&stage, (1, "copies", "SHUNNED")).await;
        sleep(ms(10)).await;
        assert!(begun.elapsed() <= ms(4_000), "{:?}", begun.elapsed());
        assert_eq!(stage.usage(1).open, 0, "what was begun is over");
    });
}

#[test]
fn c24_no_copy_waits_for_the_answer_of_a_server_that_is_found_down() {
    play(async || {
        let (world, stage) = World::of(mirrored());
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 1"), ["a:3306", "copies:3306"]);
        world.freeze("copies");
        say(&mut client, "SELECT 2").await;
        until(&stage, (1, "copies", "SHUNNED")).await;
        sleep(ms(10)).await;
        assert_eq!(stage.usage(1).open, 0, "what was begun is over");
    });
}

#[test]
fn a_copy_goes_to_a_server_that_is_well_when_the_one_it_knows_is_found_down() {
    play(async || {
        let mut config = mirrored();
        config.servers.push(Server { hostgroup_id: 1, ..database("other") });
        config.servers[1].weight = 1_000_000;
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 1"), ["a:3306", "copies:3306"]);
        world.freeze("copies");
        while status(&stage, 1, "copies") == Some("ONLINE") {
            sleep(ms(1)).await;
        }
        say(&mut client, "SELECT 2").await;
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 2"), ["a:3306", "other:3306"]);
        assert_eq!((stage.global("Mirror_done"), stage.global("Mirror_failed")), (2, 0));
    });
}

#[test]
fn a_copy_that_runs_at_a_server_that_leaves_may_end() {
    play(async || {
        let mut config = pair();
        config.monitor.writer_is_also_reader = false;
        config.query_rules = vec![QueryRule { mirror_hostgroup: Some(1), ..rule(1, "^SELECT") }].into();
        let (world, stage) = World::of(config);
        world.demote("b");
        let mut client = log_in(&stage).await;
        world.slow.borrow_mut().insert("b:3306".to_owned());
        say(&mut client, "SELECT 1").await;
        sleep(ms(100)).await;
        assert_eq!(stage.global("Mirror_concurrency"), 1);
        world.read_only.borrow_mut().clear();
        until(&stage, (1, "b", "LEFT")).await;
        sleep(ms(100)).await;
        world.slow.borrow_mut().clear();
        sleep(ms(100)).await;
        assert_eq!(world.told("SELECT 1"), ["a:3306", "b:3306"]);
        assert_eq!((stage.global("Mirror_done"), stage.global("Mirror_failed")), (1, 0));
    });
}

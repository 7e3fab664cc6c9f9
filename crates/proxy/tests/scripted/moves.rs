//! Servers that join hostgroups and leave them, as the monitor finds them.

use std::collections::HashSet;

use config::HostgroupAttributes;
use tokio::time::sleep;

use super::support::{log_in, ms, play};
use super::world::{World, pair, say, status, until};

#[test]
fn without_a_monitor_servers_are_where_their_rows_are() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.demote("a");
        until(&stage, (0, "a", "LEFT")).await;
        stage.apply(pair()).unwrap();
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "SELECT 1").await;
        assert_eq!(world.told("SELECT 1"), ["a:3306"]);
    });
}

#[test]
fn what_was_found_holds_until_the_last_session_has_gone() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.demote("a");
        until(&stage, (0, "a", "LEFT")).await;
        stage.stop_watching();
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT 1").await;
        assert_eq!((world.told("INSERT 1"), status(&stage, 0, "a")), (vec!["b:3306".to_owned()], None));
    });
}

#[test]
fn c29_nothing_stays_open_to_a_replica_that_is_forgotten() {
    play(async || {
        let mut config = pair();
        config.servers.truncate(1);
        let mut attributes = HostgroupAttributes { hostgroup_id: 0, ..HostgroupAttributes::default() };
        attributes.hostgroup_settings.discover_replicas = Some(true);
        attributes.hostgroup_settings.forget_replicas_after = Some(5);
        config.hostgroup_attributes.push(attributes);
        let (world, stage) = World::of(config);
        world.demote("b");
        world.followers.borrow_mut().insert("a:3306".to_owned(), "b");
        until(&stage, (1, "b", "JOINED")).await;
        sleep(ms(20_000)).await;
        assert!(world.open.borrow()["b:3306"] > 0);
        world.followers.borrow_mut().clear();
        until(&stage, (1, "b", "LEFT")).await;
        sleep(ms(100)).await;
        assert_eq!(world.open.borrow()["b:3306"], 0);
        assert!(world.open.borrow()["a:3306"] > 0);
    });
}

#[test]
fn what_was_counted_of_servers_that_have_left_is_forgotten() {
    play(async || {
        let mut config = pair();
        config.monitor.read_only_interval = ms(100);
        let (world, stage) = World::of(config);
        let mut client = log_in(&stage).await;
        for round in 0..20 {
            let (writer, reader) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
            *world.read_only.borrow_mut() = HashSet::from([format!("{reader}:3306")]);
            while status(&stage, 0, writer) != Some("ONLINE") || status(&stage, 0, reader).is_some() {
                sleep(ms(10)).await;
            }
            say(&mut client, "INSERT 1").await;
        }
        assert_eq!(world.told("INSERT 1").len(), 20);
        let counted = stage.servers_counted();
        assert!(counted <= 4, "two servers in two hostgroups are {counted}");
    });
}

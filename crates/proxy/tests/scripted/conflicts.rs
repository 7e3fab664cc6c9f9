//! Replication pairs of which two servers can be written to.

use tokio::time::sleep;

use super::support::{ms, play};
use super::world::{PATIENCE, World, events, pair};

const BEGUN: &str = "SEVERAL_WRITERS";
const OVER: &str = "SEVERAL_WRITERS_OVER";

fn conflicts(stage: &proxy::stage::Stage) -> Vec<(&'static str, String)> {
    let events = stage.server_events().into_iter().filter(|event| event.event.starts_with(BEGUN));
    events.map(|event| (event.event, event.cause)).collect()
}

#[test]
fn two_writable_servers_are_told_when_it_begins_and_when_it_ends() {
    play(async || {
        let (world, stage, _client) = World::with_replica(pair()).await;
        world.promote("b");
        sleep(ms(60_000)).await;
        let begun = (BEGUN, "servers with read_only=0: a:3306, b:3306".to_owned());
        assert_eq!(conflicts(&stage), std::slice::from_ref(&begun));
        // A server that does not answer takes no writes.
        world.freeze("b");
        sleep(ms(60_000)).await;
        let over = (OVER, "servers with read_only=0: a:3306".to_owned());
        assert_eq!(conflicts(&stage), [begun.clone(), over.clone()], "{:?}", events(&stage));
        world.frozen.borrow_mut().clear();
        sleep(ms(60_000)).await;
        assert_eq!(conflicts(&stage), [begun.clone(), over.clone(), begun.clone()]);
        world.demote("a");
        world.demote("b");
        sleep(ms(60_000)).await;
        let ends = conflicts(&stage);
        assert_eq!((ends.len(), ends[3].0), (4, OVER), "{ends:?}");
    });
}

#[test]
fn servers_that_could_be_written_to_from_the_start_are_told() {
    play(async || {
        let mut config = pair();
        config.monitor.ping_interval = PATIENCE;
        let (_world, stage) = World::of(config);
        sleep(ms(60_000)).await;
        assert_eq!(conflicts(&stage).len(), 1, "{:?}", events(&stage));
    });
}

#[test]
fn a_primary_and_a_replica_that_change_places_are_no_conflict() {
    play(async || {
        let (world, stage, _client) = World::with_replica(pair()).await;
        for _ in 0..50 {
            world.demote("a");
            world.promote("b");
            sleep(ms(4_321)).await;
            world.demote("b");
            world.promote("a");
            sleep(ms(4_987)).await;
        }
        assert_eq!(conflicts(&stage), []);
    });
}

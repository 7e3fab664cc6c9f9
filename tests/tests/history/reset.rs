//! A log that is reset, and is as long as before when the proxy looks again.

use std::time::Duration;

use e2e::{Backend, run};
use tokio::time::sleep;

use crate::faults::alone;
use crate::world::{STRICT_UNTIL_OLD, World};

/// How often the log is reset.
const TIMES: u64 = 3;
/// The proxy takes it that no log is reset within 2 ms of its last look. Some servers need little
/// more than that.
const LOOK_TIME: Duration = Duration::from_millis(5);

#[test]
fn c20_a_log_that_is_as_long_as_before_is_another_one_on_mariadb() {
    alone(false, reset);
}

#[test]
fn c20_a_log_that_is_as_long_as_before_is_another_one_on_mysql() {
    alone(true, reset);
}

pub(crate) fn reset(server: &mut Backend) {
    let reset = if server.is_mysql() { "RESET BINARY LOGS AND GTIDS" } else { "RESET MASTER" };
    run(async {
        let world = World::new(server, STRICT_UNTIL_OLD);
        let (mut client, mut direct) = (world.place.site.connect().await, world.direct.connect().await);
        for version in 2..2 + TIMES {
            sleep(LOOK_TIME).await;
            let write = format!("UPDATE plain SET v = {version} WHERE id = 1");
            direct.query(&format!("{reset}; {write}")).await.unwrap();
            for _ in 0..3 {
                assert_eq!(world.value(&mut client).await, version.to_string(), "the write was acknowledged");
            }
            assert_eq!(world.read_until_hit(&mut client).await, version.to_string());
        }
    });
}

//! Clients that do nothing for too long.

use std::time::Duration;

use e2e::run;
use tokio::io::AsyncReadExt as _;

use crate::world::{Servers, rows};

/// How long clients may be idle here.
const IDLE: Duration = Duration::from_millis(1500);

pub(crate) fn a_client_is_idle_behind_a_remembered_query(servers: &'static Servers) {
    let world = servers.world("idle").with(|setup| setup.variable("wait_timeout", IDLE.as_millis()));
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        // The plan is remembered when the query comes again.
        for _ in 0..4 {
            assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["order 1"]);
        }
        let mut rest = Vec::new();
        // Gone, with or without a word.
        let _ = client.packets().stream().read_to_end(&mut rest).await;
    });
}

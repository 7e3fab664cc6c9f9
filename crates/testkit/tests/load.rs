//! The load against a real server.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::load::{Group, Load, Mix, Operation, Snapshot, create_schema};
use testkit::mariadb::{self, PASSWORD, Setup, USER};

#[test]
fn it_counts_what_it_does() {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let mut server = Setup::new("server").start(&binaries, &sandbox).unwrap();
    let options = Options::tcp(server.address(), USER, PASSWORD);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = Client::connect(&options).await.unwrap();
        create_schema(&mut client).await.unwrap();
        assert_eq!(
            client.query("SELECT COUNT(*) FROM item").await.unwrap().first().as_deref(),
            Some("10000")
        );
    });
    let load = Load::start(vec![
        Group { options: options.clone(), connections: 3, mix: Mix::ReadsAndWrites },
        Group { options, connections: 2, mix: Mix::Reads },
    ])
    .unwrap();
    wait_for(&load, |now| Operation::ALL.iter().all(|&operation| now.operation(operation).queries > 0));
    let before = load.snapshot();
    assert_eq!(before.connections, 5);
    assert_eq!(before.total().errors, 0, "{:?}", before.first_error);
    assert!(before.total().latencies.percentile(50.0) > Duration::ZERO);

    server.kill().unwrap();
    wait_for(&load, |now| now.connections == 0 && now.connection_errors > 0);
    assert!(load.snapshot().first_error.is_some());
    server.restart().unwrap();
    wait_for(&load, |now| now.connections == 5 && now.total().queries > before.total().queries + 1000);
    let end = load.stop();
    assert_eq!(end.connections, 0);
    let purchases: u64 = server.sql("SELECT COUNT(*) FROM shop.purchase").unwrap().trim().parse().unwrap();
    assert!(purchases > 0);
}

fn wait_for(load: &Load, condition: impl Fn(&Snapshot) -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition(&load.snapshot()) {
        assert!(Instant::now() < deadline, "waited in vain: {:?}", load.snapshot().first_error);
        std::thread::sleep(Duration::from_millis(10));
    }
}

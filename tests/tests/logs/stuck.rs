//! A log that cannot be written at all: a pipe without a reader.

use std::fs::File;
use std::process::Command;

use e2e::run;
use testkit::client::Client;

use super::{admin, all_as_json_in, global};

#[test]
fn statements_go_on_and_records_are_dropped_and_counted() {
    run(async {
        let setup = all_as_json_in("pipe").pointsman_variable("log_text_max", 65_536);
        let pipe = setup.folder().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut admin = admin(&proxy).await;
        let long = "x".repeat(60_000);
        // 16 MiB wait in the queue, and some more in the writer's hands.
        let mut sent: u64 = 0;
        while global(&mut admin, "Query_log_dropped").await == 0 {
            assert!(sent < 2000, "the queue has an end");
            for _ in 0..50 {
                client.query(&format!("DO '{long}'")).await.unwrap();
            }
            sent += 50;
        }
        let late = admin.query("PROXYSQL FLUSH LOGS").await.unwrap_err();
        assert!(late.to_string().contains("has not answered within"), "{late}");
        // With a reader at last: what was not dropped is there, and so is what comes then.
        let mut reader = File::open(&pipe).unwrap();
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        let mut tries = 0;
        while admin.query("PROXYSQL FLUSH LOGS").await.is_err() {
            tries += 1;
            assert!(tries < 20, "somebody reads");
        }
        let written = global(&mut admin, "Query_log_written").await;
        assert_eq!(written + global(&mut admin, "Query_log_dropped").await, sent);
        client.query("DO 'at last'").await.unwrap();
        admin.query("PROXYSQL FLUSH LOGS").await.unwrap();
        assert_eq!(global(&mut admin, "Query_log_written").await, written + 1);
    });
}

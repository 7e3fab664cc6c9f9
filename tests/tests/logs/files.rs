//! Which files there are.

use e2e::{run, wait_for};
use testkit::client::Client;
use testkit::guard::Signal;

use super::{admin, all_as_json, all_as_json_in, files, flush, global, lines, value};

#[test]
fn files_end_when_they_are_long_enough_or_on_request() {
    run(async {
        let setup =
            all_as_json().variable("eventslog_filesize", 1 << 20).pointsman_variable("log_text_max", 65_536);
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let long = "x".repeat(50_000);
        for n in 0..50 {
            client.query(&format!("DO '{n}{long}'")).await.unwrap();
        }
        flush(&proxy).await;
        let full = files(&folder, "q");
        assert_eq!(full, ["q.00000001", "q.00000002", "q.00000003", "q.00000004"], "the last one is empty");
        let mut count = 0;
        for name in &full {
            assert!(folder.join(name).metadata().unwrap().len() <= 1 << 20);
            count += lines(&folder, name).len();
        }
        assert_eq!(count, 50);
        client.query("DO 'behind'").await.unwrap();
        proxy.signal(Signal::USR1);
        proxy.wait_for_log("go on in new files");
        client.query("DO 'another'").await.unwrap();
        flush(&proxy).await;
        let text = |name: &str| value(&lines(&folder, name)[0], "query").unwrap().to_owned();
        assert_eq!([text("q.00000004"), text("q.00000005")], ["DO 'behind'", "DO 'another'"]);
    });
}

#[test]
fn the_end_of_the_process_writes_what_is_left_and_the_next_one_goes_on() {
    run(async {
        let setup = all_as_json();
        let folder = setup.folder().to_owned();
        for (signal, file) in [(Signal::TERM, "q.00000001"), (Signal::TERM, "q.00000002")] {
            let mut proxy = setup.clone().start();
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            for n in 0..100 {
                client.query(&format!("DO {n}")).await.unwrap();
            }
            drop(client);
            proxy.signal(signal);
            proxy.wait();
            assert_eq!(lines(&folder, file).len(), 100);
        }
    });
}

#[test]
fn a_killed_process_leaves_whole_lines() {
    run(async {
        let setup = all_as_json();
        let folder = setup.folder().to_owned();
        let mut proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut admin = admin(&proxy).await;
        while global(&mut admin, "Query_log_written").await < 1000 {
            for n in 0..100 {
                client.query(&format!("DO {n}")).await.unwrap();
            }
        }
        proxy.signal(Signal::KILL);
        proxy.wait();
        let lines = lines(&folder, "q.00000001");
        assert!(lines.len() >= 1000);
        let whole = lines.iter().filter(|line| line.starts_with('{') && line.ends_with('}')).count();
        assert!(whole >= lines.len() - 1, "{whole} of {}", lines.len());
    });
}

#[test]
fn what_cannot_be_written_is_said_and_counted() {
    run(async {
        let setup = all_as_json_in("file/q");
        std::fs::write(setup.folder().join("file"), "no folder").unwrap();
        let proxy = setup.start();
        proxy.wait_for_log("the query log cannot be written");
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for n in 0..100 {
            client.query(&format!("DO {n}")).await.unwrap();
        }
        let mut admin = admin(&proxy).await;
        admin.query("PROXYSQL FLUSH LOGS").await.unwrap();
        assert_eq!(global(&mut admin, "Query_log_failed").await, 100);
        assert_eq!(global(&mut admin, "Query_log_written").await, 0);
        let said = || proxy.log().iter().filter(|line| line.contains("cannot be written")).count();
        wait_for("the log", || said() >= 1);
        assert!(said() < 5, "once in a while");
    });
}

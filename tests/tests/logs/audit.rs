//! The audit log: who came, was refused, chose a schema and left, at both ports.

use std::net::TcpStream;
use std::path::Path;

use e2e::{run, wait_for};
use testkit::client::{Client, Options};
use testkit::mariadb::USER;

use super::{admin, files, flush, global, setup, value};

/// The lines of all files of the log.
fn all(folder: &Path) -> Vec<String> {
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    files(folder, "audit")
        .into_iter()
        .map(read)
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The events of one connection, once the last one is there.
fn events_until(folder: &Path, id: &str, last: &str) -> Vec<String> {
    let of = || {
        let mut lines = all(folder);
        lines.retain(|line| value(line, "thread_id") == Some(id));
        lines
    };
    wait_for(last, || of().last().is_some_and(|line| value(line, "event") == Some(last)));
    of()
}

fn names(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| value(line, "event").unwrap()).collect()
}

#[test]
fn a_session_is_logged_from_its_login_to_its_end() {
    run(async {
        let setup = setup().variable("auditlog_filename", "\"audit\"");
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let id = client.query("SELECT CONNECTION_ID()").await.unwrap().first().unwrap();
        client.init_db("mysql").await.unwrap();
        client.query("USE test").await.unwrap();
        client.change_user(&Options::tcp(proxy.tcp(), USER, "wrong")).await.unwrap_err();
        client.change_user(&proxy.options()).await.unwrap();
        client.quit().await.unwrap();
        let lines = events_until(&folder, &id, "MySQL_Client_Close");
        assert_eq!(
            names(&lines),
            [
                "MySQL_Client_Connect_OK",
                "MySQL_Client_Init_DB",
                "MySQL_Client_Init_DB",
                "MySQL_Client_Change_User_ERR",
                "MySQL_Client_Change_User_OK",
                "MySQL_Client_Quit",
                "MySQL_Client_Close"
            ]
        );
        for line in &lines {
            assert_eq!(value(line, "username"), Some(USER), "{line}");
            assert_eq!(value(line, "ssl"), Some("false"), "{line}");
            assert_eq!(value(line, "proxy_addr"), Some(&*proxy.tcp().to_string()), "{line}");
            assert!(value(line, "client_addr").unwrap().starts_with("127.0.0.1:"), "{line}");
        }
        let schemas: Vec<_> = lines.iter().map(|line| value(line, "schemaname").unwrap()).collect();
        assert_eq!(schemas[..3], ["test", "mysql", "test"]);
        assert!(value(&lines[3], "extra_info").unwrap().starts_with("1045: "), "{}", lines[3]);
        assert!(value(&lines[6], "duration").unwrap().ends_with("ms"), "{}", lines[6]);
        assert!(value(&lines[6], "creation_time").is_some(), "{}", lines[6]);
        assert_eq!(value(&lines[6], "extra_info"), None, "{}", lines[6]);
    });
}

#[test]
fn who_is_refused_or_vanishes_is_logged() {
    run(async {
        let setup = setup().variable("auditlog_filename", "\"audit\"").variable("max_connections", 1);
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        Client::connect(&Options::tcp(proxy.tcp(), "nobody", "x").schema("s")).await.unwrap_err();
        let refused = || all(&folder).into_iter().find(|line| value(line, "username") == Some("nobody"));
        wait_for("the refusal", || refused().is_some());
        let refused = refused().unwrap();
        assert_eq!(value(&refused, "event"), Some("MySQL_Client_Connect_ERR"));
        assert_eq!(value(&refused, "schemaname"), Some("s"));
        assert!(value(&refused, "extra_info").unwrap().starts_with("1045: "), "{refused}");
        let id = value(&refused, "thread_id").unwrap().to_owned();
        assert_eq!(
            names(&events_until(&folder, &id, "MySQL_Client_Close")),
            ["MySQL_Client_Connect_ERR", "MySQL_Client_Close"]
        );

        // The end of a client is in the log a moment before its place is free.
        let mut turned_away = 1;
        let mut client = loop {
            if let Ok(client) = Client::connect(&proxy.options()).await {
                break client;
            }
            turned_away += 1;
        };
        let id = client.query("SELECT CONNECTION_ID()").await.unwrap().first().unwrap();
        Client::connect(&proxy.options()).await.unwrap_err();
        wait_for("all who were too many", || {
            let too_many = |line: &String| {
                line.contains("Too many connections") && value(line, "thread_id") == Some("0")
            };
            all(&folder).iter().filter(|line| too_many(line)).count() == turned_away
        });
        drop(client);
        let lines = events_until(&folder, &id, "MySQL_Client_Close");
        assert_eq!(names(&lines), ["MySQL_Client_Connect_OK", "MySQL_Client_Close"]);
        assert!(value(&lines[1], "extra_info").unwrap().contains("without a goodbye"), "{}", lines[1]);
    });
}

/// Their ends had no reason.
#[test]
fn who_does_not_log_in_is_logged_with_the_reason() {
    run(async {
        let setup =
            setup().variable("auditlog_filename", "\"audit\"").variable("connect_timeout_client", 500);
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let why = |id: &str| {
            let lines = events_until(&folder, id, "MySQL_Client_Close");
            value(&lines[0], "extra_info").unwrap_or_default().to_owned()
        };
        let silent = TcpStream::connect(proxy.tcp()).unwrap();
        let mut ids = all_ids(&folder, 1);
        assert_eq!(why(&ids[0]), "it has not logged in in time");
        drop(silent);
        drop(TcpStream::connect(proxy.tcp()).unwrap());
        ids = all_ids(&folder, 2);
        assert_eq!(why(&ids[1]), "the client has gone without a goodbye");
    });
}

/// The ids of the first connections of which there is something in the log, so many of them.
fn all_ids(folder: &Path, count: usize) -> Vec<String> {
    let ids = || {
        let mut ids: Vec<_> =
            all(folder).iter().map(|line| value(line, "thread_id").unwrap().to_owned()).collect();
        ids.dedup();
        ids
    };
    wait_for("the connections", || ids().len() >= count);
    ids()
}

#[test]
fn admins_are_logged_and_files_are_rotated_and_switched_off() {
    run(async {
        let setup = setup().variable("auditlog_filename", "\"audit\"");
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        Client::connect(&Options::tcp(proxy.admin(), "admin", "wrong")).await.unwrap_err();
        admin(&proxy).await.quit().await.unwrap();
        wait_for("the ends of both", || {
            all(&folder).iter().filter(|line| value(line, "event") == Some("Admin_Close")).count() == 2
        });
        let lines = all(&folder);
        let of = |id| {
            lines.iter().filter(move |line| value(line, "thread_id") == Some(id)).cloned().collect::<Vec<_>>()
        };
        let (wrong, right) = (of("1"), of("2"));
        assert_eq!(names(&wrong), ["Admin_Connect_ERR", "Admin_Close"]);
        assert!(value(&wrong[0], "extra_info").unwrap().contains("Access denied"), "{}", wrong[0]);
        assert_eq!(names(&right), ["Admin_Connect_OK", "Admin_Quit", "Admin_Close"]);
        assert_eq!(value(&right[1], "username"), Some("admin"));

        flush(&proxy).await;
        assert_eq!(files(&folder, "audit"), ["audit.00000001", "audit.00000002"]);
        let mut admin = admin(&proxy).await;
        assert!(global(&mut admin, "Audit_log_written").await >= 5);
        assert_eq!(global(&mut admin, "Audit_log_dropped").await, 0);
        admin.query("SET mysql-auditlog_filename = ''").await.unwrap();
        admin.query("LOAD MYSQL VARIABLES TO RUNTIME").await.unwrap();
        // What was said before is written.
        flush(&proxy).await;
        let before = all(&folder).len();
        Client::connect(&proxy.options()).await.unwrap().quit().await.unwrap();
        flush(&proxy).await;
        assert_eq!(all(&folder).len(), before);
    });
}

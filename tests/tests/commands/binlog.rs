//! Binary logs come through the proxy: to the tools that read them, and to a replica whose primary
//! is the proxy.

use std::process::Stdio;
use std::sync::LazyLock;

use e2e::tools::Running;
use e2e::{Backend, Proxy, mysql_or_skip, wait_for};
use testkit::mysql;
use testkit::server::{PASSWORD, Setup, USER};
use testkit::{guard::Process, mariadb};

use super::proxy;

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&["--log-bin=binlog"]));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| {
    Backend::start_mysql(&["--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"])
});

/// A table with rows: enough that they need many packets, and one that needs two.
fn write(db: &Backend) {
    db.sql("CREATE TABLE test.logged (a INT PRIMARY KEY AUTO_INCREMENT, b LONGTEXT)");
    for _ in 0..50 {
        db.sql("INSERT INTO test.logged (b) VALUES (REPEAT('x', 1000)), ('ä'), (NULL)");
    }
    db.sql("INSERT INTO test.logged (b) SELECT REPEAT('long', 5000000); FLUSH BINARY LOGS");
    db.sql("INSERT INTO test.logged (b) VALUES ('last')");
}

/// The arguments that connect a tool to a port.
fn connection(port: u16) -> [String; 4] {
    [
        "--host=127.0.0.1".into(),
        format!("--port={port}"),
        format!("--user={USER}"),
        format!("--password={PASSWORD}"),
    ]
}

#[test]
fn mariadb_binlog_reads_the_same_through_the_proxy() {
    let db = &*DB;
    write(db);
    // The server writes this event into the new log in the background, some time after the
    // statement.
    wait_for("the new log's checkpoint", || {
        db.sql("SHOW BINLOG EVENTS IN 'binlog.000002'").contains("\tbinlog.000002\n")
    });
    let proxy = proxy(db);
    for more in [
        &["--to-last-log"][..],
        &["--raw"],
        &["--start-position=4", "--base64-output=DECODE-ROWS", "--verbose"],
    ] {
        let read = |port: u16, folder: &str| {
            let folder = db.sandbox.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let raw = format!("--result-file={}/", folder.display());
            let mut arguments = vec!["--no-defaults".to_owned(), "--read-from-remote-server".to_owned()];
            arguments.extend(connection(port));
            arguments.extend(more.iter().map(|&option| option.to_owned()));
            if more.contains(&"--raw") {
                arguments.push(raw);
            }
            arguments.push("binlog.000001".to_owned());
            let text = Running::start(&db.sandbox, "mariadb-binlog", &arguments).wait().expect_success();
            (text, std::fs::read(folder.join("binlog.000001")).ok())
        };
        let expected = read(db.server.port(), "direct");
        assert!(expected.0.len() > 1000 || expected.1.is_some(), "{more:?}");
        assert!(read(proxy.tcp().port(), "proxied") == expected, "{more:?}");
    }
}

#[test]
fn a_mariadb_replica_follows_a_primary_behind_the_proxy() {
    // A server of its own: what is written here would come into the log that the other test
    // compares.
    let db = &Backend::start(&["--log-bin=binlog"]);
    let proxy = proxy(db);
    let replica = Setup::new("replica").server_id(2).start(&mariadb::find().unwrap(), &db.sandbox).unwrap();
    db.sql("CREATE DATABASE replicated; CREATE TABLE replicated.t (a INT PRIMARY KEY, b LONGTEXT)");
    replica
        .sql(&format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='{USER}', \
             MASTER_PASSWORD='{PASSWORD}', MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=0.1, MASTER_USE_GTID=slave_pos; \
             START SLAVE",
            proxy.tcp().port()
        ))
        .unwrap();
    for i in 0..20 {
        db.sql(&format!("INSERT INTO replicated.t VALUES ({i}, REPEAT('x', {i} * {i} * 50000))"));
    }
    let position = db.sql("SELECT @@gtid_binlog_pos");
    let wait = format!("SELECT MASTER_GTID_WAIT('{}', 60)", position.trim_end());
    let status = || replica.sql("SHOW SLAVE STATUS").unwrap();
    assert_eq!(replica.sql(&wait).unwrap(), "0\n", "{}", status());
    let sums = "SELECT COUNT(*), SUM(LENGTH(b)) FROM replicated.t";
    assert_eq!(replica.sql(sums).unwrap(), db.sql(sums));
    // It can stop, and go on from where it was.
    replica.sql("STOP SLAVE").unwrap();
    db.sql("INSERT INTO replicated.t VALUES (100, 'after a stop')");
    replica.sql("START SLAVE").unwrap();
    let found = "SELECT COUNT(*) FROM replicated.t WHERE a = 100";
    wait_for("the replica to go on", || replica.sql(found).unwrap() == "1\n");
}

/// Runs MySQL's `mysqlbinlog` to its end; what it printed, without the comments, which name the
/// time and the server.
fn mysqlbinlog(db: &Backend, port: u16, options: &[&str]) -> String {
    let binaries = mysql::find().unwrap().unwrap();
    let mut command = binaries.command(&db.sandbox, "bin/mysqlbinlog").unwrap();
    command
        .arg("--no-defaults")
        .args(connection(port))
        .args(["--ssl-mode=DISABLED", "--get-server-public-key"])
        .args(options)
        .arg("binlog.000001")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process: Process = db.sandbox.start(command).unwrap();
    let stderr = process.child().stderr.take().unwrap();
    let reader = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap());
    let text = std::io::read_to_string(process.child().stdout.take().unwrap()).unwrap();
    let status = process.wait(e2e::WAIT_MAX).unwrap();
    let errors = reader.join().unwrap();
    assert!(status.is_some_and(|status| status.success()), "{options:?}: {errors}");
    text
}

#[test]
fn mysqlbinlog_reads_the_same_through_the_proxy() {
    let Some(db) = mysql_or_skip(&MYSQL) else { return };
    write(db);
    let proxy: Proxy = proxy(db);
    let first = db.sql("SELECT @@server_uuid");
    let exclude = format!("--exclude-gtids={}:1-3", first.trim_end());
    for options in [
        &["--read-from-remote-server", "--to-last-log"][..],
        &["--read-from-remote-source=BINLOG-DUMP-NON-GTIDS", "--start-position=4"],
        &["--read-from-remote-source=BINLOG-DUMP-GTIDS", "--to-last-log", "--verbose"],
        &["--read-from-remote-source=BINLOG-DUMP-GTIDS", &exclude],
    ] {
        let expected = mysqlbinlog(db, db.server.port(), options);
        assert!(expected.len() > 1000, "{options:?}: {expected}");
        assert!(mysqlbinlog(db, proxy.tcp().port(), options) == expected, "{options:?}");
    }
}

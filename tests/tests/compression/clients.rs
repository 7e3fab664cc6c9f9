//! Programs that people use: MariaDB's and MySQL's clients, dumps, binary logs, sysbench.

use std::ffi::OsString;
use std::path::Path;

use e2e::tools::{Running, mariadb_through, sysbench};
use e2e::{Backend, Proxy, on_each_server};
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, proxy};

on_each_server! {
    the_clients_of_both_makes_compress,
    dumps_are_the_same,
}

/// Where a client connects.
fn target(port: u16) -> Vec<OsString> {
    let arguments = ["--protocol=TCP", "--host=127.0.0.1"];
    let options = [format!("--port={port}"), format!("--user={USER}"), format!("--password={PASSWORD}")];
    arguments.into_iter().map(OsString::from).chain(options.into_iter().map(OsString::from)).collect()
}

fn the_clients_of_both_makes_compress(db: &Backend) {
    let sql =
        "SELECT 1; SELECT seq, REPEAT(SHA2(seq, 256), 10) FROM seq_1_to_2000 ORDER BY seq; SELECT 'end'";
    let execute = format!("--execute={sql}");
    let mysql = testkit::mysql::find_or_skip().unwrap();
    for compression in [false, true] {
        let proxy = proxy(db, compression);
        let plain = mariadb_through(&db.sandbox, &proxy, &[&execute]).expect_success();
        assert_eq!(plain.lines().count(), 2002);
        let zlib = mariadb_through(&db.sandbox, &proxy, &["--compress", &execute]).expect_success();
        assert!(zlib == plain);
        let Some(mysql) = &mysql else { continue };
        for method in [&["zlib"][..], &["zstd"], &["zstd", "19"], &["zlib,zstd"]] {
            let mut arguments: Vec<OsString> = mysql.loaded("bin/mysql").map(OsString::from).into();
            arguments.push("--no-defaults".into());
            arguments.extend(target(proxy.tcp().port()));
            arguments
                .extend(["--batch", "--raw", "--skip-column-names", "--database=test"].map(OsString::from));
            arguments.push(format!("--compression-algorithms={}", method[0]).into());
            arguments.extend(method.get(1).map(|level| format!("--zstd-compression-level={level}").into()));
            arguments.push(execute.clone().into());
            let output = Running::start(&db.sandbox, mysql.loader(), &arguments).wait();
            assert!(output.expect_success() == plain, "{method:?}");
        }
    }
}

/// A dump of the schema `dumped`, but for the names of the host and the times in it.
fn dump(sandbox: &testkit::guard::Sandbox, port: u16, options: &[&str]) -> String {
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into(), "--skip-ssl".into()];
    arguments.extend(target(port));
    arguments.extend(options.iter().map(OsString::from));
    arguments.extend(["--skip-comments", "--no-tablespaces", "dumped"].map(OsString::from));
    let program = Path::new("mariadb-dump");
    Running::start(sandbox, program, &arguments).wait().expect_success()
}

fn dumps_are_the_same(db: &Backend) {
    db.sql(
        "CREATE DATABASE dumped;
         CREATE TABLE dumped.t AS SELECT seq, REPEAT(SHA2(seq, 256), 30) AS text, NULL AS n FROM test.seq_1_to_10000;
         CREATE TABLE dumped.b (id INT, bytes LONGBLOB);
         INSERT INTO dumped.b SELECT seq, UNHEX(REPEAT(SHA2(seq, 512), 300)) FROM test.seq_1_to_5;",
    );
    let direct = dump(&db.sandbox, db.server.port(), &[]);
    assert!(direct.len() > 10_000_000);
    for compression in [false, true] {
        let proxy: Proxy = proxy(db, compression);
        for options in [&[][..], &["--compress"], &["--compress", "--quick", "--extended-insert=false"][..1]]
        {
            assert!(dump(&db.sandbox, proxy.tcp().port(), options) == direct, "{compression} {options:?}");
        }
    }
    db.sql("DROP DATABASE dumped");
}

#[test]
fn a_binary_log_comes_through_compression() {
    let db = &DB;
    db.sql(
        "CREATE TABLE test.logged (id INT PRIMARY KEY, text MEDIUMTEXT);
         INSERT INTO test.logged SELECT seq, REPEAT(SHA2(seq, 256), 100) FROM test.seq_1_to_2000;
         UPDATE test.logged SET text = REPEAT('x', 100000) WHERE id < 20; FLUSH BINARY LOGS;",
    );
    let read = |port| {
        let mut arguments: Vec<OsString> = vec!["--no-defaults".into(), "--skip-ssl".into()];
        arguments.extend(target(port));
        arguments.extend(["--read-from-remote-server", "--verbose", "bin.000001"].map(OsString::from));
        Running::start(&db.sandbox, "mariadb-binlog", &arguments).wait().expect_success()
    };
    let direct = read(db.server.port());
    assert!(direct.len() > 1_000_000);
    for compression in [false, true] {
        let proxy = proxy(db, compression);
        assert!(read(proxy.tcp().port()) == direct, "{compression}");
    }
    db.sql("DROP TABLE test.logged");
}

#[test]
fn sysbench_compresses() {
    let db = &DB;
    db.sql("CREATE DATABASE bench");
    let options =
        ["--mysql-db=bench", "--table-size=2000", "--mysql-compression=on", "--threads=8", "--time=2"];
    for (compression, prepared) in [(false, "auto"), (true, "auto"), (true, "disable")] {
        let proxy = proxy(db, compression);
        let mode = format!("--db-ps-mode={prepared}");
        let options = [&options[..], &[&mode]].concat();
        sysbench(&db.sandbox, &proxy, "oltp_read_write", "prepare", &options).expect_success();
        let output = sysbench(&db.sandbox, &proxy, "oltp_read_write", "run", &options);
        assert!(!output.stderr.contains("FATAL") && !output.stdout.contains("FATAL"), "{output:#?}");
        let report = output.expect_success();
        let reconnects = report.lines().find(|line| line.contains("reconnects:")).unwrap_or_default();
        assert!(reconnects.contains(" 0 "), "{report}");
        sysbench(&db.sandbox, &proxy, "oltp_read_write", "cleanup", &options).expect_success();
    }
    db.sql("DROP DATABASE bench");
}

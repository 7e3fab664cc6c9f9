//! All OLTP workloads of sysbench: not one error, whatever the number of clients.

use e2e::tools::sysbench;
use e2e::{Proxy, Setup};
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, machine, setup};

/// How many clients.
const THREADS: [u32; 3] = [1, 16, 200];
/// Seconds of one run.
const SECONDS: &str = "--time=1";
/// Rows of the table.
const ROWS: &str = "--table-size=5000";

/// The numbers in the summary of a run.
#[derive(Debug)]
struct Summary {
    queries: u64,
    reconnects: u64,
}

impl Summary {
    fn parse(output: &str) -> Self {
        let number = |name: &str| {
            let line = output.lines().find_map(|line| line.trim_start().strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            number.unwrap_or_else(|| panic!("no {name:?} in {output}"))
        };
        Self { queries: number("queries:"), reconnects: number("reconnects:") }
    }
}

/// One run of a workload.
fn workload(proxy: &Proxy, name: &str, options: &[&str]) {
    let output = sysbench(&DB.sandbox, proxy, name, "run", &[&[SECONDS], options].concat());
    // Deadlocks and the like do not count: sysbench repeats these transactions.
    let text = format!("{}{}", output.stdout, output.stderr);
    assert!(!text.contains("FATAL"), "{name} {options:?}: {text}");
    let summary = Summary::parse(&output.expect_success());
    println!("{name} {options:?}: {summary:?}");
    assert!(summary.queries > 0 && summary.reconnects == 0, "{name} {options:?}: {text}");
}

/// A schema for one test, as an option.
fn schema(name: &str) -> String {
    DB.sql(&format!("CREATE DATABASE {name}"));
    format!("--mysql-db={name}")
}

/// Workloads on one table, in a schema of this name, with prepared statements or without.
fn workloads(name: &str, names: &[&str], prepared: &str) {
    let _machine = machine();
    let proxy = setup().start();
    let schema = schema(name);
    sysbench(&DB.sandbox, &proxy, "oltp_read_write", "prepare", &[&schema, ROWS]).expect_success();
    for name in names {
        for threads in THREADS {
            workload(&proxy, name, &[&schema, ROWS, prepared, &format!("--threads={threads}")]);
        }
    }
}

const READS: [&str; 4] =
    ["oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges"];
const WRITES: [&str; 6] = [
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];

/// Whether sysbench prepares its statements.
const PLAIN: &str = "--db-ps-mode=disable";
const PREPARED: &str = "--db-ps-mode=auto";

#[test]
fn sysbench_reads() {
    workloads("plain_reads", &READS, PLAIN);
}

#[test]
fn sysbench_reads_with_prepared_statements() {
    workloads("prepared_reads", &READS, PREPARED);
}

#[test]
fn sysbench_writes() {
    workloads("plain_writes", &WRITES, PLAIN);
}

#[test]
fn sysbench_writes_with_prepared_statements() {
    workloads("prepared_writes", &WRITES, PREPARED);
}

/// Statements are prepared again wherever their client comes to, in transactions as well.
#[test]
fn c15_sysbench_shares_connections_with_prepared_statements() {
    let _machine = machine();
    let proxy = Setup::new(&DB.sandbox)
        .server(&DB.server, "max_connections = 6")
        .user(USER, PASSWORD, "")
        .variable("multiplexing", true)
        .start();
    let schema = schema("shared");
    sysbench(&DB.sandbox, &proxy, "oltp_read_write", "prepare", &[&schema, ROWS]).expect_success();
    for name in ["oltp_point_select", "oltp_read_write", "oltp_insert"] {
        for threads in ["--threads=16", "--threads=64"] {
            workload(&proxy, name, &[&schema, ROWS, PREPARED, threads]);
        }
    }
}

#[test]
fn sysbench_inserts_in_bulk() {
    let _machine = machine();
    let proxy = setup().start();
    for threads in THREADS {
        let schema = schema(&format!("bulk_{threads}"));
        let number = format!("--threads={threads}");
        sysbench(&DB.sandbox, &proxy, "bulk_insert", "prepare", &[&schema, &number]).expect_success();
        workload(&proxy, "bulk_insert", &[&schema, &number]);
        let counts: Vec<String> =
            (1..=threads).map(|i| format!("(SELECT COUNT(*) FROM bulk_{threads}.sbtest{i})")).collect();
        assert_ne!(DB.sql(&format!("SELECT {}", counts.join("+"))), "0\n");
    }
}

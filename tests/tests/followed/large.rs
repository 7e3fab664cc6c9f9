//! A transaction with 100 MB of rows: the proxy keeps none of them.

use e2e::memory::{Watch, rss_kib};
use e2e::{Backend, admin, run};

use crate::{connect, elsewhere, prepared, proxy, warm};

/// Rows of the transaction, and how many times 1,024 random bytes each has.
const ROWS: usize = 10_000;
const PARTS: usize = 10;

/// What the proxy may take more while the transaction passes, in KiB.
const MORE_MAX: u64 = 1024;

/// The same with the window of 2 MiB that MySQL's compression has.
const MORE_MAX_OF_ZSTD: u64 = MORE_MAX + 2048;

const LOG: [&str; 3] = ["--log-bin=binlog", "--server-id=7", "--max-allowed-packet=1G"];

#[test]
fn c29_a_large_transaction_takes_little_memory_on_mariadb() {
    let server = prepared(Backend::start(&LOG));
    for compression in ["OFF", "ON"] {
        let more = memory_of(&server, &format!("SET GLOBAL log_bin_compress = {compression}"));
        assert!(more <= MORE_MAX, "compression {compression}: {more} KiB more");
    }
}

#[test]
fn c29_a_large_transaction_takes_little_memory_on_mysql() {
    let options = [&LOG[..], &["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]].concat();
    let Some(server) = Backend::start_mysql_or_skip(&options).map(prepared) else { return };
    for (compression, max) in [("OFF", MORE_MAX), ("ON", MORE_MAX_OF_ZSTD)] {
        let setting = format!("SET GLOBAL binlog_transaction_compression = {compression}");
        let more = memory_of(&server, &setting);
        assert!(more <= max, "compression {compression}: {more} KiB more");
    }
}

/// What a proxy takes more at most while a large transaction passes, in KiB.
fn memory_of(server: &Backend, setting: &str) -> u64 {
    let part = ["RANDOM_BYTES(1024)"; PARTS].join(", ");
    let insert = format!("INSERT INTO test.big SELECT seq, CONCAT({part}) FROM test.seq_1_to_{ROWS}");
    server.sql("DROP TABLE IF EXISTS test.big; CREATE TABLE test.big (id INT PRIMARY KEY, b LONGBLOB)");
    server.sql(setting);
    let proxy = proxy(server, "watch", r#""mode": "strict""#);
    run(async {
        let (mut client, mut operator) = (connect(&proxy).await, admin::connect(&proxy).await);
        let mut writer = elsewhere(server).await;
        warm(&mut operator, &mut client, "SELECT a FROM kept WHERE id = 1").await;
        writer.query("SET binlog_format = ROW").await.unwrap();
        let before = rss_kib(proxy.pid());
        let watch = Watch::start(proxy.pid());
        writer.query(&insert).await.unwrap();
        admin::wait_for_value(&mut operator, "SELECT transactions FROM stats_pointsman_sources", "1").await;
        watch.highest_kib() - before
    })
}

//! Each kind of change at the server itself, in each format of the log: which answers it drops, and
//! which ones stay.

mod changes;
mod world;

use std::collections::BTreeSet;
use std::time::Duration;

use e2e::{Backend, WAIT_MAX, run};
use testkit::client::Client;
use tokio::time::{Instant, sleep};

use crate::prepared;
use changes::{Change, DEFINITIONS, Drops, EARLY, EARLY_COMMIT, How, ROWS, STORED, XA, XA_OF_MARIADB};
use world::{NAMES, World, done};

const OPTIONS: [&str; 5] = [
    "--log-bin=binlog",
    "--server-id=7",
    "--sync-binlog=0",
    "--log-bin-trust-function-creators=ON",
    "--event-scheduler=OFF",
];
const MYSQL_OPTIONS: [&str; 2] = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];

/// How often a wait looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// How a server compresses its log.
struct Compression {
    off: &'static str,
    on: &'static str,
    /// Types of events that there are then.
    events: &'static [&'static str],
}

const MARIADB: Compression = Compression {
    off: "SET GLOBAL log_bin_compress = OFF",
    on: "SET GLOBAL log_bin_compress_min_len = 10, log_bin_compress = ON",
    events: &["Query_compressed", "Write_rows_compressed_v1"],
};
const MYSQL: Compression = Compression {
    off: "SET GLOBAL binlog_transaction_compression = OFF",
    on: "SET GLOBAL binlog_transaction_compression = ON",
    events: &["Transaction_payload"],
};

#[test]
fn c20_each_change_drops_what_it_may_change_and_no_more_on_mariadb() {
    run(matrix(&prepared(Backend::start(&OPTIONS)), &MARIADB, XA_OF_MARIADB));
}

#[test]
fn c20_each_change_drops_what_it_may_change_and_no_more_on_mysql() {
    let options = [&OPTIONS[..], &MYSQL_OPTIONS].concat();
    let Some(server) = Backend::start_mysql_or_skip(&options).map(prepared) else { return };
    run(matrix(&server, &MYSQL, XA));
}

#[test]
fn c20_cascades_of_the_engine_drop_what_they_change_on_mysql() {
    let options = [&OPTIONS[..], &MYSQL_OPTIONS, &["--innodb-native-foreign-keys=ON"]].concat();
    let Some(server) = Backend::start_mysql_or_skip(&options).map(prepared) else { return };
    run(async {
        let mut world = World::new(&server).await;
        world.build().await;
        let wrong = wrong(&mut world, STORED, true).await;
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// Makes all changes in all formats.
async fn matrix(server: &Backend, compression: &Compression, xa: &[Change]) {
    let mut world = World::new(server).await;
    world.build().await;
    // The proxy follows the log from the first query on, which comes behind this.
    make(&mut world, EARLY).await;
    let mut failures = wrong(&mut world, &[EARLY_COMMIT], true).await;
    for format in ["ROW", "MIXED", "STATEMENT"] {
        for setting in [compression.off, compression.on] {
            done(&mut world.direct, &format!("SET GLOBAL binlog_format = {format}")).await;
            done(&mut world.direct, setting).await;
            world.build().await;
            let changes = [ROWS, STORED, xa, DEFINITIONS].concat();
            let wrong = wrong(&mut world, &changes, format == "ROW").await;
            failures.extend(wrong.into_iter().map(|one| format!("{format}, {setting}: {one}")));
        }
    }
    let types = world.logged_types().await;
    assert!(compression.events.iter().all(|one| types.contains(*one)), "nothing was compressed: {types:?}");
    assert_eq!(world.interruptions().await, "1 0", "following has begun once, and knows all events");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Makes changes; what was not as expected.
async fn wrong(world: &mut World<'_>, changes: &[Change], has_rows: bool) -> Vec<String> {
    world.store_all().await;
    world.read_up().await;
    if !has_rows {
        world.teach().await;
    }
    let mut wrong = Vec::new();
    for change in changes {
        world.store_all().await;
        make(world, change.how).await;
        world.read_up().await;
        let expected = names(if has_rows { change.rows } else { change.text });
        let dropped = world.dropped().await;
        let stale = world.stale().await;
        if dropped != expected || !stale.is_empty() {
            let missing: Vec<_> = expected.difference(&dropped).collect();
            let surplus: Vec<_> = dropped.difference(&expected).collect();
            wrong
                .push(format!("{:?}: missing {missing:?}, surplus {surplus:?}, stale {stale:?}", change.how));
        }
    }
    wrong
}

/// The names of the texts that are dropped.
fn names(drops: Drops) -> BTreeSet<&'static str> {
    match drops {
        Drops::Nothing => BTreeSet::new(),
        Drops::These(names) => names.iter().copied().collect(),
        Drops::All => NAMES.into_iter().collect(),
    }
}

/// Makes a change.
async fn make(world: &mut World<'_>, how: How) {
    match how {
        How::By(statements) => {
            for sql in statements {
                done(&mut world.writer, sql).await;
            }
        }
        How::ByAnother(sql) => {
            world.renew_writer().await;
            wait_until_detached(&mut world.direct).await;
            done(&mut world.writer, sql).await;
        }
        How::ByFile(sql) => {
            world.writer.load_local(sql, b"50\t50\n", 1024).await.unwrap();
        }
        How::ByEvent => run_event(&mut world.direct).await,
    }
}

/// Has the server run the event, which changes something the first time.
async fn run_event(direct: &mut Client) {
    const SUM: &str = "SELECT SUM(a) FROM t";
    let before = done(direct, SUM).await.first();
    done(direct, "SET GLOBAL event_scheduler = ON").await;
    let deadline = Instant::now() + WAIT_MAX;
    while done(direct, SUM).await.first() == before {
        assert!(Instant::now() < deadline, "no event has run");
        sleep(LOOK_INTERVAL).await;
    }
    done(direct, "SET GLOBAL event_scheduler = OFF").await;
}

/// Waits until prepared transactions have no session. Before that, MariaDB says that another
/// session has committed one, and has not.
async fn wait_until_detached(direct: &mut Client) {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        let rows = done(direct, "SHOW ENGINE INNODB STATUS").await.text().unwrap();
        let status = rows[0][2].as_deref().unwrap();
        let mut prepared = status.split("---TRANSACTION").filter(|one| one.contains("(PREPARED)"));
        if prepared.all(|one| !one.contains("thread id")) {
            return;
        }
        assert!(Instant::now() < deadline, "{status}");
        sleep(LOOK_INTERVAL).await;
    }
}

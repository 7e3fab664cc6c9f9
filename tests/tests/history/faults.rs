//! Faults of the server and of the stream of its binary log, beside a load. The exact modes keep
//! their promise, and there are hits again behind each fault.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use e2e::{Backend, run, wait_for};

use crate::load::Load;
use crate::world::{BOUNDED, Promise, STRICT, World};
use crate::{OPTIONS, check};

/// How often a fault occurs in a round.
const TIMES: usize = 2;
/// How long a stream is frozen, and commits hang.
const FAULT_TIME: Duration = Duration::from_millis(300);

/// The name of a fault, and what plays it.
pub(crate) type Fault = (&'static str, fn(&mut Backend));

/// Faults are those of a server: one at a time.
type Alone<T> = LazyLock<Mutex<T>>;

static MARIADB: Alone<Backend> = Alone::new(|| Mutex::new(Backend::start(&options(&[]))));
static MYSQL: Alone<Option<Backend>> = Alone::new(|| {
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    Mutex::new(Backend::start_mysql_or_skip(&options(&gtids)))
});

/// What was acknowledged outlasts a SIGKILL, as the last option of a name counts.
fn options<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&OPTIONS[..], &["--innodb-flush-log-at-trx-commit=2"], more].concat()
}

/// Makes two tests of each fault.
macro_rules! on_each {
    ($($test:ident),+ $(,)?) => {
        /// All of them, with their names.
        pub(crate) const ALL: &[Fault] = &[$((stringify!($test), $test)),+];

        mod on_mariadb {
            $(#[test] fn $test() { crate::faults::alone(false, super::$test); })+
        }
        mod on_mysql {
            $(#[test] fn $test() { crate::faults::alone(true, super::$test); })+
        }
    };
}
pub(crate) use on_each;

on_each! {
    c20_reads_are_exact_while_streams_are_cut,
    c20_reads_are_exact_while_streams_are_killed,
    c20_reads_are_exact_while_streams_are_frozen,
    c20_reads_are_exact_while_logs_are_rotated_and_purged,
    c20_reads_are_exact_while_logs_are_reset,
    c20_reads_are_exact_while_commits_hang,
    c20_own_writes_without_a_log_are_seen,
}

/// Does this with a server that no other test uses meanwhile; with MySQL if that is there.
pub(crate) fn alone(is_mysql: bool, test: impl FnOnce(&mut Backend)) {
    if !is_mysql {
        test(&mut MARIADB.lock().unwrap_or_else(PoisonError::into_inner));
    } else if let Some(server) = MYSQL.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        test(server);
    }
}

fn c20_reads_are_exact_while_streams_are_cut(server: &mut Backend) {
    for promise in [STRICT, BOUNDED] {
        let world = World::new(server, promise);
        beside(&world, &Load::ALL, || world.interrupt(|| world.relay.cut_log()));
    }
}

fn c20_reads_are_exact_while_streams_are_killed(server: &mut Backend) {
    let world = World::new(server, STRICT);
    beside(&world, &Load::ALL, || world.interrupt(|| kill_dumps(server)));
}

fn c20_reads_are_exact_while_streams_are_frozen(server: &mut Backend) {
    for promise in [STRICT, BOUNDED] {
        let world = World::new(server, promise);
        beside(&world, &Load::ALL, || {
            world.relay.freeze_log();
            std::thread::sleep(FAULT_TIME);
            world.relay.thaw();
        });
    }
}

fn c20_reads_are_exact_while_logs_are_rotated_and_purged(server: &mut Backend) {
    beside(&World::new(server, STRICT), &Load::ALL, || {
        for _ in 0..5 {
            server.sql("FLUSH BINARY LOGS");
        }
        server.sql("PURGE BINARY LOGS BEFORE NOW()");
    });
}

fn c20_reads_are_exact_while_logs_are_reset(server: &mut Backend) {
    let reset = if server.is_mysql() { "RESET BINARY LOGS AND GTIDS" } else { "RESET MASTER" };
    for promise in [STRICT, BOUNDED] {
        let world = World::new(server, promise);
        beside(&world, &Load::ALL, || world.interrupt(|| drop(server.sql(reset))));
    }
}

/// The log has transactions long before the engine.
fn c20_reads_are_exact_while_commits_hang(server: &mut Backend) {
    let (hang, end) = if server.is_mysql() {
        ("SET GLOBAL binlog_group_commit_sync_delay = 30000", "SET GLOBAL binlog_group_commit_sync_delay = 0")
    } else {
        // It waits for a replica, and there is none. After that it would wait for none any more.
        server.sql("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 100");
        let hang =
            "SET GLOBAL rpl_semi_sync_master_enabled = OFF; SET GLOBAL rpl_semi_sync_master_enabled = ON";
        (hang, "SET GLOBAL rpl_semi_sync_master_enabled = OFF")
    };
    for promise in [STRICT, BOUNDED] {
        beside(&World::new(server, promise), &Load::ALL, || {
            for _ in 0..10 {
                server.sql(hang);
                std::thread::sleep(FAULT_TIME / 10);
            }
        });
        server.sql(end);
    }
}

fn c20_own_writes_without_a_log_are_seen(server: &mut Backend) {
    for promise in [STRICT, BOUNDED] {
        let here = Promise { writes_elsewhere: false, ..promise };
        let world = World::new(server, here).with_setup("SET SESSION sql_log_bin = 0");
        check(&run(world.round(crate::READS / 10)));
        run(world.rest());
    }
}

/// Ends all streams of the log at the server.
fn kill_dumps(server: &Backend) {
    let ids = server.sql(
        "SELECT GROUP_CONCAT('KILL ', id SEPARATOR '; ') FROM information_schema.processlist \
         WHERE command LIKE 'Binlog Dump%'",
    );
    server.sql(ids.trim());
}

/// Runs a round of these loads beside a fault, which occurs again and again.
pub(crate) fn beside(world: &World, loads: &[Load], fault: impl Fn()) {
    let wrong = world.round_beside(loads, || {
        for _ in 0..TIMES {
            run(world.wait_for_hits());
            fault();
        }
        run(world.wait_for_hits());
    });
    check(&wrong);
    run(world.wait_for_hits());
    run(world.rest());
    println!("{} reads since the last start of the proxy came from the cache", run(world.hits()));
}

impl World {
    /// Does this, behind which the log is followed anew or read on, and waits for that.
    fn interrupt(&self, fault: impl FnOnce()) {
        let before = run(self.streams());
        fault();
        wait_for("another stream", || run(self.streams()) > before);
    }
}

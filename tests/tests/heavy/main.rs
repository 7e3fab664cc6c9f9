//! Much of everything: large answers, many connections, sysbench's workloads.
//!
//! These tests load the machine and look at the proxy's memory, so they run one after the other.

mod churn;
mod data;
mod idle;
mod sysbench;

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use e2e::{Backend, Setup};

/// Bytes that servers and proxies accept in one message.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&["--innodb-log-file-size=64M"]));

/// The machine, for one test.
fn machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hundreds of clients that come at once may wait for seconds where others use the machine as well;
/// nothing here is about that.
const PATIENCE_MS: u32 = 60_000;

fn setup() -> Setup {
    Setup::before(&DB.sandbox, &DB.server)
        .variable("max_allowed_packet", MESSAGE_BYTES_MAX)
        .variable("connect_timeout_server", PATIENCE_MS)
        .variable("connect_timeout_server_max", PATIENCE_MS)
}

//! What the end-to-end tests in `tests/` share: the `pointsman` binary in front of private servers.
//!
//! - [`Backend`]: a MariaDB or MySQL server, started once per test binary; [`on_each_server!`]
//!   makes tests for both;
//! - [`Setup`] and [`Proxy`]: a configuration, and the proxy process that serves it;
//! - [`Twin`]: two sessions, direct and through the proxy, that must get the same answers;
//! - [`admin`]: the admin port;
//! - [`tools`]: MariaDB's own client and sysbench;
//! - [`history`]: whether reads and writes were as without a cache;
//! - [`memory`]: what a process holds;
//! - [`run`] and [`wait_for`]: everything that waits has a deadline.
//!
//! Every test starts a proxy of its own, which takes some milliseconds, so that tests do not see
//! each other. When a test fails, the log of its proxy is printed; when a proxy's thread panics,
//! its test fails.

pub mod admin;
mod backend;
mod binary;
pub mod dice;
pub mod history;
pub mod memory;
pub mod payloads;
mod proxy;
mod setup;
pub mod tools;
mod twin;

use std::time::{Duration, Instant};

pub use backend::{Backend, Make, mysql_or_skip};
pub use proxy::Proxy;
pub use setup::Setup;
pub use twin::{Frame, Twin};

/// Longest time of one asynchronous test.
const TEST_TIME_MAX: Duration = Duration::from_mins(3);
/// Longest time of one wait for a condition.
pub const WAIT_MAX: Duration = Duration::from_secs(30);
/// How often a wait looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Runs an asynchronous test on the calling thread, with a deadline.
///
/// # Panics
/// When the test takes longer than three minutes.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("cannot start a runtime: {error}"));
    let outcome = runtime.block_on(async { tokio::time::timeout(TEST_TIME_MAX, test).await });
    outcome.unwrap_or_else(|_| panic!("the test has not ended after {} s", TEST_TIME_MAX.as_secs()))
}

/// Waits until `condition` holds, blocking the thread.
///
/// # Panics
/// When that takes longer than [`WAIT_MAX`].
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(LOOK_INTERVAL);
    }
}

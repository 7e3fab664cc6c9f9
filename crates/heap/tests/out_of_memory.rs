//! An allocation that fails ends the process at once, whether or not backtraces are wanted.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

/// In the environment of a process that is to fail.
const FAILS: &str = "HEAP_TEST_FAILS";

const SIGABRT: i32 = 6;

#[test]
fn a_failed_allocation_ends_the_process_with_a_line() {
    if std::env::var_os(FAILS).is_some() {
        // More than there are addresses.
        let much = Vec::<u8>::with_capacity(isize::MAX.unsigned_abs());
        panic!("{} bytes were allocated", much.capacity());
    }
    let program = std::env::current_exe().unwrap();
    for backtrace in ["0", "1", "full"] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c 0; exec \"$0\" --nocapture"]).arg(&program);
        let output = command.env(FAILS, "1").env("RUST_BACKTRACE", backtrace).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(SIGABRT), "{said}");
        let line = format!("pointsman: no memory for {} bytes; the process ends\n", isize::MAX);
        assert!(said.ends_with(&line), "{said}");
    }
}

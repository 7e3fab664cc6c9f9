//! The files of the process itself: its log, and its id.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::{read_to_string, rename, write};
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::guard::{Sandbox, Signal};

/// Longest time of any wait.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// Waits until the file has this in it.
fn wait_for(path: &Path, part: &str) {
    let deadline = Instant::now() + WAIT_MAX;
    while !read_to_string(path).is_ok_and(|text| text.contains(part)) {
        assert!(Instant::now() < deadline, "{} never had {part:?}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_log_and_the_id_are_in_the_files_that_are_named() {
    let home = Sandbox::new().unwrap();
    let file = |name: &str| home.path().join(name);
    let (log, old, pid, config) =
        (file("error.log"), file("error.log.1"), file("pid"), file("pointsman.toml"));
    let text = format!(
        "errorlog = \"{}\"\npidfile = \"{}\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\n[mysql_variables]\nthreads = 1\n\
         monitor_enabled = false\n[admin_variables]\nmysql_ifaces = \"\"\n",
        log.display(),
        pid.display()
    );
    write(&config, text).unwrap();
    let mut command = home.command(env!("CARGO_BIN_EXE_pointsman")).unwrap();
    command.arg("serve").arg("--config").arg(&config);
    let mut process = home.start(command).unwrap();
    wait_for(&log, " ready ");
    assert_eq!(read_to_string(&pid).unwrap(), format!("{}\n", process.child().id()));
    rename(&log, &old).unwrap();
    process.signal(Signal::USR1).unwrap();
    wait_for(&log, "");
    process.signal(Signal::TERM).unwrap();
    assert!(process.wait(WAIT_MAX).unwrap().is_some_and(|status| status.success()));
    assert!(read_to_string(&log).unwrap().contains("shutting down"));
    assert!(!read_to_string(&old).unwrap().contains("shutting down"));
    assert!(!pid.exists());
}

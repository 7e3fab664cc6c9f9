//! The files of the process itself: its log, and its id.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::{read_to_string, rename, write};
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
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

/// A configuration of a proxy without servers; `top` are settings outside of its sections.
fn configuration(top: &str) -> String {
    format!(
        "{top}[[listeners]]\naddress = \"127.0.0.1:0\"\n[mysql_variables]\nthreads = 1\n\
         monitor_enabled = false\n[admin_variables]\nmysql_ifaces = \"\"\n"
    )
}

/// The option counts from the first line on, the key from when the configuration is known.
#[test]
fn each_line_of_the_log_can_be_json() {
    let home = Sandbox::new().unwrap();
    let file = |name: &str| home.path().join(name);
    let (log, config) = (file("error.log"), file("pointsman.toml"));
    for (key, option) in [("json", None), ("text", Some("json")), ("json", Some("text"))] {
        let top = format!("errorlog = \"{}\"\nlog_format = \"{key}\"\n", log.display());
        write(&config, configuration(&top)).unwrap();
        let mut command = home.command(env!("CARGO_BIN_EXE_pointsman")).unwrap();
        command.arg("serve").arg("--config").arg(&config);
        if let Some(option) = option {
            command.arg("--log-format").arg(option);
        }
        let mut process = home.start(command).unwrap();
        wait_for(&log, "ready");
        process.signal(Signal::TERM).unwrap();
        assert!(process.wait(WAIT_MAX).unwrap().is_some_and(|status| status.success()));
        let text = read_to_string(&log).unwrap();
        let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert_eq!(text.lines().all(is_json), option.unwrap_or(key) == "json", "{key} {option:?}: {text}");
        std::fs::remove_file(&log).unwrap();
    }
}

/// The exit code counts. Lines for a full disk, or for a reader that is gone, are lost.
#[test]
fn a_check_whose_lines_cannot_be_written_ends_as_any_other() {
    let home = Sandbox::new().unwrap();
    let config = home.path().join("pointsman.toml");
    for (top, success) in [("", true), ("nothing = 1\n", false)] {
        write(&config, configuration(top)).unwrap();
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = home.command(env!("CARGO_BIN_EXE_pointsman")).unwrap();
        command.arg("check").arg("--config").arg(&config).stdout(full()).stderr(full());
        let status = home.start(command).unwrap().wait(WAIT_MAX).unwrap().unwrap();
        assert_eq!(status.code(), Some(i32::from(!success)), "{top:?}");
    }
}

/// A machine that reads the log also reads why a start has failed.
#[test]
fn the_error_of_a_start_is_json_as_well() {
    let home = Sandbox::new().unwrap();
    let config = home.path().join("pointsman.toml");
    write(&config, "no_such_key = 1\n").unwrap();
    let mut command = home.command(env!("CARGO_BIN_EXE_pointsman")).unwrap();
    command.args(["serve", "--log-format", "json", "--config"]).arg(&config).stderr(Stdio::piped());
    let mut process = home.start(command).unwrap();
    let mut text = String::new();
    process.child().stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(process.wait(WAIT_MAX).unwrap().and_then(|status| status.code()), Some(1));
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let last = lines.last().unwrap();
    assert_eq!(last["level"], "ERROR");
    assert!(last["fields"]["error"].as_str().unwrap().contains("no_such_key"), "{text}");
}

#[test]
fn the_log_and_the_id_are_in_the_files_that_are_named() {
    let home = Sandbox::new().unwrap();
    let file = |name: &str| home.path().join(name);
    let (log, old, pid, config) =
        (file("error.log"), file("error.log.1"), file("pid"), file("pointsman.toml"));
    let top = format!("errorlog = \"{}\"\npidfile = \"{}\"\n", log.display(), pid.display());
    write(&config, configuration(&top)).unwrap();
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

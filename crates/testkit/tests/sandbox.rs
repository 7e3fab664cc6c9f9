//! Nothing that a sandbox started outlives its owner, however the owner ends.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process, kill_process_group};
use testkit::guard::{Sandbox, Signal};
use testkit::{mariadb, processes};

/// Longest time of any wait.
const WAIT_MAX: Duration = Duration::from_secs(20);

#[test]
fn dropping_removes_folder_and_processes() {
    let home = Sandbox::new().unwrap();
    let mut owner = owner(home.path(), "processes");
    wait_for_line(&mut owner, "ready");
    wait_for("helper, janitor, shell and sleep", || relatives(home.path()).len() == 4);
    // The helper ends by itself, and drops its sandbox, when its standard input ends.
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
    // The janitor goes when no process is left that it could clean up after.
    wait_for("the janitor's end", || relatives(home.path()).is_empty());
    assert_eq!(entries(home.path()), Vec::<PathBuf>::new());
}

#[test]
fn closing_stops_even_what_is_still_starting() {
    let sandbox = Sandbox::new().unwrap();
    let binaries = mariadb::find().unwrap();
    let start = std::thread::spawn({
        let sandbox = sandbox.clone();
        move || mariadb::Topology::start(&binaries, &sandbox, 1, &[])
    });
    wait_for("the first data directory", || sandbox.path().join("template").is_dir());
    sandbox.close();
    assert!(!sandbox.path().exists());
    assert!(start.join().unwrap().is_err());
    assert!(sandbox.command("true").is_err());
    assert!(!sandbox.path().exists());
}

/// A process that was killed dies when it gets a processor, and that may take a while.
#[test]
fn closing_waits_until_all_are_dead() {
    let home = Sandbox::new().unwrap();
    let busy = |class: &[&str], marked: bool| {
        let sandbox = Sandbox::new().unwrap();
        let mut command = sandbox.command(class[0]).unwrap();
        command.args(&class[1..]).args(["taskset", "-c", "0", "sh", "-c", "echo up; while :; do :; done"]);
        command.stdout(Stdio::piped());
        if marked {
            command.env("TMPDIR", home.path());
        }
        let mut process = sandbox.start(command).unwrap();
        process.child().stdout.take().unwrap().read_exact(&mut [0; 3]).unwrap();
        (sandbox, process)
    };
    // Of the class that only gets what all others leave, which will be nothing.
    let (sandbox, _idle) = busy(&["chrt", "-i", "0"], true);
    let _others = [0; 3].map(|_| busy(&["env"], false));
    assert_eq!(processes::with_environment("TMPDIR", home.path()).len(), 1);
    sandbox.close();
    assert_eq!(processes::with_environment("TMPDIR", home.path()), []);
}

#[test]
fn sigkill_of_the_owner_leaves_nothing() {
    let home = Sandbox::new().unwrap();
    let mut owner = owner(home.path(), "processes");
    wait_for_line(&mut owner, "ready");
    wait_for("helper, janitor, shell and sleep", || relatives(home.path()).len() == 4);
    assert_eq!(entries(home.path()).len(), 1);
    kill_process(pid(&owner), Signal::KILL).unwrap();
    owner.wait().unwrap();
    assert_clean(home.path());
}

#[test]
fn ctrl_c_leaves_nothing() {
    let home = Sandbox::new().unwrap();
    let mut owner = owner(home.path(), "processes");
    wait_for_line(&mut owner, "ready");
    // What a terminal does: the signal goes to the whole foreground group.
    kill_process_group(pid(&owner), Signal::INT).unwrap();
    owner.wait().unwrap();
    assert_clean(home.path());
}

#[test]
fn sigkill_at_any_moment_of_a_start_leaves_nothing() {
    let home = Sandbox::new().unwrap();
    // Closely while the janitor starts, then until well after the servers run.
    let delays = (0..20).chain((2..12).map(|step| step * step * 20));
    for delay in delays.map(Duration::from_millis) {
        let mut owner = owner(home.path(), "topology");
        // The moment of the fault, not a synchronisation.
        std::thread::sleep(delay);
        kill_process(pid(&owner), Signal::KILL).unwrap();
        owner.wait().unwrap();
        assert_clean(home.path());
    }
}

#[test]
fn sigkill_of_the_janitor_leaves_nothing_after_drop() {
    let home = Sandbox::new().unwrap();
    let mut owner = owner(home.path(), "processes");
    wait_for_line(&mut owner, "ready");
    let janitor = relatives(home.path())
        .into_iter()
        .find(|&pid| processes::command_line(pid).contains("pointsman-janitor"));
    processes::signal(janitor.unwrap(), Signal::KILL).unwrap();
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
    assert_clean(home.path());
}

/// Not a test: the process that the tests above kill.
#[test]
#[ignore = "run by the other tests"]
fn owner_of_a_sandbox() {
    let Ok(what) = std::env::var("TESTKIT_OWNER") else { return };
    let sandbox = Sandbox::new().unwrap();
    if what == "topology" {
        let binaries = mariadb::find().unwrap();
        let topology = mariadb::Topology::start(&binaries, &sandbox, 1, &[]).unwrap();
        println!("\nready");
        wait_for_end_of_input();
        drop(topology);
        return;
    }
    let mut command = sandbox.command("sh").unwrap();
    // A child of the process that was started is in its group.
    command.args(["-c", "sleep 1000 & echo up; wait"]).stdout(Stdio::piped());
    let mut process = sandbox.start(command).unwrap();
    let mut up = [0; 3];
    process.child().stdout.take().unwrap().read_exact(&mut up).unwrap();
    std::fs::write(sandbox.path().join("file"), "x").unwrap();
    println!("\nready");
    wait_for_end_of_input();
}

fn wait_for_end_of_input() {
    let _ = std::io::stdin().read(&mut [0]);
}

/// Starts the helper above with `home` as the folder for temporary files, which marks all its
/// descendants.
fn owner(home: &Path, what: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "owner_of_a_sandbox", "--ignored", "--nocapture"])
        .env("TMPDIR", home)
        .env("TESTKIT_OWNER", what)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed()).unwrap()
}

fn wait_for_line(owner: &mut Child, wanted: &str) {
    let lines = BufReader::new(owner.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == wanted), "the helper has ended early");
}

/// Waits until no process is left that has `home` as its folder for temporary files, and nothing in
/// it.
fn assert_clean(home: &Path) {
    wait_for("the janitor", || relatives(home).is_empty() && entries(home).is_empty());
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Process ids of all descendants of the helper.
fn relatives(home: &Path) -> Vec<u32> {
    processes::with_environment("TMPDIR", home)
}

fn entries(home: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).collect()
}

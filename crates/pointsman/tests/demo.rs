//! `pointsman demo` as a user runs it: it works, says how it went, and leaves nothing, however it
//! ends.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::net::TcpListener;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use testkit::guard::{Process, Sandbox, Signal};
use testkit::{mariadb, net, processes};

/// Longest time of any wait.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// A demo whose temporary files are in a folder of the test.
struct Demo {
    process: Process,
    lines: Lines<BufReader<ChildStdout>>,
    home: Sandbox,
}

impl Demo {
    fn start(args: &[&str]) -> Self {
        let home = Sandbox::new().unwrap();
        let mut command = home.command(env!("CARGO_BIN_EXE_pointsman")).unwrap();
        command
            .arg("demo")
            .args(["--connections", "4"])
            .args(args)
            .env("TMPDIR", home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = home.start(command).unwrap();
        let lines = BufReader::new(process.child().stdout.take().unwrap()).lines();
        Self { process, lines, home }
    }

    fn on_free_port(args: &[&str]) -> Self {
        let port = net::free_port().unwrap().to_string();
        Self::start(&[args, &["--port", &port]].concat())
    }

    /// Reads output up to a line that contains this.
    fn wait_for_line(&mut self, part: &str) -> String {
        match self.lines.by_ref().map_while(Result::ok).find(|line| line.contains(part)) {
            Some(line) => line,
            None => panic!("no line with {part:?}: {}", self.errors()),
        }
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        self.process.child().stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Kills the descendant with this in its command line.
    fn kill_descendant(&self, part: &str) {
        let pids = processes::with_environment("TMPDIR", self.home.path());
        let pid = pids.into_iter().find(|&pid| processes::command_line(pid).contains(part)).unwrap();
        processes::signal(pid, Signal::KILL).unwrap();
    }

    /// Waits for the end; nothing may be left from that moment on.
    fn end(&mut self) -> ExitStatus {
        // The rest of the output, so that the demo never waits for a reader.
        self.lines.by_ref().for_each(drop);
        let status = self.process.wait(WAIT_MAX).unwrap().unwrap();
        self.assert_clean();
        status
    }

    fn left(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.home.path()).unwrap();
        let files = files.map(|entry| entry.unwrap().path().display().to_string());
        let alive = processes::with_environment("TMPDIR", self.home.path());
        files.chain(alive.into_iter().map(processes::command_line)).collect()
    }

    fn assert_clean(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
    }
}

#[test]
fn it_ends_by_itself_without_a_failed_query() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut demo = Demo::start(&["--seconds", "2", "--port", &port]);
    demo.wait_for_line(&format!("Port {port} is taken"));
    demo.wait_for_line("mariadb -h127.0.0.1 -P");
    demo.wait_for_line("0 errors");
    let total = demo.wait_for_line("total");
    let queries: u64 = total.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(queries > 100, "{total}");
    assert_eq!(demo.end().code(), Some(0));
}

#[test]
fn what_it_says_about_connecting_is_true() {
    let client = mariadb::find().unwrap().client;
    let mut demo = Demo::on_free_port(&[]);
    let commands = ["# the primary", "# the replicas", "# the primary, through the layer-4 listener"]
        .map(|what| demo.wait_for_line(what));
    let servers = commands.map(|line| {
        let (command, _) = line.split_once('#').unwrap();
        let args = command.split_whitespace().skip(1);
        let sql = "SELECT @@server_id FROM item WHERE id = 1";
        let output = Command::new(&client)
            .args(["--no-defaults", "--batch", "--skip-column-names", "-e", sql])
            .args(args)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    });
    assert_eq!((&*servers[0], &*servers[2]), ("1", "1"));
    assert!(["2", "3"].contains(&&*servers[1]), "{servers:?}");
    let line = demo.wait_for_line("# the admin port");
    let args = line.split_once('#').unwrap().0.split_whitespace().skip(1);
    let sql = "SELECT hostgroup_id, COUNT(*) FROM runtime_mysql_servers GROUP BY 1";
    let output = Command::new(&client)
        .args(["--no-defaults", "--batch", "--skip-column-names", "-e", sql])
        .args(args)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\t1\n1\t2\n", "{output:?}");
    demo.process.signal(Signal::TERM).unwrap();
    assert_eq!(demo.end().code(), Some(0));
}

#[test]
fn ctrl_c_ends_it_with_a_summary() {
    let mut demo = Demo::on_free_port(&[]);
    demo.wait_for_line("q/s   p50");
    demo.process.signal(Signal::INT).unwrap();
    demo.wait_for_line("total");
    assert_eq!(demo.end().code(), Some(0));
}

#[test]
fn ctrl_c_ends_it_at_any_moment_of_the_start() {
    for delay in [300, 900, 1500] {
        let mut demo = Demo::on_free_port(&[]);
        demo.wait_for_line("Starting");
        // The moment of the fault, not a synchronisation.
        std::thread::sleep(Duration::from_millis(delay));
        demo.process.signal(Signal::INT).unwrap();
        let code = demo.end().code();
        assert!(code == Some(130) || code == Some(0), "{code:?}");
    }
}

#[test]
fn a_dead_proxy_ends_it_with_an_error() {
    let mut demo = Demo::on_free_port(&[]);
    demo.wait_for_line("q/s   p50");
    demo.kill_descendant(" serve --config ");
    assert_eq!(demo.end().code(), Some(1));
    let errors = demo.errors();
    assert!(errors.contains("the proxy has died (signal: 9 (SIGKILL))"), "{errors}");
}

#[test]
fn a_dead_server_ends_it_with_an_error() {
    let mut demo = Demo::on_free_port(&[]);
    demo.wait_for_line("q/s   p50");
    demo.kill_descendant("replica2/sock");
    assert_eq!(demo.end().code(), Some(1));
    let errors = demo.errors();
    assert!(errors.contains("the server `replica2` has died"), "{errors}");
}

#[test]
fn sigkill_leaves_nothing() {
    let mut demo = Demo::on_free_port(&[]);
    demo.wait_for_line("q/s   p50");
    demo.process.kill().unwrap();
    let deadline = Instant::now() + WAIT_MAX;
    while !demo.left().is_empty() {
        assert!(Instant::now() < deadline, "left: {:?}", demo.left());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_caches_keep_statements_from_the_servers() {
    let mut demo = Demo::on_free_port(&["--cache", "--seconds", "4"]);
    demo.wait_for_line("The proxy near the clients");
    demo.wait_for_line("reach servers");
    demo.wait_for_line("max ms");
    let total = demo.wait_for_line("with caches");
    let queries: u64 = total.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!(queries > 100, "{total}");
    let line = demo.wait_for_line("statements with caches");
    let parts: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(parts[1] > 0.0, "the near cache has answered: {line}");
    assert!((parts[1] + parts[2] + parts[3] - 100.0).abs() < 0.2, "{line}");
    assert_eq!(demo.end().code(), Some(0), "{}", demo.errors());
}

#[test]
fn a_failover_shows_what_it_costs() {
    let mut demo = Demo::on_free_port(&["--failover"]);
    demo.wait_for_line("is the primary now");
    demo.wait_for_line("clients write again; nothing was written for ");
    demo.process.signal(Signal::INT).unwrap();
    demo.wait_for_line("Nothing was written for ");
    assert_eq!(demo.end().code(), Some(0), "{}", demo.errors());
}

#[test]
fn a_shop_is_split_over_four_servers() {
    let mut demo = Demo::on_free_port(&["--shards", "--seconds", "4"]);
    demo.wait_for_line("4 servers, each with a shard");
    demo.wait_for_line("# the shop, as if it were on one server");
    demo.wait_for_line("# the admin port");
    demo.wait_for_line("orders of each shard");
    demo.wait_for_line("max ms");
    for work in ["customer", "orders of one", "purchase", "newest of all"] {
        let line = demo.wait_for_line(work);
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(numbers[0] > 0 && numbers[1] == 0, "{line}");
    }
    let line = demo.wait_for_line("Orders of each shard");
    let orders: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(orders.len() == 4 && orders.iter().all(|count| *count > 0), "{line}");
    assert_eq!(demo.end().code(), Some(0), "{}", demo.errors());
}

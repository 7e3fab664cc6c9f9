//! The program called `proxysql`, as an operator or an old unit starts it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::{create_dir, read_to_string, write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use testkit::guard::{Process, Sandbox, Signal};

/// Longest time of any wait.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// A folder with a link called `proxysql`, a `datadir`, and the socket of a service manager.
struct Machine {
    home: Sandbox,
    manager: UnixDatagram,
}

impl Machine {
    fn new() -> Self {
        let home = Sandbox::new().unwrap();
        symlink(env!("CARGO_BIN_EXE_pointsman"), home.path().join("proxysql")).unwrap();
        create_dir(home.path().join("data")).unwrap();
        let manager = UnixDatagram::bind(home.path().join("notify")).unwrap();
        manager.set_read_timeout(Some(WAIT_MAX)).unwrap();
        Self { home, manager }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes the configuration, with this many servers.
    fn configure(&self, servers: usize) {
        let servers: Vec<String> =
            (0..servers).map(|at| format!("{{ address = \"127.0.0.1\", port = {} }}", at + 1)).collect();
        let text = format!(
            "datadir = \"/nowhere\"\nerrorlog = \"{}\"\n{CNF}mysql_servers = ( {} )\n",
            self.path("log").display(),
            servers.join(",")
        );
        write(self.path("proxysql.cnf"), text).unwrap();
    }

    /// Starts the program with these options besides file and folder, and waits until it is ready.
    fn start(&self, options: &[&str]) -> Process {
        let mut command = self.home.command(self.path("proxysql")).unwrap();
        command.arg("-f").arg("-c").arg(self.path("proxysql.cnf")).arg("-D").arg(self.path("data"));
        command.args(options).env("NOTIFY_SOCKET", self.path("notify")).stderr(Stdio::null());
        let process = self.home.start(command).unwrap();
        assert_eq!(self.received(), "READY=1");
        process
    }

    /// The next words to the service manager.
    fn received(&self) -> String {
        let mut buffer = [0; 256];
        let length = self.manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// Ends the process in good order.
    fn end(&self, mut process: Process) {
        process.signal(Signal::TERM).unwrap();
        assert_eq!(self.received(), "STOPPING=1");
        assert!(process.wait(WAIT_MAX).unwrap().is_some_and(|status| status.success()));
    }

    /// What the last start has said when it was ready.
    fn ready(&self) -> String {
        let log = read_to_string(self.path("log")).unwrap();
        log.lines().rfind(|line| line.contains(" ready ")).unwrap().to_owned()
    }

    /// Starts, ends, and returns the line of being ready.
    fn run(&self, options: &[&str]) -> String {
        let process = self.start(options);
        self.end(process);
        self.ready()
    }
}

/// A file as ProxySQL 3 has it, without its servers.
const CNF: &str = r#"
admin_variables = { admin_credentials = "admin:admin"; mysql_ifaces = "127.0.0.1:0"; pgsql_ifaces = "127.0.0.1:0" }
mysql_variables =
{
    threads = 1
    interfaces = "127.0.0.1:0"
    monitor_enabled = false
    eventslog_buffer_history_size = 0
    protocol_compression_level = 3
}
pgsql_variables = { threads = 4; interfaces = "0.0.0.0:6133" }
pgsql_servers = ( { address = "127.0.0.1", port = 5432, hostgroup = 0 } )
pgsql_users = ( { username = "postgres", password = "postgres" } )
pgsql_query_rules = ( { rule_id = 1, active = 1, destination_hostgroup = 0 } )
"#;

#[test]
fn a_unit_of_proxysql_starts_reloads_and_stops_it() {
    let machine = Machine::new();
    machine.configure(1);
    let process = machine.start(&["--idle-threads", "--no-version-check", "-e", "-U", "x"]);
    process.signal(Signal::HUP).unwrap();
    assert!(machine.received().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(machine.received(), "READY=1");
    machine.end(process);
    assert!(machine.path("data/pointsman.db").is_file(), "-D counts before the file's datadir");
    let log = read_to_string(machine.path("log")).unwrap();
    assert!(log.contains("pgsql_servers") && log.contains("protocol_compression_level"), "{log}");
}

#[test]
fn initial_starts_anew_and_reload_adds() {
    let machine = Machine::new();
    machine.configure(1);
    assert!(machine.run(&[]).contains(" servers=1 "));
    machine.configure(2);
    assert!(machine.run(&[]).contains(" servers=1 "), "what is saved counts");
    assert!(machine.run(&["--reload"]).contains(" servers=2 "));
    machine.configure(1);
    assert!(machine.run(&["--reload"]).contains(" servers=2 "), "nothing is removed");
    assert!(machine.run(&["--initial", "--reload"]).contains(" servers=1 "));
    assert!(machine.path("data/pointsman.db.bak").is_file());
}

#[test]
fn the_admin_port_may_be_all_that_is_open() {
    let machine = Machine::new();
    machine.configure(1);
    let socket = machine.path("admin.sock");
    let process = machine.start(&["-n", "-M", "-S", socket.to_str().unwrap()]);
    let ready = machine.ready();
    assert!(ready.contains(" listen=\"\" "), "{ready}");
    assert!(ready.contains(&format!("admin=\"{}\"", socket.display())), "{ready}");
    assert!(socket.exists());
    machine.end(process);
    // Nothing of that is saved.
    let ready = machine.run(&[]);
    assert!(ready.contains(" listen=\"127.0.0.1:") && ready.contains(" admin=\"127.0.0.1:"), "{ready}");
}

/// Makes a `proxysql.db` with servers at these ports.
fn save_as_proxysql(path: &Path, ports: &[u16]) {
    let database = rusqlite::Connection::open(path).unwrap();
    database
        .execute_batch("CREATE TABLE mysql_servers (hostgroup_id INT, hostname VARCHAR, port INT);")
        .unwrap();
    for port in ports {
        database.execute("INSERT INTO mysql_servers VALUES (0, '127.0.0.1', ?)", [port]).unwrap();
    }
    database
        .execute_batch(
            "CREATE TABLE global_variables (variable_name VARCHAR, variable_value VARCHAR);
             INSERT INTO global_variables VALUES ('mysql-threads', '1'), ('mysql-interfaces', '127.0.0.1:0'),
             ('admin-mysql_ifaces', '127.0.0.1:0'), ('mysql-monitor_enabled', 'false');",
        )
        .unwrap();
}

#[test]
fn what_proxysql_has_saved_counts_before_the_file() {
    let machine = Machine::new();
    machine.configure(1);
    save_as_proxysql(&machine.path("data/proxysql.db"), &[1, 2, 3]);
    assert!(machine.run(&[]).contains(" servers=3 "));
    assert!(machine.run(&[]).contains(" servers=3 "), "it was imported, once");
    assert!(machine.run(&["--initial"]).contains(" servers=1 "), "the file alone counts");
}

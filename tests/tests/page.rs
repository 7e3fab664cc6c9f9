//! The page for operators in a browser: against its mock, and in front of real servers under load.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use e2e::tools::{Output, Running};
use e2e::{Proxy, Setup, admin, run};
use serde_json::Value;
use testkit::client::{Client, Options};
use testkit::guard::{Sandbox, Signal};
use testkit::load::{SCHEMA, create_schema};
use testkit::mariadb::{self, Topology};
use testkit::net::free_port;
use testkit::server::PASSWORD;

/// The user of the load.
const APP: &str = "app";
/// The user of the monitor.
const WATCHER: &str = "watcher";
/// Longest time of all tests in a browser.
const BROWSE_TIME_MAX: Duration = Duration::from_mins(5);
/// Pause between two rounds of the load: the browser needs the processor, too.
const ROUND_PAUSE: Duration = Duration::from_millis(50);
/// Time between two looks at whether a client has come.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The tests of the page, as `make test-page` runs them.
fn page_tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/web/page-tests/run.mjs")
}

/// What the tests of the page ask for: servers under load, and a proxy in front.
struct Scene {
    proxy: Option<Proxy>,
    topology: Topology,
    clients: SocketAddr,
    config: PathBuf,
    sandbox: Sandbox,
}

impl Scene {
    fn start(sandbox: &Sandbox, web: SocketAddr) -> Self {
        let topology = Topology::start(&mariadb::find().unwrap(), sandbox, 2, &[]).unwrap();
        for user in [APP, WATCHER] {
            let account = format!("{user}@'127.0.0.1'");
            let create =
                format!("CREATE USER {account} IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {account}");
            topology.primary.sql(&create).unwrap();
        }
        let clients = local(free_port().unwrap());
        let setup = Setup::new(sandbox)
            .monitor(WATCHER, PASSWORD)
            .user(APP, PASSWORD, "")
            .row("listeners", &format!("address = \"{clients}\""))
            .admin("mysql_ifaces", "\"127.0.0.1:0\"")
            .admin("web_enabled", true)
            .pointsman_variable("web_address", format!("\"{web}\""))
            .drain_timeout_ms(0)
            .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
            .variable("read_write_split", true)
            .variable("monitor_writer_is_also_reader", false)
            .server(&topology.primary, "comment = \"primary\"");
        let setup = topology.replicas.iter().fold(setup, |setup, replica| {
            setup.server(replica, &format!("hostgroup_id = 1\ncomment = \"{}\"", replica.name()))
        });
        let config = setup.folder().join("pointsman.toml");
        let proxy = setup.start();
        let options = Options::tcp(clients, APP, PASSWORD);
        run(async { create_schema(&mut Client::connect(&options).await.unwrap()).await.unwrap() });
        topology.catch_up().unwrap();
        Self { proxy: Some(proxy), topology, clients, config, sandbox: sandbox.clone() }
    }

    /// Does what a line asks for, and answers with a line.
    fn answer(&mut self, line: &str) -> String {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "explain" => self.explain(&serde_json::from_str(rest).unwrap()),
            "restart" => self.restart(),
            "kill" => self.kill(),
            _ => panic!("what is {line:?}?"),
        }
    }

    /// The admin port's answer: rows of texts, as JSON.
    fn explain(&self, question: &Value) -> String {
        let part = |name: &str| question[name].as_str().unwrap();
        let (user, schema, statement) = (part("user"), part("schema"), part("statement"));
        let sql = format!("EXPLAIN ROUTE USER {user} SCHEMA {schema} {statement}");
        let rows = run(async {
            let mut admin = admin::connect(self.proxy.as_ref().unwrap()).await;
            admin.query(&sql).await.unwrap().text().unwrap()
        });
        serde_json::to_string(&rows).unwrap()
    }

    fn restart(&mut self) -> String {
        let mut before = self.proxy.take().unwrap();
        before.signal(Signal::TERM);
        assert!(before.wait().success());
        self.proxy = Some(Proxy::start(&self.sandbox, &self.config, &[], &[]));
        "restarted".to_owned()
    }

    /// Kills a replica; the answer is its name.
    fn kill(&mut self) -> String {
        let replica = self.topology.replicas.first_mut().unwrap();
        replica.kill().unwrap();
        replica.name().to_owned()
    }

    /// Answers the lines of one client until it leaves. It comes when the browser has started,
    /// which takes a while on a new machine; none comes when all is `over` before.
    fn serve(&mut self, listener: &TcpListener, over: &AtomicBool) {
        listener.set_nonblocking(true).unwrap();
        let mut socket = loop {
            match listener.accept() {
                Ok((socket, _)) => break socket,
                Err(_) if over.load(Ordering::Relaxed) => return,
                Err(_) => thread::sleep(LOOK_INTERVAL),
            }
        };
        for line in BufReader::new(socket.try_clone().unwrap()).lines() {
            let answer = self.answer(&line.unwrap());
            writeln!(socket, "{answer}").unwrap();
        }
    }
}

/// Sets a flag however the test ends.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Clients that read and write, one after the other. Those that meet a restart fail.
fn load(proxy: SocketAddr, over: &AtomicBool) {
    let options = Options::tcp(proxy, APP, PASSWORD).schema(SCHEMA);
    while !over.load(Ordering::Relaxed) {
        run(async {
            let Ok(mut client) = Client::connect(&options).await else { return };
            for sql in
                ["SELECT price FROM item WHERE id = 7", "UPDATE item SET stock = stock - 1 WHERE id = 7"]
            {
                let _ = client.query(sql).await;
            }
        });
        thread::sleep(ROUND_PAUSE);
    }
}

const fn local(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// Runs the tests of the page, with settings of the environment; prints what they print.
fn browse(sandbox: &Sandbox, environment: &[String], arguments: &[&str]) -> Output {
    let script = page_tests();
    let words = environment.iter().map(String::as_str).chain(["node", script.to_str().unwrap()]);
    let output =
        Running::start(sandbox, "env", words.chain(arguments.iter().copied())).wait_within(BROWSE_TIME_MAX);
    println!("{}\n{}", output.stdout, output.stderr);
    output
}

#[test]
fn no_fault_is_found_against_the_mock() {
    browse(&Sandbox::new().unwrap(), &[], &[]).expect_success();
}

#[test]
fn no_fault_is_found_in_front_of_real_servers() {
    let sandbox = Sandbox::new().unwrap();
    let web = local(free_port().unwrap());
    let mut scene = Scene::start(&sandbox, web);
    let listener = TcpListener::bind(local(0)).unwrap();
    let control = listener.local_addr().unwrap();
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    let environment = [format!("SCENE={control}"), format!("SHOTS={}", pictures.display())];
    let (clients, over) = (scene.clients, AtomicBool::new(false));
    thread::scope(|threads| {
        let serving = threads.spawn(|| scene.serve(&listener, &over));
        threads.spawn(|| load(clients, &over));
        let ending = SetWhenDropped(&over);
        let output = browse(&sandbox, &environment, &[&format!("http://{web}"), "admin", "admin"]);
        drop(ending);
        output.expect_success();
        serving.join().unwrap();
    });
}

//! A pod: the program called `proxysql` with its files, and the clients that look at it.

use std::fs::{create_dir, write};
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use testkit::client::{Client, Options};
use testkit::guard::{Process, Sandbox, Signal};
use testkit::net::free_port;

/// Longest time of any wait.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// How often a wait looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A container and its volume.
pub(crate) struct Pod {
    sandbox: Sandbox,
    process: Option<Process>,
    /// The admin port.
    pub(crate) admin: SocketAddr,
    /// A port for clients.
    pub(crate) clients: SocketAddr,
    /// The command line behind the program's name.
    command: String,
}

impl Pod {
    /// A pod that is not started yet. In `command` and `cnf` the words `DATADIR`, `CNF`, `ADMIN`,
    /// `CLIENTS` and `PORT` stand for its folder, its configuration, its addresses and a port.
    pub(crate) fn new(sandbox: &Sandbox, command: &str, cnf: &str) -> Self {
        let [admin, clients] = [(); 2].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port().unwrap())));
        let home = sandbox.path();
        symlink(env!("CARGO_BIN_EXE_pointsman"), home.join("proxysql")).unwrap();
        create_dir(home.join("data")).unwrap();
        let fill = |text: &str| {
            text.replace("DATADIR", home.join("data").to_str().unwrap())
                .replace("CNF", home.join("proxysql.cnf").to_str().unwrap())
                .replace("ADMIN", &admin.to_string())
                .replace("CLIENTS", &clients.to_string())
                .replace("PORT", &free_port().unwrap().to_string())
        };
        write(home.join("proxysql.cnf"), fill(cnf)).unwrap();
        Self { sandbox: sandbox.clone(), process: None, admin, clients, command: fill(command) }
    }

    /// Starts the container, and waits until the probe of the admin port succeeds.
    pub(crate) fn start(&mut self) {
        let mut command = self.sandbox.command(self.sandbox.path().join("proxysql")).unwrap();
        command.args(self.command.split_whitespace()).stderr(Stdio::null());
        self.process = Some(self.sandbox.start(command).unwrap());
        wait_for("the admin port", || std::net::TcpStream::connect(self.admin).is_ok());
    }

    /// Ends the container as a rolling update does.
    pub(crate) fn stop(&mut self) {
        let mut process = self.process.take().unwrap();
        process.signal(Signal::TERM).unwrap();
        assert!(process.wait(WAIT_MAX).unwrap().is_some_and(|status| status.success()));
    }

    /// A connection to the admin port, in the schema `mysql` as clients written in Go have it.
    pub(crate) async fn admin(&self, user: &str, password: &str) -> Client {
        Client::connect(&Options::tcp(self.admin, user, password).schema("mysql")).await.unwrap()
    }

    /// A connection of an application.
    pub(crate) async fn client(&self, user: &str, password: &str) -> Client {
        Client::connect(&Options::tcp(self.clients, user, password)).await.unwrap()
    }
}

/// Runs an asynchronous test.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(LOOK_INTERVAL);
    }
}

/// Runs statements, each of which must succeed.
pub(crate) async fn execute(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// The rows of a statement's result as text, with commas between the columns.
pub(crate) async fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    result.text().unwrap().into_iter().map(|row| text(row).join(",")).collect()
}

/// Waits until a statement has these rows.
pub(crate) async fn wait_for_rows(client: &mut Client, sql: &str, expected: &[String]) {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        let got = rows(client, sql).await;
        if got == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{sql}: {got:?}, not {expected:?}");
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// Runs `LOAD` and `SAVE` for each of these modules.
pub(crate) async fn load_and_save(client: &mut Client, modules: &[&str]) {
    for module in modules {
        execute(client, &[&format!("LOAD {module} TO RUNTIME"), &format!("SAVE {module} TO DISK;")]).await;
    }
}

//! A proxy process: where it listens, what it logs, how it ends.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use testkit::client::Options;
use testkit::guard::{Process, Sandbox, Signal};
use testkit::mariadb::{PASSWORD, USER};

use crate::{WAIT_MAX, binary};

/// A running `pointsman serve`. Killed when dropped.
#[derive(Debug)]
pub struct Proxy {
    process: Process,
    log: Arc<Log>,
    listeners: Listeners,
}

/// What a proxy has said on standard error.
#[derive(Debug, Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    ended: Mutex<bool>,
    news: Condvar,
}

/// The addresses of a proxy, by kind.
#[derive(Debug, Default)]
struct Listeners {
    mysql: Vec<SocketAddr>,
    layer4: Vec<SocketAddr>,
    admin: Vec<SocketAddr>,
    unix: Vec<PathBuf>,
}

/// What `unshare` needs to know to run a program with another file of names; both follow.
const WITH_NAMES: [&str; 6] =
    ["--user", "--map-root-user", "--mount", "sh", "-c", r#"mount --bind "$0" /etc/hosts && exec "$@""#];

/// Whether a process may have this file of names for itself.
pub(crate) fn can_have_names(hosts: &Path) -> bool {
    let status =
        Command::new("unshare").args(WITH_NAMES).arg(hosts).arg("true").stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Proxy {
    /// Starts a proxy with the configuration at `file` and more arguments, and waits until it says
    /// that it is ready.
    ///
    /// # Panics
    /// When it does not; its log is in the message.
    pub fn start(
        sandbox: &Sandbox,
        file: &Path,
        environment: &[(String, String)],
        arguments: &[String],
    ) -> Self {
        Self::start_with(sandbox, None, file, environment, arguments)
    }

    /// The same with a file of names of its own.
    pub(crate) fn start_with(
        sandbox: &Sandbox,
        hosts: Option<&Path>,
        file: &Path,
        environment: &[(String, String)],
        arguments: &[String],
    ) -> Self {
        let program = hosts.map_or_else(binary::pointsman, |_| PathBuf::from("unshare"));
        let mut command = sandbox.command(program).unwrap_or_else(|error| panic!("{error:#}"));
        if let Some(hosts) = hosts {
            command.args(WITH_NAMES).arg(hosts).arg(binary::pointsman());
        }
        command
            .args(["serve", "--config"])
            .arg(file)
            .args(arguments)
            .env_remove("RUST_LOG")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stderr(Stdio::piped());
        let mut process = sandbox.start(command).unwrap_or_else(|error| panic!("{error:#}"));
        let log = Arc::new(Log::default());
        if let Some(stderr) = process.child().stderr.take() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || log.fill(stderr));
        }
        let mut proxy = Self { process, log, listeners: Listeners::default() };
        let ready = proxy.wait_for_log(" ready ");
        proxy.listeners = Listeners::parse(&ready);
        proxy
    }

    /// Its first TCP listener.
    ///
    /// # Panics
    /// When it has none.
    pub fn tcp(&self) -> SocketAddr {
        *self.listeners.mysql.first().unwrap_or_else(|| panic!("no TCP listener in {:?}", self.listeners))
    }

    /// Its admin port.
    ///
    /// # Panics
    /// When it has none.
    pub fn admin(&self) -> SocketAddr {
        *self.listeners.admin.first().unwrap_or_else(|| panic!("no admin port in {:?}", self.listeners))
    }

    /// Its first Unix socket.
    ///
    /// # Panics
    /// When it has none.
    pub fn socket(&self) -> &Path {
        self.listeners.unix.first().unwrap_or_else(|| panic!("no Unix socket in {:?}", self.listeners))
    }

    /// Its first layer-4 listener.
    ///
    /// # Panics
    /// When it has none.
    pub fn layer4(&self) -> SocketAddr {
        *self
            .listeners
            .layer4
            .first()
            .unwrap_or_else(|| panic!("no layer-4 listener in {:?}", self.listeners))
    }

    /// All its layer-4 listeners, in the order of the configuration.
    pub fn all_layer4(&self) -> &[SocketAddr] {
        &self.listeners.layer4
    }

    /// How the account of [`Setup::before`](crate::Setup::before) logs in over TCP, to the schema
    /// `test`.
    pub fn options(&self) -> Options {
        Options::tcp(self.tcp(), USER, PASSWORD).schema("test")
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When the kernel refuses it.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal).unwrap_or_else(|error| panic!("cannot signal the proxy: {error}"));
    }

    /// Waits until the process has ended.
    ///
    /// # Panics
    /// When it still runs after [`WAIT_MAX`].
    pub fn wait(&mut self) -> ExitStatus {
        let status = self.process.wait(WAIT_MAX).unwrap_or_else(|error| panic!("{error}"));
        status.unwrap_or_else(|| panic!("the proxy has not ended after {} s", WAIT_MAX.as_secs()))
    }

    /// Whether the process still runs.
    ///
    /// # Panics
    /// When the kernel does not know the process.
    pub fn runs(&mut self) -> bool {
        self.process.exited().unwrap_or_else(|error| panic!("{error}")).is_none()
    }

    /// What it has logged so far, a line each.
    pub fn log(&self) -> Vec<String> {
        self.log.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a line of the log that contains `text`, and returns it.
    ///
    /// # Panics
    /// When the proxy ends without it, or it takes longer than [`WAIT_MAX`]. The log is in the
    /// message.
    pub fn wait_for_log(&self, text: &str) -> String {
        let deadline = Instant::now() + WAIT_MAX;
        let mut lines = self.log.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(line) = lines.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = *self.log.ended.lock().unwrap_or_else(PoisonError::into_inner);
            assert!(!ended && left > Duration::ZERO, "the proxy never said {text:?}:\n{}", lines.join("\n"));
            lines = self.log.news.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("the log of proxy {}:\n{}\n", self.pid(), log.join("\n"));
        } else {
            let panicked = log.iter().find(|line| line.contains("panicked at"));
            assert_eq!(panicked, None, "a thread of the proxy has panicked:\n{}", log.join("\n"));
        }
    }
}

impl Log {
    fn fill(&self, stderr: impl std::io::Read) {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            self.news.notify_all();
        }
        // Under the lock of the lines, so that no reader misses it between looking and waiting.
        let _lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.news.notify_all();
    }
}

impl Listeners {
    /// Reads `listen="127.0.0.1:1234, /path, 127.0.0.1:1235 (tcp)" admin="127.0.0.1:1236"` out of
    /// the line.
    fn parse(ready: &str) -> Self {
        let list = |name: &str| {
            let list = ready.split_once(name).and_then(|(_, rest)| rest.split_once('"'));
            list.unwrap_or_else(|| panic!("no addresses in {ready:?}")).0
        };
        let admin = list("admin=\"").split(", ").filter_map(|address| address.parse().ok()).collect();
        let mut listeners = Self { admin, ..Self::default() };
        for item in list("listen=\"").split(", ") {
            let (address, layer4) = item.strip_suffix(" (tcp)").map_or((item, false), |rest| (rest, true));
            match address.parse() {
                Ok(address) if layer4 => listeners.layer4.push(address),
                Ok(address) => listeners.mysql.push(address),
                Err(_) => listeners.unix.push(address.into()),
            }
        }
        listeners
    }
}

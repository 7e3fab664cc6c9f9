//! Configurations for tests.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use testkit::guard::Sandbox;
use testkit::mariadb::{PASSWORD, Server, USER};

use crate::Proxy;

/// Many proxies run at once, and the default is one fixed port.
const NO_ADMIN_PORT: &str = "mysql_ifaces = \"\"\n";

/// Accounts of an admin port: those that ProxySQL has.
const ADMIN_ACCOUNTS: &str = "admin_credentials = \"admin:admin\"\nstats_credentials = \"stats:stats\"\n";

/// A configuration in the making: `pointsman.toml` with everything on loopback and no fixed port.
///
/// It starts with a TCP listener, a Unix socket and two data-plane threads.
#[derive(Debug, Clone)]
pub struct Setup {
    sandbox: Sandbox,
    dir: PathBuf,
    variables: String,
    pointsman_variables: String,
    admin_variables: String,
    top_level: String,
    tables: String,
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
    hosts: Option<PathBuf>,
    monitor: String,
}

impl Setup {
    /// Two listeners, no server, no user.
    ///
    /// # Panics
    /// When the sandbox's folder is not writable.
    pub fn new(sandbox: &Sandbox) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let dir = sandbox.path().join(format!("p{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let new = Self {
            sandbox: sandbox.clone(),
            variables: "threads = 2\n".to_owned(),
            pointsman_variables: String::new(),
            admin_variables: NO_ADMIN_PORT.to_owned(),
            top_level: String::new(),
            tables: String::new(),
            environment: Vec::new(),
            arguments: Vec::new(),
            hosts: None,
            monitor: "monitor_enabled = false\n".to_owned(),
            dir,
        };
        let socket = new.socket();
        new.row("listeners", "address = \"127.0.0.1:0\"")
            .row("listeners", &format!("address = \"{}\"", socket.display()))
    }

    /// Like [`Setup::new`], with `server` in hostgroup 0 and the account that has all privileges on
    /// it.
    pub fn before(sandbox: &Sandbox, server: &Server) -> Self {
        Self::new(sandbox).server(server, "").user(USER, PASSWORD, "")
    }

    /// Adds a server; `more` is what else its row has, in TOML.
    #[must_use]
    pub fn server(self, server: &Server, more: &str) -> Self {
        self.row("mysql_servers", &format!("hostname = \"127.0.0.1\"\nport = {}\n{more}", server.port()))
    }

    /// Adds a user; `more` is what else its row has, in TOML.
    #[must_use]
    pub fn user(self, name: &str, password: &str, more: &str) -> Self {
        self.row("mysql_users", &format!("username = '{name}'\npassword = '{password}'\n{more}"))
    }

    /// Has the proxy watch its servers, as this user. Without, it does not: tests count
    /// connections.
    #[must_use]
    pub fn monitor(mut self, name: &str, password: &str) -> Self {
        self.monitor =
            format!("monitor_enabled = true\nmonitor_username = '{name}'\nmonitor_password = '{password}'\n");
        self
    }

    /// Adds a layer-4 listener for hostgroup 0.
    #[must_use]
    pub fn layer4(self) -> Self {
        self.row("listeners", "address = \"127.0.0.1:0\"\nprotocol = \"tcp\"")
    }

    /// Adds a row to a table.
    #[must_use]
    pub fn row(mut self, table: &str, toml: &str) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.tables, "[[{table}]]\n{toml}\n");
        self
    }

    /// Sets one of `mysql_variables`; the value is TOML.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        let _ = writeln!(self.variables, "{name} = {value}");
        self
    }

    /// Has the proxy have one data-plane thread: all sessions share the same connections.
    #[must_use]
    pub fn one_thread(mut self) -> Self {
        self.variables = self.variables.replacen("threads = 2\n", "threads = 1\n", 1);
        self
    }

    /// Sets `drain_timeout_ms`.
    #[must_use]
    pub fn drain_timeout_ms(self, ms: u64) -> Self {
        self.pointsman_variable("drain_timeout_ms", ms)
    }

    /// Sets one of `pointsman_variables`; the value is TOML.
    #[must_use]
    pub fn pointsman_variable(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        let _ = writeln!(self.pointsman_variables, "{name} = {value}");
        self
    }

    /// Sets one of `pointsman_variables`; the value is TOML.
    #[must_use]
    pub fn pointsman(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        let _ = writeln!(self.pointsman_variables, "{name} = {value}");
        self
    }

    /// Sets one of `admin_variables`; the value is TOML. The admin port is closed unless
    /// `mysql_ifaces` is set.
    #[must_use]
    pub fn admin(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        if name == "mysql_ifaces" {
            self.admin_variables = self.admin_variables.replace(NO_ADMIN_PORT, ADMIN_ACCOUNTS);
        }
        if let Some(preset) = ADMIN_ACCOUNTS.lines().find(|line| line.starts_with(&format!("{name} "))) {
            self.admin_variables = self.admin_variables.replace(&format!("{preset}\n"), "");
        }
        let _ = writeln!(self.admin_variables, "{name} = {value}");
        self
    }

    /// Makes the proxy's own folder its `datadir`.
    #[must_use]
    pub fn datadir(self) -> Self {
        let folder = self.dir.clone();
        self.datadir_at(&folder)
    }

    /// The proxy's own folder.
    pub fn folder(&self) -> &std::path::Path {
        &self.dir
    }

    /// Sets an environment variable of the proxy.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds an argument of `pointsman serve`.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Has the proxy know these names, all at 127.0.0.1, and no others that the machine knows.
    /// `None`, with a line that says so, where a process cannot be given a file of names of its
    /// own.
    ///
    /// # Panics
    /// When the proxy's folder is not writable.
    pub fn names_or_skip(mut self, names: &[&str]) -> Option<Self> {
        let file = self.dir.join("hosts");
        let line = format!("127.0.0.1 localhost {}\n", names.join(" "));
        std::fs::write(&file, line).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if !crate::proxy::can_have_names(&file) {
            eprintln!("skipped: it takes a mount namespace to give the proxy names of its own");
            return None;
        }
        self.hosts = Some(file);
        Some(self)
    }

    /// Makes this folder the `datadir`.
    #[must_use]
    pub fn datadir_at(mut self, folder: &std::path::Path) -> Self {
        self.top_level = format!("datadir = \"{}\"\n", folder.display());
        self
    }

    /// The path of the Unix socket that the proxy will listen on.
    pub fn socket(&self) -> PathBuf {
        self.dir.join("sock")
    }

    /// Writes the configuration to a file and starts the proxy with it; returns when it is ready.
    ///
    /// # Panics
    /// When the proxy does not start; its log is in the message.
    pub fn start(self) -> Proxy {
        let monitor = self.monitor;
        let toml = format!(
            "{}[mysql_variables]\n{monitor}{}[pointsman_variables]\n{}[admin_variables]\n{}{}",
            self.top_level, self.variables, self.pointsman_variables, self.admin_variables, self.tables
        );
        let file = self.dir.join("pointsman.toml");
        std::fs::write(&file, toml).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Proxy::start_with(&self.sandbox, self.hosts.as_deref(), &file, &self.environment, &self.arguments)
    }
}

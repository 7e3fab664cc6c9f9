//! Where tests run: a server with the suite's own settings, the proxy in front of it, and their
//! folder.
//!
//! Tests change global variables, users and files. After each one the server's state is compared
//! with what it was at the start; where they differ the server gets a fresh copy of its data, so
//! that no test sees another one.

mod front;
mod options;
mod state;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use e2e::Proxy;
use testkit::guard::Sandbox;
use testkit::mariadb::{self, Server, Setup};

use crate::needs::Needs;
use crate::noise::{Noise, NoiseCounts};
use crate::reader::{Reader, ReaderLog, Sizes};
use crate::suite::Suite;

/// Whom tests log in as, unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// The name.
    pub name: &'static str,
    /// The password, in clear text.
    pub password: &'static str,
}

/// The administrator, without a password: what the suite is written for.
pub const ROOT: Account = Account { name: "root", password: "" };
/// An ordinary account: with a password, and with a name that the suite does not know.
pub const ORDINARY: Account = Account { name: "developer", password: "developer's secret" };

/// How long the connections of a test that has ended may take to go away.
const QUIET_TIME_MAX: Duration = Duration::from_secs(3);
/// How often that is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// Lines of a proxy's log, which is kept in memory, after which another one is started.
const LOG_LINES_MAX: usize = 10_000;

/// Under what tests run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Whether the proxy has the same server as a reader, too, and splits reads from writes.
    pub reader: Reader,
    /// Whether sessions share connections, of which there are fewer than sessions.
    pub multiplexing: bool,
    /// Whether the proxy has a rule that caches all reads, in the mode `own`.
    pub cached: bool,
    /// Clients beside the test's own, at the server for a run without the proxy, and at the proxy
    /// for one through it.
    pub noise: usize,
}

/// A data directory to copy.
#[derive(Debug)]
pub struct Template {
    sandbox: Sandbox,
    datadir: PathBuf,
    /// Places made so far: the number of the next one's folder.
    places: AtomicUsize,
}

/// A server, the proxy in front of it, and their folder.
#[derive(Debug)]
pub struct Place {
    template: PathBuf,
    sandbox: Sandbox,
    server: Server,
    account: Account,
    conditions: Conditions,
    folder: PathBuf,
    state: String,
    greeting: String,
    proxy: Option<(Needs, Proxy)>,
    restarts: u32,
    /// What came to the reader.
    reader_log: ReaderLog,
    /// What the other clients have seen so far.
    noise: NoiseCounts,
}

impl Template {
    /// Installs system tables and what the suite's runner adds to them.
    ///
    /// # Errors
    /// When MariaDB is not installed or does not start.
    pub fn new(suite: &Suite) -> anyhow::Result<Self> {
        let sandbox = Sandbox::new()?;
        let folder = sandbox.path().join("t");
        let mut server = start(suite, &sandbox, &folder, Reader::Absent)?;
        server.sql(&state::preparation(suite, &folder)?)?;
        server.stop()?;
        Ok(Self { datadir: server.datadir(), sandbox, places: AtomicUsize::new(0) })
    }
}

/// Starts a server in `folder`, which becomes the suite's `vardir`.
fn start(suite: &Suite, sandbox: &Sandbox, folder: &Path, reader: Reader) -> anyhow::Result<Server> {
    for part in ["tmp", "log", "run", "r", "mysqld.1"] {
        std::fs::create_dir_all(folder.join(part))?;
    }
    // No link: the server reads only below `vardir`, wherever links lead.
    copy(&suite.folder.join("std_data"), &folder.join("std_data"))?;
    let options = options::of_server(suite, folder, reader)?;
    Setup::new("mysqld.1").dir(folder.join("mysqld.1")).args(options).start(&mariadb::find()?, sandbox)
}

impl Place {
    /// Starts a server with a copy of the template.
    ///
    /// # Errors
    /// When it does not start.
    pub fn new(
        suite: &Suite,
        template: &Template,
        account: Account,
        conditions: Conditions,
    ) -> anyhow::Result<Self> {
        let sandbox = template.sandbox.clone();
        let number = template.places.fetch_add(1, Ordering::Relaxed);
        let folder = sandbox.path().join(format!("{number}"));
        std::fs::create_dir_all(folder.join("mysqld.1"))?;
        copy(&template.datadir, &folder.join("mysqld.1/data"))?;
        let server = start(suite, &sandbox, &folder, conditions.reader)?;
        let greeting = state::version_in_greeting(&server.socket())?;
        let template = template.datadir.clone();
        let (state, proxy, restarts) = (String::new(), None, 0);
        let mut place = Self {
            template,
            sandbox,
            server,
            account,
            conditions,
            folder,
            state,
            greeting,
            proxy,
            restarts,
            reader_log: ReaderLog::default(),
            noise: NoiseCounts::default(),
        };
        place.admit()?;
        Ok(place)
    }

    /// Creates the account, has the server refuse writes if that is wanted, and remembers the state
    /// to come back to.
    fn admit(&mut self) -> anyhow::Result<()> {
        let Account { name, password } = self.account;
        if self.account != ROOT {
            let password = password.replace('\'', "''");
            self.server.sql(&format!(
                "CREATE USER {name}@localhost IDENTIFIED BY '{password}'; \
                 GRANT ALL ON *.* TO {name}@localhost WITH GRANT OPTION; \
                 GRANT PROXY ON ''@'%' TO {name}@localhost WITH GRANT OPTION"
            ))?;
        }
        if self.conditions.noise > 0 {
            self.server.sql(Noise::PREPARATION)?;
        }
        if self.conditions.reader == Reader::Refusing {
            for Account { name, password } in [ROOT, self.account] {
                self.server.sql(&state::may_not_write(name, password))?;
            }
            self.server.sql("SET GLOBAL read_only = 1")?;
            self.check_refusal()?;
        }
        self.server.sql(state::FRESH_SCHEMA)?;
        self.state = self.server.sql(&self.fingerprint())?;
        Ok(())
    }

    /// Makes sure that the server refuses a write that comes by TCP.
    fn check_refusal(&self) -> anyhow::Result<()> {
        let mut command = self.sandbox.command("mariadb")?;
        command
            .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"])
            .args([format!("--user={}", self.account.name), format!("--password={}", self.account.password)])
            .arg(format!("--port={}", self.server.port()))
            .arg("--execute=CREATE DATABASE refused");
        let output = command.output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(message.contains("ERROR 1290 "), "a write by TCP is not refused: {message}");
        Ok(())
    }

    /// The statements that tell whether a test has left something behind. Connections that the
    /// proxy keeps for others do not count.
    fn fingerprint(&self) -> String {
        state::FINGERPRINT.replace("{others}", state::others(self.conditions.multiplexing))
    }

    /// Makes everything as it was: an empty schema `test`, an empty folder for files, an empty slow
    /// log, and the server's state.
    ///
    /// # Errors
    /// When the server does not start again.
    pub fn restore(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + QUIET_TIME_MAX;
        loop {
            let state = self.server.sql(&format!("{};{}", state::FRESH_SCHEMA, self.fingerprint()));
            if state.is_ok_and(|state| state == self.state) {
                break;
            }
            // Differences that stay are no connections that are about to go.
            if Instant::now() > deadline || self.server.sql("DO 1").is_err() || self.is_quiet() {
                self.reset()?;
                break;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        // Tests look for their statements in it. The server appends to it.
        std::fs::write(self.folder.join("mysqld.1/mysqld-slow.log"), "")?;
        let tmp = self.tmp();
        std::fs::remove_dir_all(&tmp)?;
        Ok(std::fs::create_dir(&tmp)?)
    }

    /// Whether no other client is connected.
    fn is_quiet(&self) -> bool {
        self.server.sql(state::others(self.conditions.multiplexing)).is_ok_and(|others| others.trim() == "0")
    }

    /// Starts the server again with a fresh copy of the data.
    fn reset(&mut self) -> anyhow::Result<()> {
        self.server.kill()?;
        let datadir = self.server.datadir();
        std::fs::remove_dir_all(&datadir)?;
        copy(&self.template, &datadir)?;
        self.server.restart()?;
        self.restarts += 1;
        self.admit()
    }

    /// Makes sure that a proxy runs that meets these needs, and knows the account and `root`.
    ///
    /// # Panics
    /// When the proxy does not start.
    pub(crate) fn provide_proxy(&mut self, mut needs: Needs) {
        for Account { name, password } in [ROOT, self.account] {
            needs.users.insert(name.to_owned(), password.into());
        }
        front::limit(&mut needs, self.conditions);
        let fits = |(known, proxy): &(Needs, Proxy)| *known == needs && proxy.log().len() < LOG_LINES_MAX;
        // Between tests the server is changed behind the proxy, which would know old answers.
        if !self.conditions.cached && self.proxy.as_ref().is_some_and(fits) {
            return;
        }
        self.proxy = None;
        let proxy = self.start_proxy(&needs);
        self.proxy = Some((needs, proxy));
    }

    /// The account of its tests.
    pub const fn account(&self) -> Account {
        self.account
    }

    /// Under what they run.
    pub const fn conditions(&self) -> Conditions {
        self.conditions
    }

    /// The folder that the suite calls `vardir`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for files of tests.
    pub fn tmp(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// The sandbox of everything.
    pub const fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Port and Unix socket that clients connect to: the proxy's, or the server's own.
    ///
    /// # Errors
    /// When the proxy was not started.
    pub fn target(&self, through_proxy: bool) -> anyhow::Result<(u16, PathBuf)> {
        if through_proxy {
            let (_, proxy) = self.proxy.as_ref().context("there is no proxy yet")?;
            Ok((proxy.tcp().port(), proxy.socket().to_owned()))
        } else {
            Ok((self.server.port(), self.server.socket()))
        }
    }

    /// What the proxy has logged; empty without one.
    pub fn proxy_log(&self) -> Vec<String> {
        self.proxy.as_ref().map(|(_, proxy)| proxy.log()).unwrap_or_default()
    }

    /// The sizes of the server's logs.
    pub(crate) fn log_sizes(&self) -> Sizes {
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |data| data.len());
        Sizes { general: size(self.log(options::GENERAL_LOG)), errors: size(self.log(options::ERROR_LOG)) }
    }

    /// The last part, of so many bytes at most, of what the server's log of statements got since it
    /// had this size.
    pub(crate) fn log_since(&self, size: u64, len_max: usize) -> String {
        let log = std::fs::read(self.log(options::GENERAL_LOG)).unwrap_or_default();
        let start = usize::try_from(size).unwrap_or_default().max(log.len().saturating_sub(len_max));
        String::from_utf8_lossy(log.get(start..).unwrap_or_default()).into_owned()
    }

    /// Takes note of what came to the reader in a test, since the logs had these sizes.
    pub(crate) fn note_reader(&mut self, test: &str, since: Sizes) {
        if self.conditions.reader != Reader::Absent {
            let (general, errors) = (self.log(options::GENERAL_LOG), self.log(options::ERROR_LOG));
            self.reader_log.read(test, &general, &errors, since);
        }
    }

    /// What came to the reader.
    pub fn take_reader_log(&mut self) -> ReaderLog {
        std::mem::take(&mut self.reader_log)
    }

    /// Adds what the other clients of a run have seen.
    pub(crate) fn note_noise(&mut self, counts: NoiseCounts) {
        self.noise.add(counts);
    }

    /// What the other clients have seen.
    pub fn take_noise(&mut self) -> NoiseCounts {
        std::mem::take(&mut self.noise)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// How often the server had to be started again.
    pub const fn restarts(&self) -> u32 {
        self.restarts
    }
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

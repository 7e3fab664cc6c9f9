//! One private server of any make: start, stop, kill, pause, and SQL as its administrator.
//!
//! What differs between makes is in [`Programs`]: [`mariadb`](crate::mariadb) and
//! [`mysql`](crate::mysql) each have their own. Every server has the account [`USER`] with all
//! privileges, from everywhere, and the administrator `root` without a password on its Unix socket
//! only.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::guard::{Process, Sandbox, Signal};
use crate::net::free_port;

/// An account with all privileges on every server, also over TCP.
pub const USER: &str = "app";
/// The password of [`USER`].
pub const PASSWORD: &str = "app-secret";

/// Longest time until a server answers.
const START_TIME_MAX: Duration = Duration::from_mins(1);
/// Longest time of an orderly stop; then the server is killed.
const STOP_TIME_MAX: Duration = Duration::from_secs(30);
/// How often the start looks whether the server answers.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Ports tried when the chosen one was taken between the choice and the start.
const PORT_TRIES: u32 = 5;

/// The programs of one make and version of server.
pub trait Programs: fmt::Debug + Send + Sync {
    /// Creates a data directory with system tables and the accounts that every server has.
    ///
    /// # Errors
    /// With the end of the program's log when that fails.
    fn install(&self, sandbox: &Sandbox, datadir: &Path) -> anyhow::Result<()>;

    /// The server, with all options but those of one particular server.
    ///
    /// # Errors
    /// As [`Sandbox::command`].
    fn server(&self, sandbox: &Sandbox) -> anyhow::Result<Command>;

    /// The command-line client, with no options.
    ///
    /// # Errors
    /// As [`Sandbox::command`].
    fn client(&self, sandbox: &Sandbox) -> anyhow::Result<Command>;
}

/// How to start a server.
#[derive(Debug, Clone)]
pub struct Setup {
    name: String,
    id: u32,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
}

impl Setup {
    /// A server called `name`, which becomes a folder's name in the sandbox: short, because a Unix
    /// socket is below it.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), id: 1, args: Vec::new(), dir: None }
    }

    /// Sets `server_id`, which must differ in a topology; 1 by default.
    #[must_use]
    pub const fn server_id(mut self, id: u32) -> Self {
        self.id = id;
        self
    }

    /// Adds options of the server. They win over those that are set here.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Puts everything into this folder instead of one in the sandbox. It is not removed at the
    /// end. A data directory in it is used as it is.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Creates a data directory unless there is one, starts the server and waits until it answers.
    ///
    /// # Errors
    /// With the end of the server's log when it does not start.
    pub fn start<P: Programs + Clone + 'static>(
        self,
        programs: &P,
        sandbox: &Sandbox,
    ) -> anyhow::Result<Server> {
        let server = self.create(programs, sandbox)?;
        if !server.datadir().is_dir() {
            programs.install(sandbox, &server.datadir())?;
        }
        server.started()
    }

    /// A server that does not run yet.
    pub(crate) fn create<P: Programs + Clone + 'static>(
        self,
        programs: &P,
        sandbox: &Sandbox,
    ) -> anyhow::Result<Server> {
        let dir = if let Some(dir) = self.dir {
            std::fs::create_dir_all(&dir).map(|()| dir)
        } else {
            // Not with its parents: a closed sandbox must not come back.
            let dir = sandbox.path().join(&self.name);
            std::fs::create_dir(&dir).map(|()| dir)
        };
        let dir = dir.with_context(|| format!("cannot create a folder for {}", self.name))?;
        Ok(Server {
            name: self.name,
            id: self.id,
            args: self.args,
            dir,
            port: free_port()?,
            programs: Arc::new(programs.clone()),
            sandbox: sandbox.clone(),
            process: None,
        })
    }
}

/// A server in its own folder. Killed when dropped.
#[derive(Debug)]
pub struct Server {
    name: String,
    id: u32,
    args: Vec<OsString>,
    dir: PathBuf,
    port: u16,
    programs: Arc<dyn Programs>,
    sandbox: Sandbox,
    process: Option<Process>,
}

impl Server {
    /// Its name in the setup.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its port on 127.0.0.1; stays the same over restarts.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its address on loopback.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.join("sock")
    }

    /// Its data directory.
    pub fn datadir(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Its error log.
    pub fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Whether the process has ended without [`stop`](Self::stop) or [`kill`](Self::kill), or was
    /// never started.
    ///
    /// # Errors
    /// When the kernel does not know the process.
    pub fn is_dead(&mut self) -> anyhow::Result<bool> {
        match &mut self.process {
            Some(process) => Ok(process.exited()?.is_some()),
            None => Ok(true),
        }
    }

    /// Asks the server to end and waits until it has; kills it after 30 s.
    ///
    /// # Errors
    /// When the kernel refuses the signal.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::TERM)?;
            process.wait(STOP_TIME_MAX)?;
        }
        Ok(())
    }

    /// Kills the server with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// When the kernel does not know the process.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
        }
        Ok(())
    }

    /// Stops the server if it runs, and starts it again on the same port and data.
    ///
    /// # Errors
    /// With the end of the server's log when it does not start.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.stop()?;
        self.launch()?;
        self.wait_ready()
    }

    /// Freezes the server (SIGSTOP): connections stay open, nothing answers from when this returns.
    ///
    /// # Errors
    /// When the kernel refuses the signal.
    pub fn pause(&self) -> anyhow::Result<()> {
        let process = self.process.as_ref().with_context(|| format!("{} does not run", self.name))?;
        Ok(process.freeze()?)
    }

    /// Ends a [`pause`](Self::pause).
    ///
    /// # Errors
    /// When the kernel refuses the signal.
    pub fn resume(&self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let process = self.process.as_ref().with_context(|| format!("{} does not run", self.name))?;
        Ok(process.signal(signal)?)
    }

    /// Runs statements as administrator over the Unix socket with the server's own client; returns
    /// rows as lines with columns separated by tabs, without names.
    ///
    /// # Errors
    /// With the client's message when a statement fails.
    pub fn sql(&self, statements: &str) -> anyhow::Result<String> {
        let mut command = self.programs.client(&self.sandbox)?;
        command
            .args(["--no-defaults", "--batch", "--raw", "--skip-column-names", "--user=root"])
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--execute={statements}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut client = self.sandbox.start(command)?;
        let (mut rows, mut message) = (String::new(), String::new());
        if let Some(mut stdout) = client.child().stdout.take() {
            stdout.read_to_string(&mut rows)?;
        }
        if let Some(mut stderr) = client.child().stderr.take() {
            stderr.read_to_string(&mut message)?;
        }
        match client.wait(STOP_TIME_MAX)? {
            Some(status) if status.success() => Ok(rows),
            _ => bail!("{}: `{statements}`: {}", self.name, message.trim_end()),
        }
    }

    /// Starts a server whose data directory exists and waits until it answers; takes another port
    /// if the chosen one was taken meanwhile.
    pub(crate) fn started(mut self) -> anyhow::Result<Self> {
        self.launch()?;
        for _ in 1..PORT_TRIES {
            match self.wait_ready() {
                Err(_) if self.is_dead()? && tail(&self.log()).contains("Address already in use") => {
                    self.port = free_port()?;
                    self.launch()?;
                }
                Ok(()) => return Ok(self),
                Err(error) => return Err(error),
            }
        }
        self.wait_ready()?;
        Ok(self)
    }

    /// Starts the process and returns at once.
    fn launch(&mut self) -> anyhow::Result<()> {
        // The server replaces a stale socket, but until then it would look like one that answers
        // slowly.
        let _ = std::fs::remove_file(self.socket());
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = self.programs.server(&self.sandbox)?;
        command
            .arg(path_option("datadir", &self.datadir()))
            .arg(path_option("tmpdir", &self.dir))
            .arg(path_option("socket", &self.socket()))
            .arg(path_option("pid-file", &self.dir.join("pid")))
            .arg(format!("--port={}", self.port))
            .arg(format!("--server-id={}", self.id))
            .args(&self.args)
            .stdout(log.try_clone()?)
            .stderr(log);
        self.process = Some(self.sandbox.start(command)?);
        Ok(())
    }

    /// Waits until the server sends its greeting on both its socket and its port.
    fn wait_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIME_MAX;
        while !greets(&self.socket()) {
            if self.is_dead()? {
                bail!("{} has ended at its start; the end of its log:\n{}", self.name, tail(&self.log()));
            }
            if Instant::now() > deadline {
                let limit = START_TIME_MAX.as_secs();
                bail!("{} does not answer after {limit} s; its log:\n{}", self.name, tail(&self.log()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

/// Servers refuse to run as root unless they are told to.
pub(crate) fn run_as_root() -> Option<&'static OsStr> {
    rustix::process::geteuid().is_root().then(|| OsStr::new("--user=root"))
}

/// `--NAME=PATH`, whatever bytes the path has.
pub(crate) fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}

/// Whether the peer on a Unix socket sends a greeting of protocol 10. The server binds its port
/// first.
fn greets(socket: &Path) -> bool {
    let mut start = [0; 5];
    UnixStream::connect(socket).is_ok_and(|mut stream| {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        stream.read_exact(&mut start).is_ok() && start[4] == 10
    })
}

/// Lines of a log shown in an error.
const TAIL_LINES: usize = 40;

/// The last lines of a file, or why it cannot be read.
pub(crate) fn tail(path: &Path) -> String {
    match std::fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
        }
        Err(error) => format!("({}: {error})", path.display()),
    }
}

//! The proxies that are compared: how each is configured and started.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use testkit::guard::{Process, Sandbox, Signal};
use testkit::mariadb::{PASSWORD, Server, USER};
use testkit::net::free_port;

use crate::programs::Programs;
use crate::tls;

/// Longest time for a proxy to start to serve.
const START_TIME_MAX: Duration = Duration::from_secs(10);
/// The same under a program that runs it slowly.
const SLOW_START_TIME_MAX: Duration = Duration::from_mins(1);
/// Longest time for it to end.
const END_TIME_MAX: Duration = Duration::from_secs(10);
/// How often the start is looked at: it bounds the precision of the time to the first greeting.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// Most connections to MariaDB, in every configuration; also MariaDB's own limit.
pub(crate) const BACKENDS_MAX: u32 = 3000;
/// Protocol version that a greeting starts with, behind the packet's header of 4 bytes.
const GREETING_VERSION: u8 = 10;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Pointsman's layer-4 mode: bytes are copied, nothing is read. What any proxy costs at least.
    Floor,
    /// HAProxy in TCP mode, a layer-4 proxy that many people run.
    Haproxy,
    /// Pointsman as MySQL clients meet it.
    Pointsman,
}

impl Kind {
    /// In the order in which they are measured and shown; the floor is first because the rest
    /// relates to it.
    pub(crate) const ALL: [Self; 3] = [Self::Floor, Self::Haproxy, Self::Pointsman];

    /// A short name for files.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Haproxy => "haproxy",
            Self::Pointsman => "pointsman",
        }
    }

    /// The configuration of one that listens on `port` in front of the server on `database`.
    fn config(
        self,
        port: u16,
        admin: u16,
        database: u16,
        threads: u32,
        datadir: &Path,
        (variables, more): (&str, &str),
    ) -> String {
        let servers = format!(
            "[mysql_variables]\nthreads = {threads}\nmonitor_enabled = false\n{variables}\n\
             [[mysql_servers]]\nhostname = \"127.0.0.1\"\nport = {database}\nmax_connections = {BACKENDS_MAX}\n"
        );
        match self {
            Self::Floor => format!(
                "[[listeners]]\naddress = \"127.0.0.1:{port}\"\nprotocol = \"tcp\"\nhostgroup = 0\n\n\
                 [admin_variables]\nmysql_ifaces = \"\"\n\n{servers}"
            ),
            Self::Pointsman => format!(
                "datadir = \"{}\"\n[[listeners]]\naddress = \"127.0.0.1:{port}\"\n\n\
                 [admin_variables]\nmysql_ifaces = \"127.0.0.1:{admin}\"\nadmin_credentials = \"admin:admin\"\n\n{servers}\n\
                 [[mysql_users]]\nusername = \"{USER}\"\npassword = \"{PASSWORD}\"\n{more}",
                datadir.display()
            ),
            Self::Haproxy => format!(
                "global\n    nbthread {threads}\n    maxconn {BACKENDS_MAX}\n\
                 defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n\
                 listen mysql\n    bind 127.0.0.1:{port}\n    server mariadb 127.0.0.1:{database}\n"
            ),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Floor => "floor",
            Self::Haproxy => "HAProxy",
            Self::Pointsman => "Pointsman",
        })
    }
}

/// What all targets have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage<'a> {
    /// The programs.
    pub(crate) programs: &'a Programs,
    /// What everything is started in.
    pub(crate) sandbox: &'a Sandbox,
    /// The server behind all of them.
    pub(crate) database: &'a Server,
    /// Threads of each proxy.
    pub(crate) threads: u32,
}

/// A running proxy. When dropped it ends by itself, and what a profiler wants to write then is
/// written.
#[derive(Debug)]
pub(crate) struct Target {
    /// What it is.
    pub(crate) kind: Kind,
    /// Where it listens, on 127.0.0.1.
    pub(crate) port: u16,
    admin: u16,
    process: Process,
}

impl Target {
    /// Starts a proxy and waits until a client is greeted through it; also says how long that took.
    ///
    /// # Errors
    /// With the proxy's log when it does not serve.
    pub(crate) fn start(stage: &Stage, kind: Kind) -> anyhow::Result<(Self, Duration)> {
        Self::start_in(stage, kind, &tls::folder(stage.sandbox), ("", ""))
    }

    /// The same with more in the configuration: lines of `mysql_variables`, and tables. It has a
    /// folder of its own: others may run at the same time.
    pub(crate) fn start_with(stage: &Stage, kind: Kind, variables: &str, more: &str) -> anyhow::Result<Self> {
        let datadir = stage.sandbox.path().join(format!("data-{}", free_port()?));
        fs::create_dir_all(&datadir)?;
        Self::start_in(stage, kind, &datadir, (variables, more)).map(|(target, _)| target)
    }

    fn start_in(
        stage: &Stage,
        kind: Kind,
        datadir: &Path,
        more: (&str, &str),
    ) -> anyhow::Result<(Self, Duration)> {
        let (port, admin) = (free_port()?, free_port()?);
        let file = |extension| stage.sandbox.path().join(format!("{}-{port}.{extension}", kind.id()));
        let (config, log) = (file("conf"), file("log"));
        fs::write(&config, kind.config(port, admin, stage.database.port(), stage.threads, datadir, more))?;
        let output = fs::File::create(&log)?;
        let mut command = match kind {
            Kind::Haproxy => stage.sandbox.command(&stage.programs.haproxy)?,
            Kind::Floor | Kind::Pointsman => pointsman(stage)?,
        };
        match kind {
            // In the foreground, without a master process: all threads are those of the process we
            // know.
            Kind::Haproxy => command.args(["-db", "-f"]).arg(&config),
            Kind::Floor | Kind::Pointsman => {
                // The folder has the configuration of a former round.
                command.args(["serve", "--initial", "--config"]).arg(&config)
            }
        };
        command.stdout(output.try_clone()?).stderr(output);
        let started = Instant::now();
        let process = stage.sandbox.start(command)?;
        let mut target = Self { kind, port, admin, process };
        let longest = if stage.programs.under.is_empty() { START_TIME_MAX } else { SLOW_START_TIME_MAX };
        match target.wait_ready(started + longest) {
            Ok(()) => Ok((target, started.elapsed())),
            Err(error) => {
                let log = fs::read_to_string(&log).unwrap_or_default();
                bail!("{kind} does not serve within {} s: {error}; its log:\n{log}", longest.as_secs())
            }
        }
    }

    /// The port of its admin port, on 127.0.0.1, if it has one.
    pub(crate) fn admin(&self) -> Option<u16> {
        (self.kind == Kind::Pointsman).then_some(self.admin)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn wait_ready(&mut self, deadline: Instant) -> anyhow::Result<()> {
        while !greets(self.address()) {
            if let Some(status) = self.process.exited()? {
                bail!("it ended with {status}");
            }
            if Instant::now() > deadline {
                bail!("no greeting in time");
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // If it does not, it is killed.
        if self.process.signal(Signal::TERM).is_ok() {
            let _ = self.process.wait(END_TIME_MAX);
        }
    }
}

/// The proxy, under the program that is to run it.
fn pointsman(Stage { programs, sandbox, .. }: &Stage) -> anyhow::Result<Command> {
    let Some((tool, args)) = programs.under.split_first() else {
        return sandbox.command(&programs.pointsman);
    };
    let mut command = sandbox.command(Path::new(tool))?;
    command.args(args).arg(&programs.pointsman);
    Ok(command)
}

/// Whether a process listens there and greets like a MySQL server.
fn greets(address: SocketAddr) -> bool {
    let mut start = [0; 5];
    let read = TcpStream::connect(address).context("nobody listens").and_then(|mut stream| {
        stream.set_read_timeout(Some(START_TIME_MAX))?;
        Ok(stream.read_exact(&mut start)?)
    });
    read.is_ok() && start[4] == GREETING_VERSION
}

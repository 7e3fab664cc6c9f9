//! MySQL Router with one fixed route: what benchmarks compare with.

use std::fmt::Write as _;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::Binaries;
use crate::guard::{Process, Sandbox};
use crate::net::free_port;
use crate::server::tail;

/// Longest time until Router listens.
const START_TIME_MAX: Duration = Duration::from_secs(30);
/// How often the start looks.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A MySQL Router in its own folder. Killed when dropped.
#[derive(Debug)]
pub struct Router {
    port: u16,
    process: Process,
}

impl Router {
    /// Starts a Router called `name` (a folder in the sandbox) before these servers, and waits
    /// until it listens. `options` are further lines of its section `[routing]`.
    ///
    /// # Errors
    /// With the end of its log when it does not start.
    pub fn start(
        binaries: &Binaries,
        sandbox: &Sandbox,
        name: &str,
        servers: &[SocketAddr],
        options: &str,
    ) -> anyhow::Result<Self> {
        let dir = sandbox.path().join(name);
        std::fs::create_dir(&dir)?;
        let port = free_port()?;
        let config = dir.join("mysqlrouter.conf");
        let servers: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
        let mut text =
            format!("[DEFAULT]\nplugin_folder={}\n", binaries.usr("lib/mysqlrouter/plugin").display());
        for folder in ["logging_folder", "runtime_folder", "config_folder", "data_folder"] {
            writeln!(text, "{folder}={}", dir.display())?;
        }
        write!(
            text,
            "[routing:static]\nbind_address=127.0.0.1\nbind_port={port}\ndestinations={}\n\
             routing_strategy=round-robin\n{options}\n",
            servers.join(",")
        )?;
        std::fs::write(&config, text)?;
        let log_path = dir.join("log");
        let log = File::create(&log_path)?;
        let mut command = binaries.command(sandbox, "bin/mysqlrouter")?;
        command.arg("-c").arg(config).stdout(log.try_clone()?).stderr(log);
        let router = Self { port, process: sandbox.start(command)? };
        router.wait_ready(&log_path)
    }

    fn wait_ready(mut self, log: &Path) -> anyhow::Result<Self> {
        let deadline = Instant::now() + START_TIME_MAX;
        while TcpStream::connect(self.address()).is_err() {
            if self.process.exited()?.is_some() || Instant::now() > deadline {
                bail!("MySQL Router does not listen:\n{}", tail(log));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}

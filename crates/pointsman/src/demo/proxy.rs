//! A proxy of the demo: this same program as a child process.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use testkit::guard::{Process, Sandbox};

use super::say;
use super::stage::Show as _;

/// Longest time until a proxy serves.
const SERVE_TIME_MAX: Duration = Duration::from_secs(20);
/// How often the start looks whether the proxy serves.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Lines of the proxy's log shown when it has died.
const LOG_LINES: usize = 10;

/// A proxy that runs.
#[derive(Debug)]
pub(super) struct Proxy {
    process: Process,
    log: PathBuf,
    /// What it is called in messages.
    name: &'static str,
}

impl Proxy {
    /// Starts a proxy with this `pointsman.toml`, whose files are called `file`. To be waited for.
    pub(super) fn start(
        sandbox: &Sandbox,
        (name, file): (&'static str, &str),
        configuration: &str,
    ) -> anyhow::Result<Self> {
        let config = sandbox.path().join(format!("{file}.toml"));
        std::fs::write(&config, configuration)?;
        let path = sandbox.path().join(format!("{file}.log"));
        let program = std::env::current_exe().context("cannot find this program's file")?;
        let log = File::create(&path)?;
        let mut command = sandbox.command(program)?;
        command.arg("serve").arg("--config").arg(config).stdout(log.try_clone()?).stderr(log);
        Ok(Self { process: sandbox.start(command)?, log: path, name })
    }

    /// Waits until it accepts clients and operators at these addresses, and says so. The first
    /// login shows the rest.
    pub(super) fn wait(&mut self, mysql: SocketAddr, admin: SocketAddr) -> anyhow::Result<()> {
        let started = Instant::now();
        for address in [mysql, admin] {
            while std::net::TcpStream::connect(address).is_err() {
                self.check()?;
                if started.elapsed() > SERVE_TIME_MAX {
                    bail!("{} does not serve; the end of its log:\n{}", self.name, self.log_end());
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        say!("Pointsman serves on {mysql}, {}", started.elapsed().show());
        Ok(())
    }

    /// Fails if it has died.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.process.exited()? {
            bail!("{} has died ({status}); the end of its log:\n{}", self.name, self.log_end());
        }
        Ok(())
    }

    fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default().join("\n")
    }
}

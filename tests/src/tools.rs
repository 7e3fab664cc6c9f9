//! The programs that people use: MariaDB's own client, and sysbench.

use std::ffi::OsStr;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use testkit::guard::{Process, Sandbox};
use testkit::mariadb::{self, PASSWORD, USER};

use crate::{Proxy, binary};

/// Longest time of one run of a program.
const RUN_TIME_MAX: Duration = Duration::from_mins(2);

/// What a program has printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Standard output of a run without failure.
    ///
    /// # Panics
    /// When the run has failed.
    pub fn expect_success(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }
}

/// A program that runs, with its outputs being read.
#[derive(Debug)]
pub struct Running {
    process: Process,
    stdout: std::thread::JoinHandle<String>,
    stderr: std::thread::JoinHandle<String>,
}

impl Running {
    /// Starts `program` as part of the sandbox.
    ///
    /// # Panics
    /// When no process can be started. A program that does not exist shows as exit code 127.
    pub fn start<S: AsRef<OsStr>>(
        sandbox: &Sandbox,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut command = sandbox.command(program).unwrap_or_else(|error| panic!("{error:#}"));
        command.args(arguments).env_remove("RUST_LOG").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = sandbox.start(command).unwrap_or_else(|error| panic!("{error:#}"));
        let (stdout, stderr) = (process.child().stdout.take(), process.child().stderr.take());
        Self {
            process,
            stdout: std::thread::spawn(|| text(stdout)),
            stderr: std::thread::spawn(|| text(stderr)),
        }
    }

    /// The process.
    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within two minutes.
    pub fn wait(self) -> Output {
        self.wait_within(RUN_TIME_MAX)
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within this time.
    pub fn wait_within(mut self, time_max: Duration) -> Output {
        let status = self.process.wait(time_max).unwrap_or_else(|error| panic!("{error}"));
        if status.is_none() {
            let _ = self.process.kill();
        }
        let [stdout, stderr] = [self.stdout, self.stderr].map(|reader| reader.join().unwrap_or_default());
        let output = Output { code: status.and_then(|status| status.code()), stdout, stderr };
        assert!(status.is_some(), "has not ended after {} s: {output:#?}", time_max.as_secs());
        output
    }
}

fn text(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs `pointsman` with these arguments until it ends.
pub fn pointsman<S: AsRef<OsStr>>(sandbox: &Sandbox, arguments: impl IntoIterator<Item = S>) -> Output {
    Running::start(sandbox, binary::pointsman(), arguments).wait()
}

/// Runs `pointsman` with these arguments until it ends, under limits as the shell's `ulimit` takes
/// them (`-n 64`).
pub fn pointsman_limited<S: AsRef<OsStr>>(
    sandbox: &Sandbox,
    limits: &str,
    environment: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Output {
    let script = format!("ulimit -c 0; ulimit {limits}; {environment} exec \"$0\" \"$@\"");
    let program = binary::pointsman();
    let fixed = [OsStr::new("-c"), OsStr::new(&script), program.as_os_str()];
    let arguments: Vec<S> = arguments.into_iter().collect();
    let arguments = arguments.iter().map(AsRef::as_ref);
    Running::start(sandbox, "sh", fixed.into_iter().chain(arguments)).wait()
}

/// Starts MariaDB's command-line client, which prints rows as lines with columns separated by tabs.
///
/// # Panics
/// When it is not installed.
pub fn start_mariadb(sandbox: &Sandbox, arguments: &[&str]) -> Running {
    let client = mariadb::find().unwrap_or_else(|error| panic!("{error:#}")).client;
    let fixed = ["--no-defaults", "--batch", "--raw", "--skip-column-names", "--skip-ssl"];
    Running::start(sandbox, client, fixed.iter().chain(arguments))
}

/// Runs MariaDB's command-line client to its end.
pub fn mariadb(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    start_mariadb(sandbox, arguments).wait()
}

/// Runs MariaDB's command-line client through the proxy, with the account of
/// [`Setup::before`](crate::Setup::before), in the schema `test`.
pub fn mariadb_through(sandbox: &Sandbox, proxy: &Proxy, arguments: &[&str]) -> Output {
    let (port, user) = (format!("--port={}", proxy.tcp().port()), format!("--user={USER}"));
    let password = format!("--password={PASSWORD}");
    let fixed = ["--protocol=TCP", "--host=127.0.0.1", &port, &user, &password, "--database=test"];
    mariadb(sandbox, &[&fixed, arguments].concat())
}

/// Runs sysbench through the proxy: a workload, `prepare`, `run` or `cleanup`, and options, of
/// which `--mysql-db` is one.
pub fn sysbench(sandbox: &Sandbox, proxy: &Proxy, workload: &str, step: &str, options: &[&str]) -> Output {
    start_sysbench(sandbox, proxy, workload, step, options).wait()
}

/// Starts sysbench like [`sysbench`] and returns at once.
pub fn start_sysbench(
    sandbox: &Sandbox,
    proxy: &Proxy,
    workload: &str,
    step: &str,
    options: &[&str],
) -> Running {
    let (port, user) = (format!("--mysql-port={}", proxy.tcp().port()), format!("--mysql-user={USER}"));
    let password = format!("--mysql-password={PASSWORD}");
    let fixed = [workload, "--mysql-host=127.0.0.1", &port, &user, &password];
    Running::start(sandbox, "sysbench", [&fixed, options, &[step]].concat())
}

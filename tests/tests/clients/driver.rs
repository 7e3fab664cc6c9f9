//! The programs in `tests/clients/`: how to make them ready and how to run them.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::guard::Sandbox;
use testkit::server::{PASSWORD, USER};

use crate::outcomes::Outcomes;
use crate::place::{LOGIN_PASSWORD, Make, Place};

/// Longest time to fetch and build a program.
const PREPARE_TIME_MAX: Duration = Duration::from_mins(15);
/// Longest time of one run.
const RUN_TIME_MAX: Duration = Duration::from_mins(10);
/// What a script ends with when a tool is missing; it names the tool on standard error.
const MISSING: i32 = 77;

/// A program with one driver.
#[derive(Debug)]
pub(crate) struct Driver {
    /// Its name, in the table and for the script.
    pub(crate) name: &'static str,
    /// The folder with the script `client`.
    folder: &'static str,
}

/// All of them.
pub(crate) const DRIVERS: [Driver; 9] = [
    Driver { name: "mariadb-cli", folder: "cli" },
    Driver { name: "pymysql", folder: "python" },
    Driver { name: "mysqlclient", folder: "python" },
    Driver { name: "connector-python", folder: "python" },
    Driver { name: "go-sql-driver", folder: "go" },
    Driver { name: "mysql2", folder: "node" },
    Driver { name: "connector-j", folder: "java" },
    Driver { name: "mariadb-java", folder: "java" },
    Driver { name: "sqlx", folder: "rust" },
];

/// The one with this name.
pub(crate) fn named(name: &str) -> &'static Driver {
    DRIVERS.iter().find(|driver| driver.name == name).unwrap_or_else(|| panic!("no driver {name}"))
}

/// Prints a line for the developer who runs the tests, past any capture.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl Driver {
    /// Whether `DRIVERS`, names separated by commas, has it or is not set.
    pub(crate) fn wanted(&self) -> bool {
        let wanted = std::env::var("DRIVERS").unwrap_or_default();
        wanted.is_empty() || wanted.split(',').any(|name| name == self.name)
    }

    /// The schema that is its own.
    pub(crate) fn schema(&self) -> String {
        format!("t_{}", self.name.replace('-', "_"))
    }

    /// Fetches and builds what it needs, which is kept in the user's cache folder.
    ///
    /// # Errors
    /// What is missing.
    pub(crate) fn prepare(&self, sandbox: &Sandbox) -> Result<(), String> {
        let mut command = self.script(sandbox);
        command.args(["prepare".as_ref(), cache().as_os_str(), self.name.as_ref()]);
        let (code, _, stderr) = finish(sandbox, command, PREPARE_TIME_MAX);
        match code {
            Some(0) => Ok(()),
            Some(MISSING) => Err(stderr.trim_end().to_owned()),
            _ => panic!("{} cannot be made ready:\n{stderr}", self.name),
        }
    }

    /// Runs the checks; `only` is the names of some, or empty for all.
    pub(crate) fn run(&self, place: &Place, port: u16, size: &str, only: &str) -> Outcomes {
        let mut command = self.script(&place.sandbox);
        command
            .args(["run".as_ref(), cache().as_os_str(), self.name.as_ref()])
            .env("PM_HOST", "127.0.0.1")
            .env("PM_PORT", port.to_string())
            .env("PM_USER", USER)
            .env("PM_PASSWORD", PASSWORD)
            .env("PM_DATABASE", self.schema())
            .env("PM_SERVER", if place.make == Make::MySql { "mysql" } else { "mariadb" })
            .env("PM_LOGINS", place.logins().join(","))
            .env("PM_LOGIN_PASSWORD", LOGIN_PASSWORD)
            .env("PM_CA", &place.certificates.ca)
            .env("PM_SIZE", size)
            .env("PM_ONLY", only);
        let (code, stdout, stderr) = finish(&place.sandbox, command, RUN_TIME_MAX);
        let mut outcomes = Outcomes::parse(&stdout, &stderr);
        if !matches!(code, Some(0 | 1)) {
            outcomes.note(format!("ended with {code:?}"));
        }
        outcomes
    }

    fn script(&self, sandbox: &Sandbox) -> Command {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
        let mut command = sandbox.command("sh").unwrap();
        command.arg(programs.join(self.folder).join("client"));
        command
    }
}

/// `${XDG_CACHE_HOME:-~/.cache}/pointsman/clients`.
fn cache() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    cache.expect("neither XDG_CACHE_HOME nor HOME is set").join("pointsman/clients")
}

/// Runs a command to its end, or kills it: exit code, standard output and standard error.
fn finish(sandbox: &Sandbox, mut command: Command, limit: Duration) -> (Option<i32>, String, String) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = sandbox.start(command).unwrap();
    let (stdout, stderr) = (process.child().stdout.take(), process.child().stderr.take());
    let [stdout, stderr] = [std::thread::spawn(|| text(stdout)), std::thread::spawn(|| text(stderr))];
    let status = process.wait(limit).unwrap();
    if status.is_none() {
        process.kill().unwrap();
    }
    (status.and_then(|status| status.code()), stdout.join().unwrap(), stderr.join().unwrap())
}

fn text(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

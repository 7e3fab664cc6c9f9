//! Private MariaDB servers: their own folder, a free loopback port, gone with their [`Sandbox`].
//!
//! Made for tests, so they start fast and take little memory: nothing is ever synced to disk, which
//! is safe against a crash of the server and not against one of the machine. Later options win, so
//! callers can undo any of it.

mod galera;
mod topology;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::guard::Sandbox;
use crate::server::{Programs, path_option, run_as_root, tail};

pub use crate::server::{PASSWORD, Server, Setup, USER};
pub use galera::Galera;
pub use topology::{Topology, start_all};

/// The account of replicas on their primary.
const REPLICATION_USER: &str = "replication";
/// Its password.
const REPLICATION_PASSWORD: &str = "replication-secret";

/// Folders to search besides `$PATH`, which often lacks `sbin` for ordinary users.
const EXTRA_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/bin"];
/// Longest time to create the system tables.
const INSTALL_TIME_MAX: Duration = Duration::from_mins(2);

/// MariaDB's programs on this machine.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// The server.
    pub mariadbd: PathBuf,
    /// The script that creates system tables.
    pub install_db: PathBuf,
    /// The command-line client.
    pub client: PathBuf,
    /// The server's version, as `SELECT VERSION()` gives it.
    pub version: String,
}

/// Finds MariaDB's programs on `$PATH` and in the usual folders.
///
/// # Errors
/// When one is missing: the text names the Debian packages to install.
pub fn find() -> anyhow::Result<Binaries> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(EXTRA_FOLDERS.map(PathBuf::from)).collect();
    let mariadbd = program("mariadbd", &folders)?;
    let version = version(&mariadbd)?;
    Ok(Binaries {
        mariadbd,
        install_db: program("mariadb-install-db", &folders)?,
        client: program("mariadb", &folders)?,
        version,
    })
}

fn program(name: &str, folders: &[PathBuf]) -> anyhow::Result<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()).with_context(|| {
        format!(
            "MariaDB's program `{name}` is not installed. On Debian and Ubuntu the packages \
             mariadb-server-core and mariadb-client-core have it, and start no system service:\n    \
             sudo apt-get install mariadb-server-core mariadb-client-core"
        )
    })
}

/// The word after `Ver` in what `mariadbd --version` prints.
fn version(mariadbd: &Path) -> anyhow::Result<String> {
    let output = Command::new(mariadbd)
        .args(["--no-defaults", "--version"])
        .output()
        .with_context(|| format!("cannot run {}", mariadbd.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace().skip_while(|&word| word != "Ver");
    let version = words.nth(1).with_context(|| format!("cannot find the version in {text:?}"))?;
    Ok(version.to_owned())
}

impl Programs for Binaries {
    /// Creates a data directory. Copies of it can serve other servers.
    fn install(&self, sandbox: &Sandbox, datadir: &Path) -> anyhow::Result<()> {
        let accounts = datadir.with_extension("sql");
        std::fs::write(
            &accounts,
            format!(
                "FLUSH PRIVILEGES;\n\
                 CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n\
                 GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\n\
                 CREATE USER {REPLICATION_USER}@'%' IDENTIFIED BY '{REPLICATION_PASSWORD}';\n\
                 GRANT REPLICATION SLAVE ON *.* TO {REPLICATION_USER}@'%';\n"
            ),
        )?;
        let log_path = datadir.with_extension("install.log");
        let log = std::fs::File::create(&log_path)?;
        let mut command = sandbox.command(&self.install_db)?;
        command
            .arg("--no-defaults")
            .arg(path_option("datadir", datadir))
            .arg(path_option("extra-file", &accounts))
            // Servers remove each other's temporary tables when they start in the same folder.
            .arg(path_option("tmpdir", sandbox.path()))
            .args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"])
            .args(SMALL_FILES)
            .args(run_as_root())
            .stdout(log.try_clone()?)
            .stderr(log);
        let status = sandbox.start(command)?.wait(INSTALL_TIME_MAX)?;
        if !status.is_some_and(|status| status.success()) {
            bail!("cannot create MariaDB's system tables:\n{}", tail(&log_path));
        }
        Ok(())
    }

    fn server(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        let mut command = sandbox.command(&self.mariadbd)?;
        command.arg("--no-defaults").args(SMALL_FILES).args(SMALL_SERVER).args(run_as_root());
        Ok(command)
    }

    fn client(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        sandbox.command(&self.client)
    }
}

/// Options that keep a fresh data directory at 26 MB and off the disk's critical path.
const SMALL_FILES: [&str; 4] = [
    "--innodb-log-file-size=8M",
    "--innodb-autoextend-increment=1",
    "--innodb-flush-method=nosync",
    "--innodb-flush-log-at-trx-commit=0",
];

/// Options for a small server that starts fast.
const SMALL_SERVER: [&str; 13] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--sync-binlog=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-buffer-pool-dump-at-shutdown=off",
    "--innodb-buffer-pool-load-at-startup=off",
    "--innodb-fast-shutdown=1",
    "--aria-pagecache-buffer-size=1M",
    "--key-buffer-size=1M",
    "--performance-schema=off",
    "--max-connections=3000",
    "--max-allowed-packet=256M",
    "--character-set-server=utf8mb4",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_the_packages() {
        let error = program("mariadbd", &[PathBuf::from("/nonexistent")]).unwrap_err().to_string();
        assert!(error.contains("mariadb-server-core and mariadb-client-core"), "{error}");
    }
}

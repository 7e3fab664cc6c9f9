//! Private MySQL servers, where MySQL is there: the same [`Server`] as MariaDB's, with other
//! programs.
//!
//! Debian has no MySQL in its releases, so `make test-servers` puts a Debian sid with it into the
//! user's cache folder. Nothing of that system runs but MySQL, and it runs here: the programs are
//! started by the folder's own dynamic loader with the folder's own libraries. So no root is
//! needed, nothing is mounted, and a [`Sandbox`] can clean up.
//!
//! Tests that need MySQL begin with [`find_or_skip`]. The first server of a version creates system
//! tables (3 s) and leaves a copy in the cache folder; later ones begin with that copy and start in
//! less than a second.

mod group;
mod router;

use std::env::consts::ARCH;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::folders::copy_folder;
use crate::guard::Sandbox;
use crate::server::{Programs, path_option, run_as_root, tail};

pub use crate::server::{PASSWORD, Server, Setup, USER};
pub use group::Group;
pub use router::Router;

/// Longest time to create the system tables.
const INSTALL_TIME_MAX: Duration = Duration::from_mins(2);

/// MySQL's programs on this machine: server, clients and Router.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// The root of the system that has them.
    folder: PathBuf,
    /// The server's version, as `SELECT VERSION()` gives it.
    pub version: String,
}

/// Finds MySQL in the user's cache folder; `None` where `make test-servers` has not put it there.
///
/// # Errors
/// When it is there and does not run.
pub fn find() -> anyhow::Result<Option<Binaries>> {
    let Some(folder) = cache().map(|cache| cache.join("sid")).filter(|folder| folder.is_dir()) else {
        return Ok(None);
    };
    let binaries = Binaries { folder, version: String::new() };
    let mut command = Command::new(binaries.loader());
    command.args(binaries.loaded("sbin/mysqld")).args(["--no-defaults", "--version"]);
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().skip_while(|&word| word != "Ver").nth(1);
    let version = version.with_context(|| format!("{command:?} says {output:?}"))?.to_owned();
    Ok(Some(Binaries { version, ..binaries }))
}

/// [`find`] for a test: where there is no MySQL it says on standard error, past any capture, that
/// the test is skipped. Tests know their name by the name of their thread.
///
/// # Errors
/// As [`find`].
pub fn find_or_skip() -> anyhow::Result<Option<Binaries>> {
    let found = find()?;
    if found.is_none() {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a test");
        writeln!(std::io::stderr(), "skipped: {name} needs MySQL 9.7: make test-servers")?;
    }
    Ok(found)
}

/// `${XDG_CACHE_HOME:-~/.cache}/pointsman`, as `scripts/test-servers` has it.
fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("pointsman"))
}

impl Binaries {
    /// A command that will run one of MySQL's programs as part of the sandbox: `bin/mysqlbinlog`,
    /// for example.
    ///
    /// # Errors
    /// As [`Sandbox::command`].
    pub fn command(&self, sandbox: &Sandbox, program: &str) -> anyhow::Result<Command> {
        let mut command = sandbox.command(self.loader())?;
        command
            .args(self.loaded(program))
            // A library that is preloaded on this machine does not fit into those programs.
            .env_remove("LD_PRELOAD")
            .env("OPENSSL_CONF", self.folder.join("etc/ssl/openssl.cnf"));
        Ok(command)
    }

    /// What runs programs of the folder.
    pub fn loader(&self) -> PathBuf {
        self.folder.join(match ARCH {
            "aarch64" => "usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
            _ => "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        })
    }

    /// The first arguments of [`loader`](Self::loader): the folder's libraries and the program.
    pub fn loaded(&self, program: &str) -> [PathBuf; 3] {
        let mut libraries = self.usr(&format!("lib/{ARCH}-linux-gnu")).into_os_string();
        libraries.push(":");
        libraries.push(self.usr("lib/mysql-router"));
        ["--library-path".into(), libraries.into(), self.usr(program)]
    }

    /// A path below `/usr` of the folder.
    fn usr(&self, path: &str) -> PathBuf {
        self.folder.join("usr").join(path)
    }

    /// The options that creating system tables and serving them have in common.
    fn server_command(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        let mut command = self.command(sandbox, "sbin/mysqld")?;
        command
            .arg("--no-defaults")
            .arg(path_option("basedir", &self.usr("")))
            .arg(path_option("lc-messages-dir", &self.usr("share/mysql")))
            .arg(path_option("character-sets-dir", &self.usr("share/mysql/charsets")))
            .arg(path_option("plugin-dir", &self.usr("lib/mysql/plugin")))
            .args(SMALL_FILES)
            .args(run_as_root());
        Ok(command)
    }

    /// Where the copy of a fresh data directory belongs. Another version, other options or accounts
    /// make another.
    fn template(&self) -> anyhow::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        (&self.version, SMALL_FILES, accounts()).hash(&mut hasher);
        let name = format!("mysql-data-{}-{:016x}", self.version, hasher.finish());
        Ok(cache().context("no cache folder")?.join(name))
    }

    fn initialize(&self, sandbox: &Sandbox, datadir: &Path) -> anyhow::Result<()> {
        let init_file = datadir.with_extension("sql");
        std::fs::write(&init_file, accounts())?;
        let log_path = datadir.with_extension("install.log");
        let log = std::fs::File::create(&log_path)?;
        let mut command = self.server_command(sandbox)?;
        command
            .arg("--initialize-insecure")
            .arg(path_option("datadir", datadir))
            .arg(path_option("init-file", &init_file))
            .arg(path_option("tmpdir", sandbox.path()))
            .stdout(log.try_clone()?)
            .stderr(log);
        let status = sandbox.start(command)?.wait(INSTALL_TIME_MAX)?;
        if !status.is_some_and(|status| status.success()) {
            bail!("cannot create MySQL's system tables:\n{}", tail(&log_path));
        }
        // It has the server's UUID, which replication wants to differ. Each server makes its own.
        std::fs::remove_file(datadir.join("auto.cnf"))?;
        Ok(())
    }
}

impl Programs for Binaries {
    fn install(&self, sandbox: &Sandbox, datadir: &Path) -> anyhow::Result<()> {
        let template = self.template()?;
        if template.is_dir() {
            return Ok(copy_folder(&template, datadir)?);
        }
        self.initialize(sandbox, datadir)?;
        // Another process may do the same now, under another name: the first one makes the
        // template.
        let mut copy = template.clone().into_os_string();
        let datadir_path = datadir.to_string_lossy().replace('/', "-");
        copy.push(format!(".new{datadir_path}"));
        copy_folder(datadir, Path::new(&copy))?;
        if std::fs::rename(&copy, &template).is_err() {
            std::fs::remove_dir_all(&copy)?;
        }
        Ok(())
    }

    fn server(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        let mut command = self.server_command(sandbox)?;
        command.args(SMALL_SERVER);
        Ok(command)
    }

    fn client(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        self.command(sandbox, "bin/mysql")
    }
}

/// What creates the accounts, a statement per line.
fn accounts() -> String {
    format!(
        "CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\n"
    )
}

/// Options that keep a fresh data directory at 90 MB and off the disk's critical path.
const SMALL_FILES: [&str; 9] = [
    "--innodb-redo-log-capacity=16M",
    "--innodb-autoextend-increment=1",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-method=nosync",
    "--innodb-flush-log-at-trx-commit=0",
    "--performance-schema=OFF",
    "--mysqlx=OFF",
    // The folder compiled in does not exist here.
    "--secure-file-priv=",
    "--log-error-verbosity=2",
];

/// Options for a small server that starts fast.
const SMALL_SERVER: [&str; 11] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--sync-binlog=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--key-buffer-size=1M",
    "--max-connections=3000",
    "--max-allowed-packet=256M",
    "--character-set-server=utf8mb4",
];

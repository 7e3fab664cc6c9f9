//! The programs that the benchmark runs, and their versions.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use testkit::mariadb::{self, Binaries};

/// Folders to search besides `$PATH`, which often lacks `sbin` for ordinary users.
const EXTRA_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];

/// Where the programs are.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// The proxy, which is also the floor.
    pub(crate) pointsman: PathBuf,
    /// A program that runs the proxy, and its arguments before that; empty without one.
    pub(crate) under: Vec<String>,
    /// The peer.
    pub(crate) haproxy: PathBuf,
    /// What makes the load.
    pub(crate) sysbench: PathBuf,
    /// What reads a whole schema.
    pub(crate) mariadb_dump: PathBuf,
    /// The server.
    pub(crate) mariadb: Binaries,
}

impl Programs {
    /// Finds them all; `pointsman` is the one beside this program unless another is named.
    ///
    /// # Errors
    /// When one is missing: the text says how to get it.
    pub(crate) fn find(pointsman: Option<&Path>) -> anyhow::Result<Self> {
        let pointsman = match pointsman {
            Some(path) => path.to_owned(),
            None => std::env::current_exe()?.with_file_name("pointsman"),
        };
        ensure!(
            pointsman.is_file(),
            "{} does not exist; build it with `cargo build --release --package pointsman`",
            pointsman.display()
        );
        Ok(Self {
            pointsman: pointsman.canonicalize()?,
            under: Vec::new(),
            haproxy: installed("haproxy", "haproxy")?,
            sysbench: installed("sysbench", "sysbench")?,
            mariadb_dump: installed("mariadb-dump", "mariadb-client")?,
            mariadb: mariadb::find()?,
        })
    }

    /// Name and version of each program, one per line.
    pub(crate) fn versions(&self) -> String {
        [
            format!("pointsman: {}", first_line(&self.pointsman, "--version")),
            format!("haproxy: {}", first_line(&self.haproxy, "-v")),
            format!("mariadb: {}", self.mariadb.version),
            format!("sysbench: {}", first_line(&self.sysbench, "--version")),
        ]
        .map(|line| line + "\n")
        .concat()
    }
}

/// A program of a Debian package.
pub(crate) fn installed(name: &str, package: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(EXTRA_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("`{name}` is not installed:\n    sudo apt-get install {package}"))
}

/// The first line that a program prints with one argument, or `unknown`.
pub(crate) fn first_line(program: &Path, arg: &str) -> String {
    let output = Command::new(program).arg(arg).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().filter(|line| !line.is_empty()).unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let error = installed("no-such-program", "no-such-package").unwrap_err().to_string();
        assert!(error.contains("apt-get install no-such-package"), "{error}");
    }

    #[test]
    fn a_program_that_cannot_run_has_no_known_version() {
        assert_eq!(first_line(Path::new("/nonexistent"), "--version"), "unknown");
    }
}

//! Which tests the suite has, and which of them a server with the suite's default settings can run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// Where Debian's package `mariadb-test` puts the suite.
const FOLDER: &str = "/usr/share/mysql/mysql-test";

/// Options in `.opt` files that every server of ours has, or that make no difference to it, in
/// lower case.
///
/// The suite's runner disables all optional plugins; ours leaves them as they are.
const FULFILLED: [&str; 19] = [
    "--innodb",
    "--loose-innodb",
    "--loose-innodb-file-per-table=1",
    "--innodb-trx",
    "--innodb-locks",
    "--innodb-lock-waits",
    "--innodb-metrics",
    "--innodb-buffer-pool-stats",
    "--loose-enable-partition",
    "--loose-sequence",
    "--sequence=on",
    "--plugin-load-add=$ha_archive_so",
    "--plugin-load-add=$ha_blackhole_so",
    "--default-storage-engine=myisam",
    "--plugin-maturity=unknown",
    "--skip-log-bin",
    "--character-set-server=latin1",
    "--collation_server=latin1_swedish_ci",
    "--disable-skip-name-resolve",
];
/// How such options start: the information schema's `InnoDB` tables, and two more engines.
const FULFILLED_STARTS: [&str; 5] =
    ["--innodb-cmp", "--innodb-sys-", "--innodb-buffer-page", "--loose-archive", "--loose-blackhole"];
/// Includes of tests that stop or restart the server.
const RESTARTS: [&str; 5] =
    ["restart_mysqld", "shutdown_mysqld", "kill_mysqld", "start_mysqld", "wait_until_disconnected"];
/// Includes of tests that need more than one plain server and a minute.
const ELSEWHERE: [&str; 4] = ["big_test.inc", "master-slave.inc", "have_debug.inc", "have_debug_sync.inc"];
/// Of these alternatives, each a `.combinations` file, a plain server on Linux is one.
const ALTERNATIVES: [(&str, &str); 6] = [
    ("platform", "unix"),
    ("word_size", "64bit"),
    ("log_bin", "binlogoff"),
    ("maybe_debug", "release"),
    ("lcase_names", "lcase_def"),
    ("maybe_versioning", "orig"),
];

/// The suite as it is installed.
#[derive(Debug)]
pub struct Suite {
    /// The folder with `main`, `include` and `std_data`.
    pub folder: PathBuf,
}

/// One test of the suite.
#[derive(Debug, Clone)]
pub struct Test {
    /// Its name, such as `func_math`.
    pub name: String,
    /// Its script and all files that the script includes, as text.
    pub sources: Vec<String>,
    /// The alternative of each `.combinations` file that a plain server is.
    pub alternatives: Vec<&'static str>,
    /// Whether the output depends on the protocol: the alternatives `nm` and `ps`.
    pub by_protocol: bool,
    /// Why a plain server cannot run it.
    pub skip: Option<&'static str>,
}

impl Suite {
    /// Finds the installed suite.
    ///
    /// # Errors
    /// When it is not there: the text names the package.
    pub fn find() -> anyhow::Result<Self> {
        let folder = PathBuf::from(FOLDER);
        ensure!(
            folder.join("main").is_dir(),
            "MariaDB's test suite is not installed: {FOLDER}/main is missing; Debian's package mariadb-test has it"
        );
        Ok(Self { folder })
    }

    /// The tests of `main`, by name.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn tests(&self) -> anyhow::Result<Vec<Test>> {
        let disabled = self.disabled()?;
        let main = self.folder.join("main");
        let entries = std::fs::read_dir(&main).with_context(|| main.display().to_string())?;
        let mut names = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".test").map(str::to_owned));
        }
        names.into_iter().map(|name| self.test(name, &disabled)).collect()
    }

    /// The names in the suite's own list of broken tests.
    fn disabled(&self) -> anyhow::Result<BTreeSet<String>> {
        let list = text(&self.folder.join("main/disabled.def"))?;
        let lines = list.lines().filter(|line| !line.starts_with('#'));
        Ok(lines.filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect())
    }

    fn test(&self, name: String, disabled: &BTreeSet<String>) -> anyhow::Result<Test> {
        let mut scan = Scan { suite: self, seen: BTreeSet::new(), test: Test::new(name) };
        let script = self.folder.join("main").join(format!("{}.test", scan.test.name));
        scan.file(&script)?;
        let mut test = scan.test;
        let main = |suffix: &str| self.folder.join("main").join(format!("{}{suffix}", test.name)).is_file();
        let skip = if disabled.contains(&test.name) {
            Some("disabled by the suite")
        } else if main(".cnf") || main("-master.sh") || main("-slave.sh") {
            Some("needs servers of its own")
        } else if !main(".result") {
            Some("has no plain result")
        } else {
            None
        };
        test.skip = skip.or(test.skip);
        Ok(test)
    }
}

impl Test {
    pub(crate) const fn new(name: String) -> Self {
        Self { name, sources: Vec::new(), alternatives: Vec::new(), by_protocol: false, skip: None }
    }
}

/// Reads a script and everything that it includes.
struct Scan<'a> {
    suite: &'a Suite,
    seen: BTreeSet<PathBuf>,
    test: Test,
}

impl Scan<'_> {
    fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        self.requirements(path)?;
        let script = text(path)?;
        for included in script.lines().filter_map(included) {
            if RESTARTS.iter().any(|part| included.contains(part)) {
                self.test.skip = Some("restarts the server");
            }
            if ELSEWHERE.iter().any(|part| included.ends_with(part)) {
                self.test.skip = Some("needs a debug build, a replica, or much time");
            }
            let folders = [path.parent(), Some(&self.suite.folder.join("main")), Some(&self.suite.folder)]
                .map(|folder| folder.map(|folder| folder.join(included)));
            if let Some(path) = folders.into_iter().flatten().find(|path| path.is_file()) {
                self.file(&path)?;
            }
        }
        self.test.sources.push(script);
        Ok(())
    }

    /// What the `.opt` and `.combinations` files beside a script ask for.
    fn requirements(&mut self, path: &Path) -> anyhow::Result<()> {
        for suffix in [".opt", "-master.opt"] {
            let file = beside(path, suffix);
            if file.is_file() && !text(&file)?.split_whitespace().all(is_fulfilled) {
                self.test.skip = Some("needs other server options");
            }
        }
        if beside(path, ".combinations").is_file() {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if name == "protocol" {
                self.test.by_protocol = true;
            } else if let Some((_, ours)) = ALTERNATIVES.iter().find(|(of, _)| *of == name) {
                self.test.alternatives.push(ours);
            } else {
                self.test.skip = Some("needs several server options in turn");
            }
        }
        Ok(())
    }
}

fn is_fulfilled(option: &str) -> bool {
    let option = option.trim_matches(|quote| quote == '\'' || quote == '"').to_lowercase();
    FULFILLED.contains(&option.as_str()) || FULFILLED_STARTS.iter().any(|start| option.starts_with(start))
}

/// What a line of a script includes: `source PATH;`, or `--source PATH`.
fn included(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("--").trim_start();
    let rest = line.strip_prefix("source").or_else(|| line.strip_prefix("SOURCE"))?;
    let path = rest.strip_prefix(char::is_whitespace)?.trim();
    path.split(|end: char| end == ';' || end.is_whitespace()).next()
}

/// `FOLDER/NAME.test` with another end: `FOLDER/NAME-master.opt`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// A file of the suite; some are in other encodings than UTF-8.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found_in_every_spelling() {
        assert_eq!(included("--source include/a.inc"), Some("include/a.inc"));
        assert_eq!(included(" -- source include/a.inc ; # why"), Some("include/a.inc"));
        assert_eq!(included("source include/a.inc;"), Some("include/a.inc"));
        assert_eq!(included("select source from t1;"), None);
        assert_eq!(included("sources include/a.inc;"), None);
    }

    #[test]
    fn options_of_every_server_are_fulfilled() {
        assert!(is_fulfilled("--default-storage-engine=MyISAM"));
        assert!(is_fulfilled("--innodb-sys-tables"));
        assert!(!is_fulfilled("--innodb-page-size=4k"));
        assert!(!is_fulfilled("--log-bin"));
    }
}

//! The options that the suite's own runner starts its servers with.

use std::path::Path;

use crate::reader::Reader;
use crate::suite::{Suite, text};

/// The file with the settings of the runner's default server, in the suite's folder.
const DEFAULTS: &str = "include/default_mysqld.cnf";
/// Its settings that would not do here: `mysqld`'s log goes where testkit expects it.
const NOT_HERE: [&str; 2] = ["log-basename", "port-open-timeout"];
/// Folders of MariaDB's packages.
pub(super) const SHARE: &str = "/usr/share/mysql";

/// The log of statements, below `vardir`.
pub(super) const GENERAL_LOG: &str = "mysqld.1/mysqld.log";
/// The log of errors that clients get, below `vardir`.
pub(super) const ERROR_LOG: &str = "mysqld.1/sql-errors.log";

/// Options of the server whose `vardir` is `folder`, and which is a reader of that kind as well.
pub(super) fn of_server(suite: &Suite, folder: &Path, reader: Reader) -> anyhow::Result<Vec<String>> {
    let defaults = text(&suite.folder.join(DEFAULTS))?;
    let mut options: Vec<String> = section(&defaults, "[mysqld]")
        .filter(|line| !NOT_HERE.iter().any(|name| line.starts_with(name)))
        .map(|line| option(line, suite, folder))
        .collect();
    let folder = folder.display();
    options.extend(
        [
            "--loose-aria",
            "--disable-skip-name-resolve",
            "--max-connections=151",
            "--max-allowed-packet=16M",
            "--log-output=file",
            "--general-log=1",
            "--slow-query-log=1",
            "--loose-debug-sync-timeout=300",
            "--innodb-autoextend-increment=8",
            "--plugin-load-add=ha_archive",
            "--plugin-load-add=ha_blackhole",
        ]
        .map(str::to_owned),
    );
    options.extend([
        format!("--general-log-file={folder}/{GENERAL_LOG}"),
        format!("--slow-query-log-file={folder}/mysqld.1/mysqld-slow.log"),
        format!("--tmpdir={folder}/tmp"),
        format!("--character-sets-dir={SHARE}/charsets"),
        format!("--lc-messages-dir={SHARE}"),
    ]);
    if reader == Reader::Refusing {
        // With names, who comes by TCP from the same machine is `localhost` as well as who comes by
        // the Unix socket.
        options.extend(["--skip-name-resolve", "--plugin-load-add=sql_errlog"].map(str::to_owned));
        // It never begins another file.
        options.push(format!("--sql-error-log-size-limit={}", i64::MAX));
        options.push(format!("--sql-error-log-filename={folder}/{ERROR_LOG}"));
    }
    Ok(options)
}

/// The settings of a section.
fn section<'a>(file: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    file.lines()
        .map(str::trim)
        .skip_while(move |line| *line != name)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// `name= value` as `--name=value`.
fn option(line: &str, suite: &Suite, folder: &Path) -> String {
    let line = line
        .replace("@ENV.MYSQLTEST_VARDIR", &folder.display().to_string())
        .replace("@ENV.MYSQL_TEST_DIR", &suite.folder.display().to_string());
    line.split_once('=').map_or_else(
        || format!("--{line}"),
        |(name, value)| format!("--{}={}", name.trim(), value.trim().trim_matches('\'')),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_options() {
        let file = "[client]\nx=1\n[mysqld]\n# a word\nkey_buffer_size=   1M\nlocal-infile\nloose-i='%=ON'\n[server]\ny=2\n";
        let suite = Suite { folder: "/s".into() };
        let options: Vec<String> =
            section(file, "[mysqld]").map(|line| option(line, &suite, Path::new("/v"))).collect();
        assert_eq!(options, ["--key_buffer_size=1M", "--local-infile", "--loose-i=%=ON"]);
        assert_eq!(option("a= @ENV.MYSQLTEST_VARDIR", &suite, Path::new("/v")), "--a=/v");
    }
}

//! What the suite's scripts expect around them: environment variables and an option file for client
//! programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::suite::{Suite, Test};

/// Folder of the client programs.
const PROGRAMS: &str = "/usr/bin";
/// Folder of the servers' plugins.
const PLUGINS: &str = "/usr/lib/mysql/plugin";
/// The server's other files.
const SHARE: &str = "/usr/share/mysql";

/// Client programs that are called with the option file, by variable.
const CLIENTS: [(&str, &str); 10] = [
    ("MYSQL", "mariadb"),
    ("MYSQL_CHECK", "mariadb-check"),
    ("MYSQL_DUMP", "mariadb-dump"),
    ("MYSQL_SLAP", "mariadb-slap"),
    ("MYSQL_IMPORT", "mariadb-import"),
    ("MYSQL_SHOW", "mariadb-show"),
    ("MYSQL_BINLOG", "mariadb-binlog"),
    ("MYSQL_UPGRADE", "mariadb-upgrade"),
    ("MYSQLADMIN", "mariadb-admin"),
    ("MYSQL_CLIENT_TEST", "mariadb-client-test"),
];
/// Programs that need no server, by variable.
const TOOLS: [(&str, &str); 14] = [
    ("EXE_MYSQL", "mariadb"),
    ("MYSQL_PLUGIN", "mariadb-plugin"),
    ("MYSQL_MY_PRINT_DEFAULTS", "my_print_defaults"),
    ("MYISAMLOG", "myisamlog"),
    ("MYISAMCHK", "myisamchk"),
    ("MYISAMPACK", "myisampack"),
    ("MYISAM_FTDUMP", "myisam_ftdump"),
    ("MARIA_CHK", "aria_chk"),
    ("MARIA_PACK", "aria_pack"),
    ("MY_PERROR", "perror"),
    ("MYSQL_TZINFO_TO_SQL", "mariadb-tzinfo-to-sql"),
    ("REPLACE", "replace"),
    ("INNOCHECKSUM", "innochecksum"),
    ("MARIADB_CONV", "mariadb-conv"),
];

/// Everything about one run that variables speak of.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) place: &'a Place,
    pub(crate) test: &'a Test,
    /// Port and socket that clients connect to.
    pub(crate) target: &'a (u16, PathBuf),
    /// The alternatives that a plain server is, and the protocol's.
    pub(crate) alternatives: &'a [&'static str],
}

impl Surroundings<'_> {
    /// The option file for client programs.
    pub(crate) fn option_file(&self) -> PathBuf {
        self.place.folder().join("my.cnf")
    }

    /// Writes the option file.
    pub(crate) fn write_option_file(&self) -> std::io::Result<()> {
        let account = self.place.account();
        let (port, socket) = self.target;
        let mut file = format!(
            "[client]\nhost=localhost\nport={port}\nsocket={}\nuser={}\npassword=\"{}\"\n\
             character-sets-dir={SHARE}/charsets\nplugin-dir={}\n",
            socket.display(),
            account.name,
            account.password,
            "/usr/lib/x86_64-linux-gnu/libmariadb3/plugin",
        );
        for program in ["mysql", "mysqlshow", "mysqlimport", "mysqlcheck", "mysql_upgrade"] {
            // Writing to a string cannot fail.
            let _ = writeln!(file, "[{program}]\ndefault-character-set=latin1");
        }
        let _ = writeln!(file, "[mysqlbinlog]\ndisable-force-if-open\n[mysqltest]\nloose-skip-ssl");
        std::fs::write(self.option_file(), file)
    }

    /// The variables.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let folder = self.place.folder().display().to_string();
        let tmp = self.place.tmp().display().to_string();
        let suite = self.suite.folder.display().to_string();
        let options = self.option_file().display().to_string();
        let (port, socket) = self.target;
        let datadir = format!("{folder}/mysqld.1/data");
        let mut variables: Vec<(String, String)> = [
            ("LC_ALL", "C"),
            ("LC_CTYPE", "C"),
            ("LC_COLLATE", "C"),
            ("USER", self.place.account().name),
            ("USE_RUNNING_SERVER", "0"),
            ("MYSQL_TEST_DIR", &suite),
            ("MYSQL_TMP_DIR", &tmp),
            ("MYSQLTEST_VARDIR", &folder),
            ("MYSQLTEST_REAL_VARDIR", &folder),
            ("MYSQL_BINDIR", "/usr"),
            ("MYSQL_SHAREDIR", SHARE),
            ("MYSQL_CHARSETSDIR", &format!("{SHARE}/charsets")),
            ("SECURE_LOAD_PATH", &format!("{suite}/std_data")),
            ("DEFAULT_MASTER_PORT", "3306"),
            ("MASTER_MYPORT", &port.to_string()),
            ("MASTER_MYSOCK", &socket.display().to_string()),
            ("MARIADB_TOPDIR", &datadir),
            ("MARIADB_DATADIR", &datadir),
            ("MYSQLD", "/usr/sbin/mariadbd"),
            ("MYSQL_TEST_ROOT", "1"),
            ("MTR_PERL", "/usr/bin/perl"),
            ("MTR_SUITE_DIR", &format!("{suite}/main")),
            ("MTR_TEST_NAME", &format!("main.{}", self.test.name)),
            ("MTR_COMBINATIONS", &self.alternatives.join(",")),
            ("OPENSSL_CONF", &format!("{suite}/lib/openssl.cnf")),
            ("OPENSSL_ENABLE_SHA1_SIGNATURES", "1"),
            ("GNUTLS_SYSTEM_PRIORITY_FILE", "/dev/null"),
            ("MYSQL_EMBEDDED", ""),
            ("MYSQL_BUG25714", ""),
            ("STAGING_RUN", "0"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let clients = CLIENTS.map(|(name, program)| {
            (
                name.to_owned(),
                format!("{PROGRAMS}/{program} --defaults-file={options}{}", more(name, &folder)),
            )
        });
        variables.extend(clients);
        variables.extend(TOOLS.map(|(name, program)| (name.to_owned(), tool(program))));
        variables.extend(
            self.alternatives
                .iter()
                .map(|name| (format!("MTR_COMBINATION_{}", name.to_uppercase()), "1".into())),
        );
        variables.extend(plugins());
        variables
    }
}

/// Further options of a client program.
fn more(variable: &str, folder: &str) -> String {
    match variable {
        "MYSQL_BINLOG" => format!(" --local-load={folder}/tmp"),
        "MYSQL_CLIENT_TEST" => format!(" --testcase --vardir={folder}"),
        _ => String::new(),
    }
}

/// A program's command, empty if it is not installed.
fn tool(program: &str) -> String {
    let path = Path::new(PROGRAMS).join(program);
    let path = if path.is_file() { path.display().to_string() } else { String::new() };
    if program == "mariadb-conv" { format!("{path} --character-sets-dir={SHARE}/charsets") } else { path }
}

/// `HA_EXAMPLE_SO=ha_example.so` for each plugin.
fn plugins() -> Vec<(String, String)> {
    let files = std::fs::read_dir(PLUGINS).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names
        .filter_map(|name| {
            let variable = format!("{}_SO", name.strip_suffix(".so")?.to_uppercase());
            Some((variable, name))
        })
        .collect()
}

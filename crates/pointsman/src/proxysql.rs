//! The command line of the program called `proxysql`: a link with that name takes ProxySQL's
//! options, reads its `proxysql.cnf`, and serves.

use std::env;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Parser};
use config::{Address, Strictness};

use crate::boot::Launch;
use crate::overrides::Overrides;

/// Name of the program that takes this command line.
const NAME: &str = "proxysql";

/// Where the configuration is looked for without `-c`, as in ProxySQL.
const FILES: [&str; 4] = ["proxysql.cnf", "proxysql.cfg", "/etc/proxysql.cnf", "/etc/proxysql.cfg"];

/// The `datadir` that counts if neither the file nor `-D` names one, as in ProxySQL.
const DATADIR: &str = "/var/lib/proxysql";

/// What `--version` says behind `ProxySQL `. Programs look for the number.
const VERSION: &str = concat!("version 2.7.2-pointsman-", env!("CARGO_PKG_VERSION"), ", codename Pointsman");

/// Pointsman under the name of ProxySQL, with ProxySQL's options. It always stays in the
/// foreground.
#[derive(Debug, Parser)]
#[command(name = "ProxySQL", bin_name = NAME, version = VERSION, args_override_self = true)]
#[command(disable_help_flag = true, disable_version_flag = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option without a value")]
pub(crate) struct Cli {
    /// The configuration file [default: proxysql.cnf or proxysql.cfg, here or in /etc]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of the saved configuration [default: that of the file, or /var/lib/proxysql]
    #[arg(short = 'D', long, value_name = "FOLDER")]
    datadir: Option<String>,
    /// Start with the file even if datadir has a saved configuration, which is put aside
    #[arg(long)]
    initial: bool,
    /// Add the rows of the file to the saved configuration, where they replace those with the same
    /// keys
    #[arg(long)]
    reload: bool,
    /// Open the admin port only, and no port for clients
    #[arg(short = 'n', long)]
    no_start: bool,
    /// Check no servers
    #[arg(short = 'M', long)]
    no_monitor: bool,
    /// Listen beside other instances on the same TCP ports (`SO_REUSEPORT`)
    #[arg(short, long)]
    reuseport: bool,
    /// Where the admin port listens, in place of admin-mysql_ifaces
    #[arg(short = 'S', long, value_name = "ADDRESSES", value_parser = addresses)]
    admin_socket: Option<Addresses>,
    /// Print this
    #[arg(short, long, visible_alias = "usage", action = ArgAction::Help)]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(flatten)]
    ignored: Ignored,
}

/// Options that change nothing here. What they ask for is always so, or does not exist.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Accepted without effect")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option without a value")]
struct Ignored {
    /// Stay in the foreground: it always does
    #[arg(short, long)]
    foreground: bool,
    /// Start no other process after a crash: the service manager does
    #[arg(short, long)]
    exit_on_error: bool,
    /// Threads for idle clients: they need none
    #[arg(long)]
    idle_threads: bool,
    /// Do not look for newer versions: it never does
    #[arg(long, alias = "noversioncheck")]
    no_version_check: bool,
    /// Identity in a cluster
    #[arg(short = 'U', short_alias = 'u', long, value_name = "UUID")]
    uuid: Option<String>,
    /// Verbosity of debug builds: the variable `RUST_LOG` has that of this program
    #[arg(short, long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "0")]
    debug: Option<u8>,
    /// File of the saved configuration: it is always in datadir
    #[arg(short, long, value_name = "FILE")]
    admin_pathname: Option<PathBuf>,
    /// A server of SQLite: there is none
    #[arg(long)]
    sqlite3_server: bool,
    /// A server for `ClickHouse`: there is none
    #[arg(long)]
    clickhouse_server: bool,
}

impl Ignored {
    /// The options that were given.
    fn given(&self) -> Vec<&'static str> {
        [
            (self.foreground, "--foreground"),
            (self.exit_on_error, "--exit-on-error"),
            (self.idle_threads, "--idle-threads"),
            (self.no_version_check, "--no-version-check"),
            (self.uuid.is_some(), "--uuid"),
            (self.debug.is_some(), "--debug"),
            (self.admin_pathname.is_some(), "--admin-pathname"),
            (self.sqlite3_server, "--sqlite3-server"),
            (self.clickhouse_server, "--clickhouse-server"),
        ]
        .into_iter()
        .filter_map(|(given, name)| given.then_some(name))
        .collect()
    }
}

/// Addresses in one value, with `;` between them.
type Addresses = Box<[Address]>;

fn addresses(text: &str) -> Result<Addresses, String> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_err(|error: config::InvalidAddress| error.to_string())).collect()
}

/// Whether this program was called `proxysql`.
pub(crate) fn is_the_name() -> bool {
    env::args_os().next().is_some_and(|program| Path::new(&program).file_name() == Some(NAME.as_ref()))
}

impl Cli {
    /// How to serve.
    pub(crate) fn launch(self) -> Launch {
        let [here, others @ ..] = FILES.map(PathBuf::from);
        let found = || others.into_iter().fold(here, |best, next| if best.is_file() { best } else { next });
        let notice = self.notice();
        Launch {
            file: self.config.unwrap_or_else(found),
            strictness: Strictness::Lenient,
            initial: self.initial,
            // As in ProxySQL, a configuration that is begun anew has nothing to add to.
            reload: self.reload && !self.initial,
            beside: self.reuseport,
            overrides: Overrides {
                datadir: self.datadir,
                log_format: None,
                admin: self.admin_socket.map(Vec::from),
                unmonitored: self.no_monitor,
                admin_only: self.no_start,
            },
            usual_datadir: Some(DATADIR),
            notices: vec![notice],
        }
    }

    /// The line of the log about options without effect.
    fn notice(&self) -> String {
        let given = self.ignored.given();
        let options =
            if given.is_empty() { String::new() } else { format!("; no effect: {}", given.join(", ")) };
        format!("called {NAME}: takes ProxySQL's options and stays in the foreground{options}")
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    fn launch(options: &str) -> Launch {
        let words = ["proxysql"].into_iter().chain(options.split_whitespace());
        Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{options}: {error}")).launch()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_of_operators_and_units_are_accepted() {
        let percona = launch("-f -c /etc/proxysql/proxysql.cnf --reload");
        assert_eq!(percona.file, Path::new("/etc/proxysql/proxysql.cnf"));
        assert!(percona.reload && !percona.initial);
        assert_eq!(percona.overrides, Overrides::default());
        let operator = launch("-f -c a.cnf -D /data -e -n -M --idle-threads --no-version-check");
        let overrides = Overrides {
            datadir: Some("/data".to_owned()),
            unmonitored: true,
            admin_only: true,
            ..Overrides::default()
        };
        assert_eq!(operator.overrides, overrides);
        assert!(launch("-c a.cnf --initial --reload").initial);
        assert!(launch("-r -c a.cnf").beside && !launch("-c a.cnf -c b.cnf").beside);
    }

    #[test]
    fn options_without_effect_are_named_in_one_line() {
        let rest = "-d 7 --noversioncheck -u x -a /db --sqlite3-server --clickhouse-server -f -f";
        assert_eq!(
            launch(rest).notices,
            [
                "called proxysql: takes ProxySQL's options and stays in the foreground; no effect: --foreground, \
              --no-version-check, --uuid, --debug, --admin-pathname, --sqlite3-server, --clickhouse-server"
            ]
        );
        assert!(!launch("--reload").notices[0].contains("no effect"));
        assert!(launch("--debug").notices[0].ends_with("no effect: --debug"));
    }

    #[test]
    fn the_admin_port_may_have_several_addresses() {
        let addresses = launch("-S 127.0.0.1:6032;/tmp/admin.sock").overrides.admin.unwrap();
        assert_eq!(addresses, ["127.0.0.1:6032".parse().unwrap(), "/tmp/admin.sock".parse().unwrap()]);
        assert!(Cli::try_parse_from(["proxysql", "-S", "nowhere"]).is_err());
    }

    #[test]
    fn help_and_version_have_all_of_their_names() {
        for name in ["-h", "-help", "--help", "--usage"] {
            let error = Cli::try_parse_from(["proxysql", name]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{name}");
        }
        for name in ["-V", "--version"] {
            let error = Cli::try_parse_from(["proxysql", name]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DisplayVersion, "{name}");
            let text = error.to_string();
            assert!(text.starts_with("ProxySQL version 2.7.2-") && text.contains(", codename "), "{text}");
            assert!(text.contains(admin::VERSION), "{text}");
        }
    }

    #[test]
    fn what_proxysql_does_not_know_is_refused() {
        for options in [["proxysql", "--bootstrap"], ["proxysql", "serve"]] {
            assert!(Cli::try_parse_from(options).is_err());
        }
    }
}

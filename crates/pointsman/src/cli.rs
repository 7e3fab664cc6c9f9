//! The command line of the program called `pointsman`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use config::LogFormat;

use crate::demo::DemoArgs;

/// A MySQL proxy: one binary between applications and their MySQL or MariaDB servers.
#[derive(Debug, Parser)]
#[command(name = "pointsman", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve clients until SIGTERM or Ctrl-C.
    Serve(ServeArgs),
    /// Say whether a configuration file can be used, and what is wrong with it.
    Check(ConfigArgs),
    /// Take the configuration that ProxySQL 2 has saved in its proxysql.db.
    Import(ImportArgs),
    /// Start a MariaDB primary with two replicas, the proxy in front, and a load: see it work.
    Demo(DemoArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// The configuration: a pointsman.toml, a proxysql.cnf, a mysqlrouter.conf, kingshard's file,
    /// or the folder of ShardingSphere-Proxy's files; its content tells which.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Refuse a proxysql.cnf or mysqlrouter.conf with settings that cannot be used, instead of
    /// leaving them out with a warning.
    #[arg(long)]
    pub(crate) strict: bool,
}

impl ConfigArgs {
    /// What becomes of settings that cannot be used.
    pub(crate) const fn strictness(&self) -> config::Strictness {
        if self.strict { config::Strictness::Strict } else { config::Strictness::Lenient }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Start with the file even if datadir has a saved configuration, which is put aside as
    /// pointsman.db.bak.
    #[arg(long)]
    pub(crate) initial: bool,
    /// Add the rows of the file to the saved configuration, where they replace those with the same
    /// keys.
    #[arg(long, conflicts_with = "initial")]
    pub(crate) reload: bool,
    /// Listen beside other instances that were started with this option, on the same TCP ports for
    /// clients (`SO_REUSEPORT`).
    #[arg(long)]
    pub(crate) reuse_port: bool,
    /// Form of the log, in place of `log_format` of the configuration.
    #[arg(long, value_name = "FORM")]
    pub(crate) log_format: Option<LogForm>,
}

/// A form of the log.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum LogForm {
    /// Lines of text.
    Text,
    /// A JSON object in each line.
    Json,
}

impl From<LogForm> for LogFormat {
    fn from(form: LogForm) -> Self {
        match form {
            LogForm::Text => Self::Text,
            LogForm::Json => Self::Json,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The proxysql.db; it is only read.
    #[arg(value_name = "PROXYSQL_DB")]
    pub(crate) database: PathBuf,
    /// Where the saved configuration, pointsman.db, is made.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) datadir: PathBuf,
}

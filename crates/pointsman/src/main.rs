//! `pointsman`, the only binary: the command line, boot, signals.

mod boot;
mod demo;
mod file;
mod log;
mod memory;
mod notify;
mod pidfile;
mod plane;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The system's allocator keeps the pages of a burst of clients for ever; this one gives them back
/// within seconds.
#[global_allocator]
static ALLOCATOR: heap::Heap = heap::Heap;

/// A MySQL proxy: one binary between applications and their MySQL or MariaDB servers.
#[derive(Debug, Parser)]
#[command(name = "pointsman", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve clients until SIGTERM or Ctrl-C.
    Serve(ServeArgs),
    /// Say whether a configuration file can be used, and what is wrong with it.
    Check(ConfigArgs),
    /// Take the configuration that ProxySQL 2 has saved in its proxysql.db.
    Import(ImportArgs),
    /// Start a MariaDB primary with two replicas, the proxy in front, and a load: see it work.
    Demo(demo::DemoArgs),
}

#[derive(Debug, clap::Args)]
struct ConfigArgs {
    /// The configuration: a pointsman.toml, a proxysql.cnf or a mysqlrouter.conf; its content tells
    /// which.
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// Refuse a proxysql.cnf or mysqlrouter.conf with settings that cannot be used, instead of
    /// leaving them out with a warning.
    #[arg(long)]
    strict: bool,
}

impl ConfigArgs {
    /// What becomes of settings that cannot be used.
    const fn strictness(&self) -> config::Strictness {
        if self.strict { config::Strictness::Strict } else { config::Strictness::Lenient }
    }
}

#[derive(Debug, clap::Args)]
struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Start with the file even if datadir has a saved configuration, which is put aside as
    /// pointsman.db.bak.
    #[arg(long)]
    initial: bool,
    /// Add the rows of the file to the saved configuration, where they replace those with the same
    /// keys.
    #[arg(long, conflicts_with = "initial")]
    reload: bool,
    /// Listen beside other instances that were started with this option, on the same TCP ports for
    /// clients (`SO_REUSEPORT`).
    #[arg(long)]
    reuse_port: bool,
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// The proxysql.db; it is only read.
    #[arg(value_name = "PROXYSQL_DB")]
    database: PathBuf,
    /// Where the saved configuration, pointsman.db, is made.
    #[arg(long, value_name = "FOLDER")]
    datadir: PathBuf,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => boot::serve(args),
        Command::Check(args) => boot::check(&args),
        Command::Import(args) => boot::import(&args.database, &args.datadir),
        Command::Demo(args) => demo::run(args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("pointsman: {error:#}");
        ExitCode::FAILURE
    })
}

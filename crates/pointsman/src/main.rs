//! `pointsman`, the only binary: the command line, boot, signals.

mod boot;
mod demo;
mod plane;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The system's allocator keeps the pages of a burst of clients for ever; this one gives them back within seconds.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

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
    Serve(ConfigArgs),
    /// Say whether a configuration file can be used, and what is wrong with it.
    Check(ConfigArgs),
    /// Start a MariaDB primary with two replicas, the proxy in front, and a load: see it work.
    Demo(demo::DemoArgs),
}

#[derive(Debug, clap::Args)]
struct ConfigArgs {
    /// The configuration: a pointsman.toml or a proxysql.cnf; its content tells which.
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => boot::serve(&args.config),
        Command::Check(args) => boot::check(&args.config),
        Command::Demo(args) => demo::run(args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("pointsman: {error:#}");
        ExitCode::FAILURE
    })
}

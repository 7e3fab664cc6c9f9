//! `pointsman`, the only binary: the command line, boot, signals.

mod boot;
mod check;
mod cli;
mod demo;
mod file;
mod log;
mod memory;
mod notify;
mod overrides;
#[cfg(test)]
mod pages;
mod pidfile;
mod program;
mod proxysql;
mod say;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command};

/// The system's allocator keeps the pages of a burst of clients for ever; this one gives them back
/// within seconds.
#[global_allocator]
static ALLOCATOR: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    let outcome = if proxysql::is_the_name() {
        boot::serve(proxysql::Cli::parse().launch())
    } else {
        match Cli::parse().command {
            Command::Serve(args) => boot::serve(args.into()),
            Command::Check(args) => check::check(&args),
            Command::Import(args) => boot::import(&args.database, &args.datadir),
            Command::Demo(args) => demo::run(args),
        }
    };
    outcome.unwrap_or_else(|error| {
        say::complain!("pointsman: {error:#}");
        ExitCode::FAILURE
    })
}

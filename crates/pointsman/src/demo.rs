//! `pointsman demo`: a primary with two replicas, the proxy in front, and a load, on one machine
//! and gone afterwards.
//!
//! The proxy is this same program as a child process, with a configuration file as an operator
//! would write it, so that the demo shows what `pointsman serve` does.

mod cache;
mod display;
mod failover;
mod near;
mod proxy;
mod shards;
mod stage;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use testkit::guard::Sandbox;
use testkit::load::{Group, Load, Mix, Snapshot};
use testkit::mariadb::{self, Binaries};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use crate::say::{complain, say};
use display::Display;
use failover::Failover;
use stage::Stage;

/// How often the display is renewed and everything looked after.
const TICK: Duration = Duration::from_secs(1);
/// What a shell reports for a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

/// What to show.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct DemoArgs {
    /// End by itself after this time, in seconds, with exit code 0 only if no query failed;
    /// otherwise run until Ctrl-C
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: Option<u32>,
    /// Clients of the load
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=1000))]
    connections: u16,
    /// Kill the primary after five seconds of load and promote a replica; show the errors and how
    /// long nothing was written
    #[arg(long)]
    failover: bool,
    /// Cache point selects in two proxies, one near the clients and one near the servers; show
    /// their hits, what reaches the servers, and clients without a cache beside that
    #[arg(long, conflicts_with = "failover")]
    cache: bool,
    /// Split the tables of a shop over four servers; show the rows of each shard, and statements
    /// that go to one shard beside those that go to all
    #[arg(long, conflicts_with_all = ["failover", "cache"])]
    shards: bool,
    /// Where the proxy listens on 127.0.0.1; a free port is taken if another process has this one
    #[arg(long, default_value_t = 6033, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
}

/// Runs the demo. The exit code says whether every query succeeded.
pub(crate) fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    let binaries = mariadb::find()?;
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    let outcome = runtime.block_on(async {
        // Before anything starts, so that after Ctrl-C the demo always cleans up and waits for
        // that.
        let mut signals = Signals::new()?;
        let sandbox = Sandbox::new()?;
        let start = spawn_blocking({
            let sandbox = sandbox.clone();
            move || Started::start(&binaries, &sandbox, args)
        });
        let outcome = tokio::select! {
                   started = start => match started {
                       Ok(Ok(Started::Shop(shop))) => {
        shards::play(args, shop, &sandbox, &mut signals).await }
                       Ok(Ok(Started::Stage(stage))) if args.cache => {
                           cache::play(args, *stage, &sandbox, &mut signals).await
                       }
                       Ok(Ok(Started::Stage(stage))) => play(args, *stage, &sandbox, &mut signals).await,
                       Ok(Err(error)) => Err(error),
                       Err(error) => Err(error.into()),
                   },
                   () = signals.end() => Ok(ExitCode::from(INTERRUPTED)),
               };
        // Ends processes that still work in it, for example for the start that was interrupted.
        sandbox.close();
        outcome
    });
    // Without waiting for a start that was interrupted: its servers are gone, so it has nothing to
    // do.
    runtime.shutdown_background();
    outcome
}

/// What was started.
enum Started {
    Stage(Box<Stage>),
    Shop(shards::Shop),
}

impl Started {
    fn start(binaries: &Binaries, sandbox: &Sandbox, args: DemoArgs) -> anyhow::Result<Self> {
        if args.shards {
            return shards::Shop::start(binaries, sandbox, args).map(Self::Shop);
        }
        Stage::start(binaries, sandbox, args).map(Box::new).map(Self::Stage)
    }
}

/// Loads what was started, shows how it goes, and sums up.
async fn play(
    args: DemoArgs,
    mut stage: Stage,
    sandbox: &Sandbox,
    signals: &mut Signals,
) -> anyhow::Result<ExitCode> {
    let load = Load::start(groups(&stage, args.connections)).context("cannot start the load")?;
    let started = Instant::now();
    stage.invite();
    let mut display = Display::new();
    let watched = tokio::select! {
        failed = watch(args.failover, &mut stage, &load, &mut display) => Err(failed),
        () = until(args.seconds.map(|seconds| started + Duration::from_secs(seconds.into()))) => Ok(()),
        () = signals.end() => Ok(()),
    };
    display.show_rest(&load.snapshot());
    display.end();
    if watched.is_err() {
        // No server answers the load's queries any more: let them fail now, not after a long time.
        sandbox.close();
    }
    let time = started.elapsed();
    let total = tokio::select! {
        total = spawn_blocking(move || load.stop()) => total?,
        () = signals.end() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    watched?;
    table::print(&total, time);
    if args.failover {
        return Ok(failover::verdict(&total));
    }
    Ok(verdict(&total))
}

/// Half of the clients write through the primary, half read from the replicas.
fn groups(stage: &Stage, connections: u16) -> Vec<Group> {
    let readers = usize::from(connections / 2);
    let writers = usize::from(connections) - readers;
    vec![
        Group { options: stage.writer(), connections: writers, mix: Mix::ReadsAndWrites },
        Group { options: stage.reader(), connections: readers, mix: Mix::Reads },
    ]
}

/// Renews the display until something that was started is dead; returns what.
async fn watch(failover: bool, stage: &mut Stage, load: &Load, display: &mut Display) -> anyhow::Error {
    let mut failover = failover.then(Failover::new);
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = stage.check() {
            return error;
        }
        display.show(&load.snapshot());
        if let Some(failover) = &mut failover
            && let Err(error) = failover.tick(stage, load, display)
        {
            return error;
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn verdict(total: &Snapshot) -> ExitCode {
    let stats = total.total();
    if stats.errors == 0 && stats.queries > 0 {
        return ExitCode::SUCCESS;
    }
    complain!("pointsman: {} queries failed", stats.errors);
    if let Some(error) = &total.first_error {
        complain!("pointsman: the first: {error}");
    }
    ExitCode::FAILURE
}

/// Ctrl-C and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

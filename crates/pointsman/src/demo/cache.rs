//! Two query caches one behind the other: one near the clients, one near the servers. Half of the
//! clients read through both, half read without a cache.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::load::{Group, Load, Mix, Snapshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant as Tick, MissedTickBehavior, interval_at};

use super::display::Display;
use super::near::Near;
use super::stage::{Stage, WRITER};
use super::table::{self, millis};
use super::{DemoArgs, Signals, TICK, say, until, verdict};

/// Statements of the clients with caches so far, by what has answered them.
#[derive(Debug, Clone, Copy, Default)]
struct Answered {
    near: u64,
    far: u64,
    servers: u64,
}

/// Both loads.
#[derive(Debug)]
struct Loads {
    with: Load,
    without: Load,
}

/// What both loads have done.
#[derive(Debug, Default)]
struct Done {
    with: Snapshot,
    without: Snapshot,
}

/// Connections to the admin ports.
struct Admins {
    near: Client,
    far: Client,
}

/// Loads what was started, shows how it goes, and sums up.
pub(super) async fn play(
    args: DemoArgs,
    mut stage: Stage,
    sandbox: &Sandbox,
    signals: &mut Signals,
) -> anyhow::Result<ExitCode> {
    let (far, sandbox_of_near) = (stage.address(), sandbox.clone());
    let version = stage.version().to_owned();
    let started = spawn_blocking(move || Near::start(&sandbox_of_near, far, &version)).await?;
    let mut near = started?;
    let mut admins = Admins { near: admin(near.admin()).await?, far: admin(stage.admin()).await? };
    let loads = Loads::start(&stage, &near, args.connections)?;
    let begun = Instant::now();
    stage.invite();
    near.invite();
    let end = args.seconds.map(|seconds| Tick::now() + Duration::from_secs(seconds.into()));
    let mut display = Display::new();
    let watched = tokio::select! {
        failed = watch(&mut stage, &mut near, &mut admins, &loads, &mut display) => Err(failed),
        () = until(end) => Ok(()),
        () = signals.end() => Ok(()),
    };
    display.end();
    if watched.is_err() {
        // No server answers the loads' queries any more: let them fail now.
        sandbox.close();
    }
    let answered = admins.answered().await.unwrap_or_default();
    let time = begun.elapsed();
    let done = spawn_blocking(move || loads.stop()).await?;
    watched?;
    table::print_head();
    table::print_row("with caches", &done.with.total(), time);
    table::print_row("without", &done.without.total(), time);
    say!("\n{}", answered.shown());
    let codes = [verdict(&done.with), verdict(&done.without)];
    Ok(codes.into_iter().find(|code| *code != ExitCode::SUCCESS).unwrap_or(ExitCode::SUCCESS))
}

/// A connection to an admin port.
async fn admin(options: Options) -> anyhow::Result<Client> {
    Client::connect(&options).await.context("cannot log in to an admin port")
}

/// Renews the display until something that was started is dead; returns what.
async fn watch(
    stage: &mut Stage,
    near: &mut Near,
    admins: &mut Admins,
    loads: &Loads,
    display: &mut Display,
) -> anyhow::Error {
    let mut ticks = interval_at(Tick::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut before, mut last) = ((Done::default(), Answered::default()), Instant::now());
    let begun = last;
    loop {
        ticks.tick().await;
        if let Err(error) = stage.check().and_then(|()| near.check()) {
            return error;
        }
        let answered = match admins.answered().await {
            Ok(answered) => answered,
            Err(error) => return error,
        };
        let (done, now) = (loads.snapshot(), Instant::now());
        let seconds = (now - last).as_secs_f64();
        let line = line(&before.0, &done, answered.since(before.1), seconds);
        display.put(&format!("{:>5} s  {line}", (now - begun).as_secs()));
        (before, last) = ((done, answered), now);
    }
}

/// What has happened in so many seconds.
fn line(before: &Done, now: &Done, answered: Answered, seconds: f64) -> String {
    let half = |name: &str, before: &Snapshot, now: &Snapshot| {
        let (before, now) = (before.total(), now.total());
        let rate = per(now.queries - before.queries, seconds);
        let p50 = millis(now.latencies.since(&before.latencies).percentile(50.0));
        (format!("{name} {rate:>6.0} q/s  p50 {p50:>5} ms"), now.errors)
    };
    let (with, errors) = half("with caches", &before.with, &now.with);
    let (without, more_errors) = half("without", &before.without, &now.without);
    let [near, far, _] = answered.percents();
    let reached = per(answered.servers, seconds);
    let hits = format!("hits: near {near:>3.0} %, far {far:>3.0} %, {reached:>5.0} q/s reach servers");
    format!("{with}   {hits}   {without}   {} errors", errors + more_errors)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn per(count: u64, whole: f64) -> f64 {
    count as f64 / whole.max(f64::MIN_POSITIVE)
}

impl Answered {
    const fn since(self, before: Self) -> Self {
        Self {
            near: self.near.saturating_sub(before.near),
            far: self.far.saturating_sub(before.far),
            servers: self.servers.saturating_sub(before.servers),
        }
    }

    /// The parts of each, in percent.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn percents(self) -> [f64; 3] {
        let all = (self.near + self.far + self.servers).max(1) as f64;
        [self.near, self.far, self.servers].map(|part| per(part, all) * 100.0)
    }

    fn shown(self) -> String {
        let [near, far, servers] = self.percents();
        let all = self.near + self.far + self.servers;
        format!(
            "Of {all} statements with caches {near:.1} % were answered by the near cache, {far:.1} % by the far \
             one, and {servers:.1} % reached a server."
        )
    }
}

impl Admins {
    /// What has answered statements so far.
    async fn answered(&mut self) -> anyhow::Result<Answered> {
        let reached = format!(
            "SELECT SUM(count_star) FROM stats_mysql_query_digest WHERE username = '{WRITER}' \
             AND hostgroup >= 0 AND digest_text LIKE 'SELECT name,%price FROM item%'"
        );
        Ok(Answered {
            near: number(&mut self.near, HITS).await?,
            far: number(&mut self.far, HITS).await?,
            servers: number(&mut self.far, &reached).await?,
        })
    }
}

/// Answers from the query cache so far.
const HITS: &str =
    "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Query_Cache_count_GET_OK'";

/// The number that an admin port returns; 0 if it is none.
async fn number(admin: &mut Client, sql: &str) -> anyhow::Result<u64> {
    let result = admin.query(sql).await.context("an admin port does not answer")?;
    Ok(result.first().and_then(|text| text.parse().ok()).unwrap_or_default())
}

impl Loads {
    fn start(stage: &Stage, near: &Near, connections: u16) -> anyhow::Result<Self> {
        let start = |options: Options, connections: u16| {
            let group = Group { options, connections: connections.into(), mix: Mix::PointSelects };
            Load::start(vec![group]).context("cannot start the load")
        };
        let half = connections / 2;
        Ok(Self { with: start(near.clients(), half)?, without: start(stage.reader(), connections - half)? })
    }

    fn snapshot(&self) -> Done {
        Done { with: self.with.snapshot(), without: self.without.snapshot() }
    }

    fn stop(self) -> Done {
        Done { with: self.with.stop(), without: self.without.stop() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_in_percent() {
        let before = Answered { near: 1, far: 1, servers: 1 };
        let answered = Answered { near: 81, far: 16, servers: 6 }.since(before);
        assert_eq!(answered.percents().map(f64::round).map(|part| part.to_string()), ["80", "15", "5"]);
        assert!(answered.shown().starts_with("Of 100 statements with caches 80.0 % were answered"));
        assert!(Answered::default().shown().starts_with("Of 0 statements with caches 0.0 % were answered"));
    }
}

//! A shop whose tables are split over four servers: customers with their orders, items of orders
//! beside them, and products that each server has.

mod load;
mod stage;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use testkit::guard::Sandbox;
use tokio::time::{Instant as Tick, MissedTickBehavior, interval_at};

use super::display::Display;
use super::table::{self, millis};
use super::{DemoArgs, Signals, TICK, say, until};

use load::{Done, Load, Work};
pub(super) use stage::Shop;

/// Number of servers, and of shards of each table.
const SHARDS: u32 = 4;

/// Customers, numbered from 1.
const CUSTOMERS: u64 = 10_000;

/// Products, numbered from 1.
const PRODUCTS: u64 = 100;

/// Loads what was started, shows how it goes, and sums up.
pub(super) async fn play(
    args: DemoArgs,
    mut shop: Shop,
    sandbox: &Sandbox,
    signals: &mut Signals,
) -> anyhow::Result<ExitCode> {
    let mut rows = shop.rows().await?;
    let load = Load::start(&shop.clients(), args.connections);
    let begun = Instant::now();
    shop.invite();
    let end = args.seconds.map(|seconds| Tick::now() + Duration::from_secs(seconds.into()));
    let display = Display::new();
    let watched = tokio::select! {
        failed = watch(&mut shop, &mut rows, &load, &display) => Err(failed),
        () = until(end) => Ok(()),
        () = signals.end() => Ok(()),
    };
    display.end();
    if watched.is_err() {
        // No server answers the load's statements any more: let them fail now.
        sandbox.close();
    }
    let time = begun.elapsed();
    let done = load.stop().await;
    watched?;
    let counts = rows.count().await?;
    table::print_head();
    for work in Work::ALL {
        table::print_row(work.name(), done.of(work), time);
    }
    say!("\nOrders of each shard: {}", shown(&counts));
    Ok(verdict(&done))
}

/// Renews the display until something that was started is dead; returns what.
async fn watch(shop: &mut Shop, rows: &mut stage::Rows, load: &Load, display: &Display) -> anyhow::Error {
    let mut ticks = interval_at(Tick::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let begun = Instant::now();
    let (mut before, mut last) = (Done::default(), begun);
    loop {
        ticks.tick().await;
        if let Err(error) = shop.check() {
            return error;
        }
        let counts = match rows.count().await {
            Ok(counts) => counts,
            Err(error) => return error,
        };
        let (done, now) = (load.done(), Instant::now());
        let line = line(&before, &done, (now - last).as_secs_f64());
        let counts = shown(&counts);
        display.put(&format!("{:>5} s  {line}   orders of each shard: {counts}", (now - begun).as_secs()));
        (before, last) = (done, now);
    }
}

/// What has happened in so many seconds.
fn line(before: &Done, now: &Done, seconds: f64) -> String {
    let part = |name: &str, of: fn(Work) -> bool| {
        let (before, now) = (before.total(of), now.total(of));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let rate = (now.queries - before.queries) as f64 / seconds.max(f64::MIN_POSITIVE);
        let p50 = millis(now.latencies.since(&before.latencies).percentile(50.0));
        format!("{name} {rate:>6.0} q/s  p50 {p50:>5} ms")
    };
    let one = part("one shard", |work| work != Work::Newest);
    let all = part("all shards", |work| work == Work::Newest);
    format!("{one}   {all}   {} errors", now.total(|_| true).errors)
}

/// Numbers of rows, one beside the other.
fn shown(counts: &[u64]) -> String {
    let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
    counts.join("  ")
}

fn verdict(done: &Done) -> ExitCode {
    let total = done.total(|_| true);
    if total.errors == 0 && total.queries > 0 {
        return ExitCode::SUCCESS;
    }
    crate::say::complain!("pointsman: {} queries failed", total.errors);
    if let Some(error) = &done.first_error {
        crate::say::complain!("pointsman: the first: {error}");
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shard_and_all_are_told_apart() {
        let mut done = Done::default();
        for work in [Work::Customer, Work::Customer, Work::Newest] {
            done.note(work, Duration::from_millis(2), &Ok(()));
        }
        done.note(Work::Purchase, Duration::ZERO, &Err("no".to_owned()));
        let line = line(&Done::default(), &done, 1.0);
        assert!(line.starts_with("one shard      2 q/s  p50  2.0"), "{line}");
        assert!(line.contains("all shards      1 q/s") && line.ends_with("1 errors"), "{line}");
        assert_eq!(done.first_error.as_deref(), Some("purchase: no"));
    }
}

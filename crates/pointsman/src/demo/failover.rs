//! The primary dies under load, and a replica takes its place.

use std::process::ExitCode;
use std::time::Instant;

use testkit::load::{Load, Snapshot};

use super::display::Display;
use super::say;
use super::stage::Stage;

/// Seconds of load before it happens.
const AFTER: u32 = 5;

/// How far it is.
#[derive(Debug)]
pub(super) enum Failover {
    /// It happens after so many more ticks.
    Waits(u32),
    /// A replica was promoted at this time, and no client has written since then.
    Promoted(Instant),
    /// Clients write again.
    Over,
}

impl Failover {
    pub(super) const fn new() -> Self {
        Self::Waits(AFTER)
    }

    /// Lets it happen when it is time, and says how it went.
    pub(super) fn tick(&mut self, stage: &mut Stage, load: &Load, display: &Display) -> anyhow::Result<()> {
        match self {
            Self::Waits(ticks) if *ticks > 1 => *ticks -= 1,
            Self::Waits(_) => {
                display.end();
                say!("Killing the primary, and promoting a replica ...");
                let took = stage.fail_over()?;
                say!(
                    "  {} is the primary now, {} ms after the other one was killed",
                    stage.primary(),
                    took.as_millis()
                );
                *self = Self::Promoted(Instant::now());
            }
            Self::Promoted(since) => {
                let snapshot = load.snapshot();
                if snapshot.last_write.is_some_and(|last| last > *since) {
                    display.end();
                    say!(
                        "  clients write again; nothing was written for {} ms; {} errors so far",
                        snapshot.longest_write_pause.as_millis(),
                        snapshot.total().errors
                    );
                    *self = Self::Over;
                }
            }
            Self::Over => {}
        }
        Ok(())
    }
}

/// Sums the errors up. They do not make the demo fail; that nothing was written after them would.
pub(super) fn verdict(total: &Snapshot) -> ExitCode {
    say!("\nErrors ({}):", total.total().errors);
    for (error, count) in &total.errors {
        say!("{count:>6} x {error}");
    }
    say!("Nothing was written for {} ms at most.", total.longest_write_pause.as_millis());
    let now = Instant::now();
    let writes = total.last_write.is_some_and(|last| (now - last).as_secs() < u64::from(AFTER));
    if writes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

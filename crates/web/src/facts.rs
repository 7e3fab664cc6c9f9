//! What the admin engine knows: the configuration that runs, how the layers differ, versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use admin::{Answer, Cell, Engine, Module, Rights, Who};
use config::Config;
use net::clock::unix_ms;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::limits::{
    ANSWER_TIME_MAX, FACTS_INTERVAL, FACTS_SHARE, FACTS_UNSEEN, FACTS_WAIT_MAX, ROWS_MAX, VERSIONS_MAX,
};
use crate::reply::Refusal;

/// What was found at one look.
#[derive(Debug, Default, Clone)]
pub(crate) struct Known {
    /// What the proxy runs with.
    pub(crate) config: Arc<Config>,
    /// The modules that have rows.
    pub(crate) modules: Vec<ModuleState>,
    /// How memory differs from other layers.
    pub(crate) differences: Vec<Difference>,
    /// Differences that are not among them.
    pub(crate) left_out: usize,
    /// Versions, the newest first.
    pub(crate) versions: Vec<Version>,
    /// What the check of memory says: `error` or `warning`, and a sentence.
    pub(crate) check: Vec<[String; 2]>,
    /// Whether changes by admins are refused.
    pub(crate) read_only: bool,
    /// When it was read, in milliseconds of Unix time.
    pub(crate) read_at_ms: u64,
    /// How many changes were told before it was read.
    pub(crate) changes: u64,
    /// When it may be read again; nothing if it was never read.
    again: Option<Instant>,
}

impl Known {
    /// Whether it is good at `now` for samples that no viewer sees.
    fn is_good_unseen(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| now < again + FACTS_UNSEEN)
    }

    /// Whether it is good at `now`, when so many changes were told.
    fn is_fresh(&self, changes: u64, now: Instant) -> bool {
        self.changes >= changes && self.again.is_some_and(|again| now < again)
    }
}

/// A module of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleState {
    /// Its name in statements.
    pub(crate) module: &'static str,
    /// Rows and columns of memory that do not run.
    pub(crate) not_loaded: usize,
    /// Those that are not on disk; 0 without a folder for saved data.
    pub(crate) not_saved: usize,
}

/// A row of `POINTSMAN DIFF`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The module.
    pub(crate) module: &'static str,
    /// The columns: `against`, `table`, `row`, `change`, `column`, `there`, `memory`.
    pub(crate) cells: [Option<String>; 7],
}

/// A version of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// Its number.
    pub(crate) number: u64,
    /// The module.
    pub(crate) module: String,
    /// The admin that loaded it.
    pub(crate) by: String,
    /// When, in milliseconds of Unix time.
    pub(crate) applied_ms: u64,
    /// Whether it is the newest of its module, which runs.
    pub(crate) runs: bool,
}

/// The latest of them, and the task that reads them.
#[derive(Debug)]
pub(crate) struct Facts(Watch);

/// The latest, for the thread that samples.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    latest: watch::Receiver<Arc<Known>>,
    again: Arc<Notify>,
    changes: Arc<AtomicU64>,
}

impl Facts {
    /// Starts the task; it reads when it is asked to.
    pub(crate) fn start(engine: Engine, runtime: &Handle) -> Self {
        let (sender, latest) = watch::channel(Arc::new(Known::default()));
        let again = Arc::new(Notify::new());
        let changes = Arc::new(AtomicU64::new(0));
        let (wake, told) = (Arc::clone(&again), Arc::clone(&changes));
        runtime.spawn(async move {
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    () = wake.notified() => {}
                }
                let changes = told.load(Ordering::SeqCst);
                if let Some(known) = read(&engine).await {
                    sender.send_replace(Arc::new(Known { changes, ..known }));
                }
            }
        });
        Self(Watch { latest, again, changes })
    }

    /// Has them read again if they are old, and waits for that; not for long where an older look
    /// would do.
    ///
    /// Returns how many changes are in them.
    pub(crate) async fn wait(&self) -> Result<u64, Refusal> {
        let mut latest = self.0.latest.clone();
        let old = self.0.known(true);
        let is_fresh = |known: &Arc<Known>| known.is_fresh(self.0.told(), Instant::now());
        let patience = if old.again.is_some() { FACTS_WAIT_MAX } else { ANSWER_TIME_MAX };
        match timeout(patience, latest.wait_for(is_fresh)).await {
            Ok(Ok(known)) => Ok(known.changes),
            Err(_) if old.again.is_some() => Ok(old.changes),
            Ok(Err(_)) | Err(_) => Err(Refusal::busy()),
        }
    }

    /// The configuration may have changed: what was read before is old.
    pub(crate) fn look_again(&self) {
        self.0.changes.fetch_add(1, Ordering::SeqCst);
        self.0.again.notify_one();
    }

    /// The latest, for others.
    pub(crate) fn watch(&self) -> Watch {
        self.0.clone()
    }
}

impl Watch {
    /// The latest; if they are old, they are read again meanwhile. `is_seen`: for a viewer.
    pub(crate) fn known(&self, is_seen: bool) -> Arc<Known> {
        let (known, now) = (self.latest.borrow().clone(), Instant::now());
        if !known.is_fresh(self.told(), now) && (is_seen || !known.is_good_unseen(now)) {
            self.again.notify_one();
        }
        known
    }

    /// Whether they were read once.
    pub(crate) fn is_read(&self) -> bool {
        self.latest.borrow().again.is_some()
    }

    /// How many changes were told.
    fn told(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }
}

/// Reads all of it; nothing if the engine has ended.
async fn read(engine: &Engine) -> Option<Known> {
    let begun = Instant::now();
    let mut known = Known { config: engine.config().await.ok()?, ..Known::default() };
    for module in Module::ALL {
        differences(engine, module, &mut known).await;
    }
    known.left_out = known.differences.len().saturating_sub(ROWS_MAX);
    known.differences.truncate(ROWS_MAX);
    match ask(engine, "POINTSMAN CHECK CONFIG").await {
        Answer::Rows { rows, .. } => known.check.extend(rows.into_iter().filter_map(pair)),
        Answer::Error(error) => known.check.push(["error".to_owned(), error.message]),
        Answer::Ok { .. } | Answer::Close => {}
    }
    known.check.truncate(ROWS_MAX);
    known.versions = versions(engine).await;
    known.read_only = engine.settings().borrow().is_read_only();
    known.read_at_ms = unix_ms();
    known.again = Some(Instant::now() + pause(begun.elapsed()));
    Some(known)
}

/// Time until the next look, after one that took so long.
fn pause(took: Duration) -> Duration {
    FACTS_INTERVAL.max(took.saturating_mul(FACTS_SHARE))
}

async fn ask(engine: &Engine, sql: &str) -> Answer {
    let who = Who { user: "page".to_owned(), rights: Rights::Admin, address: None };
    engine.ask(&who, sql.to_owned()).answer().await
}

/// Adds how memory differs from other layers in `module`.
async fn differences(engine: &Engine, module: Module, known: &mut Known) {
    let words = module.words();
    let rows = match ask(engine, &format!("POINTSMAN DIFF {words}")).await {
        Answer::Rows { rows, .. } => rows,
        Answer::Error(error) => {
            known.check.push(["error".to_owned(), error.message]);
            Vec::new()
        }
        Answer::Ok { .. } | Answer::Close => Vec::new(),
    };
    let has_disk = !known.config.datadir.is_empty();
    let cells = rows.into_iter().filter_map(|row| -> Option<[Option<String>; 7]> {
        row.into_iter().map(|cell| cell.map(text)).collect::<Vec<_>>().try_into().ok()
    });
    let (mut not_loaded, mut not_saved) = (0, 0);
    for cells in cells {
        match &cells {
            [Some(against), ..] if against == "disk" => {
                if !has_disk {
                    continue;
                }
                not_saved += 1;
            }
            _ => not_loaded += 1,
        }
        known.differences.push(Difference { module: words, cells });
    }
    known.modules.push(ModuleState { module: words, not_loaded, not_saved });
}

async fn versions(engine: &Engine) -> Vec<Version> {
    let sql = format!(
        "SELECT version, module, applied_at, username FROM disk.pointsman_versions ORDER BY version DESC LIMIT {VERSIONS_MAX}"
    );
    let Answer::Rows { rows, .. } = ask(engine, &sql).await else { return Vec::new() };
    let mut versions: Vec<Version> = Vec::new();
    for row in rows {
        let Ok([Some(version), Some(module), Some(applied), Some(by)]) = <[Cell; 4]>::try_from(row) else {
            continue;
        };
        let module = text(module);
        let runs = versions.iter().all(|newer| newer.module != module);
        let number = |cell| text(cell).parse::<u64>().unwrap_or(0);
        let applied_ms = number(applied).saturating_mul(1000);
        versions.push(Version { number: number(version), module, by: text(by), applied_ms, runs });
    }
    versions
}

fn pair(row: Vec<Cell>) -> Option<[String; 2]> {
    let cells: [Cell; 2] = row.try_into().ok()?;
    Some(cells.map(|cell| text(cell.unwrap_or_default())))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_good_until_its_time_or_a_change() {
        let now = Instant::now();
        let read = Known { changes: 3, again: Some(now + FACTS_INTERVAL), ..Known::default() };
        assert!(read.is_fresh(3, now) && !read.is_fresh(4, now) && !read.is_fresh(3, now + FACTS_INTERVAL));
        assert!(!Known::default().is_fresh(0, now), "never read");
        let (end, first) = (now + FACTS_INTERVAL + FACTS_UNSEEN, Known::default());
        assert!(!first.is_good_unseen(now) && read.is_good_unseen(now + FACTS_INTERVAL));
        assert!(!read.is_good_unseen(end));
    }

    #[test]
    fn large_configurations_are_looked_at_less_often() {
        assert_eq!(pause(Duration::from_millis(3)), FACTS_INTERVAL);
        assert_eq!(pause(Duration::from_secs(1)), Duration::from_secs(50));
    }
}

//! What the admin engine knows: the configuration that runs, how the layers differ, versions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::{Answer, Cell, Engine, Module, Rights, Who};
use config::Config;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::access::unix_ms;
use crate::limits::{ANSWER_TIME_MAX, FACTS_INTERVAL, FACTS_SHARE, ROWS_MAX, VERSIONS_MAX};
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
    /// When it may be read again.
    again: Option<Instant>,
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
}

impl Facts {
    /// Starts the task; it reads when it is asked to.
    pub(crate) fn start(engine: Engine, runtime: &Handle) -> Self {
        let (sender, latest) = watch::channel(Arc::new(Known::default()));
        let again = Arc::new(Notify::new());
        let wake = Arc::clone(&again);
        runtime.spawn(async move {
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    () = wake.notified() => {}
                }
                if let Some(known) = read(&engine).await {
                    sender.send_replace(Arc::new(known));
                }
            }
        });
        Self(Watch { latest, again })
    }

    /// Waits for the first look, and has them read again if they are old.
    pub(crate) async fn wait(&self) -> Result<(), Refusal> {
        let mut latest = self.0.latest.clone();
        self.0.known();
        match timeout(ANSWER_TIME_MAX, latest.wait_for(|known| known.again.is_some())).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Refusal::busy()),
        }
    }

    /// Has them read again.
    pub(crate) fn look_again(&self) {
        self.0.again.notify_one();
    }

    /// The latest, for others.
    pub(crate) fn watch(&self) -> Watch {
        self.0.clone()
    }
}

impl Watch {
    /// The latest; if they are old, they are read again meanwhile.
    pub(crate) fn known(&self) -> Arc<Known> {
        let known = self.latest.borrow().clone();
        if known.again.is_none_or(|again| Instant::now() >= again) {
            self.again.notify_one();
        }
        known
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
    fn large_configurations_are_looked_at_less_often() {
        assert_eq!(pause(Duration::from_millis(3)), FACTS_INTERVAL);
        assert_eq!(pause(Duration::from_secs(1)), Duration::from_secs(50));
    }
}

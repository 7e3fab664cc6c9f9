//! Logs of statements: what the configuration says about them, and a record of a statement that is over.
//!
//! What is written where, and by whom, is in the crate [`querylog`].

use std::path::{Path, PathBuf};

use config::Config;
use querylog::{Format, LogFile, Policy, QueryLog, Settings};

/// What the configuration says.
#[derive(Debug)]
pub(crate) struct LogSettings {
    #[expect(dead_code, reason = "asked when a statement is over")]
    pub(crate) policy: Policy,
    /// Bytes of a statement that records keep.
    #[expect(dead_code, reason = "asked when a statement is over")]
    text_max: usize,
    files: Settings,
}

impl LogSettings {
    pub(crate) fn new(config: &Config) -> Self {
        let (variables, pointsman) = (&config.variables, &config.pointsman);
        let file = |name: &str, size_max: u32| {
            (!name.is_empty())
                .then(|| LogFile { base: path(&config.datadir, name), size_max: size_max.into() })
        };
        let files = Settings {
            events: file(&variables.eventslog_filename, variables.eventslog_filesize),
            format: if variables.eventslog_format == 2 { Format::Json } else { Format::Binary },
            slow: file(&pointsman.slow_log_filename, pointsman.slow_log_filesize),
        };
        let policy = Policy {
            events: files.events.is_some(),
            default_log: variables.eventslog_default_log == 1,
            events_sample: pointsman.eventslog_sample,
            slow: files.slow.is_some(),
            slow_sample: pointsman.slow_log_sample,
        };
        Self { policy, text_max: usize::try_from(pointsman.log_text_max).unwrap_or(usize::MAX), files }
    }
}

/// Files with a relative name are in the folder of the process's files.
fn path(datadir: &str, name: &str) -> PathBuf {
    Path::new(datadir).join(name)
}

/// The logs of a proxy that starts.
pub(crate) fn start(settings: &LogSettings) -> QueryLog {
    let logs = QueryLog::default();
    configure(&logs, settings);
    logs
}

/// Writes to these files from now on.
pub(crate) fn configure(logs: &QueryLog, settings: &LogSettings) {
    if let Err(error) = logs.configure(&settings.files) {
        tracing::error!(%error, "the thread that writes the query log cannot be started; there is none");
    }
}

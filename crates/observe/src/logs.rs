//! Logs: what the configuration says about them, the logs of a process, and statements that are
//! over.
//!
//! What is written where, and by whom, is in the crate [`querylog`].

use std::path::Path;
use std::time::{Duration, Instant};

use config::Config;
use otlp::Exporter;
use querylog::{Format, LateError, LogFile, Logs, Policy, QueryLog, Recent, Settings};
use sql::StatementKind;
use wire::reply::{End, Outcome};

use crate::limits::SHOWN_BYTES_MAX;
use crate::running::Measured;

/// Statements that become spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// Of statements without a parent, one in so many; 0: none.
    pub sample: u32,
    /// Where spans are sent, `host:port`.
    collectors: Vec<String>,
}

/// What the configuration says.
#[derive(Debug)]
pub struct LogSettings {
    /// Which statements are logged.
    pub policy: Policy,
    /// Which are traced; nothing if there is no collector.
    pub traces: Option<Traces>,
    /// Whether any are logged or traced: if not, nothing needs to be asked.
    pub is_any: bool,
    /// Bytes of a statement that records keep.
    pub text_max: usize,
    /// Records that are kept in memory, and bytes of a statement that these keep.
    recent: (usize, usize),
    files: Settings,
    /// Those of the audit log.
    audit: Settings,
}

impl LogSettings {
    /// What `config` says about logs.
    pub fn new(config: &Config) -> Self {
        let (variables, pointsman) = (&config.variables, &config.pointsman);
        // Files with a relative name are in the folder of the process's files.
        let path = |name: &str| Path::new(&config.datadir).join(name);
        let file = |name: &str, size_max: u32| {
            (!name.is_empty()).then(|| LogFile { base: path(name), size_max: size_max.into() })
        };
        let files = Settings {
            events: file(&variables.eventslog_filename, variables.eventslog_filesize),
            format: if variables.eventslog_format == 2 { Format::Json } else { Format::Binary },
            slow: file(&pointsman.slow_log_filename, pointsman.slow_log_filesize),
            audit: None,
        };
        let audit = Settings {
            audit: file(&variables.auditlog_filename, variables.auditlog_filesize),
            ..Settings::default()
        };
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let recent = (
            count(variables.eventslog_buffer_history_size),
            count(variables.eventslog_buffer_max_query_length),
        );
        let policy = Policy {
            events: files.events.is_some() || recent.0 > 0,
            default_log: variables.eventslog_default_log == 1,
            events_sample: pointsman.eventslog_sample,
            slow: files.slow.is_some(),
            slow_sample: pointsman.slow_log_sample,
        };
        let text_max = usize::try_from(pointsman.log_text_max).unwrap_or(usize::MAX);
        let collectors: Vec<_> = pointsman.otlp_address.iter().map(ToString::to_string).collect();
        let traces = (!collectors.is_empty()).then_some(Traces { sample: pointsman.otlp_sample, collectors });
        let is_any = policy.is_any() || traces.is_some();
        Self { policy, traces, is_any, text_max, recent, files, audit }
    }

    /// Whether clients that come and go are logged.
    pub const fn audits(&self) -> bool {
        self.audit.audit.is_some()
    }

    /// Whether the newest records are kept in memory, and how many bytes of a statement they keep.
    pub fn recent_text_max(&self) -> Option<usize> {
        (self.recent.0 > 0).then_some(self.recent.1)
    }

    /// Whether records for these logs go to a file.
    pub const fn writes(&self, logs: Logs) -> bool {
        logs.slow || self.files.events.is_some()
    }

    /// Bytes of a running statement that are kept: as many as lists of sessions show, or as logs
    /// need.
    pub const fn text_kept(&self) -> usize {
        if self.is_any && self.text_max > SHOWN_BYTES_MAX { self.text_max } else { SHOWN_BYTES_MAX }
    }
}

/// The logs of a process. Each has a queue and a thread of its own.
#[derive(Debug)]
pub struct LogWriters {
    /// The query log and the slow log.
    pub statements: QueryLog,
    /// The newest records of the query log.
    pub recent: Recent,
    /// The audit log.
    pub audit: QueryLog,
    /// Spans of statements.
    pub spans: Exporter,
}

impl LogWriters {
    /// The logs of a proxy that starts.
    pub fn new(settings: &LogSettings) -> Self {
        let logs = Self {
            statements: QueryLog::default(),
            recent: Recent::default(),
            audit: QueryLog::for_audit(),
            spans: Exporter::default(),
        };
        logs.configure(settings);
        logs
    }

    /// Writes to these files from now on.
    pub fn configure(&self, settings: &LogSettings) {
        self.recent.configure(settings.recent.0);
        let collectors = settings.traces.as_ref().map_or(&[][..], |traces| &traces.collectors);
        if let Err(error) = self.spans.configure(collectors) {
            tracing::error!(%error, "the thread that sends spans cannot be started; there are none");
        }
        for (log, name, files) in
            [(&self.statements, "query log", &settings.files), (&self.audit, "audit log", &settings.audit)]
        {
            if let Err(error) = log.configure(files) {
                tracing::error!(%error, "the thread that writes the {name} cannot be started; there is none");
            }
        }
    }

    /// Begins new files. Blocks until it is done, but not for longer than `wait`.
    pub fn rotate(&self, wait: Duration) -> Result<(), LateError> {
        QueryLog::rotate_all(&[&self.statements, &self.audit], wait)
    }

    /// Writes what is left, within `wait` for all of it. Files are first: a collector that hangs
    /// costs no record of a log. Returns which logs were late, and warns of them.
    pub fn end(&self, wait: Duration) -> Vec<LateError> {
        let begun = Instant::now();
        let late = QueryLog::end_all(&[&self.statements, &self.audit], wait);
        for error in &late {
            tracing::warn!(%error, "what is left of a log is lost");
        }
        if !self.spans.flush(wait.saturating_sub(begun.elapsed())) {
            tracing::warn!("spans that are left are lost: no collector has taken them in time");
        }
        late
    }
}

/// A statement that is over, as far as it is not known of its session.
#[derive(Debug)]
pub struct Over {
    /// What it was.
    pub measured: Measured,
    /// How long it took.
    pub took: Duration,
    /// When it was over.
    pub at: tokio::time::Instant,
    /// Whether the query cache has answered.
    pub is_hit: bool,
    /// How the server has answered; nothing if the proxy has.
    pub outcome: Option<Outcome>,
    /// The number of the error that the proxy itself has answered; 0 if there is none.
    pub own_error: u16,
}

impl Over {
    /// How it has ended, as logs have it.
    pub fn outcome(&self) -> querylog::Outcome {
        match self.outcome {
            Some(outcome) => ending(outcome, self.measured.statement),
            None => querylog::Outcome { error: self.own_error, ..querylog::Outcome::default() },
        }
    }
}

/// What the last packet says. Of an OK packet it does not tell whether there was a result without
/// rows before it, so the statement has to.
fn ending(outcome: Outcome, statement: Option<StatementKind>) -> querylog::Outcome {
    let rows = Some(outcome.rows);
    match outcome.end {
        End::Ok { affected_rows, last_insert_id, .. } => {
            let has_result = outcome.rows > 0 || statement.is_some_and(has_result);
            let rows_affected = (!has_result).then_some(affected_rows);
            let rows_sent = rows.filter(|_| has_result);
            querylog::Outcome { rows_affected, last_insert_id, rows_sent, error: 0 }
        }
        End::Eof { .. } => querylog::Outcome { rows_sent: rows, ..querylog::Outcome::default() },
        End::Err { code } => querylog::Outcome { error: code, ..querylog::Outcome::default() },
        End::Other => querylog::Outcome::default(),
    }
}

/// Whether such statements have a result, even if it has no rows.
const fn has_result(statement: StatementKind) -> bool {
    matches!(
        statement,
        StatementKind::Select
            | StatementKind::SelectForUpdate
            | StatementKind::Show
            | StatementKind::ShowTableStatus
            | StatementKind::Explain
            | StatementKind::Describe
    )
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::TcpListener;
    use std::process::Command;

    use config::Address;
    use otlp::{Span, Times};
    use querylog::{AuditEvent, AuditRecord, Logs, Port, Record};

    use super::*;

    /// Nothing here takes that long.
    const WAIT: Duration = Duration::from_secs(30);

    /// One of them is stuck: the order to the other one was given after the wait for it.
    #[test]
    fn all_logs_begin_new_files_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut config = Config { datadir: folder.path().to_str().unwrap().to_owned(), ..Config::default() };
        (config.variables.eventslog_filename, config.variables.auditlog_filename) =
            ("queries".to_owned(), "pipe".to_owned());
        let logs = LogWriters::new(&LogSettings::new(&config));
        assert!(logs.statements.offer(Box::new(Record::of(b"DO 1", Logs { events: true, slow: false }))));
        let close = || Box::new(AuditRecord::of(AuditEvent::Close(Port::Traffic), 0, 1));
        // More than the pipe takes.
        while logs.audit.offer_audit(close()) {}
        std::thread::scope(|scope| {
            let rotating = scope.spawn(|| logs.rotate(WAIT));
            let begun = Instant::now();
            while !folder.path().join("queries.00000002").exists() {
                assert!(begun.elapsed() < WAIT / 2, "the query log waits for the audit log");
                std::thread::sleep(Duration::from_millis(1));
            }
            let read = || std::io::copy(&mut File::open(&pipe).unwrap(), &mut std::io::sink());
            scope.spawn(read);
            rotating.join().unwrap().unwrap();
            assert_eq!(logs.end(WAIT), []);
        });
    }

    /// The collector accepts connections, and never answers.
    #[test]
    fn a_collector_that_hangs_makes_no_log_late() {
        let collector = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config { datadir: folder.path().to_str().unwrap().to_owned(), ..Config::default() };
        config.variables.auditlog_filename = "audit".to_owned();
        let address = Address::Tcp(collector.local_addr().unwrap());
        config.pointsman.otlp_address = vec![address];
        let logs = LogWriters::new(&LogSettings::new(&config));
        logs.spans.offer(span());
        let _hanging = collector.accept().unwrap();
        assert!(logs.audit.offer_audit(Box::new(AuditRecord::of(AuditEvent::Close(Port::Traffic), 0, 1))));
        assert_eq!(logs.end(Duration::from_secs(2)), []);
        assert_eq!(logs.audit.counts().written, 1);
    }

    fn span() -> Box<Span> {
        Box::new(Span {
            parent: None,
            trace: 1,
            id: 1,
            times: Times { waited: None, took: Duration::ZERO, end: Duration::ZERO },
            digest: String::new(),
            command: "COM_QUERY",
            schema: String::new(),
            user: String::new(),
            client: String::new(),
            server: None,
            rule: None,
            is_hit: false,
            rows: None,
            error: 0,
        })
    }
}

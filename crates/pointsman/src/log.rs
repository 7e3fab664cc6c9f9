//! The process's own log: standard error, and from when the configuration is known the file that
//! `errorlog` names.

mod lines;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{panic, thread};

use config::LogFormat;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, fmt, reload};

use lines::Lines;

/// The part of the log that makes and writes lines.
type Layer = fmt::Layer<Registry, fmt::format::DefaultFields, Lines, Output>;

/// Where the log goes, which may change.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    form: LogFormat,
    output: Output,
    lines: reload::Handle<Layer, Registry>,
}

/// Where lines go.
#[derive(Debug, Clone, Default)]
struct Output(Arc<Mutex<Option<LogFile>>>);

/// A file that lines are added to.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { path: path.to_path_buf(), file })
    }
}

impl Output {
    /// Nothing in there is left half done by a panic.
    fn file(&self) -> MutexGuard<'_, Option<LogFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Output {
    /// A line, which comes as a whole. One that the file does not take is not lost.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.file().as_mut().map(|log| log.file.write_all(line));
        match written {
            Some(Ok(())) => Ok(line.len()),
            Some(Err(_)) | None => stderr().write(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> fmt::MakeWriter<'a> for Output {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Begins to log to standard error, one line each; `RUST_LOG` changes what is logged.
    pub(crate) fn begin(form: LogFormat) -> Self {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        let output = Output::default();
        let (layer, lines) = reload::Layer::new(layer(output.clone(), form));
        tracing_subscriber::registry().with(layer).with(filter).init();
        log_panics();
        Self { form, output, lines }
    }

    /// The form of its lines.
    pub(crate) const fn form(&self) -> LogFormat {
        self.form
    }

    /// Goes on in this form, at standard error.
    pub(crate) fn go_on_as(&mut self, form: LogFormat) {
        self.form = form;
        // Fails only where there is no log any more.
        let _ = self.lines.modify(|lines| *lines = layer(self.output.clone(), form));
    }

    /// Goes on in the file at `path`; an empty one names none. A proxy that cannot write there
    /// serves nevertheless, and logs where it did before.
    pub(crate) fn go_on_in(&self, path: &str) {
        if path.is_empty() {
            return;
        }
        match LogFile::open(Path::new(path)) {
            Ok(file) => {
                tracing::info!(errorlog = path, "the log goes on in this file");
                // Fails only where there is no log any more.
                let _ = self.lines.modify(|lines| lines.set_ansi(false));
                *self.output.file() = Some(file);
            }
            Err(error) => {
                tracing::warn!(errorlog = path, %error, "the log goes on here: the file cannot be written");
            }
        }
    }

    /// Opens the file anew, as logrotate may have given it another name.
    pub(crate) fn reopen(&self) {
        let Some(path) = self.output.file().as_ref().map(|log| log.path.clone()) else { return };
        match LogFile::open(&path) {
            Ok(file) => *self.output.file() = Some(file),
            Err(error) => {
                tracing::warn!(errorlog = %path.display(), %error, "the log goes on in its old file");
            }
        }
    }
}

/// Lines of this form, coloured at a terminal.
fn layer(output: Output, form: LogFormat) -> Layer {
    fmt::layer()
        .event_format(Lines::from(form))
        .with_writer(output)
        .with_ansi(stderr().is_terminal() && form == LogFormat::Text)
}

/// From now on bugs that end what a thread does are in the log, wherever that goes; with
/// `RUST_BACKTRACE` and the way to them.
fn log_panics() {
    panic::set_hook(Box::new(|bug| {
        let thread = thread::current();
        let thread = thread.name().unwrap_or("without a name");
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            tracing::error!(thread, "{bug}\n{backtrace}");
        } else {
            tracing::error!(thread, "{bug}");
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_to_the_file_that_has_the_name_now() {
        let folder = std::env::temp_dir().join(format!("pointsman-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, old) = (folder.join("error.log"), folder.join("error.log.1"));
        let mut output = Output::default();
        *output.file() = Some(LogFile::open(&path).unwrap());
        output.write_all(b"one\n").unwrap();
        std::fs::rename(&path, &old).unwrap();
        output.write_all(b"two\n").unwrap();
        let (_, lines) = reload::Layer::new(layer(output.clone(), LogFormat::Text));
        Log { form: LogFormat::Text, output: output.clone(), lines }.reopen();
        output.write_all(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "one\ntwo\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

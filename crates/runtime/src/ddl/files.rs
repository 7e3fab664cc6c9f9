//! Records of definitions in `datadir`: a file for each, of a line with the record and a line for
//! each state that a node has come to. A file is there as long as its definition has not ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{from_str, to_value};

use super::record::{Record, State};
use crate::limits::DDL_RECORD_BYTES_MAX;

/// Names of the files, around the id.
const PREFIX: &str = "pointsman_ddl_";
const SUFFIX: &str = ".jsonl";

/// The folder; without one nothing is written.
#[derive(Debug, Default)]
pub(super) struct Files(Option<PathBuf>);

/// A line of a file behind the record: a node has come so far.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    step: usize,
    state: State,
    error: String,
}

impl Files {
    pub(super) const fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// Whether records outlast the process.
    pub(super) const fn are_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Writes a new record. It is on disk when this returns.
    pub(super) fn create(&self, record: &Record) -> io::Result<()> {
        let Some(path) = self.path(record.id) else { return Ok(()) };
        let line = format!("{}\n", to_value(record)?);
        if line.len() > DDL_RECORD_BYTES_MAX {
            return Err(io::Error::other(format!("it has more than {DDL_RECORD_BYTES_MAX} bytes")));
        }
        // Statements may have secrets.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        self.sync_folder()
    }

    /// Adds the state of a node.
    pub(super) fn append(&self, id: u64, step: usize, state: State, error: &str) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        let mut file = OpenOptions::new().append(true).open(path)?;
        writeln!(file, "{}", to_value(Mark { step, state, error: error.into() })?)?;
        file.sync_data()
    }

    /// Removes a record; one that is not there is removed already.
    pub(super) fn remove(&self, id: u64) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.sync_folder(),
        }
    }

    /// All records. What cannot be read is logged, and stays where it is.
    pub(super) fn read_all(&self) -> Vec<Record> {
        let Some(folder) = self.0.as_deref() else { return Vec::new() };
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let is_record = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(PREFIX) && name.ends_with(SUFFIX)
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_record);
        paths.filter_map(|path| read(&path)).collect()
    }

    fn path(&self, id: u64) -> Option<PathBuf> {
        Some(self.0.as_deref()?.join(format!("{PREFIX}{id}{SUFFIX}")))
    }

    /// A file that was made or removed is so behind a crash, too.
    fn sync_folder(&self) -> io::Result<()> {
        self.0.as_deref().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

/// The record in a file.
fn read(path: &Path) -> Option<Record> {
    let record = lines(path).map(|text| record_of(&text));
    match record {
        Ok(Some(record)) => Some(record),
        Ok(None) => {
            tracing::error!(file = %path.display(), "this is no record of a definition");
            None
        }
        Err(error) => {
            tracing::error!(file = %path.display(), %error, "the record of a definition cannot be read");
            None
        }
    }
}

fn lines(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let limit = u64::try_from(DDL_RECORD_BYTES_MAX).unwrap_or(u64::MAX).saturating_mul(2);
    File::open(path)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

/// A last line that is cut says nothing: its write has not come to its end.
pub(super) fn record_of(text: &str) -> Option<Record> {
    let mut lines = text.lines();
    let mut record: Record = from_str(lines.next()?).ok()?;
    for line in lines {
        match from_str::<Mark>(line) {
            Ok(mark) => record.note(mark.step, mark.state, &mark.error),
            Err(error) if error.is_data() => return None,
            Err(_) => break,
        }
    }
    Some(record)
}

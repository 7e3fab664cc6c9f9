//! The files of one log: opened when there is something to write, numbered, closed when they are
//! long enough.

use std::fs::{File, OpenOptions, create_dir_all, read_dir};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::Instant;

use crate::limits::{COMPLAINT_INTERVAL, NUMBERS_TRIED_MAX, RETRY, WRITE_BYTES};
use crate::{LogFile, numbers};

/// What may read a log: statements hold what others must not see.
const MODE: u32 = 0o640;

/// One log.
#[derive(Debug)]
pub(crate) struct Output {
    /// What it is called in messages.
    name: &'static str,
    settings: LogFile,
    open: Option<Open>,
    /// Records that are to be written at once, and how many.
    buffer: Vec<u8>,
    buffered: u64,
    /// Not before this time a file is tried again.
    retry_at: Option<Instant>,
    /// When the last complaint was logged.
    complained: Option<Instant>,
}

/// A file that is written.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    /// Whether it has a number; pipes and devices have none, and no end.
    numbered: bool,
    len: u64,
}

/// What became of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Done {
    pub(crate) written: u64,
    /// Those that could not be written.
    pub(crate) failed: u64,
}

impl Output {
    pub(crate) const fn new(name: &'static str, settings: LogFile) -> Self {
        let (open, retry_at, complained) = (None, None, None);
        Self { name, settings, open, buffer: Vec::new(), buffered: 0, retry_at, complained }
    }

    pub(crate) const fn settings(&self) -> &LogFile {
        &self.settings
    }

    /// Other files may be longer from now on, or not as long.
    pub(crate) const fn set_size_max(&mut self, size_max: u64) {
        self.settings.size_max = size_max;
    }

    /// Takes the bytes of a record, and writes if there are enough.
    pub(crate) fn add(&mut self, record: &[u8], now: Instant) -> Done {
        let mut done = Done::default();
        let long = self.open.as_ref().map_or(0, |open| open.len) + self.buffer.len() as u64;
        let is_numbered = self.open.as_ref().is_none_or(|open| open.numbered);
        if is_numbered && long > 0 && long + record.len() as u64 > self.settings.size_max {
            done = self.flush(now);
            self.close();
        }
        self.buffer.extend_from_slice(record);
        self.buffered += 1;
        if self.buffer.len() >= WRITE_BYTES {
            let more = self.flush(now);
            done = Done { written: done.written + more.written, failed: done.failed + more.failed };
        }
        done
    }

    /// Writes what it has taken, opening a file if there is none.
    pub(crate) fn flush(&mut self, now: Instant) -> Done {
        let records = std::mem::take(&mut self.buffered);
        if records == 0 {
            return Done::default();
        }
        let outcome = self.write(now);
        self.buffer.clear();
        match outcome {
            Ok(()) => Done { written: records, failed: 0 },
            Err(error) => {
                if let Some(error) = error {
                    self.failed(&error, now);
                }
                Done { written: 0, failed: records }
            }
        }
    }

    fn failed(&mut self, error: &io::Error, now: Instant) {
        self.retry_at = Some(now + RETRY);
        self.complain(error, now);
    }

    /// Opens a file if there is none, so that the operator who configured it learns now what is
    /// wrong with it.
    pub(crate) fn prepare(&mut self, now: Instant) {
        if self.open.is_some() {
            return;
        }
        match open(&self.settings, self.name) {
            Ok(open) => self.open = Some(open),
            Err(error) => self.failed(&error, now),
        }
    }

    /// The next record begins a new file, unless this one is empty.
    pub(crate) fn rotate(&mut self, now: Instant) {
        if self.open.as_ref().is_none_or(|open| open.len > 0 || !open.numbered) {
            self.close();
            self.prepare(now);
        }
    }

    /// The next record begins a new file.
    fn close(&mut self) {
        self.open = None;
        self.retry_at = None;
    }

    /// Fails without an error if it is too early to try again.
    fn write(&mut self, now: Instant) -> Result<(), Option<io::Error>> {
        if self.retry_at.is_some_and(|at| now < at) {
            return Err(None);
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(open(&self.settings, self.name)?),
        };
        match open.file.write_all(&self.buffer) {
            Ok(()) => {
                open.len += self.buffer.len() as u64;
                self.retry_at = None;
                Ok(())
            }
            Err(error) => {
                // What was written of it goes, so that a full disk leaves no half records.
                if !open.numbered || open.file.set_len(open.len).is_err() {
                    self.open = None;
                }
                Err(Some(error))
            }
        }
    }

    fn complain(&mut self, error: &io::Error, now: Instant) {
        if self.complained.is_some_and(|at| now.duration_since(at) < COMPLAINT_INTERVAL) {
            return;
        }
        self.complained = Some(now);
        let path = self.open.as_ref().map_or(&self.settings.base, |open| &open.path).display();
        tracing::error!(%path, %error, "the {} cannot be written; records are lost and counted", self.name);
    }
}

/// Opens the next file of a log, or what else has its name.
fn open(settings: &LogFile, name: &str) -> io::Result<Open> {
    let base = &settings.base;
    if base.metadata().is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_char_device()
    }) {
        // For reading as well: to open a pipe without a reader would wait for a reader.
        let file = OpenOptions::new().read(true).write(true).open(base)?;
        return Ok(Open { file, path: base.clone(), numbered: false, len: 0 });
    }
    if let Some(folder) = base.parent() {
        create_dir_all(folder)?;
    }
    let first = next_number(base)?;
    for number in first..first.saturating_add(NUMBERS_TRIED_MAX) {
        let path = numbers::path(base, number);
        match OpenOptions::new().append(true).create_new(true).mode(MODE).open(&path) {
            Ok(file) => {
                tracing::info!(path = %path.display(), "the {name} goes on in a new file");
                return Ok(Open { file, path, numbered: true, len: 0 });
            }
            // Another process with the same name for its log was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn next_number(base: &std::path::Path) -> io::Result<u32> {
    let folder = base.parent().filter(|folder| !folder.as_os_str().is_empty());
    let names = read_dir(folder.unwrap_or_else(|| ".".as_ref()))?;
    Ok(numbers::next(base, names.filter_map(|entry| entry.ok().map(|entry| entry.file_name()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(folder: &tempfile::TempDir, size_max: u64) -> Output {
        Output::new("query log", LogFile { base: folder.path().join("q"), size_max })
    }

    fn read(folder: &tempfile::TempDir, number: u32) -> String {
        std::fs::read_to_string(numbers::path(&folder.path().join("q"), number)).unwrap()
    }

    fn names(folder: &tempfile::TempDir) -> usize {
        read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn files_end_before_they_are_too_long() {
        let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
        let mut output = output(&folder, 10);
        let mut written = 0;
        for record in ["12345\n", "678\n", "9\n", "a record that is longer than a file\n", "b\n"] {
            written += output.add(record.as_bytes(), now).written;
        }
        written += output.flush(now).written;
        assert_eq!(written, 5);
        assert_eq!(read(&folder, 1), "12345\n678\n");
        assert_eq!(read(&folder, 2), "9\n");
        assert_eq!(read(&folder, 3), "a record that is longer than a file\n");
        assert_eq!(read(&folder, 4), "b\n");
    }

    #[test]
    fn no_file_is_made_for_nothing_and_none_is_written_twice() {
        let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
        let mut first = output(&folder, 1000);
        assert_eq!(first.flush(now), Done::default());
        first.close();
        assert_eq!(names(&folder), 0);
        first.add(b"one\n", now);
        first.flush(now);
        first.close();
        first.add(b"two\n", now);
        first.flush(now);
        let mut second = output(&folder, 1000);
        second.add(b"three\n", now);
        second.flush(now);
        assert_eq!([read(&folder, 1), read(&folder, 2), read(&folder, 3)], ["one\n", "two\n", "three\n"]);
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_tried_again_later() {
        let (folder, now) = (tempfile::tempdir().unwrap(), Instant::now());
        // Where a folder should be is a file.
        let blocker = folder.path().join("blocker");
        std::fs::write(&blocker, "").unwrap();
        let mut output = Output::new("query log", LogFile { base: blocker.join("q"), size_max: 1000 });
        output.add(b"one\n", now);
        output.add(b"two\n", now);
        assert_eq!(output.flush(now), Done { written: 0, failed: 2 });
        std::fs::remove_file(&blocker).unwrap();
        output.add(b"three\n", now + RETRY / 2);
        assert_eq!(output.flush(now + RETRY / 2), Done { written: 0, failed: 1 }, "too early");
        output.add(b"four\n", now + RETRY);
        assert_eq!(output.flush(now + RETRY), Done { written: 1, failed: 0 });
        assert_eq!(std::fs::read_to_string(blocker.join("q.00000001")).unwrap(), "four\n");
    }

    #[test]
    fn a_device_is_written_without_a_number() {
        let now = Instant::now();
        let mut output = Output::new("query log", LogFile { base: "/dev/null".into(), size_max: 4 });
        for _ in 0..3 {
            assert_eq!(output.add(b"record\n", now).failed, 0);
            output.flush(now);
        }
        assert!(!output.open.as_ref().unwrap().numbered);
        // The device that is always full.
        let mut output = Output::new("query log", LogFile { base: "/dev/full".into(), size_max: 4 });
        output.add(b"record\n", now);
        assert_eq!(output.flush(now), Done { written: 0, failed: 1 });
    }
}

//! The file that has the process's id while it serves (`pidfile`).

use std::path::{Path, PathBuf};
use std::{fs, io, process};

/// The file, which goes with the process.
#[derive(Debug)]
pub(crate) struct PidFile(PathBuf);

impl PidFile {
    /// Writes the file at `path`; an empty one names none. A proxy that cannot write it serves
    /// nevertheless.
    pub(crate) fn write(path: &str) -> Option<Self> {
        if path.is_empty() {
            return None;
        }
        match put(Path::new(path)) {
            Ok(()) => Some(Self(path.into())),
            Err(error) => {
                tracing::warn!(pidfile = path, %error, "the file cannot be written");
                None
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Another process may have it by now.
        if fs::read_to_string(&self.0).is_ok_and(|text| text == line()) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn line() -> String {
    format!("{}\n", process::id())
}

/// No program reads half of it: it is written beside its place, and then gets its name.
fn put(path: &Path) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, line())?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_goes_with_its_process() {
        let path = std::env::temp_dir().join(format!("pointsman-{}.pid", process::id()));
        let text = path.to_str().unwrap();
        let file = PidFile::write(text).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), line());
        drop(file);
        assert!(!path.exists());
        // That of another process stays.
        let file = PidFile::write(text).unwrap();
        fs::write(&path, "1\n").unwrap();
        drop(file);
        assert!(path.exists());
        fs::remove_file(&path).unwrap();
        assert!(PidFile::write("").is_none() && PidFile::write("/nowhere/at/all").is_none());
    }
}

//! Reading a configuration file, within a limit.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Longest configuration file, in bytes. A hundred thousand users take about 10 MB.
pub(crate) const FILE_MAX_BYTES: u64 = 64 << 20;

/// Most files of a folder.
const FILES_MAX: usize = 1_000;

/// Why a file cannot be read, as the end of a sentence that starts with its name.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// The line, counted from 1; 0 if the file as a whole is meant.
    pub(crate) line: usize,
    /// The reason.
    pub(crate) message: String,
}

/// The content of the file at `path`.
pub(crate) fn read(path: &Path) -> Result<String, Unreadable> {
    let failed = |error: std::io::Error| Unreadable { line: 0, message: format!("cannot be read: {error}") };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(Unreadable { line: 0, message: format!("has more than {FILE_MAX_BYTES} bytes") });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid).filter(|&&byte| byte == b'\n').count() + 1;
        Unreadable { line, message: format!("is not UTF-8 text at byte {valid}") }
    })
}

/// The YAML files of a folder, by their names.
pub(crate) fn read_folder(path: &Path) -> Result<Vec<(PathBuf, String)>, (PathBuf, Unreadable)> {
    let failed = |message: String| (path.to_path_buf(), Unreadable { line: 0, message });
    let entries = std::fs::read_dir(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(format!("cannot be read: {error}")))?.path();
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if is_yaml && path.is_file() {
            paths.push(path);
        }
    }
    if paths.len() > FILES_MAX {
        return Err(failed(format!("has more than {FILES_MAX} YAML files")));
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| read(&path).map(|text| (path.clone(), text)).map_err(|error| (path, error)))
        .collect()
}

//! The memory layer as a configuration file.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use config::Draft;
use config::schema::{SECTIONS, Section};

use crate::answer::{AdminError, Answer};
use crate::layers::Module;
use crate::store::Store;

/// The file holds passwords: other users of the machine cannot read it.
const FILE_MODE: u32 = 0o600;

impl Store {
    /// `SELECT CONFIG FILE`: the memory layer as a configuration file.
    pub fn config_text(&self) -> Result<String, AdminError> {
        let mut draft = Draft::default();
        for module in Module::ALL {
            self.read_memory(module, &mut draft, "in memory cannot be used, so not written")?;
        }
        let sections: Vec<&'static Section> =
            SECTIONS.iter().copied().filter(|section| section.prefix != Some("sqliteserver-")).collect();
        Ok(draft.sections_to_cnf(&sections))
    }

    /// `SAVE CONFIG TO FILE <path>`, `SELECT CONFIG INTO OUTFILE <path>`. The file is complete, or
    /// the former one is still there.
    pub fn save_config_to(&self, path: &Path) -> Answer {
        let text = match self.config_text() {
            Ok(text) => text,
            Err(error) => return error.into(),
        };
        let shown = path.display();
        match replace(path, &text) {
            Ok(()) => Answer::Ok { affected: 0, info: format!("File {shown} is saved.") },
            Err(error) => AdminError::new(format!("File {shown} is not saved: {error}")).into(),
        }
    }
}

/// Writes a file beside `path` and puts it in its place.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(&new)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

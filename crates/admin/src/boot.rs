//! From the configuration file or the saved configuration to a store whose runtime is loaded.
//!
//! As in ProxySQL: if `datadir` has a `pointsman.db` with a configuration, that counts, and of the
//! file only what stands outside of every section; otherwise the file is taken, and saved [when
//! everything listens](crate::Port::save_first).

mod claim;
mod import;

use std::path::{Path, PathBuf};

use config::schema::TOP_LEVEL;
use config::{Draft, Loaded};
use rusqlite::{Connection, OpenFlags};

pub use claim::Claim;
pub use import::{Imported, import};

use crate::answer::AdminError;
use crate::layers::{Module, Move};
use crate::store::{Store, StoreError, disk_file, set_version};

/// How to find the configuration.
#[derive(Debug, Clone)]
pub struct Start {
    /// The configuration file.
    pub file: PathBuf,
    /// What it holds.
    pub loaded: Loaded,
    /// Whether a saved configuration is renamed to `pointsman.db.bak` and the file taken.
    pub initial: bool,
    /// Whether the file's rows are added to the saved configuration, where they replace those with
    /// the same keys.
    pub reload: bool,
}

/// A store, and what an operator should know about how it came about.
#[derive(Debug)]
pub struct Booted {
    /// The store; its runtime is loaded.
    pub store: Store,
    /// What deserves attention, one line each.
    pub warnings: Vec<String>,
    /// That its `datadir`, if it has one, is this process's.
    pub claim: Option<Claim>,
}

/// Why there is no configuration to start with.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The databases cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process uses the folder of the databases.
    #[error(
        "datadir is {}, which another pointsman uses that runs: end that one first, or give each a datadir of its own",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The saved configuration cannot be renamed to its backup.
    #[error("cannot put {} aside: {why}", path.display())]
    Backup {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// What is saved cannot be used.
    #[error("the configuration in {} cannot be used: {why}", path.display())]
    Saved {
        /// The file.
        path: PathBuf,
        /// Why.
        why: AdminError,
    },
}

/// Opens the databases and loads the configuration to the store's runtime.
pub fn boot(start: Start) -> Result<Booted, BootError> {
    let loaded = start.loaded;
    let datadir = Some(PathBuf::from(&loaded.config.datadir)).filter(|path| !path.as_os_str().is_empty());
    let claim = datadir.as_deref().map(Claim::on).transpose()?;
    if let (true, Some(datadir)) = (start.initial, &datadir) {
        back_up(&disk_file(datadir))?;
    }
    let mut store = Store::open(datadir.as_deref())?;
    store.set_file(&start.file);
    let disk = store.disk.clone().unwrap_or_else(|| start.file.clone());
    let saved = |why| BootError::Saved { path: disk.clone(), why };
    if datadir.is_none() {
        tracing::info!("there is no datadir: what is saved to disk lasts as long as the process");
    }
    if store.has_saved()? {
        let warnings = resume(&mut store, &loaded, start.reload).map_err(saved)?;
        if start.reload {
            store.set_left_out(loaded.left_out);
        }
        return Ok(Booted { store, warnings, claim });
    }
    store.begin_with(&loaded.draft).map_err(saved)?;
    store.set_left_out(loaded.left_out);
    Ok(Booted { store, warnings: loaded.warnings, claim })
}

/// The saved configuration in `datadir` that a start would use in place of a file; nothing if there
/// is none that can be read.
pub fn saved_in(datadir: &Path) -> Option<PathBuf> {
    let path = disk_file(datadir);
    let database = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let holds: bool =
        database.query_row("SELECT EXISTS (SELECT 1 FROM global_variables)", [], |row| row.get(0)).ok()?;
    holds.then_some(path)
}

/// Starts with the saved configuration, to which the file is added if that is wanted.
fn resume(store: &mut Store, loaded: &Loaded, reload: bool) -> Result<Vec<String>, AdminError> {
    for module in Module::ALL {
        store.done(module, Move::DiskToMemory)?;
        if reload {
            store.add_from_file(module, &loaded.draft)?;
            store.done(module, Move::MemoryToDisk)?;
        }
    }
    store.add_missing_variables()?;
    let mut draft = store.memory()?;
    draft.take_rows(&TOP_LEVEL, &loaded.draft);
    store.make_runtime(draft.clone(), &Module::ALL, "")?;
    let mut warnings = draft.check().map(|checked| checked.warnings).unwrap_or_default();
    if !reload && draft_differs(&draft, &loaded.draft) {
        warnings.insert(
            0,
            "the saved configuration counts, which differs from the file's; --reload adds the file's rows to it, \
             --initial starts with the file alone"
                .to_owned(),
        );
    }
    Ok(warnings)
}

/// Whether a section that the file has is saved with other rows.
fn draft_differs(saved: &Draft, file: &Draft) -> bool {
    let sections = Module::ALL.iter().flat_map(|module| module.sections());
    sections.filter(|section| file.has(section)).any(|section| {
        saved.changes(file, section).iter().any(|change| {
            // Every saved variable has a value, in the file only some.
            match section.prefix {
                Some(prefix) => {
                    let name = change.row.strip_prefix(prefix).unwrap_or_default();
                    section.find(name).is_some_and(|(at, _)| file.gives(section, at))
                }
                None => true,
            }
        })
    })
}

/// Renames the file to its name with `.bak`.
fn back_up(path: &Path) -> Result<(), BootError> {
    if !path.exists() {
        return Ok(());
    }
    let mut backup = path.as_os_str().to_owned();
    backup.push(".bak");
    std::fs::rename(path, &backup).map_err(|why| BootError::Backup { path: path.to_path_buf(), why })
}

impl Store {
    /// Takes a whole configuration, to memory and to runtime; it is to be saved.
    fn begin_with(&mut self, draft: &Draft) -> Result<(), AdminError> {
        let mut draft = draft.clone();
        set_version(&mut draft);
        for module in Module::ALL {
            self.write_memory(module, &draft)?;
        }
        self.unsaved = true;
        self.make_runtime(draft, &Module::ALL, "").map(drop)
    }

    /// Saves the configuration that a first start has taken from the file; any other start has
    /// nothing to save.
    pub(crate) fn save_first(&mut self) -> Result<(), AdminError> {
        if std::mem::take(&mut self.unsaved) {
            for module in Module::ALL {
                self.done(module, Move::MemoryToDisk)?;
            }
        }
        Ok(())
    }

    /// What memory holds of all modules.
    pub(crate) fn memory(&self) -> Result<Draft, AdminError> {
        let mut draft = Draft::default();
        for module in Module::ALL {
            self.read_memory(module, &mut draft, "not loaded")?;
        }
        Ok(draft)
    }
}

#[cfg(test)]
mod tests;

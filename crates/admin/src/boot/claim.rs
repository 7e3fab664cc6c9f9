//! That one process at a time uses a `datadir`.
//!
//! Two would overwrite what the other one has saved, or move the files away under it.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::BootError;

/// The right to use a `datadir`: others are refused until it is dropped, or the process ends in
/// whatever way.
#[derive(Debug)]
pub struct Claim {
    /// The folder itself, locked (flock(2)). Nothing if it cannot be: some file systems know no
    /// locks.
    _folder: Option<File>,
}

impl Claim {
    /// The right to use `datadir`. Fails if another process has it. A missing folder is reported by
    /// another check.
    pub(super) fn on(datadir: &Path) -> Result<Self, BootError> {
        let Ok(folder) = File::open(datadir) else { return Ok(Self { _folder: None }) };
        match folder.try_lock() {
            Ok(()) => Ok(Self { _folder: Some(folder) }),
            Err(TryLockError::WouldBlock) => Err(BootError::InUse { path: datadir.to_path_buf() }),
            Err(TryLockError::Error(error)) => {
                tracing::warn!(datadir = %datadir.display(), %error, "cannot be kept from other processes");
                Ok(Self { _folder: None })
            }
        }
    }
}

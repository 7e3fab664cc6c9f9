//! The configuration file, whose rules have to compile.

use std::path::Path;

use config::{Loaded, Problems, Strictness};

/// Reads the configuration file at `path`. Rules that do not compile are left out where that is
/// right for the file; elsewhere they are still there.
pub(crate) fn load(path: &Path, strictness: Strictness) -> Result<Loaded, Problems> {
    let mut loaded = config::load(path, strictness)?;
    if loaded.lenient {
        loaded.leave_out_rules(&proxy::check_rules(&loaded.config), path);
    }
    Ok(loaded)
}

//! Where the program under test is.

use std::path::{Path, PathBuf};

/// The `pointsman` of the same build as the running test: `target/PROFILE/deps/TEST` has it one folder up.
///
/// # Panics
/// When it is not there. Cargo builds binaries of other packages only when told to.
pub(crate) fn pointsman() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_else(|error| panic!("who am I? {error}"));
    let binary = test.parent().and_then(Path::parent).map(|folder| folder.join("pointsman"));
    match binary {
        Some(binary) if binary.is_file() => binary,
        other => panic!(
            "the program under test is not built: {} is missing; `make test` builds it, and so does \
             `cargo build --package pointsman`",
            other.unwrap_or_default().display()
        ),
    }
}

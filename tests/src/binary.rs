//! Where the program under test is.

use std::path::{Path, PathBuf};

/// The `pointsman` of the same build as the running program: beside it, or one folder up from a test, which is
/// `target/PROFILE/deps/TEST`.
///
/// # Panics
/// When it is not there. Cargo builds binaries of other packages only when told to.
pub(crate) fn pointsman() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_else(|error| panic!("who am I? {error}"));
    let folders = [test.parent().and_then(Path::parent), test.parent()];
    let places = folders.map(|folder| folder.unwrap_or(Path::new("")).join("pointsman"));
    match places.iter().find(|binary| binary.is_file()) {
        Some(binary) => binary.clone(),
        None => panic!(
            "the program under test is not built: {} is missing; `make test` builds it, and so does \
             `cargo build --package pointsman`",
            places[0].display()
        ),
    }
}

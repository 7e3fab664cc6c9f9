//! Where the program under test is.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

/// The `pointsman` of the same build as the running program: beside it or, from a test, which is
/// `target/PROFILE/deps/TEST`, one folder up.
///
/// # Panics
/// When it is not there, or older than what it is made of: cargo builds binaries of other packages
/// only when told to.
pub(crate) fn pointsman() -> PathBuf {
    /// Looked for once: the sources may change while tests run.
    static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let me = std::env::current_exe().map_err(|error| format!("who am I? {error}"))?;
        let binary = beside(&me);
        check(&binary)?;
        Ok(binary)
    });
    FOUND.clone().unwrap_or_else(|why| {
        panic!(
            "{why}; `make test` builds the program under test, and so does `cargo build --package pointsman`"
        )
    })
}

/// Where cargo puts `pointsman` when it puts this program there.
fn beside(program: &Path) -> PathBuf {
    let folder = program.parent().unwrap_or(Path::new(""));
    let profile = if folder.ends_with("deps") { folder.parent() } else { None };
    profile.unwrap_or(folder).join("pointsman")
}

/// Whether `binary` is as new as the sources that cargo lists beside it. Without a list it is no
/// binary of cargo's, and was put there by hand.
fn check(binary: &Path) -> Result<(), String> {
    let Some(built) = modified(binary) else { return Err(format!("{} is missing", binary.display())) };
    let Ok(list) = std::fs::read_to_string(binary.with_extension("d")) else { return Ok(()) };
    let changed = |source: &PathBuf| modified(source).is_none_or(|time| time > built);
    match sources(&list).into_iter().find(changed) {
        None => Ok(()),
        Some(source) => Err(format!("{} is older than {}", binary.display(), source.display())),
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

/// The files of a list in the form of `make`: `TARGET: FILE FILE ...`, with a backslash before
/// spaces in names.
fn sources(list: &str) -> Vec<PathBuf> {
    /// Stands for a space in a name, where there can be none of these.
    const SPACE: &str = "\0";
    let files = list.split_once(": ").map_or("", |(_, files)| files).replace("\\ ", SPACE);
    files.split_whitespace().map(|file| file.replace(SPACE, " ").into()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_beside_a_program_and_above_a_test() {
        assert_eq!(beside(Path::new("/t/debug/mysqltest")), Path::new("/t/debug/pointsman"));
        assert_eq!(beside(Path::new("/t/debug/deps/basics-1a2b")), Path::new("/t/debug/pointsman"));
    }

    #[test]
    fn lists_name_sources() {
        let list = "/t/debug/pointsman: /w/a.rs /w/with\\ space/b.rs\n";
        assert_eq!(sources(list), [Path::new("/w/a.rs"), Path::new("/w/with space/b.rs")]);
        assert!(sources("").is_empty());
    }

    #[test]
    fn a_binary_older_than_its_sources_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (binary, source) = (folder.path().join("pointsman"), folder.path().join("main.rs"));
        assert!(check(&binary).unwrap_err().ends_with("is missing"));
        let file = File::create(&binary).unwrap();
        check(&binary).unwrap();
        std::fs::write(binary.with_extension("d"), format!("{}: {}\n", binary.display(), source.display()))
            .unwrap();
        let why = check(&binary).unwrap_err();
        assert!(why.contains("is older than") && why.ends_with("main.rs"), "a source is gone: {why}");
        let source = File::create(source).unwrap();
        let now = SystemTime::now();
        for (written, good) in [(now - Duration::from_secs(1), true), (now + Duration::from_secs(1), false)] {
            file.set_times(FileTimes::new().set_modified(now)).unwrap();
            source.set_times(FileTimes::new().set_modified(written)).unwrap();
            assert_eq!(check(&binary).is_ok(), good);
        }
    }
}

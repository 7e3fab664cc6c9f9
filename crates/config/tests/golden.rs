//! Whole files and what they mean: every file (and the folder `sphere`) in `tests/golden` beside
//! the `.out` of the same name, which holds the configuration and the warnings, or the problems.
//!
//! `POINTSMAN_WRITE_GOLDEN=1 cargo test -p config --test golden` writes the `.out` files; read the
//! difference.

use std::path::{Path, PathBuf};

/// The folder of the files.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// What the file at `path` means, with the folder's name taken out.
fn meaning(path: &Path) -> String {
    let shown = match config::load(path, config::Strictness::Strict) {
        Ok(loaded) => {
            let warnings: Vec<String> =
                loaded.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
            let passwords: Vec<String> =
                loaded.config.users.iter().map(|user| format!("password: {:?}\n", user.password)).collect();
            format!("{}{:#?}\n{}", warnings.concat(), loaded.config, passwords.concat())
        }
        Err(problems) => format!("{problems}\n"),
    };
    shown.replace(&format!("{}/", folder().display()), "")
}

#[test]
fn files_mean_what_they_did() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|extension| {
                ["cnf", "conf", "toml", "yaml"].iter().any(|format| extension == *format)
            })
        })
        .collect();
    // All files of a folder are one configuration.
    files.push(folder().join("sphere"));
    files.sort();
    assert!(files.len() >= 8, "{files:?}");
    for path in files {
        let golden = PathBuf::from(format!("{}.out", path.display()));
        let meaning = meaning(&path);
        if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
            std::fs::write(&golden, &meaning).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(meaning, expected, "{}", path.display());
    }
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |path: &Path| config::load(path, config::Strictness::Strict).unwrap_err().to_string();

    let missing = folder.path().join("missing.toml");
    assert_eq!(
        problem(&missing),
        format!("{}: cannot be read: No such file or directory (os error 2)", missing.display())
    );

    let latin = folder.path().join("latin.cnf");
    std::fs::write(&latin, b"a = 1\nb = \"\xe4\"\n").unwrap();
    assert_eq!(problem(&latin), format!("{}:2: is not UTF-8 text at byte 11", latin.display()));

    let endless = Path::new("/dev/zero");
    assert_eq!(problem(endless), "/dev/zero: has more than 67108864 bytes");
}

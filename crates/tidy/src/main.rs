//! `tidy`: checks how the repository is written. See the crate's README for the rules.

mod crates;
mod finding;
mod items;
mod known;
mod page;
mod ratchet;
mod rust;
mod tokens;
mod tree;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use finding::Finding;
use known::Known;
use tree::Tree;

/// Where findings that exist already are counted, below the root.
const KNOWN: &str = "crates/tidy/known.txt";

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Compare with the files of known findings and of ratchets.
    Check,
    /// Write the known findings anew.
    Write,
    /// Lower the ratchets.
    Tighten,
    /// Fill a file without ratchets.
    Init,
}

fn main() -> ExitCode {
    let mode = match std::env::args().nth(1).as_deref() {
        None => Mode::Check,
        Some("--write") => Mode::Write,
        Some("--tighten") => Mode::Tighten,
        Some("--init") => Mode::Init,
        Some(other) => {
            eprintln!("tidy: {other} is none of --write, --tighten, --init");
            return ExitCode::from(2);
        }
    };
    match run(&root(), mode) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tidy: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The repository's root: two folders above this crate.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads the tree below `root`, and checks or writes. True if nothing is wrong.
fn run(root: &Path, mode: Mode) -> anyhow::Result<bool> {
    let Tree { findings, sources } = tree::read(root)?;
    match mode {
        Mode::Check => {
            let is_known = check_known(root, &findings)?;
            Ok(ratchet::check(root, sources, &findings)? && is_known)
        }
        Mode::Write => {
            let now = Known::of(&findings);
            fs::write(root.join(KNOWN), now.to_text()).context(KNOWN)?;
            println!("{} findings are known", now.sum());
            Ok(true)
        }
        Mode::Tighten => ratchet::tighten(root, sources, &findings).map(|()| true),
        Mode::Init => ratchet::init(root, sources, &findings).map(|()| true),
    }
}

/// Prints the findings that are new. True if there is none.
fn check_known(root: &Path, findings: &[Finding]) -> anyhow::Result<bool> {
    let now = Known::of(findings);
    let known = Known::parse(&fs::read_to_string(root.join(KNOWN)).unwrap_or_default())?;
    let exceeded = known.exceeded_by(&now);
    for (rule, path, before, count) in &exceeded {
        println!("{path}: {rule}: {count} findings, {before} were known");
        let of_it = |one: &&Finding| one.rule.name() == *rule && one.path == *path;
        findings.iter().filter(of_it).for_each(|one| println!("  {one}"));
    }
    if now.sum() < known.sum() {
        println!("{} fewer findings: run `cargo run --package tidy -- --write`", known.sum() - now.sum());
    }
    Ok(exceeded.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with these files, and what a check of it says.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [("crates/tidy/known.txt", "")].iter().chain(files) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_new_finding_fails_until_it_is_known() {
        let folder = tree(&[("a.rs", "fn f() {\n    tracing::info!(?a, \"b\");\n}\n")]);
        let root = folder.path();
        assert!(!run(root, Mode::Check).unwrap());
        assert!(run(root, Mode::Write).unwrap());
        assert!(run(root, Mode::Check).unwrap());
        fs::write(root.join("b.rs"), "#[test]\n#[ignore]\nfn f() {}\n").unwrap();
        assert!(!run(root, Mode::Check).unwrap());
        fs::remove_file(root.join("b.rs")).unwrap();
        fs::write(root.join("a.rs"), "fn f() {}\n").unwrap();
        assert!(run(root, Mode::Check).unwrap(), "fewer findings pass");
    }

    #[test]
    fn one_word_more_or_less_fails_until_the_ratchet_follows() {
        let folder = tree(&[("a.md", "Nobody waits.\n\nNobody sends.\n")]);
        let root = folder.path();
        run(root, Mode::Write).unwrap();
        assert!(!run(root, Mode::Check).unwrap(), "the goal is none");
        run(root, Mode::Init).unwrap();
        assert!(run(root, Mode::Check).unwrap());
        fs::write(root.join("b.md"), "Somebody waits.\n").unwrap();
        run(root, Mode::Write).unwrap();
        run(root, Mode::Tighten).unwrap();
        assert!(!run(root, Mode::Check).unwrap(), "known, but one more than before");
        fs::remove_file(root.join("b.md")).unwrap();
        fs::write(root.join("a.md"), "Nobody waits.\n").unwrap();
        assert!(!run(root, Mode::Check).unwrap(), "the line is too high");
        run(root, Mode::Tighten).unwrap();
        assert!(run(root, Mode::Check).unwrap());
        assert!(run(root, Mode::Init).is_err(), "there are numbers");
    }

    #[test]
    fn a_larger_circle_fails() {
        let next = |n: usize| format!("use crate::f{};\n", (n + 1) % 6);
        let files: Vec<_> = (0..6).map(|n| (format!("crates/sql/src/f{n}.rs"), next(n))).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let folder = tree(&files);
        assert!(!run(folder.path(), Mode::Check).unwrap());
        fs::write(folder.path().join("crates/sql/src/f5.rs"), "").unwrap();
        assert!(run(folder.path(), Mode::Check).unwrap());
    }
}

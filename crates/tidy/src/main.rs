//! `tidy`: checks how the repository is written. See the crate's README for the rules.

mod crates;
mod finding;
mod known;
mod page;
mod rust;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use finding::Finding;
use known::Known;

/// Folders without files of the repository's own.
const SKIPPED: &[&str] = &["target", ".git", "node_modules", "runs", "book"];

/// Where findings that exist already are counted, below the root.
const KNOWN: &str = "crates/tidy/known.txt";

fn main() -> ExitCode {
    let writes = std::env::args().skip(1).any(|argument| argument == "--write");
    match run(&root(), writes) {
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

/// Checks the tree below `root`, and prints what is new. True if nothing is.
fn run(root: &Path, writes: bool) -> anyhow::Result<bool> {
    let findings = check(root)?;
    let now = Known::of(&findings);
    let path = root.join(KNOWN);
    if writes {
        fs::write(&path, now.to_text()).with_context(|| path.display().to_string())?;
        println!("{} findings are known", now.sum());
        return Ok(true);
    }
    let known = Known::parse(&fs::read_to_string(&path).unwrap_or_default())?;
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

/// All findings of the tree below `root`.
fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut findings = Vec::new();
    for file in files {
        let name = file.strip_prefix(root)?.to_string_lossy().into_owned();
        let text = || fs::read_to_string(&file).with_context(|| name.clone());
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => findings.extend(rust::check(&name, &text()?)?),
            Some("md") => findings.extend(page::check(&name, &text()?)),
            Some("toml") => findings.extend(check_crate(&file, &name)?),
            _ => {}
        }
    }
    Ok(findings)
}

/// Checks the crate whose manifest is `file`, if it is one of the folder `crates`.
fn check_crate(file: &Path, path: &str) -> anyhow::Result<Vec<Finding>> {
    let mut parts = path.split('/');
    let (Some("crates"), Some(name), Some("Cargo.toml"), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Ok(Vec::new());
    };
    crates::check(name, path, &fs::read_to_string(file)?, file.with_file_name("README.md").exists())
}

/// Adds the files below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                collect(&entry.path(), files)?;
            }
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_finding_fails_until_it_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("crates/tidy")).unwrap();
        fs::write(root.join("a.md"), "Nobody waits.\n").unwrap();
        assert!(!run(root, false).unwrap());
        assert!(run(root, true).unwrap());
        assert!(run(root, false).unwrap());
        fs::write(root.join("b.rs"), "fn ride() {}\n").unwrap();
        assert!(!run(root, false).unwrap());
        fs::remove_file(root.join("b.rs")).unwrap();
        fs::write(root.join("a.md"), "The session waits.\n").unwrap();
        assert!(run(root, false).unwrap(), "fewer findings pass");
    }
}

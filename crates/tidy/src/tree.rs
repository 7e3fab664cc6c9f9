//! Reads the repository's files, on all processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Context as _;
use proc_macro2::TokenStream;

use crate::finding::Finding;
use crate::ratchet::Source;
use crate::tokens::list;
use crate::words::Clean;
use crate::{crates, page, rust};

/// Folders without files of the repository's own.
const SKIPPED: &[&str] = &["target", ".git", "node_modules", "runs", "book"];

/// What the files have.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) findings: Vec<Finding>,
    /// Files of production code.
    pub(crate) sources: Vec<Source>,
}

/// Reads the tree below `root`.
pub(crate) fn read(root: &Path) -> anyhow::Result<Tree> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let next = AtomicUsize::new(0);
    let take = || -> anyhow::Result<Vec<(usize, Tree)>> {
        let mut read = Vec::new();
        let mut clean = Clean::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else {
                return Ok(read);
            };
            read.push((at, read_file(root, file, &mut clean)?));
        }
    };
    let count = thread::available_parallelism().map_or(1, usize::from);
    let parts = thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(take)).collect();
        let parts =
            threads.into_iter().map(|one| one.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?);
        parts.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let mut parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.sort_by_key(|(at, _)| *at);
    let mut tree = Tree::default();
    for (_, part) in parts {
        tree.findings.extend(part.findings);
        tree.sources.extend(part.sources);
    }
    Ok(tree)
}

fn read_file(root: &Path, file: &Path, clean: &mut Clean) -> anyhow::Result<Tree> {
    let name = file.strip_prefix(root)?.to_string_lossy().into_owned();
    let text = || fs::read_to_string(file).with_context(|| name.clone());
    let mut tree = Tree::default();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => {
            let text = text()?;
            let stream: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
            let tokens = list(stream);
            tree.findings = rust::check(&name, &text, &tokens, clean);
            tree.sources.extend(Source::read(&name, &text, tokens));
            // Nothing that is kept has spans; without them the next look-up is short.
            proc_macro2::extra::invalidate_current_thread_spans();
        }
        Some("md") => tree.findings = page::check(&name, &text()?),
        Some("toml") => tree.findings = check_crate(file, &name)?,
        _ => {}
    }
    Ok(tree)
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
    fn what_is_not_rust_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rs"), "fn {").unwrap();
        assert!(read(folder.path()).is_err_and(|error| error.to_string().starts_with("a.rs: ")));
    }
}

//! kingshard's file and those of ShardingSphere-Proxy.
//!
//! `shard::read` reads them; here what they say becomes rows. A row that cannot be used is never
//! left out: statements would go to other servers.

mod fit;
mod layout;
mod rows;

use std::path::{Path, PathBuf};

use shard::read::{self, Imported, Options};

use super::Parsed;
use crate::problem::Problem;

/// Which program a file is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// kingshard: one file.
    Kingshard,
    /// ShardingSphere-Proxy: one for the proxy, and one for each database.
    ShardingSphere,
}

/// Keys at the beginning of a line that no other format has.
const KINGSHARD: [&str; 4] = ["user_list", "schema_list", "nodes", "ups"];
const SHARDINGSPHERE: [&str; 7] =
    ["databaseName", "schemaName", "dataSources", "shardingRule", "rules", "authority", "authentication"];

/// The program that `text` is a file of, by its keys.
pub(crate) fn program(text: &str) -> Option<Program> {
    let key = |line: &'_ str| line.split_once(':').map(|(key, _)| key.trim_end().to_owned());
    let has = |keys: &[&str]| text.lines().filter_map(key).any(|key| keys.contains(&key.as_str()));
    if has(&KINGSHARD) {
        Some(Program::Kingshard)
    } else if has(&SHARDINGSPHERE) {
        Some(Program::ShardingSphere)
    } else {
        None
    }
}

/// Reads the files of a folder: those of ShardingSphere-Proxy. Nothing if there is none.
pub(crate) fn folder(files: &[(PathBuf, String)], origin: &Path) -> Option<Parsed> {
    let own = files.iter().filter(|(_, text)| program(text) == Some(Program::ShardingSphere));
    let files: Vec<(&Path, &str)> = own.map(|(path, text)| (path.as_path(), text.as_str())).collect();
    (!files.is_empty()).then(|| sphere(&files, origin))
}

/// Reads one file.
pub(super) fn read(program: Program, text: &str, origin: &Path) -> Parsed {
    match program {
        Program::Kingshard => {
            let imported = read::kingshard(origin, text, Options::default());
            parsed(program, imported, origin)
        }
        Program::ShardingSphere => sphere(&[(origin, text)], origin),
    }
}

fn sphere(files: &[(&Path, &str)], origin: &Path) -> Parsed {
    parsed(Program::ShardingSphere, read::sphere(files, Options::default()), origin)
}

fn parsed(program: Program, read: Result<Imported, read::Problems>, origin: &Path) -> Parsed {
    let mut parsed = Parsed {
        root: Vec::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
        is_foreign: false,
        left_out: Vec::new(),
        presets: &[],
    };
    match read {
        Err(problems) => parsed.problems.extend(problems.as_slice().iter().map(problem)),
        Ok(imported) => {
            parsed.left_out.extend(imported.left_out.iter().map(problem));
            fit::check(program, &imported, origin, &mut parsed);
            if parsed.problems.is_empty() {
                parsed.root = rows::root(program, &imported, origin);
            }
        }
    }
    parsed
}

fn problem(found: &read::Problem) -> Problem {
    let message = if found.key.is_empty() {
        found.message.clone()
    } else {
        format!("`{}`: {}", found.key, found.message)
    };
    Problem::new(&found.file, found.line, message)
}

#[cfg(test)]
mod tests;

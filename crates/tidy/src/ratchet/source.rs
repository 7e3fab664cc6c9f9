//! What the figures need of one file.

use super::bundles::{self, Bundles};
use super::circle;
use super::mention::Imports;
use super::methods::{self, Methods};
use super::paths::paths;
use super::production::{Production, Without};
use super::spots::{Spots, pipes};
use super::ways_around::WaysAround;
use crate::items::Items;
use crate::tokens::Token;

/// A file of a crate's production code.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The crate: a folder of `crates`.
    pub(crate) package: String,
    /// The path below the crate's `src`.
    pub(crate) path: String,
    /// The module that the file is: `session/shards.rs` is `[session, shards]`.
    pub(crate) module: Vec<String>,
    pub(crate) lines: usize,
    /// Modules of the same crate that the file names.
    pub(crate) uses: Vec<Vec<String>>,
    pub(crate) methods: Methods,
    pub(crate) bundles: Bundles,
    pub(crate) spots: Spots,
    pub(crate) ways_around: WaysAround,
    /// Modules whose files belong to tests.
    test_modules: Vec<Vec<String>>,
    /// Modules whose files are built with the feature `memory` only.
    memory_modules: Vec<Vec<String>>,
}

impl Source {
    /// Reads the file at `path`, a path below the repository's root, with its tokens. None if the
    /// path is not one of production code.
    pub(crate) fn read(path: &str, text: &str, tokens: Vec<Token>) -> Option<Self> {
        let (package, inner) = path.strip_prefix("crates/")?.split_once("/src/")?;
        if package.contains('/') || inner.split('/').any(|part| part == "tests" || part == "tests.rs") {
            return None;
        }
        let module = module_of(inner);
        let below =
            |names: Vec<String>| names.into_iter().map(|name| [&module[..], &[name]].concat()).collect();
        let Production { tokens, dropped, modules } = Production::of(tokens, Without::Tests);
        let named = paths(&tokens);
        let imports = Imports::of(&named);
        let items = Items::of(&tokens);
        let (methods, bundles) = (methods::of(&items), bundles::of(&items, &imports));
        let mut spots = Spots::of(&tokens, &items, &imports);
        let ways_around = WaysAround::of(&tokens, &items, &imports);
        let memory = Production::of(tokens, Without::Memory);
        spots.pipes = pipes(&paths(&memory.tokens));
        Some(Self {
            lines: text.lines().count() - dropped.count(),
            uses: circle::uses(&module, &named),
            methods,
            bundles,
            spots,
            ways_around,
            test_modules: below(modules),
            memory_modules: below(memory.modules),
            package: package.to_owned(),
            path: inner.to_owned(),
            module,
        })
    }

    /// The path with its crate.
    pub(crate) fn full_path(&self) -> String {
        format!("{}/{}", self.package, self.path)
    }
}

/// The module that a file below `src` is.
fn module_of(inner: &str) -> Vec<String> {
    let mut module: Vec<String> = inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

/// Drops the files of modules that only tests have, and what is counted of files that only the
/// feature `memory` has.
pub(crate) fn without_tests(mut sources: Vec<Source>) -> Vec<Source> {
    let listed = |of: fn(&Source) -> &Vec<Vec<String>>| {
        let all = sources
            .iter()
            .flat_map(|source| of(source).iter().map(|module| (source.package.clone(), module.clone())));
        all.collect::<Vec<_>>()
    };
    let (tests, memory) = (listed(|source| &source.test_modules), listed(|source| &source.memory_modules));
    let is_in = |list: &[(String, Vec<String>)], source: &Source| {
        list.iter().any(|(package, module)| *package == source.package && source.module.starts_with(module))
    };
    sources.retain(|source| !is_in(&tests, source));
    for source in sources.iter_mut().filter(|source| is_in(&memory, source)) {
        source.spots.pipes.clear();
    }
    sources
}

/// Production code of a few texts.
#[cfg(test)]
pub(crate) fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let read =
        |(path, text): &(&str, &str)| Source::read(path, text, crate::tokens::list(text.parse().unwrap()));
    without_tests(files.iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_production_code_is_read() {
        let files = [
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod samples;\nmod b;\n\n#[cfg(test)]\nmod tests {\n}\n"),
            ("crates/a/src/b/mod.rs", "fn f() {}\n"),
            ("crates/a/src/samples.rs", ""),
            ("crates/a/src/samples/more.rs", ""),
            ("crates/a/src/b/tests.rs", ""),
            ("crates/a/src/b/tests/c.rs", ""),
            ("crates/a/tests/d.rs", ""),
            ("bench/src/main.rs", ""),
        ];
        let read = sources(&files);
        let shown: Vec<_> = read.iter().map(|one| (one.full_path(), one.module.len(), one.lines)).collect();
        assert_eq!(shown, [("a/lib.rs".to_owned(), 0, 2), ("a/b/mod.rs".to_owned(), 1, 1)]);
    }
}

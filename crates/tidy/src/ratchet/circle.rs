//! Circles of files: files of a crate that name one another's modules, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::Path;
use super::source::Source;

/// Modules of the own crate that the paths of a file name, from the crate's root. A module that
/// names a child without `self::` only declares what is below it.
pub(crate) fn uses(module: &[String], paths: &[Path]) -> Vec<Vec<String>> {
    let full = |path: &Path| {
        let here = [module, &path.within].concat();
        let (first, rest) = path.names.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([&here[..], rest].concat()),
            "super" => {
                let up = path.names.iter().take_while(|name| *name == "super").count();
                let kept = here.len().saturating_sub(up);
                Some([&here[..kept], &path.names[up..]].concat())
            }
            _ => None,
        }
    };
    let found: BTreeSet<_> = paths.iter().filter_map(full).collect();
    found.into_iter().collect()
}

/// The largest circle among the files of one crate: their paths in order. Empty if there is none.
pub(crate) fn largest(sources: &[&Source]) -> Vec<String> {
    let modules: BTreeMap<&[String], usize> = sources
        .iter()
        .enumerate()
        .filter(|(_, source)| !source.module.is_empty())
        .map(|(n, source)| (&source.module[..], n))
        .collect();
    let file_of =
        |path: &Vec<String>| (1..=path.len()).rev().find_map(|to| modules.get(&path[..to])).copied();
    let edges: Vec<BTreeSet<usize>> =
        sources.iter().map(|source| source.uses.iter().filter_map(file_of).collect()).collect();
    let mut circle = components(&edges).into_iter().max_by_key(Vec::len).unwrap_or_default();
    if circle.len() < 2 {
        circle.clear();
    }
    let mut paths: Vec<String> = circle.into_iter().map(|n| sources[n].path.clone()).collect();
    paths.sort();
    paths
}

/// Nodes that reach one another: first in the order in which they are done, then backwards
/// (Kosaraju).
fn components(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut back = vec![BTreeSet::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            back[*to].insert(from);
        }
    }
    let mut seen = vec![false; edges.len()];
    let mut done = Vec::new();
    (0..edges.len()).for_each(|node| reach(node, edges, &mut seen, &mut done));
    let mut seen = vec![false; edges.len()];
    let mut all = Vec::new();
    for node in done.into_iter().rev() {
        let mut component = Vec::new();
        reach(node, &back, &mut seen, &mut component);
        all.push(component);
    }
    all
}

/// Adds what is reached from `node` and was not seen before, each node behind those that it leads
/// to.
fn reach(node: usize, edges: &[BTreeSet<usize>], seen: &mut [bool], done: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[node], true) {
        return;
    }
    edges[node].iter().for_each(|next| reach(*next, edges, seen, done));
    done.push(node);
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        largest(&sources(&files).iter().collect::<Vec<_>>())
    }

    #[test]
    fn files_that_reach_one_another_are_a_circle() {
        let a = ("a.rs", "use crate::b::{B, C};");
        let b = ("b.rs", "fn f() -> super::c::C { loop {} }");
        assert_eq!(circle(&[a, b, ("c.rs", "")]), Vec::<String>::new());
        assert_eq!(circle(&[a, b, ("c.rs", "use crate::a;")]), ["a.rs", "b.rs", "c.rs"]);
        assert_eq!(circle(&[a, b, ("c.rs", "use crate::b;"), ("d.rs", "use super::a;")]), ["b.rs", "c.rs"]);
    }

    #[test]
    fn tests_comments_and_declared_children_make_no_circle() {
        let a = ("a.rs", "mod c;\nuse c::C;\nuse super::b::B;");
        let test = "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n// crate::a::A\n";
        assert_eq!(circle(&[a, ("b.rs", test), ("a/c.rs", "use super::A;")]), Vec::<String>::new());
        assert_eq!(circle(&[a, ("b.rs", "m!(crate::a::A);")]), ["a.rs", "b.rs"]);
        let all = [("a.rs", "use crate::a::c::C;"), ("a/c.rs", "use super::*;")];
        assert_eq!(circle(&all), ["a.rs", "a/c.rs"]);
        let named = ("a.rs", "use self::c::C;");
        assert_eq!(circle(&[named, ("a/c.rs", "use super::super::a::A;")]), ["a.rs", "a/c.rs"]);
    }

    #[test]
    fn an_inline_module_is_its_file() {
        let a = ("a.rs", "mod inner { use super::A; use crate::b::B; }");
        assert_eq!(circle(&[a, ("lib.rs", "use crate::a;"), ("b.rs", "")]), Vec::<String>::new());
        assert_eq!(circle(&[a, ("b.rs", "use super::a::inner::C;")]), ["a.rs", "b.rs"]);
    }
}

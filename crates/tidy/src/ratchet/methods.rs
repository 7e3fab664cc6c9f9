//! Methods of types: functions of all `impl` blocks of a type, and bodies of traits.

use std::collections::BTreeMap;

use super::source::Source;
use crate::items::Items;

/// What one file says of methods. Types are names: two of one name in a crate are one.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    /// Functions in `impl` blocks by type.
    own: BTreeMap<String, usize>,
    /// Functions with a body by trait.
    bodies: BTreeMap<String, Vec<String>>,
    /// For each `impl` of a trait: the type, the trait, and the functions that it writes anew.
    implemented: Vec<(String, String, Vec<String>)>,
}

/// Reads the items of a file.
pub(crate) fn of(items: &Items<'_>) -> Methods {
    let mut methods = Methods::default();
    for (n, block) in items.blocks.iter().enumerate() {
        let own = items.functions.iter().filter(|function| function.is_method && function.block == Some(n));
        let functions = own.filter(|function| function.has_body).map(|function| function.name.to_owned());
        let functions: Vec<String> = functions.collect();
        let name = block.name.to_owned();
        if block.is_trait {
            methods.bodies.entry(name).or_default().extend(functions);
        } else if !name.is_empty() {
            *methods.own.entry(name.clone()).or_default() += functions.len();
            methods.implemented.extend(block.of.map(|of| (name, of.to_owned(), functions)));
        }
    }
    methods
}

/// Methods of each type of one crate. Bodies of a trait count for the trait, and for each type that
/// has the trait and does not write them anew.
pub(crate) fn by_type(sources: &[&Source]) -> BTreeMap<String, usize> {
    let mut sums: BTreeMap<String, usize> = BTreeMap::new();
    let mut bodies: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for Methods { own, bodies: some, .. } in sources.iter().map(|source| &source.methods) {
        for (name, count) in own {
            *sums.entry(name.clone()).or_default() += count;
        }
        for (name, list) in some {
            bodies.entry(name).or_default().extend(list);
        }
    }
    for (name, list) in &bodies {
        *sums.entry((*name).to_owned()).or_default() += list.len();
    }
    for (name, of_trait, anew) in sources.iter().flat_map(|source| &source.methods.implemented) {
        let inherited = bodies.get(of_trait.as_str()).into_iter().flatten();
        *sums.entry(name.clone()).or_default() += inherited.filter(|body| !anew.contains(body)).count();
    }
    sums
}

/// Files with the most methods of a type, each with their number.
pub(crate) fn files_of(name: &str, sources: &[&Source]) -> Vec<String> {
    let count = |source: &&Source| source.methods.own.get(name).map(|count| (*count, source.full_path()));
    let mut files: Vec<_> = sources.iter().filter_map(count).collect();
    files.sort_by(|a, b| b.cmp(a));
    files.into_iter().map(|(count, path)| format!("{path} ({count})")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn count(name: &str, files: &[(&str, &str)]) -> usize {
        by_type(&sources(files).iter().collect::<Vec<_>>()).get(name).copied().unwrap_or(0)
    }

    #[test]
    fn methods_of_all_blocks_and_files_are_added() {
        let a = (
            "crates/a/src/a.rs",
            "impl A { fn b() {} const C: u8 = 0; }\nimpl<T> Debug for crate::A<T> { fn d() {} }",
        );
        let b =
            ("crates/a/src/b.rs", "mod c { impl<'a> E<'a> for &'a A { fn f() {} } }\nimpl B { fn g() {} }");
        assert_eq!((count("A", &[a]), count("A", &[a, b]), count("B", &[a, b])), (2, 3, 1));
        let tests = (
            "crates/a/src/b.rs",
            "#[cfg(test)]\nimpl A { fn b() {} }\n#[cfg(test)]\nmod tests { impl A { fn c() {} } }",
        );
        assert_eq!(count("A", &[a, tests]), 2);
    }

    #[test]
    fn bodies_of_traits_count_for_the_trait_and_its_types() {
        let files = [
            ("crates/a/src/a.rs", "trait T { fn a(&self) {} fn b(&self) {} fn c(&self); }"),
            ("crates/a/src/b.rs", "impl T for A { fn b(&self) {} fn c(&self) {} }"),
        ];
        assert_eq!((count("T", &files), count("A", &files)), (2, 3));
    }

    #[test]
    fn files_are_named_by_their_number_of_methods() {
        let read = sources(&[
            ("crates/a/src/a.rs", "impl A { fn a() {} }"),
            ("crates/a/src/b.rs", "impl A { fn b() {} fn c() {} }"),
        ]);
        assert_eq!(files_of("A", &read.iter().collect::<Vec<_>>()), ["a/b.rs (2)", "a/a.rs (1)"]);
    }
}

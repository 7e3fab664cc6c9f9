//! Methods of types: functions of all `impl` blocks of a type, and bodies of traits.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::production::Dropped;
use super::source::Source;

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

/// Reads a file without what was dropped of it.
pub(crate) fn of(file: &syn::File, dropped: &Dropped) -> Methods {
    let mut reader = Reader { dropped, methods: Methods::default() };
    reader.visit_file(file);
    reader.methods
}

struct Reader<'a> {
    dropped: &'a Dropped,
    methods: Methods,
}

/// The last name of a type's path, behind references, boxes aside.
pub(crate) fn name_of(kind: &syn::Type) -> Option<String> {
    match kind {
        syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        syn::Type::Reference(reference) => name_of(&reference.elem),
        syn::Type::Paren(inner) => name_of(&inner.elem),
        syn::Type::Group(inner) => name_of(&inner.elem),
        _ => None,
    }
}

impl Reader<'_> {
    /// The name of a function that is not dropped.
    fn name(&self, signature: &syn::Signature) -> Option<String> {
        (!self.dropped.has(signature.ident.span())).then(|| signature.ident.to_string())
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let functions = item.items.iter().filter_map(|one| match one {
            syn::ImplItem::Fn(function) => self.name(&function.sig),
            _ => None,
        });
        let functions: Vec<String> = functions.collect();
        let name = name_of(&item.self_ty).filter(|_| !self.dropped.has(item.impl_token.span));
        if let Some(name) = name {
            *self.methods.own.entry(name.clone()).or_default() += functions.len();
            if let Some(last) = item.trait_.as_ref().and_then(|(path, _)| path.segments.last()) {
                self.methods.implemented.push((name, last.ident.to_string(), functions));
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let bodies = item.items.iter().filter_map(|one| match one {
            syn::TraitItem::Fn(function) if function.default.is_some() => self.name(&function.sig),
            _ => None,
        });
        let bodies: Vec<String> = bodies.collect();
        self.methods.bodies.entry(item.ident.to_string()).or_default().extend(bodies);
        visit::visit_item_trait(self, item);
    }
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

//! Types that a type names: `Box<a::B<C>>` names `Box`, `a::B` and `C`.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::paths::Path;

/// One name in a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The first name of the path, or of the path by which the file imports the name: a crate or a
    /// module.
    pub(crate) from: Option<String>,
    pub(crate) name: String,
    /// It is not behind a reference.
    pub(crate) is_owned: bool,
}

impl Mention {
    /// The crate among `packages` that it names, in a file of the crate `own`; None for that crate.
    pub(crate) fn package<'a>(&'a self, own: &str, packages: &[&str]) -> Option<&'a str> {
        self.from.as_deref().filter(|from| *from != own && packages.contains(from))
    }
}

/// Names that a file imports, each with the first name of its path.
#[derive(Debug, Default)]
pub(crate) struct Imports(BTreeMap<String, String>);

impl Imports {
    /// Takes the imports among the paths of a file.
    pub(crate) fn of(paths: &[Path]) -> Self {
        let import = |path: &Path| Some((path.names.last()?.clone(), path.names.first()?.clone()));
        Self(paths.iter().filter_map(import).collect())
    }

    /// Names in `kind`. A parameter of `generics` stands for its bounds.
    pub(crate) fn mentions(&self, kind: &syn::Type, generics: &[&syn::Generics]) -> Vec<Mention> {
        let mut found = Found { imports: self, depth: 0, mentions: Vec::new() };
        found.visit_type(kind);
        for parameter in generics.iter().flat_map(|generics| generics.type_params()) {
            if found.mentions.iter().any(|mention| parameter.ident == mention.name) {
                parameter.bounds.iter().for_each(|bound| found.visit_type_param_bound(bound));
            }
        }
        found.mentions
    }
}

struct Found<'a> {
    imports: &'a Imports,
    /// References around.
    depth: usize,
    mentions: Vec<Mention>,
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_type_reference(&mut self, reference: &'ast syn::TypeReference) {
        self.depth += 1;
        visit::visit_type_reference(self, reference);
        self.depth -= 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(last) = path.segments.last() {
            let name = last.ident.to_string();
            let first = path.segments.first().filter(|_| path.segments.len() > 1);
            let from = first.map(|first| first.ident.to_string());
            let from = from.or_else(|| self.imports.0.get(&name).cloned());
            self.mentions.push(Mention { from, name, is_owned: self.depth == 0 });
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::super::paths::paths;
    use super::*;
    use crate::tokens::list;

    #[test]
    fn all_names_of_a_type_are_found_with_their_crates() {
        let imports = Imports::of(&paths(&list("use route::{Session, Caller};".parse().unwrap())));
        let kind = syn::parse_str("Box<dyn Fn(&mut Session) -> wire::a::Kind<T>>").unwrap();
        let generics = syn::parse_str("<'a, T: Held, U: Other>").unwrap();
        let mentions = imports.mentions(&kind, &[&generics]);
        let shown: Vec<_> =
            mentions.iter().map(|one| (one.from.as_deref(), one.name.as_str(), one.is_owned)).collect();
        let expected = [
            (None, "Box", true),
            (None, "Fn", true),
            (Some("route"), "Session", false),
            (Some("wire"), "Kind", true),
            (None, "T", true),
            (None, "Held", true),
        ];
        assert_eq!(shown, expected);
        let packages = ["proxy", "route"];
        let of = |own| mentions.iter().filter_map(|one| one.package(own, &packages)).collect::<Vec<_>>();
        assert_eq!((of("proxy"), of("route")), (vec!["route"], vec![]));
    }
}

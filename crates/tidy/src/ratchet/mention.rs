//! Types that a type names: `Box<a::B<C>>` names `Box`, `a::B` and `C`.

use std::collections::BTreeMap;

use super::paths::Path;
use crate::tokens::{Kind, Token, close_of, parts, skip_angles};

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

    /// Names of types in `kinds`: those that begin with a capital letter. A parameter of `generics`
    /// stands for its bounds.
    pub(crate) fn mentions(&self, kinds: &[Token], generics: &[&[Token]]) -> Vec<Mention> {
        let mut mentions = self.names(kinds);
        for parameter in generics.iter().flat_map(|generics| parts(within(generics))) {
            if let [name, colon, bounds @ ..] = parameter
                && colon.kind == Kind::Mark(':')
                && mentions.iter().any(|mention| name.is_word(&mention.name))
            {
                mentions.extend(self.names(bounds));
            }
        }
        mentions
    }

    fn names(&self, kinds: &[Token]) -> Vec<Mention> {
        let mut mentions = Vec::new();
        let (mut at, mut borrowed_to) = (0, 0);
        while let Some(token) = kinds.get(at) {
            if token.kind == Kind::Mark('&') {
                borrowed_to = end_of_type(kinds, at + 1).max(borrowed_to);
            }
            let last = end_of_path(kinds, at);
            if let Some(name) = kinds[last].word().filter(|name| name.starts_with(char::is_uppercase)) {
                let from = token.word().filter(|_| last > at).map(str::to_owned);
                let from = from.or_else(|| self.0.get(name).cloned());
                mentions.push(Mention { from, name: name.to_owned(), is_owned: at >= borrowed_to });
            }
            at = last + 1;
        }
        mentions
    }
}

/// What stands in the angle brackets around `generics`.
fn within(generics: &[Token]) -> &[Token] {
    generics.get(1..generics.len().saturating_sub(1)).unwrap_or_default()
}

/// The index of the last name of the path that begins at `at`; `at` if none does.
fn end_of_path(tokens: &[Token], at: usize) -> usize {
    let is = |at: usize, mark| tokens.get(at).is_some_and(|token| token.kind == Kind::Mark(mark));
    let mut last = at;
    while tokens[last].word().is_some()
        && is(last + 1, ':')
        && is(last + 2, ':')
        && tokens.get(last + 3).is_some_and(|next| next.word().is_some())
    {
        last += 3;
    }
    last
}

/// The index behind the type to which a reference at `at - 1` points.
fn end_of_type(tokens: &[Token], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        at = match &token.kind {
            Kind::Open(_) => return close_of(tokens, at) + 1,
            Kind::Mark('\'') => at + 2,
            Kind::Mark('&') => at + 1,
            Kind::Word(word) if ["mut", "dyn", "impl"].contains(&word.as_str()) => at + 1,
            Kind::Word(_) => return skip_angles(tokens, end_of_path(tokens, at) + 1),
            _ => return at,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::paths::paths;
    use super::*;
    use crate::tokens::list;

    #[test]
    fn all_names_of_a_type_are_found_with_their_crates() {
        let imports = Imports::of(&paths(&list("use route::{Session, Caller};".parse().unwrap())));
        let kind = list("Box<dyn Fn(&'a mut Session) -> wire::a::Kind<T>>".parse().unwrap());
        let generics = list("<'a, T: Held, U: Other>".parse().unwrap());
        let mentions = imports.mentions(&kind, &[&generics[..]]);
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
        let kinds = list("a: &B<C>, d: &[E], f: &dyn g::H, i: I".parse().unwrap());
        let owned: Vec<_> = imports.mentions(&kinds, &[]).into_iter().filter(|one| one.is_owned).collect();
        assert_eq!(owned.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["I"]);
        let packages = ["proxy", "route"];
        let of = |own| mentions.iter().filter_map(|one| one.package(own, &packages)).collect::<Vec<_>>();
        assert_eq!((of("proxy"), of("route")), (vec!["route"], vec![]));
    }
}

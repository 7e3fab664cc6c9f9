//! What types hold, and what functions take.

use super::mention::{Imports, Mention};
use crate::items::{Block, Function, Items, Type};
use crate::tokens::{Token, parts};

/// What one file says of types and of functions over them.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    /// Types with the names in their fields.
    pub(crate) types: Vec<(String, Vec<Mention>)>,
    /// Names in each argument of each function.
    pub(crate) functions: Vec<Vec<Vec<Mention>>>,
}

/// Reads the items of a file.
pub(crate) fn of(items: &Items<'_>, imports: &Imports) -> Bundles {
    let fields = |kind: &Type<'_>| {
        let mentions = kind.fields.iter().flat_map(|field| imports.mentions(field, &[kind.generics]));
        (kind.name.to_owned(), mentions.collect())
    };
    let with_body = items.functions.iter().filter(|function| function.has_body);
    let functions = with_body.map(|function| {
        let block = function.block.and_then(|block| items.blocks.get(block));
        parts(function.arguments).into_iter().map(|part| argument(part, function, block, imports)).collect()
    });
    Bundles { types: items.types.iter().map(fields).collect(), functions: functions.collect() }
}

/// Names in an argument: for `self`, the type that it has.
fn argument(
    part: &[Token],
    function: &Function<'_>,
    block: Option<&Block<'_>>,
    imports: &Imports,
) -> Vec<Mention> {
    let (around, of_block) = block.map_or((None, &[][..]), |block| (Some(block.name), block.generics));
    let mut mentions = imports.mentions(part, &[of_block, function.generics]);
    let has_self = part.iter().any(|token| token.is_word("self") || token.is_word("Self"));
    if let Some(name) = around.filter(|_| has_self) {
        mentions.push(Mention { from: None, name: name.to_owned(), is_owned: false });
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn bundles(text: &str) -> Bundles {
        sources(&[("crates/proxy/src/a.rs", text)]).remove(0).bundles
    }

    fn names(mentions: &[Mention]) -> Vec<&str> {
        mentions.iter().map(|mention| mention.name.as_str()).collect()
    }

    #[test]
    fn types_have_the_names_in_their_fields() {
        let text = "struct A<T: B> { c: Rc<D>, e: T } enum F { G(H), I { j: K } } type L = (M, N);";
        let types = bundles(text).types;
        let shown: Vec<_> = types.iter().map(|(name, mentions)| (name.as_str(), names(mentions))).collect();
        let expected = [("A", vec!["Rc", "D", "T", "B"]), ("F", vec!["H", "K"]), ("L", vec!["M", "N"])];
        assert_eq!(shown, expected);
    }

    #[test]
    fn functions_have_the_names_in_each_argument() {
        let text = "impl<T: B> A<T> { fn f(&self, c: &C<T>) -> D { fn g(h: impl H) {} } }
            trait I { fn j(self) {} fn k(&self); }";
        let functions = bundles(text).functions;
        let shown: Vec<Vec<_>> =
            functions.iter().map(|arguments| arguments.iter().map(|one| names(one)).collect()).collect();
        let expected = [vec![vec!["A"], vec!["C", "T", "B"]], vec![vec!["H"]], vec![vec!["I"]]];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_only_tests_have_is_left_out() {
        let text =
            "struct A {\n#[cfg(test)]\n b: B,\n c: C }\n#[cfg(test)]\nmod tests { struct D; fn e() {} }";
        let found = bundles(text);
        assert_eq!((found.types.len(), names(&found.types[0].1), found.functions.len()), (1, vec!["C"], 0));
    }
}

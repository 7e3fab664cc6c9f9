//! Types, blocks and functions of a file, found in its tokens.

use crate::tokens::{Kind, Token, close_of, parts, skip_angles};

/// A struct, an enum or an alias.
#[derive(Debug)]
pub(crate) struct Type<'a> {
    pub(crate) name: &'a str,
    pub(crate) generics: &'a [Token],
    /// Its fields, those of all variants together; of an alias, what stands behind `=`.
    pub(crate) fields: Vec<&'a [Token]>,
}

/// An `impl` block or a trait.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// The type of `self`; empty if it has no name.
    pub(crate) name: &'a str,
    /// The trait that an `impl` block is of.
    pub(crate) of: Option<&'a str>,
    pub(crate) is_trait: bool,
    pub(crate) generics: &'a [Token],
    /// What stands between its braces.
    pub(crate) body: &'a [Token],
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The block around, by its index.
    pub(crate) block: Option<usize>,
    /// It is one of the block, and not one within another function.
    pub(crate) is_method: bool,
    pub(crate) has_body: bool,
    pub(crate) generics: &'a [Token],
    pub(crate) arguments: &'a [Token],
    /// The first line and the last.
    pub(crate) lines: (usize, usize),
}

/// All items of a file.
#[derive(Debug, Default)]
pub(crate) struct Items<'a> {
    pub(crate) types: Vec<Type<'a>>,
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
}

impl<'a> Items<'a> {
    /// Finds the items among the tokens of a file.
    pub(crate) fn of(tokens: &'a [Token]) -> Self {
        let mut items = Self::default();
        items.walk(tokens, None, false);
        items
    }

    fn walk(&mut self, tokens: &'a [Token], block: Option<usize>, is_direct: bool) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let name = tokens.get(at + 1).and_then(Token::word);
            at = match (token.word(), name) {
                (Some("impl"), _) if begins_item(tokens, at) => self.block(tokens, at, None),
                (Some("trait"), Some(name)) => self.block(tokens, at, Some(name)),
                (Some(word @ ("struct" | "enum")), Some(name)) => self.kind(tokens, at, (word, name)),
                (Some("type"), Some(name)) if block.is_none() => self.alias(tokens, at, name),
                (Some("fn"), Some(name)) => self.function(tokens, at, name, (block, is_direct)),
                _ => at + 1,
            };
        }
    }

    /// Reads the block that begins at `at`: a trait of this name, or an `impl`.
    fn block(&mut self, tokens: &'a [Token], at: usize, trait_name: Option<&'a str>) -> usize {
        let begin = at + 1 + usize::from(trait_name.is_some());
        let behind = skip_angles(tokens, begin);
        let open = end_of_header(tokens, behind);
        let close = close_of(tokens, open);
        let header = tokens.get(behind..open).unwrap_or_default();
        let header = header.split(|token| token.is_word("where")).next().unwrap_or_default();
        let (of, kind) = split_at_for(header);
        let name = trait_name.or_else(|| last_name(kind)).unwrap_or_default();
        let of = of.filter(|_| trait_name.is_none()).and_then(last_name);
        let body = tokens.get(open + 1..close).unwrap_or_default();
        let (is_trait, generics) = (trait_name.is_some(), &tokens[begin..behind]);
        self.blocks.push(Block { name, of, is_trait, generics, body });
        self.walk(body, Some(self.blocks.len() - 1), true);
        close.max(at) + 1
    }

    fn kind(&mut self, tokens: &'a [Token], at: usize, (word, name): (&str, &'a str)) -> usize {
        let behind = skip_angles(tokens, at + 2);
        let is_tuple = tokens.get(behind).is_some_and(|token| token.kind == Kind::Open('('));
        let open = if is_tuple { behind } else { end_of_header(tokens, behind) };
        let has_fields = matches!(tokens.get(open), Some(Token { kind: Kind::Open(_), .. }));
        let close = if has_fields { close_of(tokens, open) } else { open };
        let fields = parts(tokens.get(open + 1..close).unwrap_or_default());
        let fields = if word == "enum" { fields.into_iter().flat_map(of_variant).collect() } else { fields };
        let fields = fields.into_iter().filter(|field| !field.is_empty()).collect();
        self.types.push(Type { name, generics: &tokens[at + 2..behind], fields });
        close + 1
    }

    fn alias(&mut self, tokens: &'a [Token], at: usize, name: &'a str) -> usize {
        let behind = skip_angles(tokens, at + 2);
        let end = end_of_header(tokens, behind);
        let fields = vec![tokens.get(behind..end).unwrap_or_default()];
        self.types.push(Type { name, generics: &tokens[at + 2..behind], fields });
        end + 1
    }

    fn function(
        &mut self,
        tokens: &'a [Token],
        at: usize,
        name: &'a str,
        (block, is_method): (Option<usize>, bool),
    ) -> usize {
        let open = skip_angles(tokens, at + 2);
        if tokens.get(open).is_none_or(|token| token.kind != Kind::Open('(')) {
            return at + 1;
        }
        let close = close_of(tokens, open);
        let arguments = tokens.get(open + 1..close).unwrap_or_default();
        let body = end_of_header(tokens, close + 1);
        let has_body = tokens.get(body).is_some_and(|token| token.kind == Kind::Open('{'));
        let end = if has_body { close_of(tokens, body) } else { body };
        let lines = (tokens[at].line, tokens.get(end).map_or(0, |token| token.line));
        let generics = &tokens[at + 2..open];
        self.functions.push(Function { name, block, is_method, has_body, generics, arguments, lines });
        if has_body {
            self.walk(tokens.get(body + 1..end).unwrap_or_default(), block, false);
        }
        end + 1
    }
}

/// The fields of a variant of an enum.
fn of_variant(variant: &[Token]) -> Vec<&[Token]> {
    let mut at = 0;
    while let Some(token) = variant.get(at) {
        match token.kind {
            // An attribute.
            Kind::Open('[') => at = close_of(variant, at),
            Kind::Open(_) => return parts(&variant[at + 1..close_of(variant, at)]),
            _ => {}
        }
        at += 1;
    }
    Vec::new()
}

/// Whether the `impl` at `at` begins a block, and is not part of a type.
fn begins_item(tokens: &[Token], at: usize) -> bool {
    match at.checked_sub(1).map(|before| &tokens[before].kind) {
        None | Some(Kind::Close | Kind::Open('{') | Kind::Mark(';')) => true,
        Some(Kind::Word(word)) => word == "unsafe",
        Some(_) => false,
    }
}

/// The index of the brace or semicolon that ends the header of an item.
fn end_of_header(tokens: &[Token], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        at = match token.kind {
            Kind::Open('{') | Kind::Mark(';') => return at,
            Kind::Open(_) => close_of(tokens, at) + 1,
            Kind::Mark('<') => skip_angles(tokens, at),
            _ => at + 1,
        };
    }
    at
}

/// The parts of a header before and behind `for`; the first is there only with the second.
fn split_at_for(header: &[Token]) -> (Option<&[Token]>, &[Token]) {
    let mut at = 0;
    while let Some(token) = header.get(at) {
        if token.is_word("for") {
            return (Some(&header[..at]), &header[at + 1..]);
        }
        at = skip_angles(header, at).max(at + 1);
    }
    (None, header)
}

/// The last name of a type's path, behind references.
fn last_name(kind: &[Token]) -> Option<&str> {
    let (mut at, mut name) = (0, None);
    while let Some(token) = kind.get(at) {
        let is_lifetime = at.checked_sub(1).is_some_and(|before| kind[before].kind == Kind::Mark('\''));
        match &token.kind {
            Kind::Word(word) if !is_lifetime && !["mut", "dyn"].contains(&word.as_str()) => {
                name = Some(word.as_str());
            }
            Kind::Open(_) => return None,
            _ => {}
        }
        at = skip_angles(kind, at).max(at + 1);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::list;

    fn tokens(text: &str) -> Vec<Token> {
        list(text.parse().unwrap())
    }

    #[test]
    fn blocks_have_their_types_and_traits() {
        let tokens = tokens(
            "impl A {} unsafe impl<'a, F: for<'b> Fn(&'b u8)> b::C<D> for &'a mut e::G<F> where F: H {}
            trait I<T>: J { type K = L; } fn f(m: impl M) -> impl N { impl O for (P, Q) {} }",
        );
        let items = Items::of(&tokens);
        let shown: Vec<_> = items.blocks.iter().map(|one| (one.name, one.of, one.is_trait)).collect();
        let expected =
            [("A", None, false), ("G", Some("C"), false), ("I", None, true), ("", Some("O"), false)];
        assert_eq!(shown, expected);
        assert!(items.types.is_empty());
    }

    #[test]
    fn types_have_their_fields() {
        let tokens = tokens(
            "struct A; struct B<T>(pub T, u8); enum C where D: E { #[f(G)] H, I(J, K), L { m: N }, O = 1 }
            type P<T> = (T, Q); struct R { s: T<U, V>, }",
        );
        let items = Items::of(&tokens);
        let lengths = |one: &Type<'_>| one.fields.iter().map(|field| field.len()).collect::<Vec<_>>();
        let shown: Vec<_> =
            items.types.iter().map(|one| (one.name, one.generics.len(), lengths(one))).collect();
        let expected = [
            ("A", 0, vec![]),
            ("B", 3, vec![2, 1]),
            ("C", 0, vec![1, 1, 3]),
            ("P", 3, vec![6]),
            ("R", 0, vec![8]),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn functions_have_their_blocks_and_lines() {
        let tokens = tokens(
            "impl A {\n    pub const fn b<T: C<D>>(&self) -> [u8; 2] {\n        fn e() {}\n    }\n}\n
            trait F { fn g(h: fn(u8)); }\nfn i() where J: K<{ 1 }> {}",
        );
        let functions = Items::of(&tokens).functions;
        let shown: Vec<_> =
            functions.iter().map(|one| (one.name, one.block, one.is_method, one.has_body)).collect();
        let expected = [
            ("b", Some(0), true, true),
            ("e", Some(0), false, true),
            ("g", Some(1), true, false),
            ("i", None, false, true),
        ];
        assert_eq!(shown, expected);
        assert_eq!(
            (functions[0].lines, functions[0].generics.len(), functions[0].arguments.len()),
            ((2, 4), 8, 2)
        );
    }
}

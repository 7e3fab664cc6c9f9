//! Production code of a file: its tokens without those that only tests have.

use crate::tokens::{Kind, Token, close_of, parts};

/// Code that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Without {
    /// Items under `#[cfg(test)]` and `#[cfg(doctest)]`.
    Tests,
    /// Items under `#[cfg(feature = "memory")]`, which only tests switch on.
    Memory,
}

/// Lines of items that were taken out of a file: the first and the last of each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped(Vec<(usize, usize)>);

impl Dropped {
    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|(first, last)| last + 1 - first).sum()
    }
}

/// What is left of a file, and what was taken out of it.
#[derive(Debug, Default)]
pub(crate) struct Production {
    pub(crate) tokens: Vec<Token>,
    pub(crate) dropped: Dropped,
    /// Modules `mod name;` that were taken out; their files belong to tests as a whole.
    pub(crate) modules: Vec<String>,
}

impl Production {
    /// Takes items out of a file.
    pub(crate) fn of(mut tokens: Vec<Token>, without: Without) -> Self {
        let mut production = Self::default();
        let mut ranges = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let (begin, is_dropped) = attributes(&tokens, at, without);
            let end = if is_dropped { end_of_item(&tokens, begin) } else { begin.max(at + 1) };
            if is_dropped {
                production.drop_item(&tokens[at..end], &tokens[begin..end]);
                ranges.push(at..end);
            }
            at = end;
        }
        ranges.into_iter().rev().for_each(|range| {
            tokens.drain(range);
        });
        production.tokens = tokens;
        production
    }

    fn drop_item(&mut self, whole: &[Token], item: &[Token]) {
        if let (Some(first), Some(last)) = (whole.first(), whole.last()) {
            self.dropped.0.push((first.line, last.line));
        }
        let is_file = item.last().is_some_and(|last| last.kind == Kind::Mark(';'));
        let module = item.iter().position(|token| token.is_word("mod")).and_then(|at| item.get(at + 1));
        if let (true, Some(name)) = (is_file, module.and_then(Token::word)) {
            self.modules.push(name.to_owned());
        }
    }
}

/// The first token behind the attributes at `at`, and whether one of them leaves the item out.
fn attributes(tokens: &[Token], mut at: usize, without: Without) -> (usize, bool) {
    let mut is_dropped = false;
    while let [hash, open, ..] = &tokens[at..]
        && (&hash.kind, &open.kind) == (&Kind::Mark('#'), &Kind::Open('['))
    {
        let close = close_of(tokens, at + 1);
        is_dropped |= leaves_out(&tokens[at + 2..close], without);
        at = close + 1;
    }
    (at, is_dropped)
}

/// Whether the attribute is `cfg` of a condition that only tests fulfil.
fn leaves_out(attribute: &[Token], without: Without) -> bool {
    match attribute {
        [name, _, condition @ .., _] => name.is_word("cfg") && only_in_tests(condition, without),
        _ => false,
    }
}

fn only_in_tests(condition: &[Token], without: Without) -> bool {
    match (condition, without) {
        ([one], Without::Tests) => one.is_word("test") || one.is_word("doctest"),
        ([name, _, value], Without::Memory) if name.is_word("feature") => {
            value.kind == Kind::Literal("\"memory\"".to_owned())
        }
        ([name, _, all @ .., _], _) if name.is_word("all") => {
            parts(all).into_iter().any(|part| only_in_tests(part, without))
        }
        _ => false,
    }
}

/// First words of items that end with braces, or with a semicolon in place of them.
const WITH_BRACES: &[&str] =
    &["async", "enum", "extern", "fn", "impl", "macro_rules", "mod", "struct", "trait", "union", "unsafe"];

/// How an item ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Semicolon,
    /// As those of [`WITH_BRACES`].
    Braces,
    /// A field, a variant, an arm or a statement.
    Comma,
}

impl End {
    fn of(item: &[Token]) -> Self {
        let item = match item {
            [visible, Token { kind: Kind::Open('('), .. }, ..] if visible.is_word("pub") => {
                &item[close_of(item, 1)..]
            }
            _ => item,
        };
        let mut words = item.iter().filter_map(Token::word).filter(|word| *word != "pub");
        match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
            ("const", second) if ["fn", "unsafe", "async", "extern"].contains(&second) => Self::Braces,
            ("use" | "const" | "static" | "type" | "let", _) => Self::Semicolon,
            (first, _) if WITH_BRACES.contains(&first) => Self::Braces,
            _ => Self::Comma,
        }
    }
}

/// The index behind the item, field, variant or statement that begins at `begin`.
fn end_of_item(tokens: &[Token], begin: usize) -> usize {
    let ends = End::of(&tokens[begin..]);
    let mut angles = 0_u32;
    let mut at = begin;
    while let Some(token) = tokens.get(at) {
        match token.kind {
            Kind::Mark(';') => return at + 1,
            Kind::Mark(',') if ends == End::Comma && angles == 0 => return at + 1,
            Kind::Mark('<') => angles += 1,
            Kind::Mark('>') if tokens[at - 1].kind != Kind::Mark('-') => angles = angles.saturating_sub(1),
            Kind::Open(bracket) => {
                at = close_of(tokens, at);
                if bracket == '{' && ends != End::Semicolon {
                    let next = tokens.get(at + 1).map(|next| &next.kind);
                    let goes_on = matches!(next, Some(Kind::Mark(',' | ';'))) && ends == End::Comma;
                    return at + 1 + usize::from(goes_on);
                }
            }
            // The group around ends.
            Kind::Close => return at,
            _ => {}
        }
        at += 1;
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::list;

    /// What is left, with `]` for all brackets that close.
    fn left(text: &str, without: Without) -> (String, Production) {
        let production = Production::of(list(text.parse().unwrap()), without);
        let shown = |token: &Token| match &token.kind {
            Kind::Word(text) | Kind::Literal(text) => text.clone(),
            Kind::Mark(mark) | Kind::Open(mark) => mark.to_string(),
            Kind::Close => "]".to_owned(),
        };
        (production.tokens.iter().map(shown).collect(), production)
    }

    #[test]
    fn items_of_tests_are_left_out() {
        for item in [
            "mod tests { fn a() {} }",
            "pub(super) const fn a(&self) -> Vec<u8> { b() }",
            "const A: [u8; 1] = { [1] };",
            "use a::{b, c};",
            "pub mod helpers;",
            "impl A for B<C, D> { fn e() {} }",
        ] {
            assert_eq!(
                left(&format!("#[cfg(test)]\n{item} fn z() {{}}"), Without::Tests).0,
                "fnz(]{]",
                "{item}"
            );
        }
        assert_eq!(left("struct A { #[cfg(test)] b: C<D, E>, f: G }", Without::Tests).0, "structA{f:G]");
        assert_eq!(left("#[cfg(all(test, unix))] fn a() {}", Without::Tests).0, "");
        assert_eq!(left("fn a() { #[cfg(test)] b(); c() }", Without::Tests).0, "fna(]{c(]]");
    }

    #[test]
    fn other_items_stay() {
        for condition in ["unix", "any(test, unix)", "all(unix, any(x, test, y))", "feature = \"memory\""] {
            let text = format!("#[cfg({condition})] fn a() {{}}");
            assert_eq!(left(&text, Without::Tests).1.tokens, list(text.parse().unwrap()), "{condition}");
        }
        assert_eq!(left("#[cfg(feature = \"memory\")] fn a() {}", Without::Memory).0, "");
    }

    #[test]
    fn lines_and_modules_that_are_left_out_are_known() {
        let (_, production) =
            left("fn a() {}\n\n/// Text.\n#[cfg(test)]\nmod b;\nfn c() {}\n", Without::Tests);
        assert_eq!(production.dropped, Dropped(vec![(3, 5)]));
        assert_eq!(production.modules, ["b"]);
        assert_eq!(left("#[cfg(test)] mod b {}", Without::Tests).1.modules, Vec::<String>::new());
    }
}

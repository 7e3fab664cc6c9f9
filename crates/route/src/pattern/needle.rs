//! Bytes without which an expression matches nothing: looking for them takes some nanoseconds,
//! trying the expression takes a microsecond. With thousands of rules that is the difference
//! between a pause that clients notice and none.

use memchr::memmem::Finder;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Shorter ones are nearly everywhere.
const BYTES_MIN: usize = 3;

/// Such bytes, in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Needle(Finder<'static>);

/// A text in lower case, to look for needles in.
#[derive(Clone, Debug)]
pub(crate) struct Haystack(Vec<u8>);

impl Haystack {
    /// `text`, if all of it is ASCII: what other letters are the same in lower case is for engines
    /// to say.
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        text.is_ascii().then(|| Self(text.to_ascii_lowercase()))
    }
}

impl Needle {
    /// The longest one that can be told for certain. An expression of which a part is not
    /// understood here has none; what is understood means the same in both dialects.
    pub(crate) fn of(source: &str) -> Option<Self> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(source).ok()?;
        let bytes = longest(&hir).filter(|bytes| bytes.len() >= BYTES_MIN && bytes.is_ascii())?;
        Some(Self(Finder::new(&bytes.to_ascii_lowercase()).into_owned()))
    }

    /// Whether the expression may match.
    pub(crate) fn is_in(&self, haystack: &Haystack) -> bool {
        self.0.find(&haystack.0).is_some()
    }
}

/// The longest literal that is in everything that matches.
fn longest(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Capture(capture) => longest(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => longest(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(longest).max_by_key(|literal| literal.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needle(source: &str) -> Option<String> {
        Needle::of(source).map(|needle| String::from_utf8(needle.0.needle().to_vec()).unwrap())
    }

    #[test]
    fn the_longest_literal_is_looked_for() {
        for (source, wanted) in [
            ("^SELECT .* FROM nowhere_17", Some(" from nowhere_17")),
            ("^(SELECT|UPDATE) .* orders", Some(" orders")),
            ("(abc)+x?", Some("abc")),
            ("^SELECT.*FOR UPDATE$", Some("for update")),
            ("select|update", None),
            ("(?:abc)*", None),
            ("ab", None),
            (r"a\.b\.c", Some("a.b.c")),
            // What is not understood, or not the same everywhere.
            (r"abc(?=def)", None),
            (r"(abc)\1", None),
            (r"\Qabc\E", None),
            ("(*UTF)abc", None),
            ("gr\u{fc}n", None),
        ] {
            assert_eq!(needle(source).as_deref(), wanted, "{source}");
        }
    }

    #[test]
    fn texts_that_are_not_ascii_are_for_engines() {
        assert!(Haystack::new("\u{212a}".as_bytes()).is_none());
        assert!(Needle::of("kelvin").unwrap().is_in(&Haystack::new(b"a KELVIN").unwrap()));
    }
}

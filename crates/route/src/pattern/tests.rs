use super::*;

fn pattern(source: &str, engine: Engine) -> Pattern {
    Pattern::new(source, engine, true).unwrap()
}

const ENGINES: [Engine; 2] = [Engine::Pcre, Engine::Re2];

/// A text in which `text` stands behind more than the engine calls short.
fn long(text: &str) -> Vec<u8> {
    let mut out = vec![b' '; SHORT_TEXT_BYTES_MAX + 1];
    out.extend_from_slice(text.as_bytes());
    out
}

#[test]
fn both_engines_agree_on_ordinary_expressions() {
    for (source, text, expected) in [
        ("select", "SELECT 1", true),
        ("^select .* for update$", "SELECT a FROM t FOR UPDATE", true),
        (r"^SELECT \d+$", "select 12", true),
        (r"\bfoo\b", "a foo b", true),
        (r"\bfoo\b", "afoo b", false),
        (r"[\w.]+@[^@\s]+", "x a.b@c y", true),
        ("[[a]x", "[x", true),
        ("[]a]x", "]x", true),
        ("[a&&b]x", "&x", true),
        ("[[:digit:]]{2}", "a12", true),
        (r"a\.b", "axb", false),
        (r"\Qa.b\E", "a.b", true),
        ("é", "caf\u{e9}", true),
        ("(?-i:A)", "a", false),
    ] {
        for engine in ENGINES {
            let pattern = pattern(source, engine);
            assert_eq!(pattern.matches(text.as_bytes()), Ok(expected), "{source} {text} {engine:?}");
        }
    }
}

/// What is searched in another way because of its length has the same answers.
#[test]
fn long_texts_match_as_short_ones_do() {
    for (source, text, expected) in [
        ("select 1", "SELECT 1", true),
        ("x$", "x", true),
        ("x$", "x\n", true),
        ("x$", "x\n\n", false),
        (r"\d{3}", "12", false),
        (r"\d{3}", "123", true),
        // Only PCRE has these.
        (r"(a+)b\1", "aabaa", true),
        ("foo(?!bar)", "foobar", false),
        ("foo(?!bar)", "foobaz", true),
        ("(?>a+)b", "aab", true),
        ("a++a", "aaa", false),
        ("(*UTF)a.b", "aéb", true),
    ] {
        let pattern = pattern(source, Engine::Pcre);
        assert_eq!(pattern.matches(text.as_bytes()), Ok(expected), "{source} {text}");
        if !source.contains("(*") {
            assert_eq!(pattern.matches(&long(text)), Ok(expected), "long {source} {text}");
        }
    }
}

#[test]
fn catastrophic_expressions_give_up() {
    let text = "a".repeat(200);
    for source in ["(a+)+b", "(a|aa)+b", "(a*)*b", "(?:(a+)+)+b"] {
        assert_eq!(
            pattern(source, Engine::Pcre).matches(format!("{text}c").as_bytes()),
            pattern(source, Engine::Pcre).matches(text.as_bytes())
        );
        assert_eq!(pattern(source, Engine::Re2).matches(text.as_bytes()), Ok(false), "{source}");
    }
    // With the required `b` somewhere PCRE has to try.
    let text = format!("{text}cb");
    assert_eq!(pattern("(a+)+b$", Engine::Pcre).matches(text.as_bytes()), Err(Exhausted));
    // Long texts: linear where possible, and else counted over all positions.
    let text = "a".repeat(1 << 20);
    assert_eq!(pattern("(a+)+c", Engine::Pcre).matches(text.as_bytes()), Ok(false));
    let text = format!("{text}db");
    assert_eq!(pattern(r"(a)(?:a*a*)+\1{0}(?!b)b", Engine::Pcre).matches(text.as_bytes()), Err(Exhausted));
    assert_eq!(pattern(r"a*a*(?=c)cb", Engine::Pcre).matches(text.as_bytes()), Err(Exhausted));
}

#[test]
fn what_does_not_compile_says_where() {
    let error = Pattern::new("a(b", Engine::Pcre, true).unwrap_err();
    assert!(error.contains("offset 3") && error.contains("parenthesis"), "{error}");
    assert!(Pattern::new("a(b", Engine::Re2, true).is_err());
    for source in [r"(a)\1", "a(?=b)", "a**", "a++", "[a", "a\\"] {
        assert!(Pattern::new(source, Engine::Re2, true).is_err(), "{source}");
    }
}

#[test]
fn matches_are_replaced() {
    let cases = [
        ("(from) (t)", "\\1 \\2_new", false, "select a FROM t, FROM t", "select a FROM t_new, FROM t"),
        ("(from) (t)", "\\1 \\2_new", true, "select a FROM t, FROM t", "select a FROM t_new, FROM t_new"),
        ("a(x)?", "[\\0\\1]", true, "a ax", "[a] [axx]"),
        ("", "-", true, "ab", "-a-b-"),
        ("b*", "-", true, "abc", "-a-c-"),
        ("$", " LIMIT 10", false, "select 1", "select 1 LIMIT 10"),
        ("a", "\\\\", true, "aba", "\\b\\"),
    ];
    for (source, with, all, text, expected) in cases {
        for engine in ENGINES {
            let pattern = pattern(source, engine);
            let template = Template::new(with, pattern.groups()).unwrap();
            let replaced = pattern.replace(text.as_bytes(), &template, all).unwrap().unwrap();
            assert_eq!(String::from_utf8(replaced).unwrap(), expected, "{source} {with} {engine:?}");
            assert_eq!(
                pattern.replace(b"", &Template::new("", 1).unwrap(), true).unwrap().unwrap_or_default(),
                b""
            );
        }
    }
    let none = pattern("x", Engine::Pcre);
    assert_eq!(none.replace(b"abc", &Template::new("y", 1).unwrap(), true), Ok(None));
    assert!(
        Template::new("\\1", 1).is_err()
            && Template::new("\\n", 1).is_err()
            && Template::new("\\", 1).is_err()
    );
}

#[test]
fn long_texts_are_replaced_as_short_ones_are() {
    for (source, with, all) in
        [("a(.)", "<\\1>", true), (r"(a)\1", "<\\1>", true), ("a(?=b)", "x", true), ("(a)\\1", "y", false)]
    {
        let text = "aabab aacab";
        let pattern = pattern(source, Engine::Pcre);
        let template = Template::new(with, pattern.groups()).unwrap();
        let short = pattern.replace(text.as_bytes(), &template, all).unwrap().unwrap();
        let replaced = pattern.replace(&long(text), &template, all).unwrap().unwrap();
        assert_eq!(replaced, long(&String::from_utf8(short).unwrap()), "{source}");
    }
}

#[test]
fn what_grows_without_end_is_given_up() {
    let pattern = pattern("a", Engine::Re2);
    let template = Template::new(&"b".repeat(1 << 20), 1).unwrap();
    assert_eq!(pattern.replace(&[b'a'; 100], &template, true), Err(Exhausted));
    let template = Template::new("b", 1).unwrap();
    assert_eq!(pattern.replace(&vec![b'a'; REPLACEMENTS_MAX + 1], &template, true), Err(Exhausted));
}

impl Pattern {
    /// As rules ask.
    fn matches(&self, text: &[u8]) -> Result<bool, Exhausted> {
        self.is_match(text, Haystack::new(text).as_ref())
    }
}

//! Expressions of RE2 and of PCRE in the words of the linear engine, which has another dialect in
//! small things.

use regex::bytes::{Regex, RegexBuilder};

use crate::limits::{COMPILED_BYTES_MAX, DFA_BYTES_MAX};

/// An expression of RE2: `\d`, `\w`, `\s` and `\b` mean ASCII, `.` and classes characters.
pub(super) fn re2(source: &str, caseless: bool) -> Result<Regex, String> {
    let translated = translate(source, Dialect::Re2)?;
    build(&translated, caseless, true)
}

/// An expression of PCRE, if it has no more than both dialects know.
pub(super) fn pcre(source: &str, caseless: bool) -> Option<Regex> {
    // Flags may change what `$`, `#` and blanks mean.
    if source.contains("(*") || flags(source).any(|flags| flags.contains(['m', 'x', 'J', 'U', 'R'])) {
        return None;
    }
    build(&translate(source, Dialect::Pcre).ok()?, caseless, false).ok()
}

fn build(translated: &str, caseless: bool, unicode: bool) -> Result<Regex, String> {
    RegexBuilder::new(translated)
        .case_insensitive(caseless)
        .unicode(unicode)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(DFA_BYTES_MAX)
        .build()
        .map_err(|error| error.to_string())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Re2,
    Pcre,
}

/// The letters between `(?` and what ends a list of flags.
fn flags(source: &str) -> impl Iterator<Item = &str> {
    source.split("(?").skip(1).filter_map(|rest| rest.split([')', ':']).next())
}

/// What of a class `[...]` or outside of one is being read.
fn translate(source: &str, dialect: Dialect) -> Result<String, String> {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source;
    // Whether what comes next could be repeated once more: `a*` and then `+`.
    let mut repeated = false;
    while let Some(first) = rest.chars().next() {
        let again = std::mem::take(&mut repeated);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '\\' => rest = escape(rest, dialect, &mut out)?,
            '[' => rest = class(rest, &mut out)?,
            '*' | '+' if again => return Err(format!("`{first}` repeats a repetition")),
            '*' | '+' | '?' => {
                out.push(first);
                // `*?` is one repetition.
                repeated = !again;
            }
            '}' => {
                out.push(first);
                repeated = true;
            }
            '$' if dialect == Dialect::Pcre => out.push_str(r"(?:\n?\z)"),
            other => out.push(other),
        }
    }
    Ok(out)
}

/// Translates what follows a backslash outside of classes, and returns what is left behind it.
fn escape<'s>(rest: &'s str, dialect: Dialect, out: &mut String) -> Result<&'s str, String> {
    let mut chars = rest.chars();
    let Some(letter) = chars.next() else { return Err("it ends with a backslash".to_owned()) };
    let behind = chars.as_str();
    match letter {
        'd' | 'w' | 's' => out.extend(["[", set(letter, dialect), "]"]),
        'D' | 'W' | 'S' => {
            out.extend(["[^", set(letter.to_ascii_lowercase(), dialect), "]"]);
        }
        'b' => out.push_str(r"(?-u:\b)"),
        'B' => out.push_str(r"(?-u:\B)"),
        'Q' => {
            let (quoted, behind) = behind.split_once("\\E").unwrap_or((behind, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(behind);
        }
        'E' => {}
        // The engine has other meanings for these, or none.
        '<' | '>' => out.push(letter),
        other => out.extend(['\\', other]),
    }
    Ok(behind)
}

/// The members of `\d`, `\w` or `\s`. RE2's blanks lack the vertical tab.
const fn set(letter: char, dialect: Dialect) -> &'static str {
    match (letter, dialect) {
        ('d', _) => "0-9",
        ('w', _) => "0-9A-Za-z_",
        (_, Dialect::Re2) => r"\t\n\x0c\r ",
        (_, Dialect::Pcre) => r"\t\n\x0b\x0c\r ",
    }
}

/// Translates a class up to its end, and returns what is left behind it. The engine has nested
/// classes and operators on them; here their signs mean themselves.
fn class<'s>(rest: &'s str, out: &mut String) -> Result<&'s str, String> {
    let mut left = rest;
    out.push('[');
    if let Some(behind) = left.strip_prefix('^') {
        out.push('^');
        left = behind;
    }
    // A bracket at the start is a member.
    if let Some(behind) = left.strip_prefix(']') {
        out.push_str("\\]");
        left = behind;
    }
    loop {
        let mut chars = left.chars();
        let Some(first) = chars.next() else { return Err("a `[` is not closed".to_owned()) };
        let behind = chars.as_str();
        left = behind;
        match first {
            ']' => {
                out.push(']');
                return Ok(left);
            }
            '[' => {
                if let Some((name, behind)) =
                    behind.strip_prefix(':').and_then(|named| named.split_once(":]"))
                {
                    out.extend(["[:", name, ":]"]);
                    left = behind;
                } else {
                    out.push_str("\\[");
                }
            }
            '&' | '~' => out.extend(['\\', first]),
            '\\' => {
                let mut chars = behind.chars();
                let Some(letter) = chars.next() else { return Err("it ends with a backslash".to_owned()) };
                left = chars.as_str();
                match letter {
                    'd' | 'w' | 's' => out.push_str(set(letter, Dialect::Pcre)),
                    'b' => out.push_str("\\x08"),
                    other => out.extend(['\\', other]),
                }
            }
            other => out.push(other),
        }
    }
}

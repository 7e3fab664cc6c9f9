//! Lists of names: `ds_${0..1}.t_order_${['a', 'b']}`.

use super::lexer::{Lexeme, Token, tokens};
use super::template::{Piece, pieces};
use super::{Refused, interval};
use crate::limits::SHARDS_MAX;

/// Language of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Text with `${}` in it.
    Groovy,
    /// Plain names.
    Literal,
    /// Names of intervals.
    Interval,
}

/// Expression without the name of its language.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// Column of its first character.
    pub(super) column: usize,
    pub(super) language: Language,
}

/// Takes `<GROOVY>`, `<LITERAL>` or `<INTERVAL>` off an expression. Fails for other languages.
pub(super) fn without_prefix(source: &str) -> Result<Source<'_>, Refused> {
    let column = source.chars().take_while(|c| c.is_whitespace()).count() + 1;
    let text = source.trim();
    let Some((language, rest)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return Ok(Source { text, column, language: Language::Groovy });
    };
    let column = column + language.chars().count() + 2;
    let language = match language {
        "GROOVY" => Language::Groovy,
        "LITERAL" => Language::Literal,
        "INTERVAL" => Language::Interval,
        _ => return Err(Refused::new(1, format!("expressions in <{language}> are not supported"))),
    };
    Ok(Source { text: rest, column, language })
}

/// The names that an expression lists, in its order. Commas separate segments; the lists of one
/// segment multiply, the left one slowest.
pub fn expand(source: &str) -> Result<Vec<String>, Refused> {
    let source = without_prefix(source)?;
    match source.language {
        Language::Groovy => groovy(&source),
        Language::Literal => Ok(split(source.text)),
        Language::Interval => interval::names(source.text, source.column),
    }
}

/// Names between commas.
fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn groovy(source: &Source<'_>) -> Result<Vec<String>, Refused> {
    let mut names = Vec::new();
    let mut segment = vec![String::new()];
    for piece in pieces(source.text, source.column)? {
        match piece {
            Piece::Text(text, _) => {
                let mut parts = text.split(',');
                append(&mut segment, &[parts.next().unwrap_or_default().to_owned()]);
                for part in parts {
                    finish(&mut names, &mut segment);
                    append(&mut segment, &[part.to_owned()]);
                }
            }
            Piece::Code(code, column) => {
                let values = list(code, column)?;
                if segment.len().saturating_mul(values.len()) > SHARDS_MAX {
                    return Err(Refused::new(column, format!("more than {SHARDS_MAX} names")));
                }
                append(&mut segment, &values);
            }
        }
    }
    finish(&mut names, &mut segment);
    if names.len() > SHARDS_MAX {
        return Err(Refused::new(source.column, format!("more than {SHARDS_MAX} names")));
    }
    Ok(names)
}

/// Each name so far with each of `values` behind it.
fn append(segment: &mut Vec<String>, values: &[String]) {
    *segment =
        segment.iter().flat_map(|name| values.iter().map(move |value| format!("{name}{value}"))).collect();
}

fn finish(names: &mut Vec<String>, segment: &mut Vec<String>) {
    let done = std::mem::replace(segment, vec![String::new()]);
    names.extend(done.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).map(str::to_owned));
}

/// The values of `a..b`, `[a, b, c..d]` or one value.
fn list(code: &str, column: usize) -> Result<Vec<String>, Refused> {
    let tokens = tokens(code, column)?;
    let inner = match tokens.as_slice() {
        [Lexeme { token: Token::Sign('['), .. }, inner @ .., Lexeme { token: Token::Sign(']'), .. }] => inner,
        all => all,
    };
    let mut values = Vec::new();
    for item in inner.split(|lexeme| lexeme.token == Token::Sign(',')) {
        match item {
            [Lexeme { token: Token::Text(text), .. }] => values.push(text.clone()),
            [one] => values.push(integer(one)?.to_string()),
            [first, Lexeme { token: Token::Range, .. }, last] => {
                values.extend(range(integer(first)?, integer(last)?, first.column)?);
            }
            [] => return Err(Refused::new(column, "a value is missing")),
            [first, ..] => return Err(Refused::new(first.column, "expected `a..b`, a text or an integer")),
        }
    }
    Ok(values)
}

/// The integers from `first` to `last`, both included; falling if `last` is smaller.
fn range(first: i64, last: i64, column: usize) -> Result<Vec<String>, Refused> {
    if usize::try_from(first.abs_diff(last)).map_or(true, |steps| steps >= SHARDS_MAX) {
        return Err(Refused::new(column, format!("more than {SHARDS_MAX} values")));
    }
    let rising = (first.min(last)..=first.max(last)).map(|value| value.to_string());
    Ok(if first <= last { rising.collect() } else { rising.rev().collect() })
}

fn integer(lexeme: &Lexeme) -> Result<i64, Refused> {
    match lexeme.token {
        Token::Integer { value, .. } => Ok(value),
        _ => Err(Refused::new(lexeme.column, "expected an integer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str) -> String {
        expand(source).unwrap_err().to_string()
    }

    #[test]
    fn lists_multiply_and_commas_separate() {
        assert_eq!(expand("ds_${0..1}.t_${0..1}").unwrap(), ["ds_0.t_0", "ds_0.t_1", "ds_1.t_0", "ds_1.t_1"]);
        assert_eq!(expand("a$->{['x', 'y']}, b${3..1}").unwrap(), ["ax", "ay", "b3", "b2", "b1"]);
        assert_eq!(expand("t_${[1, 5..6]}").unwrap(), ["t_1", "t_5", "t_6"]);
        assert_eq!(expand("<LITERAL>a.b, c.${0..1}").unwrap(), ["a.b", "c.${0..1}"]);
        assert_eq!(expand("<GROOVY> a_${0..1}").unwrap(), ["a_0", "a_1"]);
        assert_eq!(expand(" , ").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn programs_and_endless_lists_are_refused() {
        let closure = refused("t_${(0..9).collect{t -> t}}");
        assert_eq!(closure, "column 19: `{` is not supported");
        assert_eq!(refused("t_${00..09}"), "column 5: an integer that begins with 0 is octal");
        assert_eq!(refused("t_${0..999999}"), "column 5: more than 16384 values");
        assert_eq!(refused("t_${0..999}${0..999}"), "column 14: more than 16384 names");
        assert_eq!(refused("t_${'a'..'c'}"), "column 5: expected an integer");
        let unit = refused("<INTERVAL>P=t_;SP=yyyy;DIA=1;DIU=YEARS;DL=2020;DU=2021");
        assert_eq!(unit, "column 11: `DIU=YEARS` is not supported");
        assert_eq!(refused("<INTERVAL>SP=yyyy"), "column 11: `DIA` is missing");
        let endless = refused("<INTERVAL>P=t_;SP=yyyy;DIA=0;DIU=Years;DL=2020;DU=2021");
        assert_eq!(endless, "column 11: more than 16384 names");
        assert_eq!(refused("<CUSTOM>t"), "column 1: expressions in <CUSTOM> are not supported");
    }
}

//! Tokens of an expression.

use super::Refused;

/// Token, and the column at which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) column: usize,
}

/// Token of the accepted part of Groovy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Name of a column or a method.
    Name(String),
    /// Integer; `long` if it ends in `L` or does not fit into 32 bits.
    Integer { value: i64, long: bool },
    /// Text between quotes.
    Text(String),
    /// One of `+ - * % ( ) [ ] , .`.
    Sign(char),
    /// `..`
    Range,
}

/// The tokens of `text`, whose first character stands at `column`.
pub(super) fn tokens(text: &str, column: usize) -> Result<Vec<Lexeme>, Refused> {
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    let mut found = Vec::new();
    while let Some(&c) = characters.get(at) {
        let rest = characters.get(at..).unwrap_or_default();
        let here = column + at;
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        let (token, length) = match c {
            'a'..='z' | 'A'..='Z' | '_' => name(rest),
            '0'..='9' => integer(rest).map_err(|message| Refused::new(here, message))?,
            '\'' | '"' => quoted(rest, c).map_err(|message| Refused::new(here, message))?,
            '.' if rest.get(1) == Some(&'.') => (Token::Range, 2),
            '+' | '-' | '*' | '%' | '(' | ')' | '[' | ']' | ',' | '.' => (Token::Sign(c), 1),
            '/' => return Err(Refused::new(here, "`/` makes a decimal; write `.intdiv(n)`")),
            c => return Err(Refused::new(here, format!("`{}` is not supported", c.escape_debug()))),
        };
        found.push(Lexeme { token, column: here });
        at += length;
    }
    Ok(found)
}

fn name(text: &[char]) -> (Token, usize) {
    let name: String = text.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
    let length = name.len();
    (Token::Name(name), length)
}

fn integer(text: &[char]) -> Result<(Token, usize), &'static str> {
    let digits: String = text.iter().take_while(|c| c.is_ascii_digit()).collect();
    let length = digits.len();
    if length > 1 && digits.starts_with('0') {
        return Err("an integer that begins with 0 is octal");
    }
    let value: i64 = digits.parse().map_err(|_| "the integer is too large")?;
    match text.get(length) {
        Some('L' | 'l') => Ok((Token::Integer { value, long: true }, length + 1)),
        Some('.') if text.get(length + 1).is_some_and(char::is_ascii_digit) => {
            Err("decimals are not supported")
        }
        Some(c) if c.is_ascii_alphabetic() || *c == '_' => Err("not an integer"),
        _ => Ok((Token::Integer { value, long: i32::try_from(value).is_err() }, length)),
    }
}

fn quoted(text: &[char], quote: char) -> Result<(Token, usize), &'static str> {
    let inner: String = text.iter().skip(1).take_while(|c| **c != quote).collect();
    let length = inner.chars().count() + 2;
    if length > text.len() {
        return Err("the text that begins here is not closed");
    }
    if inner.contains(['\\', '$']) {
        return Err("`\\` and `$` in a text are not supported");
    }
    Ok((Token::Text(inner), length))
}

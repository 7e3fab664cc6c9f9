//! From text to tokens.

use std::path::Path;
use std::rc::Rc;

use crate::tree::Place;

/// A token, and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) at: Place,
}

/// What a libconfig text consists of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// `=` or `:`.
    Equals,
    /// `,`.
    Comma,
    /// `;`.
    Semicolon,
    /// `{`, `(` or `[`.
    Open(Bracket),
    /// `}`, `)` or `]`.
    Close(Bracket),
    /// The name of a setting.
    Name(String),
    /// `true` or `false`, in any case.
    Bool(bool),
    /// A whole number, decimal or hexadecimal, with or without `L`.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// What a string means; bytes, because escapes may split a character.
    Text(Vec<u8>),
    /// The path of an `@include`.
    Include(String),
    /// What is no token, and why. Nothing follows.
    Bad(String),
}

/// The kinds of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    /// `{ }`.
    Group,
    /// `( )`.
    List,
    /// `[ ]`.
    Array,
}

/// The tokens of `text`. The last one is [`Token::Bad`] if something in it is no token.
pub(super) fn lex(text: &str, file: &Rc<Path>) -> Vec<Lexeme> {
    let mut lexer = Lexer { left: text, line: 1, at_line_start: true };
    let mut lexemes = Vec::new();
    loop {
        let result = lexer.skip_blanks().and_then(|()| {
            let line = lexer.line;
            Ok(lexer.token()?.map(|token| (line, token)))
        });
        let (line, token) = match result {
            Ok(Some(found)) => found,
            Ok(None) => return lexemes,
            Err((line, message)) => (line, Token::Bad(message)),
        };
        let bad = matches!(token, Token::Bad(_));
        lexemes.push(Lexeme { token, at: Place::new(file, line) });
        if bad {
            return lexemes;
        }
    }
}

/// The line of a mistake, and what it is.
type Mistake = (usize, String);

struct Lexer<'a> {
    left: &'a str,
    line: usize,
    /// Whether only blanks precede the next token in its line.
    at_line_start: bool,
}

impl<'a> Lexer<'a> {
    /// Takes the first `n` bytes, which end at a character's end.
    fn take(&mut self, n: usize) -> &'a str {
        let (taken, left) = self.left.split_at(n);
        self.left = left;
        if let Some(last) = taken.rfind('\n') {
            self.line += taken.matches('\n').count();
            self.at_line_start = taken[last..].trim_start().is_empty();
        }
        taken
    }

    /// Takes as many characters as `wanted` accepts.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.take(self.left.find(|c| !wanted(c)).unwrap_or(self.left.len()))
    }

    /// Passes over blanks and comments.
    fn skip_blanks(&mut self) -> Result<(), Mistake> {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c'));
            if self.left.starts_with('#') || self.left.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.left.starts_with("/*") {
                let Some(end) = self.left[2..].find("*/") else {
                    return Err((self.line, "a comment `/*` is never closed".to_owned()));
                };
                self.take(2 + end + 2);
                // libconfig takes a directive only from the very start of a line.
                self.at_line_start = false;
            } else {
                return Ok(());
            }
        }
    }

    /// The next token; nothing at the end. Blanks were passed over.
    fn token(&mut self) -> Result<Option<Token>, Mistake> {
        let at_line_start = std::mem::replace(&mut self.at_line_start, false);
        let Some(first) = self.left.chars().next() else { return Ok(None) };
        let simple = match first {
            '=' | ':' => Token::Equals,
            ',' => Token::Comma,
            ';' => Token::Semicolon,
            '{' => Token::Open(Bracket::Group),
            '}' => Token::Close(Bracket::Group),
            '(' => Token::Open(Bracket::List),
            ')' => Token::Close(Bracket::List),
            '[' => Token::Open(Bracket::Array),
            ']' => Token::Close(Bracket::Array),
            '"' => return self.string().map(|bytes| Some(Token::Text(bytes))),
            '@' => return self.include(at_line_start).map(Some),
            'A'..='Z' | 'a'..='z' | '*' => {
                return Ok(Some(name(self.take_while(|c| c.is_ascii_alphanumeric() || "-_*".contains(c)))));
            }
            '0'..='9' | '+' | '-' | '.' => {
                let word = self.take_while(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
                return number(word).map(Some).ok_or_else(|| {
                    (
                        self.line,
                        "a number must be decimal, hexadecimal (0x1F) or have a point, of 64 bits".to_owned(),
                    )
                });
            }
            other => return Err((self.line, format!("`{}` cannot be here", other.escape_debug()))),
        };
        self.take(1);
        Ok(Some(simple))
    }

    /// `@include "path"`, where it may be.
    fn include(&mut self, at_line_start: bool) -> Result<Token, Mistake> {
        let line = self.line;
        let rest = self.left.strip_prefix("@include").filter(|_| at_line_start);
        let quoted = rest.map(|rest| rest.trim_start_matches([' ', '\t']));
        let Some(quoted) = quoted.filter(|quoted| quoted.starts_with('"')) else {
            return Err((line, "`@` can only start a line `@include \"file\"`".to_owned()));
        };
        self.take(self.left.len() - quoted.len());
        let path = String::from_utf8(self.string()?);
        path.map(Token::Include).map_err(|_| (line, "the path of an `@include` is not UTF-8".to_owned()))
    }

    /// What the quoted string that starts here means. It may go over several lines.
    fn string(&mut self) -> Result<Vec<u8>, Mistake> {
        let line = self.line;
        let mut out = Vec::new();
        self.take(1);
        loop {
            out.extend_from_slice(self.take_while(|c| c != '"' && c != '\\').as_bytes());
            if self.left.is_empty() {
                return Err((line, "a string is never closed".to_owned()));
            }
            if self.left.starts_with('"') {
                self.take(1);
                self.at_line_start = false;
                return Ok(out);
            }
            let (byte, length) = escape(self.left);
            out.push(byte);
            self.take(length);
        }
    }
}

/// The byte that the backslash at the start of `text` stands for, and how many bytes of `text` that
/// takes. A backslash that starts no escape stands for itself, so that regular expressions need not
/// double theirs.
fn escape(text: &str) -> (u8, usize) {
    match *text.as_bytes() {
        [_, b'n', ..] => (b'\n', 2),
        [_, b'r', ..] => (b'\r', 2),
        [_, b't', ..] => (b'\t', 2),
        [_, b'f', ..] => (b'\x0c', 2),
        [_, b'\\', ..] => (b'\\', 2),
        [_, b'"', ..] => (b'"', 2),
        [_, b'x' | b'X', high, low, ..] => match (hex(high), hex(low)) {
            (Some(high), Some(low)) => (high << 4 | low, 4),
            _ => (b'\\', 1),
        },
        _ => (b'\\', 1),
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn name(word: &str) -> Token {
    if word.eq_ignore_ascii_case("true") {
        Token::Bool(true)
    } else if word.eq_ignore_ascii_case("false") {
        Token::Bool(false)
    } else {
        Token::Name(word.to_owned())
    }
}

/// The number that `word` is, if it is one and fits.
fn number(word: &str) -> Option<Token> {
    let whole = word.strip_suffix("LL").or(word.strip_suffix('L')).unwrap_or(word);
    if let Some(digits) = word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        let digits = &digits[..digits.len() - (word.len() - whole.len())];
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return i64::from_str_radix(digits, 16).ok().filter(|_| hex).map(Token::Int);
    }
    if let Ok(number) = whole.parse() {
        return Some(Token::Int(number));
    }
    let digits = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let float = word.contains(['.', 'e', 'E']) && !word.contains('_') && digits(word);
    word.parse().ok().filter(|_| float).map(Token::Float)
}

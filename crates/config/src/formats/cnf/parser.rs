//! From tokens to the tree: recursive descent, with a limit to the descent.

use std::iter::Peekable;
use std::path::Path;
use std::rc::Rc;
use std::vec::IntoIter;

use super::lexer::{Bracket, Lexeme, Token};
use crate::problem::Problem;
use crate::tree::{Entry, Node, Place, Value};

/// How deep groups, lists and arrays nest. ProxySQL's files need three.
pub(super) const NESTING_MAX: usize = 32;

/// The settings of the top level, up to the first in which the grammar is broken, and what is wrong
/// there.
pub(super) fn parse(tokens: Vec<Lexeme>, file: &Rc<Path>) -> (Vec<Entry>, Option<Problem>) {
    let end = tokens.last().map_or_else(|| Place::new(file, 1), |lexeme| lexeme.at.clone());
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end, depth: 0 };
    let mut root = Vec::new();
    while parser.tokens.peek().is_some() {
        match parser.setting() {
            Ok(entry) => root.push(entry),
            Err(problem) => return (root, Some(problem)),
        }
    }
    (root, None)
}

struct Parser {
    tokens: Peekable<IntoIter<Lexeme>>,
    /// Where the last token is, for what is missing at the end.
    end: Place,
    depth: usize,
}

impl Parser {
    /// `name = value`, and what closes it.
    fn setting(&mut self) -> Result<Entry, Problem> {
        let (key, at) = match self.tokens.next() {
            Some(Lexeme { token: Token::Name(key), at }) => (key, at),
            other => return Err(self.unexpected(other, "the name of a setting")),
        };
        match self.tokens.next() {
            Some(Lexeme { token: Token::Equals, .. }) => {}
            other => return Err(self.unexpected(other, &format!("`=` or `:` after `{key}`"))),
        }
        let node = self.value()?;
        self.take_if(|token| matches!(token, Token::Semicolon | Token::Comma));
        Ok(Entry { key, at, node })
    }

    /// Any value.
    fn value(&mut self) -> Result<Node, Problem> {
        let Some(Lexeme { token, at }) = self.tokens.next() else {
            return Err(self.unexpected(None, "a value"));
        };
        let value = match token {
            Token::Bool(value) => Value::Bool(value),
            Token::Int(value) => Value::Int(value),
            Token::Float(value) => Value::Float(value),
            Token::Text(bytes) => self.text(bytes, &at)?,
            Token::Open(bracket) => {
                if self.depth == NESTING_MAX {
                    return Err(problem(&at, format!("nested more than {NESTING_MAX} deep")));
                }
                self.depth += 1;
                let value = self.inside(bracket, &at)?;
                self.depth -= 1;
                value
            }
            token => return Err(self.unexpected(Some(Lexeme { token, at }), "a value")),
        };
        Ok(Node { value, at })
    }

    /// A string and those that follow it: they are one.
    fn text(&mut self, mut bytes: Vec<u8>, at: &Place) -> Result<Value, Problem> {
        while let Some(Lexeme { token: Token::Text(more), .. }) =
            self.take_if(|token| matches!(token, Token::Text(_)))
        {
            bytes.extend(more);
        }
        String::from_utf8(bytes)
            .map(Value::Text)
            .map_err(|_| problem(at, "the escapes of a string do not make UTF-8 text".to_owned()))
    }

    /// What is between brackets, of which the opening one was taken at `at`.
    fn inside(&mut self, bracket: Bracket, at: &Place) -> Result<Value, Problem> {
        let mut entries = Vec::new();
        let mut nodes = Vec::new();
        loop {
            if self.take_if(|token| *token == Token::Close(bracket)).is_some() {
                return Ok(if bracket == Bracket::Group {
                    Value::Group(entries)
                } else {
                    Value::List(nodes)
                });
            }
            if self.tokens.peek().is_none() {
                return Err(problem(at, format!("the {} that starts here is never closed", kind(bracket))));
            }
            if bracket == Bracket::Group {
                entries.push(self.setting()?);
                continue;
            }
            let node = self.value()?;
            if bracket == Bracket::Array && matches!(node.value, Value::List(_) | Value::Group(_)) {
                let message = "an array `[ ]` holds only plain values; groups and lists go into a list `( )`";
                return Err(problem(&node.at, message.to_owned()));
            }
            nodes.push(node);
            let comma = self.take_if(|token| *token == Token::Comma).is_some();
            let closes = self.tokens.peek().is_some_and(|lexeme| lexeme.token == Token::Close(bracket));
            if !comma && !closes && self.tokens.peek().is_some() {
                let next = self.tokens.next();
                return Err(self.unexpected(next, &format!("`,` or the end of the {}", kind(bracket))));
            }
        }
    }

    fn take_if(&mut self, wanted: impl Fn(&Token) -> bool) -> Option<Lexeme> {
        self.tokens.next_if(|lexeme| wanted(&lexeme.token))
    }

    /// What to say of a token that is not the one wanted. Names and values are not repeated: an
    /// unquoted password would end up in a log.
    fn unexpected(&self, found: Option<Lexeme>, wanted: &str) -> Problem {
        let Some(Lexeme { token, at }) = found else {
            return problem(&self.end, format!("the file ends where {wanted} should be"));
        };
        let found = match token {
            Token::Bad(message) => return problem(&at, message),
            Token::Equals => "`=` or `:`",
            Token::Comma => "`,`",
            Token::Semicolon => "`;`",
            Token::Open(Bracket::Group) => "`{`",
            Token::Close(Bracket::Group) => "`}`",
            Token::Open(Bracket::List) => "`(`",
            Token::Close(Bracket::List) => "`)`",
            Token::Open(Bracket::Array) => "`[`",
            Token::Close(Bracket::Array) => "`]`",
            Token::Name(_) => "a word without quotes",
            Token::Text(_) => "a string",
            Token::Bool(_) | Token::Int(_) | Token::Float(_) => "a value",
            Token::Include(_) => "`@include`",
        };
        problem(&at, format!("expected {wanted}, found {found}"))
    }
}

fn kind(bracket: Bracket) -> &'static str {
    match bracket {
        Bracket::Group => "group `{`",
        Bracket::List => "list `(`",
        Bracket::Array => "array `[`",
    }
}

fn problem(at: &Place, message: String) -> Problem {
    Problem::new(&at.file, at.line, message)
}

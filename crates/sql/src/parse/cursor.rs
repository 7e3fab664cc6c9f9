//! The place of the parser in a statement: looks ahead, takes tokens, makes nodes.
//!
//! A node is made behind its children: [`Cursor::open`] marks the place, [`Cursor::close`] makes a
//! node of all nodes since. So what stands left of an operator becomes its operand when the
//! operator is met, and nothing is ever read twice.

use crate::lexer::Kind as TokenKind;

use super::kind::Kind;
use super::limits::{DEPTH_MAX, NODES_MAX};
use super::refusal::{Parsed, Reason, Refusal};
use super::settings::Settings;
use super::token::Token;
use super::tree::{Node, NodeId, Tree};
use super::words::{self, Upper};

/// Where a node begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pending: usize,
    start: u32,
}

/// A parser at a place of a statement.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    sql: &'a [u8],
    tokens: &'a [Token],
    at: usize,
    settings: &'a Settings,
    tree: &'a mut Tree,
    depth: usize,
    placeholders: u32,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(
        sql: &'a [u8],
        tokens: &'a [Token],
        settings: &'a Settings,
        tree: &'a mut Tree,
    ) -> Self {
        Self { sql, tokens, at: 0, settings, tree, depth: 0, placeholders: 0 }
    }

    pub(super) const fn settings(&self) -> &'a Settings {
        self.settings
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.settings.dialect.is_mariadb()
    }

    pub(super) const fn placeholders(&self) -> u32 {
        self.placeholders
    }

    // Looking ahead.

    pub(super) fn token(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub(super) fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.token(ahead).map(|token| token.kind)
    }

    /// The token's bytes; empty at the end.
    pub(super) fn text(&self, ahead: usize) -> &'a [u8] {
        self.token(ahead).map_or(b"", |token| token.span().of(self.sql))
    }

    /// Whether a word without quotes comes there.
    pub(super) fn word_is(&self, ahead: usize, word: &str) -> bool {
        self.kind(ahead) == Some(TokenKind::Word) && self.text(ahead).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn at(&self, word: &str) -> bool {
        self.word_is(0, word)
    }

    pub(super) fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at(word))
    }

    /// The word that comes there in upper case; empty for anything else.
    pub(super) fn upper(&self, ahead: usize) -> Upper {
        if self.kind(ahead) == Some(TokenKind::Word) { Upper::of(self.text(ahead)) } else { Upper::default() }
    }

    pub(super) fn sign_is(&self, ahead: usize, sign: u8) -> bool {
        self.kind(ahead) == Some(TokenKind::Sign(sign))
    }

    pub(super) fn at_sign(&self, sign: u8) -> bool {
        self.sign_is(0, sign)
    }

    /// Whether the signs come next with nothing between them.
    pub(super) fn at_signs(&self, signs: &[u8]) -> bool {
        signs.iter().enumerate().all(|(ahead, sign)| {
            self.sign_is(ahead, *sign) && (ahead + 1 == signs.len() || self.is_glued(ahead))
        })
    }

    /// Whether nothing stands between this token and the next.
    pub(super) fn is_glued(&self, ahead: usize) -> bool {
        match (self.token(ahead), self.token(ahead + 1)) {
            (Some(one), Some(next)) => one.end == next.start,
            _ => false,
        }
    }

    /// Whether a name comes there: quoted, or a word that is not reserved.
    pub(super) fn is_name(&self, ahead: usize) -> bool {
        match self.kind(ahead) {
            Some(TokenKind::Name) => true,
            Some(TokenKind::Word) => {
                !words::is_reserved(&self.upper(ahead), self.settings.dialect) || self.is_qualifier(ahead)
            }
            _ => false,
        }
    }

    /// Whether a point and another name follow without blanks: then no word is reserved.
    fn is_qualifier(&self, ahead: usize) -> bool {
        let is_point = self.is_glued(ahead) && self.sign_is(ahead + 1, b'.') && self.is_glued(ahead + 1);
        is_point
            && matches!(self.kind(ahead + 2), Some(TokenKind::Word | TokenKind::Name | TokenKind::Number))
    }

    /// Whether the statement or its innermost parenthesis ends here.
    pub(super) fn at_end(&self) -> bool {
        matches!(self.kind(0), None | Some(TokenKind::Sign(b')' | b';')))
    }

    // Taking tokens.

    pub(super) fn bump(&mut self) {
        if let Some(token) = self.token(0) {
            self.at += 1;
            self.placeholders += u32::from(token.kind == TokenKind::Parameter);
        }
    }

    pub(super) fn bump_many(&mut self, count: usize) {
        (0..count).for_each(|_| self.bump());
    }

    pub(super) fn eat(&mut self, word: &str) -> bool {
        let is_there = self.at(word);
        if is_there {
            self.bump();
        }
        is_there
    }

    pub(super) fn eat_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.eat(word))
    }

    /// Takes these words if all of them come.
    pub(super) fn eat_all(&mut self, words: &[&str]) -> bool {
        let are_there = words.iter().enumerate().all(|(ahead, word)| self.word_is(ahead, word));
        if are_there {
            self.bump_many(words.len());
        }
        are_there
    }

    pub(super) fn eat_sign(&mut self, sign: u8) -> bool {
        let is_there = self.at_sign(sign);
        if is_there {
            self.bump();
        }
        is_there
    }

    pub(super) fn expect(&mut self, word: &'static str) -> Parsed {
        if self.eat(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    pub(super) fn expect_sign(&mut self, sign: u8, what: &'static str) -> Parsed {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.expected(what)) }
    }

    // Making nodes.

    pub(super) fn open(&self) -> Mark {
        Mark { pending: self.tree.pending.len(), start: self.start() }
    }

    /// Makes a node of everything since `mark`; a node has at least one token.
    pub(super) fn close(&mut self, mark: Mark, kind: Kind) -> Parsed {
        let end = self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |last| last.end);
        if end <= mark.start {
            return Err(self.expected("more"));
        }
        self.node(mark, kind, end)
    }

    fn node(&mut self, mark: Mark, kind: Kind, end: u32) -> Parsed {
        let id = match u32::try_from(self.tree.nodes.len()) {
            Ok(id) if self.tree.nodes.len() < NODES_MAX => NodeId(id),
            _ => return Err(self.refusal(Reason::TooLarge)),
        };
        self.tree.nodes.push(Node::new(kind, mark.start, end));
        self.tree.link(id, mark.pending);
        self.tree.pending.push(id);
        Ok(())
    }

    /// Makes a node of the next token.
    pub(super) fn leaf(&mut self, kind: Kind) -> Parsed {
        let mark = self.open();
        self.bump();
        self.close(mark, kind)
    }

    /// Makes a node of a comment in front of the next token.
    pub(super) fn comment(&mut self, start: usize, end: usize) -> Parsed {
        let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else {
            return Err(self.refusal(Reason::TooLarge));
        };
        self.node(Mark { pending: self.tree.pending.len(), start }, Kind::Hint, end)
    }

    /// The bytes between the last token and the next, and their offset.
    pub(super) fn gap(&self) -> (usize, &'a [u8]) {
        let end = self.token(0).map_or(self.sql.len(), |token| token.start as usize);
        let last = self.at.checked_sub(1).and_then(|last| self.tokens.get(last));
        let start = last.map_or(0, |last| last.end as usize);
        (start, self.sql.get(start..end).unwrap_or_default())
    }

    /// The node that was made last and has no parent yet.
    pub(super) fn last(&self) -> Option<NodeId> {
        self.tree.pending.last().copied()
    }

    pub(super) fn last_kind(&self) -> Option<Kind> {
        self.last().map(|id| self.tree.kind(id))
    }

    /// Changes what the node is that was made last.
    pub(super) fn set_last_kind(&mut self, kind: Kind) {
        if let Some(node) = self.last().and_then(|id| self.tree.node_mut(id)) {
            node.kind = kind;
        }
    }

    /// A place from which the node that was made last will be a child.
    pub(super) fn open_before_last(&self) -> Mark {
        let Some(last) = self.last().and_then(|id| self.tree.node(id)) else { return self.open() };
        let start = u32::try_from(last.span().start).unwrap_or_default();
        Mark { pending: self.tree.pending.len().saturating_sub(1), start }
    }

    /// Makes a name of the next token.
    pub(super) fn name(&mut self, what: &'static str) -> Parsed {
        if self.is_name(0) { self.leaf(Kind::Name) } else { Err(self.expected(what)) }
    }

    /// Makes a name of the next token behind a point, where no word is reserved.
    pub(super) fn name_behind_point(&mut self, what: &'static str) -> Parsed {
        match self.kind(0) {
            // `t.1` has the name `1`.
            Some(TokenKind::Name | TokenKind::Word | TokenKind::Number) => self.leaf(Kind::Name),
            _ => Err(self.expected(what)),
        }
    }

    /// Runs `inner` a level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH_MAX {
            return Err(self.refusal(Reason::TooDeep));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    /// Runs `one` for each part of a list with commas.
    pub(super) fn list(&mut self, mut one: impl FnMut(&mut Self) -> Parsed) -> Parsed {
        one(self)?;
        while self.eat_sign(b',') {
            one(self)?;
        }
        Ok(())
    }

    pub(super) fn refusal(&self, reason: Reason) -> Refusal {
        Refusal { at: self.start() as usize, reason }
    }

    pub(super) fn expected(&self, what: &'static str) -> Refusal {
        self.refusal(Reason::Expected(what))
    }

    fn start(&self) -> u32 {
        let end = || u32::try_from(self.sql.len()).unwrap_or(u32::MAX);
        self.token(0).map_or_else(end, |token| token.start)
    }
}

//! Query blocks: `SELECT` with its clauses.

use crate::lexer::Kind as TokenKind;

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

/// Words between `SELECT` and the select list.
const OPTIONS: [&str; 12] = [
    "ALL",
    "DISTINCT",
    "DISTINCTROW",
    "HIGH_PRIORITY",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS",
    "SQL_NO_CACHE",
    "SQL_SMALL_RESULT",
    "STRAIGHT_JOIN",
    "UNIQUE",
];

/// Words that begin a clause of a query block, or end the block.
const CLAUSES: [&str; 19] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "WINDOW",
    "QUALIFY",
    "ORDER",
    "LIMIT",
    "FETCH",
    "OFFSET",
    "PROCEDURE",
    "INTO",
    "FOR",
    "LOCK",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "ON",
    "RETURNING",
];

impl Cursor<'_> {
    /// A query block.
    pub(super) fn select(&mut self) -> Parsed {
        let mark = self.open();
        self.expect("SELECT")?;
        self.hint()?;
        self.options(&OPTIONS)?;
        let items = self.open();
        self.list(Self::item)?;
        self.close(items, Kind::Items)?;
        if self.at("INTO") {
            self.variables_or_file()?;
        }
        if self.at("FROM") {
            let from = self.open();
            self.bump();
            self.table_references()?;
            self.close(from, Kind::From)?;
        }
        self.condition("WHERE", Kind::Where)?;
        self.group_by()?;
        self.condition("HAVING", Kind::Having)?;
        self.windows()?;
        if self.settings().dialect.reserves_more() {
            self.condition("QUALIFY", Kind::Qualify)?;
        }
        if self.at("PROCEDURE") {
            self.procedure()?;
        }
        self.opaque(&CLAUSES, false)?;
        self.close(mark, Kind::Select)
    }

    /// An optimizer hint, if one comes next.
    pub(super) fn hint(&mut self) -> Parsed {
        let (start, gap) = self.gap();
        let blanks = gap.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = gap.get(blanks..).unwrap_or_default();
        if !rest.starts_with(b"/*+") {
            return Ok(());
        }
        let len = rest.windows(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 2);
        self.comment(start + blanks, start + blanks + len)
    }

    /// Words in front of a statement's clauses.
    pub(super) fn options(&mut self, words: &[&str]) -> Parsed {
        while self.at_any(words) {
            // Names that MySQL does not reserve.
            let is_name = self.at_any(&["SQL_CACHE", "SQL_NO_CACHE", "SQL_BUFFER_RESULT"]);
            if is_name && (self.sign_is(1, b',') || self.sign_is(1, b'.') || self.word_is(1, "FROM")) {
                break;
            }
            self.leaf(Kind::Option)?;
        }
        Ok(())
    }

    /// An item of the select list.
    pub(super) fn item(&mut self) -> Parsed {
        let mark = self.open();
        let names = [0, 2, 4].into_iter().take_while(|ahead| self.sign_is(ahead + 1, b'.')).count();
        let is_star = match names {
            0 => self.at_sign(b'*'),
            names => self.sign_is(2 * names, b'*') && self.is_name(0),
        };
        if is_star {
            for _ in 0..names {
                self.leaf(Kind::Name)?;
                self.bump();
            }
            self.bump();
            return self.close(mark, Kind::Star);
        }
        self.expression()?;
        let is_alias = self.kind(0) == Some(TokenKind::Text) || self.is_name(0) && !self.at_window();
        if self.eat("AS") || is_alias {
            self.alias_name()?;
        }
        self.close(mark, Kind::Item)
    }

    /// The name behind `AS`, which may be a string.
    pub(super) fn alias_name(&mut self) -> Parsed {
        if self.kind(0) == Some(TokenKind::Text) || self.is_name(0) {
            self.leaf(Kind::Alias)
        } else {
            Err(self.expected("an alias"))
        }
    }

    /// A clause that is one expression, if it is there.
    pub(super) fn condition(&mut self, word: &str, kind: Kind) -> Parsed {
        if !self.at(word) {
            return Ok(());
        }
        let mark = self.open();
        self.bump();
        self.expression()?;
        self.close(mark, kind)
    }

    fn group_by(&mut self) -> Parsed {
        if !self.at("GROUP") {
            return Ok(());
        }
        let mark = self.open();
        self.bump();
        self.expect("BY")?;
        // `GROUP BY ROLLUP (a, b)` and `CUBE (a, b)` of MySQL 9.
        let function = self.at_any(&["ROLLUP", "CUBE"]) && self.sign_is(1, b'(');
        if function {
            self.bump_many(2);
        }
        self.list(Self::ordering)?;
        if function {
            self.expect_sign(b')', "a closing parenthesis")?;
        }
        let rollup = function || self.eat_all(&["WITH", "ROLLUP"]);
        self.close(mark, Kind::GroupBy { rollup })
    }

    /// Whether the clause `WINDOW` comes next; MariaDB does not reserve the word.
    pub(super) fn at_window(&self) -> bool {
        self.at("WINDOW") && self.word_is(2, "AS") && self.sign_is(3, b'(')
    }

    fn windows(&mut self) -> Parsed {
        if !self.at_window() {
            return Ok(());
        }
        let mark = self.open();
        self.bump();
        self.list(|cursor| {
            let window = cursor.open();
            cursor.name("a window")?;
            cursor.expect("AS")?;
            cursor.window()?;
            cursor.close(window, Kind::Window)
        })?;
        self.close(mark, Kind::Windows)
    }
}

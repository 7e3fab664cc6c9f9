//! Table references: tables, derived tables, joins in the servers' nesting.

use super::cursor::{Cursor, Mark};
use super::kind::Kind;
use super::operator::Join;
use super::refusal::Parsed;

/// An operator between table references.
#[derive(Debug, Clone, Copy)]
struct JoinWords {
    join: Join,
    /// How many words it is.
    tokens: usize,
    /// `ON` or `USING` belongs to it.
    has_condition: bool,
}

impl Cursor<'_> {
    /// Table references with commas between them.
    pub(super) fn table_references(&mut self) -> Parsed {
        self.list(Self::table_reference)
    }

    /// A table or a join.
    pub(super) fn table_reference(&mut self) -> Parsed {
        self.nested(|cursor| {
            let mark = cursor.open();
            cursor.table_factor()?;
            while let Some(words) = cursor.join_words() {
                cursor.joined(words)?;
                cursor.close(mark, Kind::Join(words.join))?;
            }
            Ok(())
        })
    }

    /// The right side of a join. In `a JOIN b JOIN c ON x ON y` the first join, to which `ON y`
    /// belongs, has the second on its right side; without conditions joins go from left to right.
    fn joined(&mut self, words: JoinWords) -> Parsed {
        self.bump_many(words.tokens);
        if !words.has_condition {
            return self.table_factor();
        }
        let right = self.open();
        self.table_factor()?;
        while let Some(inner) = self.join_words() {
            self.nested(|cursor| cursor.joined(inner))?;
            self.close(right, Kind::Join(inner.join))?;
        }
        if self.at("ON") {
            return self.condition("ON", Kind::On);
        }
        if !(self.at("USING") && self.sign_is(1, b'(')) {
            return Err(self.expected("ON or USING"));
        }
        let using = self.open();
        self.bump_many(2);
        self.list(|cursor| cursor.name("a column"))?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(using, Kind::Using)
    }

    /// The join that comes next.
    fn join_words(&self) -> Option<JoinWords> {
        let is_natural = self.at("NATURAL");
        let mut tokens = usize::from(is_natural);
        let side = match &*self.upper(tokens) {
            "LEFT" => Some(Join::Left),
            "RIGHT" => Some(Join::Right),
            _ => None,
        };
        let join = match (side, &*self.upper(tokens)) {
            (Some(side), _) => {
                tokens += 1 + usize::from(self.word_is(tokens + 1, "OUTER"));
                side
            }
            (None, "INNER" | "CROSS") => {
                tokens += 1;
                Join::Inner
            }
            (None, "STRAIGHT_JOIN") => Join::Straight,
            _ => Join::Inner,
        };
        if join != Join::Straight && !self.word_is(tokens, "JOIN") {
            return None;
        }
        tokens += 1;
        let join = match join {
            Join::Left if is_natural => Join::NaturalLeft,
            Join::Right if is_natural => Join::NaturalRight,
            _ if is_natural => Join::Natural,
            join => join,
        };
        let is_outer = matches!(join, Join::Left | Join::Right);
        let is_paired = self.token(tokens - 1).is_some_and(|token| token.has_condition);
        Some(JoinWords { join, tokens, has_condition: !is_natural && (is_outer || is_paired) })
    }

    /// What stands between joins.
    fn table_factor(&mut self) -> Parsed {
        if self.at_sign(b'(') {
            self.table_parentheses()?;
            if self.last_kind() == Some(Kind::Subquery) {
                return self.derived(self.open_before_last(), false);
            }
            return Ok(());
        }
        if self.at_sign(b'{') {
            let mark = self.open();
            self.bump_many(2);
            self.table_reference()?;
            self.expect_sign(b'}', "a closing brace")?;
            return self.close(mark, Kind::TableList);
        }
        if self.at("LATERAL") && self.sign_is(1, b'(') {
            let mark = self.open();
            self.bump();
            self.subquery()?;
            return self.derived(mark, true);
        }
        if self.at("JSON_TABLE") && self.sign_is(1, b'(') {
            return self.json_table();
        }
        if self.at("DUAL") {
            return self.leaf(Kind::Dual);
        }
        self.table()
    }

    /// A parenthesis that holds a query or table references. Queries get no alias here.
    fn table_parentheses(&mut self) -> Parsed {
        self.nested(|cursor| {
            let mark = cursor.open();
            cursor.bump();
            let inner = cursor.open();
            let kind = if cursor.at_query() {
                cursor.query()?;
                Kind::Subquery
            } else if cursor.at_sign(b'(') {
                cursor.table_parentheses()?;
                if cursor.last_kind() == Some(Kind::Subquery) && cursor.at_rest_of_query() {
                    // `((SELECT 1) UNION SELECT 2)`.
                    cursor.rest_of_query(inner)?;
                    Kind::Subquery
                } else {
                    if cursor.last_kind() == Some(Kind::Subquery) {
                        cursor.derived(inner, false)?;
                    }
                    cursor.rest_of_references(inner)?;
                    Kind::TableList
                }
            } else {
                cursor.table_references()?;
                Kind::TableList
            };
            cursor.expect_sign(b')', "a closing parenthesis")?;
            cursor.close(mark, kind)
        })
    }

    /// Joins and commas behind the table reference that begins at `mark`.
    fn rest_of_references(&mut self, mark: Mark) -> Parsed {
        while let Some(words) = self.join_words() {
            self.joined(words)?;
            self.close(mark, Kind::Join(words.join))?;
        }
        if self.eat_sign(b',') {
            self.table_references()?;
        }
        Ok(())
    }

    /// Makes a derived table of the subquery that was read.
    fn derived(&mut self, mark: Mark, lateral: bool) -> Parsed {
        self.alias()?;
        if self.at_sign(b'(') {
            self.names(Kind::Columns)?;
        }
        self.close(mark, Kind::Derived { lateral })
    }

    fn json_table(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        self.expression()?;
        self.expect_sign(b',', "a comma")?;
        let columns = self.open();
        self.skip_to(&[], false)?;
        self.close(columns, Kind::JsonColumns)?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.alias()?;
        self.close(mark, Kind::JsonTable)
    }
}

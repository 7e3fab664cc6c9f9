//! Query expressions: `WITH`, set operations, and the clauses behind them.

use super::cursor::{Cursor, Mark};
use super::kind::Kind;
use super::limits::DEPTH_MAX;
use super::operator::SetOperator;
use super::refusal::Parsed;

/// What follows a query in `INSERT`.
const BEHIND: [&str; 2] = ["ON", "RETURNING"];

impl Cursor<'_> {
    /// Whether a query begins here without a parenthesis.
    pub(super) fn at_query(&self) -> bool {
        match &*self.upper(0) {
            "SELECT" | "WITH" | "TABLE" => true,
            "VALUES" => {
                // `VALUES(a)` is a function.
                self.word_is(1, "ROW") || self.sign_is(1, b'(') && !self.is_name(2)
            }
            _ => false,
        }
    }

    /// Whether a query begins here or in the parentheses that open here.
    pub(super) fn at_query_in_parentheses(&self) -> bool {
        let mut ahead = 0;
        while ahead <= DEPTH_MAX && self.sign_is(ahead, b'(') {
            ahead += 1;
        }
        ["SELECT", "WITH", "TABLE"].iter().any(|word| self.word_is(ahead, word))
            || self.word_is(ahead, "VALUES")
                && (ahead == 0 || self.word_is(ahead + 1, "ROW") || self.is_mariadb())
    }

    /// Whether a subquery that was read is the first part of a query in the same parentheses.
    pub(super) fn at_rest_of_query(&self) -> bool {
        self.at_sign(b')')
            || self.set_operator().is_some()
            || self.at_any(&["ORDER", "LIMIT", "FETCH", "FOR", "LOCK"])
    }

    /// A query expression without parentheses around all of it.
    pub(super) fn query(&mut self) -> Parsed {
        self.nested(|cursor| {
            let mark = cursor.open();
            cursor.with()?;
            cursor.query_behind_with(mark)
        })
    }

    /// The query that begins at `mark`, behind its `WITH`.
    pub(super) fn query_behind_with(&mut self, mark: Mark) -> Parsed {
        self.body_operand()?;
        self.rest_of_query(mark)
    }

    /// What follows the first part of a query that begins at `mark`.
    pub(super) fn rest_of_query(&mut self, mark: Mark) -> Parsed {
        let body = self.open_before_last();
        self.set_operations(body, false)?;
        self.order_by()?;
        self.limit()?;
        self.behind_limit()?;
        self.close(mark, Kind::Query)
    }

    /// `WITH`, if it is there.
    pub(super) fn with(&mut self) -> Parsed {
        if !self.at("WITH") {
            return Ok(());
        }
        let mark = self.open();
        self.bump();
        let recursive = self.eat("RECURSIVE");
        self.list(|cursor| {
            let table = cursor.open();
            cursor.name("a name")?;
            if cursor.at_sign(b'(') {
                cursor.names(Kind::Columns)?;
            }
            cursor.expect("AS")?;
            cursor.subquery()?;
            if cursor.at("CYCLE") {
                let cycle = cursor.open();
                cursor.skip_to(&["RESTRICT"], false)?;
                cursor.bump();
                cursor.close(cycle, Kind::Opaque)?;
            }
            cursor.close(table, Kind::CommonTable)
        })?;
        self.close(mark, Kind::With { recursive })
    }

    /// A query in parentheses.
    pub(super) fn subquery(&mut self) -> Parsed {
        if !(self.at_sign(b'(') && self.at_query_in_parentheses()) {
            return Err(self.expected("a subquery"));
        }
        let mark = self.open();
        self.bump();
        self.query()?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Subquery)
    }

    /// A body between set operators.
    fn body_operand(&mut self) -> Parsed {
        match &*self.upper(0) {
            "SELECT" => self.select(),
            "VALUES" => self.rows(),
            "TABLE" => {
                let mark = self.open();
                self.bump();
                self.table()?;
                self.close(mark, Kind::TableQuery)
            }
            _ if self.at_sign(b'(') => self.subquery(),
            _ => Err(self.expected("a query")),
        }
    }

    /// Set operations behind the body that begins at `mark`; only those that bind tightly if
    /// `tight` says so.
    fn set_operations(&mut self, mark: Mark, tight: bool) -> Parsed {
        while let Some(operator) = self.set_operator() {
            let is_tight = operator == SetOperator::Intersect;
            if tight && !is_tight {
                return Ok(());
            }
            self.bump();
            let all = self.eat("ALL");
            if !all {
                self.eat("DISTINCT");
            }
            let right = self.open();
            self.body_operand()?;
            if !is_tight {
                self.set_operations(right, true)?;
            }
            self.close(mark, Kind::SetOperation { operator, all })?;
        }
        Ok(())
    }

    fn set_operator(&self) -> Option<SetOperator> {
        match &*self.upper(0) {
            "UNION" => Some(SetOperator::Union),
            "INTERSECT" => Some(SetOperator::Intersect),
            "EXCEPT" => Some(SetOperator::Except),
            _ => None,
        }
    }

    /// `ORDER BY`, if it is there.
    pub(super) fn order_by(&mut self) -> Parsed {
        if !(self.at("ORDER") && self.word_is(1, "BY")) {
            return Ok(());
        }
        let mark = self.open();
        self.bump_many(2);
        self.list(Self::ordering)?;
        self.close(mark, Kind::OrderBy)
    }

    /// An expression that is ordered or grouped by.
    pub(super) fn ordering(&mut self) -> Parsed {
        let mark = self.open();
        self.expression()?;
        let descending = self.eat("DESC");
        if !descending {
            self.eat("ASC");
        }
        self.close(mark, Kind::Ordering { descending })
    }

    /// Locks and `INTO`, in any order; then what is not known.
    fn behind_limit(&mut self) -> Parsed {
        loop {
            if self.at("FOR") && (self.word_is(1, "UPDATE") || self.word_is(1, "SHARE"))
                || self.at("LOCK") && self.word_is(1, "IN")
            {
                self.locking()?;
            } else if self.at("INTO") {
                self.variables_or_file()?;
            } else if self.at("PROCEDURE") {
                self.procedure()?;
            } else {
                break;
            }
        }
        self.opaque(&BEHIND, false)
    }

    fn locking(&mut self) -> Parsed {
        let mark = self.open();
        if !self.eat_all(&["LOCK", "IN", "SHARE", "MODE"]) {
            self.bump_many(2);
            if self.eat("OF") {
                self.list(Self::table_name)?;
            }
        }
        if self.eat("WAIT") {
            self.bump();
        } else if !self.eat("NOWAIT") {
            self.eat_all(&["SKIP", "LOCKED"]);
        }
        self.close(mark, Kind::Locking)
    }

    /// `INTO` with a file or variables.
    pub(super) fn variables_or_file(&mut self) -> Parsed {
        const ENDS: [&str; 17] = [
            "FROM",
            "WHERE",
            "GROUP",
            "HAVING",
            "WINDOW",
            "ORDER",
            "LIMIT",
            "FETCH",
            "OFFSET",
            "PROCEDURE",
            "FOR",
            "LOCK",
            "UNION",
            "INTERSECT",
            "EXCEPT",
            "ON",
            "RETURNING",
        ];
        let mark = self.open();
        self.bump();
        self.skip_to(&ENDS, false)?;
        self.close(mark, Kind::Into)
    }

    pub(super) fn procedure(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        if self.at_sign(b'(') {
            self.skip_parentheses()?;
        }
        self.close(mark, Kind::Procedure)
    }
}

//! Calls of functions, with the syntax that some have of their own.

use crate::lexer::Kind as TokenKind;
use crate::parse::cursor::Cursor;
use crate::parse::kind::Kind;
use crate::parse::refusal::Parsed;

use super::binding::Level;

/// Aggregate functions of either server, sorted.
static AGGREGATES: [&str; 19] = [
    "AVG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COUNT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MIN",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Reserved words that are functions in front of a parenthesis, sorted.
static RESERVED: [&str; 32] = [
    "CHAR",
    "CUME_DIST",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DATABASE",
    "DENSE_RANK",
    "FIRST_VALUE",
    "GROUPING",
    "IF",
    "INSERT",
    "LAG",
    "LAST_VALUE",
    "LEAD",
    "LEFT",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "MOD",
    "NTH_VALUE",
    "NTILE",
    "PERCENT_RANK",
    "RANK",
    "REPEAT",
    "REPLACE",
    "RIGHT",
    "ROW_NUMBER",
    "SCHEMA",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

impl Cursor<'_> {
    /// Whether the reserved word that comes next is a function in front of a parenthesis.
    pub(super) fn is_reserved_function(&self) -> bool {
        RESERVED.binary_search(&&*self.upper(0)).is_ok()
    }

    /// A function's call, and the window that it looks at.
    pub(super) fn call(&mut self) -> Parsed {
        let mark = self.open();
        let name = self.upper(0);
        let is_qualified = self.sign_is(1, b'.');
        if is_qualified {
            let function = self.open();
            self.leaf(Kind::Name)?;
            // MariaDB's packages have a schema in front.
            while self.eat_sign(b'.') {
                self.name_behind_point("a function")?;
            }
            self.close(function, Kind::Function)?;
        } else {
            self.leaf(Kind::Function)?;
        }
        self.bump();
        let is_aggregate = !is_qualified && AGGREGATES.binary_search(&&*name).is_ok();
        self.arguments(&name)?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.behind_arguments()?;
        self.close(mark, if is_aggregate { Kind::Aggregate } else { Kind::Call })?;
        self.over(mark)
    }

    fn arguments(&mut self, function: &str) -> Parsed {
        if self.at_sign(b')') {
            return Ok(());
        }
        if self.at("DISTINCT") || self.at("DISTINCTROW") {
            self.leaf(Kind::Distinct)?;
        }
        self.eat("ALL");
        match function {
            "COUNT" if self.at_sign(b'*') => return self.leaf(Kind::All),
            "TIMESTAMPADD" | "TIMESTAMPDIFF" | "GET_FORMAT" => {
                self.unit()?;
                self.expect_sign(b',', "a comma")?;
            }
            "EXTRACT" => {
                self.unit()?;
                self.expect("FROM")?;
            }
            "TRIM" => {
                self.eat_any(&["BOTH", "LEADING", "TRAILING"]);
                self.eat("FROM");
            }
            "POSITION" => {
                self.operand(Level::BitOr)?;
                self.expect("IN")?;
            }
            "WEIGHT_STRING" => return self.weight_string(),
            _ => {}
        }
        self.list(Self::argument)?;
        self.behind_list()
    }

    /// An argument; loadable functions may know it by another name.
    fn argument(&mut self) -> Parsed {
        self.expression()?;
        if self.eat("AS") {
            let is_alias = self.sign_is(1, b',') || self.sign_is(1, b')');
            if is_alias && (self.is_name(0) || self.kind(0) == Some(TokenKind::Text)) {
                return self.alias_name();
            }
            // MariaDB's dynamic columns.
            let named = self.open();
            self.skip_to(&[], true)?;
            return self.close(named, Kind::Type);
        }
        let is_alias = self.kind(0) == Some(TokenKind::Text)
            || self.is_name(0) && (self.sign_is(1, b',') || self.sign_is(1, b')'));
        if is_alias { self.alias_name() } else { Ok(()) }
    }

    /// What some functions have behind their arguments.
    fn behind_list(&mut self) -> Parsed {
        if self.eat("FROM") {
            self.expression()?;
        }
        if self.eat("FOR") {
            self.expression()?;
        }
        if self.eat("USING") {
            self.leaf(Kind::Charset)?;
        }
        self.order_by()?;
        if self.at("SEPARATOR") {
            let mark = self.open();
            self.bump_many(2);
            self.close(mark, Kind::Separator)?;
        }
        self.limit()?;
        self.opaque(&[], false)
    }

    /// `WEIGHT_STRING(x AS CHAR(3) LEVEL 1)`.
    fn weight_string(&mut self) -> Parsed {
        self.expression()?;
        if self.eat("AS") {
            let mark = self.open();
            self.bump();
            if self.at_sign(b'(') {
                self.skip_parentheses()?;
            }
            self.close(mark, Kind::Type)?;
        }
        while self.eat_sign(b',') {
            self.expression()?;
        }
        if self.at("LEVEL") {
            self.skip_to(&[], false)?;
        }
        Ok(())
    }

    /// What stands between the parentheses and `OVER`.
    fn behind_arguments(&mut self) -> Parsed {
        if self.eat_all(&["WITHIN", "GROUP"]) {
            self.expect_sign(b'(', "an opening parenthesis")?;
            self.order_by()?;
            self.expect_sign(b')', "a closing parenthesis")?;
        }
        let is_of_window = ["OVER", "RESPECT", "IGNORE"].iter().any(|word| self.word_is(2, word));
        if is_of_window && self.at("FROM") && (self.word_is(1, "FIRST") || self.word_is(1, "LAST")) {
            self.bump_many(2);
        }
        let _ = self.eat_all(&["RESPECT", "NULLS"]) || self.eat_all(&["IGNORE", "NULLS"]);
        Ok(())
    }

    /// `CAST(x AS type)`, `CONVERT(x, type)`, `CONVERT(x USING charset)`.
    pub(super) fn cast(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        self.expression()?;
        if self.eat("USING") {
            self.leaf(Kind::Charset)?;
        } else {
            if self.at("AT") {
                self.skip_to(&["AS"], false)?;
            }
            if !self.eat_sign(b',') {
                self.expect("AS")?;
            }
            let named = self.open();
            self.skip_to(&[], false)?;
            self.close(named, Kind::Type)?;
        }
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Cast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(AGGREGATES.is_sorted() && RESERVED.is_sorted());
    }
}

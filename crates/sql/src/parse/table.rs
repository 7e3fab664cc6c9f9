//! A table where statements name it: schema, partitions, alias, index hints.

use crate::lexer::Kind as TokenKind;

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

impl Cursor<'_> {
    /// A table's name with what may follow it.
    pub(super) fn table(&mut self) -> Parsed {
        let mark = self.open();
        self.table_name()?;
        loop {
            if self.at("PARTITION") && self.sign_is(1, b'(') {
                self.partitions()?;
            } else if self.at("FOR") && self.word_is(1, "SYSTEM_TIME") {
                self.system_time()?;
            } else {
                break;
            }
        }
        self.alias()?;
        self.index_hints()?;
        if self.at("TABLESAMPLE") && self.settings().dialect.reserves_more() {
            let sample = self.open();
            self.bump_many(2);
            self.skip_parentheses()?;
            self.close(sample, Kind::Sample)?;
        }
        self.close(mark, Kind::Table)
    }

    /// `t`, `s.t`.
    pub(super) fn table_name(&mut self) -> Parsed {
        let mark = self.open();
        if self.eat_sign(b'.') {
            self.name_behind_point("a table")?;
        } else {
            self.name("a table")?;
            if self.eat_sign(b'.') {
                self.name_behind_point("a table")?;
            }
        }
        self.close(mark, Kind::TableName)
    }

    /// `PARTITION (p0, p1)`.
    pub(super) fn partitions(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        self.list(|cursor| cursor.name("a partition"))?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Partitions)
    }

    /// A table's alias, if it is there.
    pub(super) fn alias(&mut self) -> Parsed {
        if self.eat("AS") {
            return self.alias_name();
        }
        if self.is_name(0) && !self.at_window() { self.leaf(Kind::Alias) } else { Ok(()) }
    }

    /// `FOR SYSTEM_TIME ALL`, `AS OF x`, `BETWEEN x AND y`, `FROM x TO y`.
    fn system_time(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        let is_range = self.at_any(&["BETWEEN", "FROM"]);
        if !self.eat("ALL") {
            if !self.eat_all(&["AS", "OF"]) {
                self.bump();
            }
            self.moment()?;
            if is_range {
                self.bump();
                self.moment()?;
            }
        }
        self.close(mark, Kind::SystemTime)
    }

    fn moment(&mut self) -> Parsed {
        if self.at("TRANSACTION") || self.at("TIMESTAMP") && self.kind(1) != Some(TokenKind::Text) {
            let is_call = self.sign_is(1, b'(');
            if !is_call {
                self.bump();
            }
        }
        self.bit_expression()
    }

    /// `USE INDEX (a, b)` and the like, any number of them.
    fn index_hints(&mut self) -> Parsed {
        while self.at_any(&["USE", "FORCE", "IGNORE"]) && (self.word_is(1, "INDEX") || self.word_is(1, "KEY"))
        {
            let mark = self.open();
            self.bump_many(2);
            if self.eat("FOR") {
                let _ = self.eat("JOIN") || self.eat_all(&["ORDER", "BY"]) || self.eat_all(&["GROUP", "BY"]);
            }
            self.skip_parentheses()?;
            self.close(mark, Kind::IndexHint)?;
            // MySQL knows a list with commas.
            if self.at_sign(b',') && (self.word_is(2, "INDEX") || self.word_is(2, "KEY")) {
                self.bump();
            }
        }
        Ok(())
    }

    /// Names in parentheses.
    pub(super) fn names(&mut self, kind: Kind) -> Parsed {
        let mark = self.open();
        self.bump();
        if !self.at_sign(b')') {
            self.list(|cursor| cursor.name("a name"))?;
        }
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, kind)
    }
}

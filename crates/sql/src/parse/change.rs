//! `UPDATE` and `DELETE`, of one table or several.

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

/// Words between the verb and the tables.
const OPTIONS: [&str; 3] = ["LOW_PRIORITY", "QUICK", "IGNORE"];

impl Cursor<'_> {
    /// The statement behind its `WITH`, if it has one.
    pub(super) fn update(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        self.hint()?;
        self.options(&OPTIONS)?;
        self.table_references()?;
        self.portion()?;
        if !self.at("SET") {
            return Err(self.expected("SET"));
        }
        self.assignments()?;
        self.condition("WHERE", Kind::Where)?;
        self.order_by()?;
        self.limit()?;
        self.opaque(&[], false)?;
        self.close(mark, Kind::Update)
    }

    /// The statement behind its `WITH`, if it has one.
    pub(super) fn delete(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        self.hint()?;
        self.options(&OPTIONS)?;
        self.eat("HISTORY");
        if !self.at("FROM") {
            self.targets()?;
        } else if self.has_targets() {
            self.bump();
            self.targets()?;
        }
        let from = self.open();
        if !self.eat("USING") {
            self.expect("FROM")?;
        }
        self.table_references()?;
        self.close(from, Kind::From)?;
        self.portion()?;
        if self.at("BEFORE") {
            self.opaque(&["WHERE", "ORDER", "LIMIT", "RETURNING"], false)?;
        }
        self.condition("WHERE", Kind::Where)?;
        self.order_by()?;
        self.limit()?;
        self.returning()?;
        self.opaque(&[], false)?;
        self.close(mark, Kind::Delete)
    }

    /// Whether `FROM` names the tables whose rows are deleted, and `USING` those that are read.
    fn has_targets(&self) -> bool {
        let mut at = 1;
        loop {
            if self.sign_is(at, b'.') {
                at += 1;
            }
            at += 1;
            while self.sign_is(at, b'.') {
                at += 2;
            }
            if !self.sign_is(at, b',') {
                return self.word_is(at, "USING");
            }
            at += 1;
        }
    }

    /// `t1, s.t2.*`.
    fn targets(&mut self) -> Parsed {
        let mark = self.open();
        self.list(Self::target)?;
        self.close(mark, Kind::Targets)
    }

    fn target(&mut self) -> Parsed {
        let mark = self.open();
        self.name("a table")?;
        while self.eat_sign(b'.') {
            if self.eat_sign(b'*') {
                break;
            }
            self.name_behind_point("a table")?;
        }
        self.close(mark, Kind::TableName)
    }

    /// `FOR PORTION OF p FROM x TO y` of MariaDB.
    fn portion(&mut self) -> Parsed {
        if !(self.at("FOR") && self.word_is(1, "PORTION")) {
            return Ok(());
        }
        let mark = self.open();
        self.bump_many(3);
        self.name("a period")?;
        self.expect("FROM")?;
        self.bit_expression()?;
        self.expect("TO")?;
        self.bit_expression()?;
        self.close(mark, Kind::Portion)
    }
}

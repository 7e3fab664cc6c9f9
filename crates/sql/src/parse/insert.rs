//! `INSERT` and `REPLACE`.

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

/// Words between the verb and the table.
const OPTIONS: [&str; 4] = ["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"];

impl Cursor<'_> {
    /// The whole statement; `kind` says which.
    pub(super) fn insert(&mut self, kind: Kind) -> Parsed {
        let mark = self.open();
        self.bump();
        self.hint()?;
        self.options(&OPTIONS)?;
        self.eat("INTO");
        let target = self.open();
        self.table_name()?;
        if self.at("PARTITION") && self.sign_is(1, b'(') {
            self.partitions()?;
        }
        self.close(target, Kind::Table)?;
        if self.at_sign(b'(') && !self.at_query_in_parentheses() {
            self.column_list()?;
        }
        self.source()?;
        self.row_alias()?;
        if self.at("ON") {
            let duplicate = self.open();
            if !self.eat_all(&["ON", "DUPLICATE", "KEY", "UPDATE"]) {
                return Err(self.expected("ON DUPLICATE KEY UPDATE"));
            }
            self.list(Self::assignment)?;
            self.close(duplicate, Kind::OnDuplicate)?;
        }
        self.returning()?;
        self.opaque(&[], false)?;
        self.close(mark, kind)
    }

    /// Columns in parentheses.
    fn column_list(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        if !self.at_sign(b')') {
            self.list(Self::column)?;
        }
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Columns)
    }

    /// Where the rows come from.
    fn source(&mut self) -> Parsed {
        match &*self.upper(0) {
            "SET" => self.assignments(),
            "VALUES" | "VALUE" => {
                let mark = self.open();
                self.rows()?;
                // They are the first part of a query.
                if self.at_any(&["UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT"]) {
                    self.rest_of_query(mark)?;
                }
                Ok(())
            }
            "SELECT" | "WITH" | "TABLE" => self.query(),
            _ if self.at_sign(b'(') => self.query(),
            _ => Err(self.expected("VALUES, SET or a query")),
        }
    }

    /// `VALUES (1, 2), (3, 4)`, `VALUES ROW(1, 2)`.
    pub(super) fn rows(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        self.list(|cursor| {
            let row = cursor.open();
            cursor.eat("ROW");
            cursor.expect_sign(b'(', "a row")?;
            if !cursor.at_sign(b')') {
                cursor.list(Self::value)?;
            }
            cursor.expect_sign(b')', "a closing parenthesis")?;
            cursor.close(row, Kind::Row)
        })?;
        self.close(mark, Kind::Rows)
    }

    /// A value of a row; MariaDB knows `IGNORE`.
    fn value(&mut self) -> Parsed {
        if self.at("IGNORE") { self.leaf(Kind::Default) } else { self.expression() }
    }

    /// `SET a = 1, b = 2`.
    pub(super) fn assignments(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        self.list(Self::assignment)?;
        self.close(mark, Kind::Assignments)
    }

    pub(super) fn assignment(&mut self) -> Parsed {
        let mark = self.open();
        self.column()?;
        if self.at_signs(b":=") {
            self.bump();
        }
        self.expect_sign(b'=', "=")?;
        self.value()?;
        self.close(mark, Kind::Assignment)
    }

    /// `AS new (a, b)` of MySQL.
    fn row_alias(&mut self) -> Parsed {
        if !self.at("AS") {
            return Ok(());
        }
        let mark = self.open();
        self.bump();
        self.name("an alias")?;
        if self.at_sign(b'(') {
            self.names(Kind::Columns)?;
        }
        self.close(mark, Kind::RowAlias)
    }

    /// `RETURNING` of MariaDB, if it is there.
    pub(super) fn returning(&mut self) -> Parsed {
        if !(self.at("RETURNING") && self.is_mariadb()) {
            return Ok(());
        }
        let mark = self.open();
        self.bump();
        self.list(Self::item)?;
        self.close(mark, Kind::Returning)
    }
}

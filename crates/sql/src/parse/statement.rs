//! From the first word of a statement to its grammar.

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;
use super::tree::NodeId;

impl Cursor<'_> {
    /// The whole text. Returns the root of the tree.
    pub(super) fn statement(&mut self) -> Parsed<NodeId> {
        let mark = self.open();
        self.any_statement()?;
        self.close(mark, Kind::Statement)?;
        self.eat_sign(b';');
        match (self.kind(0), self.last()) {
            (None, Some(root)) => Ok(root),
            _ => Err(self.expected("the end of the statement")),
        }
    }

    /// A statement that may stand in another one.
    pub(super) fn any_statement(&mut self) -> Parsed {
        match &*self.upper(0) {
            "SELECT" | "TABLE" | "VALUES" => self.query(),
            "WITH" => self.with_statement(),
            "INSERT" => self.insert(Kind::Insert),
            "REPLACE" => self.insert(Kind::Replace),
            "UPDATE" => self.update(),
            "DELETE" => self.delete(),
            "EXPLAIN" | "DESCRIBE" | "DESC" => self.explain(),
            "ANALYZE" if !self.is_table_maintenance() => self.explain(),
            "SET" => self.set(),
            "DO" => self.command(Self::do_expressions),
            "CALL" => self.command(Self::call_procedure),
            _ if self.at_sign(b'(') => self.query(),
            "" => Err(self.expected("a statement")),
            _ => self.utility(),
        }
    }

    /// A query or a change behind its `WITH`.
    fn with_statement(&mut self) -> Parsed {
        let mark = self.open();
        self.with()?;
        match &*self.upper(0) {
            "UPDATE" => self.update(),
            "DELETE" => self.delete(),
            _ => self.query_behind_with(mark),
        }
    }

    /// `EXPLAIN`, with a statement or a table.
    fn explain(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        loop {
            if self.at("FORMAT") && self.sign_is(1, b'=') {
                self.bump_many(3);
            } else if self.at("INTO") {
                self.bump_many(2);
            } else if self.at("FOR") && (self.word_is(1, "SCHEMA") || self.word_is(1, "DATABASE")) {
                self.bump_many(3);
            } else if !self.eat_any(&["EXTENDED", "PARTITIONS", "ANALYZE"]) {
                break;
            }
        }
        if self.eat_all(&["FOR", "CONNECTION"]) {
            self.expression()?;
        } else if self.at_sign(b'(') || !self.is_name(0) && !self.at_sign(b'.') || self.at("DO") {
            self.any_statement()?;
        } else {
            self.table_name()?;
            self.opaque(&[], false)?;
        }
        self.close(mark, Kind::Explain)
    }

    /// A verb with expressions.
    fn command(&mut self, inner: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        let mark = self.open();
        self.bump();
        inner(self)?;
        self.opaque(&[], false)?;
        self.close(mark, Kind::Command)
    }

    fn do_expressions(&mut self) -> Parsed {
        self.list(Self::item)
    }

    fn call_procedure(&mut self) -> Parsed {
        let mark = self.open();
        let function = self.open();
        self.name("a procedure")?;
        while self.eat_sign(b'.') {
            self.name_behind_point("a procedure")?;
        }
        self.close(function, Kind::Function)?;
        if self.eat_sign(b'(') {
            if !self.at_sign(b')') {
                self.expressions()?;
            }
            self.expect_sign(b')', "a closing parenthesis")?;
        }
        self.close(mark, Kind::Call)
    }

    /// `SET`, also with a statement behind it, as MariaDB has it.
    fn set(&mut self) -> Parsed {
        if !self.word_is(1, "STATEMENT") {
            return self.command(|cursor| cursor.list(Self::setting));
        }
        let mark = self.open();
        self.bump_many(2);
        self.list(Self::setting)?;
        self.expect("FOR")?;
        self.any_statement()?;
        self.close(mark, Kind::Command)
    }

    /// A variable and its value.
    fn setting(&mut self) -> Parsed {
        const SCOPES: [&str; 5] = ["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"];
        const WORDS: [&str; 5] = ["ON", "ALL", "BINARY", "ROW", "SYSTEM"];
        let mark = self.open();
        let scope = usize::from(SCOPES.iter().any(|scope| self.at(scope)) && !self.sign_is(1, b'='));
        let is_assignment = (0..=scope + 4)
            .take_while(|ahead| !self.sign_is(*ahead, b','))
            .any(|ahead| self.sign_is(ahead, b'=') || self.sign_is(ahead, b':'));
        if !is_assignment {
            // `NAMES`, `TRANSACTION`, `ROLE`.
            return self.opaque(&["FOR"], true);
        }
        if self.at("PASSWORD") {
            return self.opaque(&[], false);
        }
        self.bump_many(scope);
        if self.is_name(0) {
            self.column()?;
        } else {
            self.leaf(Kind::UserVariable)?;
        }
        self.eat_sign(b':');
        self.expect_sign(b'=', "=")?;
        let is_last = self.sign_is(1, b',')
            || self.sign_is(1, b';')
            || self.kind(1).is_none()
            || self.word_is(1, "FOR");
        if self.at_any(&WORDS) && is_last {
            self.leaf(Kind::Name)?;
        } else {
            self.expression()?;
        }
        self.close(mark, Kind::Assignment)
    }
}

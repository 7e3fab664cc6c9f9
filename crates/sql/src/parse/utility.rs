//! The tables that all other statements name: definitions, maintenance, `SHOW`, `LOCK`, `LOAD`.

use crate::lexer::Kind as TokenKind;

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

/// Words between a verb and the kind of object.
const BEFORE_OBJECT: [&str; 12] = [
    "OR",
    "REPLACE",
    "TEMPORARY",
    "UNIQUE",
    "FULLTEXT",
    "SPATIAL",
    "ONLINE",
    "OFFLINE",
    "IGNORE",
    "LOCAL",
    "NO_WRITE_TO_BINLOG",
    "AGGREGATE",
];

impl Cursor<'_> {
    /// A statement of which the tables matter, and nothing else.
    pub(super) fn utility(&mut self) -> Parsed {
        let mark = self.open();
        let verb = self.upper(0);
        self.bump();
        let mut has_body = &*verb == "BEGIN" && self.at("NOT");
        match &*verb {
            "CREATE" | "ALTER" | "DROP" => has_body = self.definition()?,
            "RENAME" => self.renamed()?,
            "TRUNCATE" => {
                self.eat("TABLE");
                self.table_name()?;
            }
            "LOCK" => self.locked()?,
            "ANALYZE" | "CHECK" | "CHECKSUM" | "OPTIMIZE" | "REPAIR" => {
                self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
                if self.eat_any(&["TABLE", "TABLES", "VIEW"]) {
                    self.list(Self::table_name)?;
                }
            }
            "FLUSH" => self.flushed()?,
            "HANDLER" => self.table_name()?,
            "SHOW" => self.shown()?,
            "LOAD" | "CACHE" => self.loaded()?,
            "GRANT" | "REVOKE" => self.granted()?,
            _ => {}
        }
        while self.kind(0).is_some() && (has_body || !self.at_sign(b';')) {
            self.bump();
        }
        self.close(mark, Kind::Utility)
    }

    /// Whether `ANALYZE` comes in front of tables, not of a statement.
    pub(super) fn is_table_maintenance(&self) -> bool {
        let at = 1 + usize::from(["NO_WRITE_TO_BINLOG", "LOCAL"].iter().any(|word| self.word_is(1, word)));
        self.word_is(at, "TABLE") || self.word_is(at, "TABLES")
    }

    fn if_exists(&mut self) {
        if self.eat("IF") {
            self.eat("NOT");
            self.eat("EXISTS");
        }
    }

    /// What comes behind `CREATE`, `ALTER` and `DROP`. Returns whether that is stored code, whose
    /// semicolons end no statement.
    fn definition(&mut self) -> Parsed<bool> {
        loop {
            let is_value = self.sign_is(1, b'=');
            match &*self.upper(0) {
                // `DEFINER = a@b`, `ALGORITHM = MERGE`, `SQL SECURITY INVOKER`.
                _ if is_value => {
                    self.bump_many(3);
                    while matches!(self.kind(0), Some(TokenKind::UserVariable | TokenKind::Sign(b'(' | b')')))
                    {
                        self.bump();
                    }
                }
                "SQL" if self.word_is(1, "SECURITY") => self.bump_many(3),
                word if BEFORE_OBJECT.contains(&word) => self.bump(),
                _ => break,
            }
        }
        match &*self.upper(0) {
            "TABLE" | "TABLES" | "VIEW" | "SEQUENCE" => {
                self.bump();
                self.if_exists();
                self.list(Self::table_name)?;
                let is_template = self.at("LIKE") || self.at_sign(b'(') && self.word_is(1, "LIKE");
                if is_template {
                    self.eat_sign(b'(');
                    self.bump();
                    self.table_name()?;
                }
                self.more_tables()?;
                Ok(false)
            }
            "INDEX" => self.table_behind("ON").map(|()| false),
            "TRIGGER" => self.table_behind("ON").map(|()| true),
            word => Ok(["PROCEDURE", "FUNCTION", "EVENT", "PACKAGE"].contains(&word)),
        }
    }

    /// The table behind the first `word`.
    fn table_behind(&mut self, word: &str) -> Parsed {
        while !(self.kind(0).is_none() || self.at_sign(b';') || self.at(word)) {
            self.bump();
        }
        if self.at(word) {
            self.bump();
            self.table_name()?;
        }
        Ok(())
    }

    /// Further tables of a definition: referenced tables, queries, new names.
    fn more_tables(&mut self) -> Parsed {
        while self.kind(0).is_some() && !self.at_sign(b';') {
            let is_rename =
                self.at("RENAME") && !["COLUMN", "INDEX", "KEY"].iter().any(|word| self.word_is(1, word));
            if self.eat("REFERENCES") || self.eat_all(&["WITH", "TABLE"]) {
                self.table_name()?;
            } else if is_rename {
                self.bump();
                self.eat_any(&["TO", "AS"]);
                self.table_name()?;
            } else if self.at("UNION") && (self.sign_is(1, b'=') || self.sign_is(1, b'(') && self.is_name(2))
            {
                self.merged()?;
            } else if self.begins_query() {
                self.query()?;
            } else {
                self.bump();
            }
        }
        Ok(())
    }

    /// Whether a query begins here, and no other clause of a definition.
    fn begins_query(&self) -> bool {
        let is_named = self.word_is(2, "AS") || self.sign_is(2, b'(');
        self.at("SELECT")
            || self.at("TABLE") && self.is_name(1)
            || self.at("WITH") && (self.word_is(1, "RECURSIVE") || self.is_name(1) && is_named)
    }

    /// The tables of a `MERGE` table.
    fn merged(&mut self) -> Parsed {
        self.bump();
        self.eat_sign(b'=');
        self.expect_sign(b'(', "an opening parenthesis")?;
        if !self.at_sign(b')') {
            self.list(Self::table_name)?;
        }
        self.expect_sign(b')', "a closing parenthesis")
    }

    fn renamed(&mut self) -> Parsed {
        if !self.eat_any(&["TABLE", "TABLES"]) {
            return Ok(());
        }
        self.if_exists();
        self.list(|cursor| {
            cursor.table_name()?;
            if cursor.eat("WAIT") {
                cursor.bump();
            }
            cursor.eat("NOWAIT");
            cursor.expect("TO")?;
            cursor.table_name()
        })
    }

    /// `LOCK TABLES a AS b READ LOCAL, c WRITE`.
    fn locked(&mut self) -> Parsed {
        if !self.eat_any(&["TABLE", "TABLES"]) {
            return Ok(());
        }
        self.list(|cursor| {
            let mark = cursor.open();
            cursor.table_name()?;
            cursor.alias()?;
            cursor.close(mark, Kind::Table)?;
            while !(cursor.at_sign(b',') || cursor.at_end()) {
                cursor.bump();
            }
            Ok(())
        })
    }

    fn flushed(&mut self) -> Parsed {
        self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.eat_any(&["TABLE", "TABLES"]) && self.is_name(0) {
            self.list(Self::table_name)?;
        }
        Ok(())
    }

    fn shown(&mut self) -> Parsed {
        self.eat_any(&["EXTENDED", "FULL"]);
        self.eat("FULL");
        if self.eat("CREATE") {
            if self.eat_any(&["TABLE", "VIEW", "SEQUENCE"]) {
                self.table_name()?;
            }
        } else if self.eat_any(&["COLUMNS", "FIELDS", "INDEX", "INDEXES", "KEYS"])
            && self.eat_any(&["FROM", "IN"])
        {
            self.table_name()?;
            // The schema, if it stands behind the table.
            if self.eat_any(&["FROM", "IN"]) {
                self.name("a schema")?;
            }
        }
        while !(self.at_end() || self.at("WHERE")) {
            self.bump();
        }
        self.condition("WHERE", Kind::Where)
    }

    /// `LOAD DATA .. INTO TABLE t`, `LOAD INDEX INTO CACHE t`, `CACHE INDEX t IN c`.
    fn loaded(&mut self) -> Parsed {
        if self.eat("INDEX") {
            self.eat_all(&["INTO", "CACHE"]);
            return self.list(|cursor| {
                cursor.table_name()?;
                while !(cursor.at_sign(b',') || cursor.at_end()) {
                    cursor.bump();
                }
                Ok(())
            });
        }
        self.table_behind("TABLE")?;
        while !self.at_end() || self.at_sign(b')') {
            if self.at("SELECT") {
                self.query()?;
            } else {
                self.bump();
            }
        }
        Ok(())
    }

    /// `GRANT a (b) ON TABLE t TO u`.
    fn granted(&mut self) -> Parsed {
        let ends = |cursor: &Self| cursor.kind(0).is_none() || cursor.at_sign(b';');
        while !(ends(self) || self.at_any(&["ON", "TO", "FROM"])) {
            self.bump();
        }
        if !self.eat("ON") || self.at_any(&["FUNCTION", "PROCEDURE", "PACKAGE"]) {
            return Ok(());
        }
        self.eat("TABLE");
        // `*.*` and `s.*` are no table.
        let is_table = self.is_name(0) && !(self.sign_is(1, b'.') && self.sign_is(2, b'*'));
        if is_table { self.table_name() } else { Ok(()) }
    }
}

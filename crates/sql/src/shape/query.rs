//! Through a query or a statement that changes rows: its tables, functions, variables and clauses.
//!
//! The walk keeps one frame for each open parenthesis, which says whether a table may come next. It
//! is not a parser: what it does not expect it passes by, and only what names tables can be missed
//! that way, never an effect.

use crate::lexer;

use super::effects::Effects;
use super::functions;
use super::kind::StatementKind;
use super::pieces::Piece;
use super::{Shape, Table};

/// Names given by `WITH` that are kept; further ones count as tables.
const NAMED_MAX: usize = 100;

/// What one pair of parentheses is.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
struct Frame {
    /// A table may come here.
    expects: bool,
    /// A comma here leads to another table.
    lists: bool,
    /// Tables here are written.
    writes: bool,
    /// They enclose the arguments of a function, where `FROM` is no clause.
    function: bool,
}

/// A walk over one statement.
pub(super) struct Walk<'a> {
    pieces: &'a [Piece],
    /// The piece to look at next.
    pub(super) at: usize,
    shape: Shape,
    /// Names that the statement itself gives to queries.
    named: Vec<Named<'a>>,
    top: Frame,
    frames: Vec<Frame>,
    tables: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(pieces: &'a [Piece], kind: StatementKind) -> Self {
        Self {
            pieces,
            at: 0,
            shape: Shape::new(kind, Effects::empty()),
            named: named(pieces),
            top: Frame::default(),
            frames: Vec::new(),
            tables: true,
        }
    }

    /// The shape of a statement of a known kind.
    pub(super) fn of(pieces: &'a [Piece], kind: StatementKind) -> Shape {
        let mut walk = Self::new(pieces, kind);
        walk.shape.effects = match kind {
            StatementKind::Insert
            | StatementKind::Replace
            | StatementKind::Update
            | StatementKind::Delete => Effects::WRITES,
            StatementKind::Load => Effects::WRITES | Effects::FILE,
            _ => Effects::empty(),
        };
        walk.run();
        walk.shape
    }

    /// The same for statements in which `FROM` is followed by no table.
    pub(super) fn without_tables(pieces: &'a [Piece], kind: StatementKind) -> Shape {
        let mut walk = Self::new(pieces, kind);
        walk.tables = false;
        walk.run();
        walk.shape
    }

    fn text(&self, at: usize) -> &'a str {
        self.pieces.get(at).map_or("", |piece| piece.text.as_str())
    }

    fn is_sign(&self, at: usize, sign: u8) -> bool {
        self.pieces.get(at).is_some_and(|piece| piece.is_sign(sign))
    }

    /// The word before the one looked at; empty at the beginning.
    fn before(&self) -> &'a str {
        self.at.checked_sub(1).map_or("", |at| self.text(at))
    }

    fn run(&mut self) {
        while let Some(piece) = self.pieces.get(self.at) {
            match piece.kind {
                lexer::Kind::Sign(b'(') => self.open(),
                lexer::Kind::Sign(b')') => self.top = self.frames.pop().unwrap_or_default(),
                lexer::Kind::Sign(b',') => self.top.expects = self.top.lists,
                lexer::Kind::UserVariable => self.user_variable(),
                lexer::Kind::SystemVariable => {
                    self.shape.effects |= functions::variable_effects(&piece.written);
                }
                lexer::Kind::Word | lexer::Kind::Name if self.top.expects && self.expected(piece) => continue,
                lexer::Kind::Word => self.word(piece),
                lexer::Kind::Name => self.call(piece),
                _ => {}
            }
            self.at += 1;
        }
    }

    fn open(&mut self) {
        let inner = Frame { expects: self.top.expects, lists: self.top.expects, ..self.top };
        let inner = if self.top.expects { inner } else { Frame { writes: false, ..Frame::default() } };
        self.top.expects = false;
        let before = self.at.checked_sub(1).and_then(|at| self.pieces.get(at));
        let function = before.is_some_and(|piece| piece.kind == lexer::Kind::Word && !is_clause(&piece.text));
        self.frames.push(self.top);
        self.top = Frame { function, ..inner };
    }

    fn user_variable(&mut self) {
        let assigned = self.is_sign(self.at + 1, b':') && self.is_sign(self.at + 2, b'=');
        self.shape.effects |= match self.before() {
            _ if assigned => Effects::SETS_USER_VARIABLES | Effects::READS_USER_VARIABLES,
            "into" => Effects::SETS_USER_VARIABLES,
            // Its list of columns may have variables in it, which get what was read.
            _ if self.shape.kind == StatementKind::Load => {
                Effects::SETS_USER_VARIABLES | Effects::READS_USER_VARIABLES
            }
            _ => Effects::READS_USER_VARIABLES,
        };
    }

    /// A name where a table may come: takes the table, or says that this is something else.
    fn expected(&mut self, piece: &Piece) -> bool {
        match piece.text.as_str() {
            "low_priority" | "high_priority" | "delayed" | "quick" | "ignore" | "into" | "table"
            | "lateral" | "only" => {
                return self.step();
            }
            "select" | "with" | "values" | "value" | "set" | "from" | "dual" | "json_table" => {
                self.top.expects = false;
                return piece.text == "dual" && self.step();
            }
            "oj" if self.at > 0 && self.is_sign(self.at - 1, b'{') => return self.step(),
            _ => {}
        }
        self.top.expects = false;
        let Some(table) = self.table() else { return false };
        if table.schema.is_none() && self.names_query(&table.name) || !self.tables {
            return true;
        }
        if self.top.writes {
            self.shape.writes.push(table);
            if matches!(self.shape.kind, StatementKind::Insert | StatementKind::Replace | StatementKind::Load)
            {
                self.top = Frame::default();
            }
        } else {
            self.shape.reads.push(table);
        }
        true
    }

    /// Whether `name` here is one that the statement gives to a query. MySQL tells upper and lower
    /// case apart; a name too many counts as that of a table.
    fn names_query(&self, name: &str) -> bool {
        let here = |named: &Named<'_>| named.from < self.at && self.at <= named.to;
        self.named.iter().any(|named| here(named) && named.name == name)
    }

    fn step(&mut self) -> bool {
        self.at += 1;
        true
    }

    /// Takes the name of a table, `name` or `schema.name`, and goes behind it.
    pub(super) fn table(&mut self) -> Option<Table> {
        let name =
            |at| self.pieces.get(at).filter(|piece: &&Piece| piece.is_name()).map(|piece| &piece.written);
        let first = name(self.at)?.clone();
        if self.is_sign(self.at + 1, b'.')
            && let Some(second) = name(self.at + 2)
        {
            let table = Table { schema: Some(first), name: second.clone() };
            self.at += 3;
            return Some(table);
        }
        self.at += 1;
        Some(Table { schema: None, name: first })
    }

    fn expect(&mut self, writes: bool) {
        self.top.expects = true;
        self.top.lists = true;
        self.top.writes = writes;
    }

    fn word(&mut self, piece: &Piece) {
        let text = piece.text.as_str();
        let next = self.text(self.at + 1);
        self.shape.effects |= functions::word_effects(text);
        let main = self.frames.is_empty();
        match text {
            _ if self.at > 0 && self.is_sign(self.at - 1, b'.') => self.member(text),
            "select" => self.top = Frame::default(),
            "from" if !self.top.function && self.before() != "distinct" => {
                self.expect(main && self.shape.kind == StatementKind::Delete);
            }
            "join" | "straight_join" if self.top.lists || text == "join" => {
                self.top.expects = self.before() != "for";
            }
            "update" if main && self.shape.kind == StatementKind::Update && self.before() != "for" => {
                self.expect(true);
            }
            "insert" | "replace" if main && self.begins(piece) => {
                self.expect(true);
                self.top.lists = false;
            }
            "using"
                if main && self.shape.kind == StatementKind::Delete && !self.is_sign(self.at + 1, b'(') =>
            {
                self.expect(true);
            }
            "table" if self.starts_query() => {
                self.top = Frame { expects: true, ..Frame::default() };
            }
            "into" => self.into(next),
            "where" | "having" | "limit" | "window" | "union" | "except" | "intersect" | "set" | "values"
            | "value" => {
                self.top.lists = false;
            }
            "group" | "order" if self.before() != "for" => self.top.lists = false,
            "for" if matches!(next, "update" | "share") => self.shape.effects |= Effects::LOCKS_ROWS,
            "lock" if next == "in" => self.shape.effects |= Effects::LOCKS_ROWS,
            "next" | "previous" if next == "value" => self.shape.effects |= Effects::SEQUENCE,
            "procedure" => self.shape.effects |= Effects::UNKNOWN,
            "infile" | "outfile" | "dumpfile" => self.shape.effects |= Effects::FILE,
            _ => {}
        }
        self.call(piece);
    }

    /// Whether this `INSERT` or `REPLACE` is the statement's own, not the function.
    fn begins(&self, piece: &Piece) -> bool {
        let kind = if piece.text == "insert" { StatementKind::Insert } else { StatementKind::Replace };
        self.shape.kind == kind && self.shape.writes.is_empty() && !self.is_sign(self.at + 1, b'(')
    }

    /// Whether a query begins here, so that `TABLE t` is one.
    fn starts_query(&self) -> bool {
        let begins = self.at == 0 || self.is_sign(self.at - 1, b'(') || self.is_sign(self.at - 1, b')');
        begins
            || matches!(self.before(), "union" | "except" | "intersect" | "all" | "distinct")
            || matches!(self.shape.kind, StatementKind::Insert | StatementKind::Replace)
                && !self.shape.writes.is_empty()
    }

    /// A word behind a dot: MariaDB's `sequence.NEXTVAL`.
    fn member(&mut self, text: &str) {
        if matches!(text, "nextval" | "currval") {
            self.shape.effects |= Effects::SEQUENCE;
        }
    }

    fn into(&mut self, next: &str) {
        if self.shape.kind == StatementKind::Load && next == "table" {
            self.expect(true);
        } else if self.shape.kind == StatementKind::Select {
            let variable =
                self.pieces.get(self.at + 1).is_some_and(|piece| piece.kind == lexer::Kind::UserVariable);
            // Several variables may follow; the first is enough to know.
            self.shape.effects |= match next {
                _ if variable => Effects::SETS_USER_VARIABLES,
                "outfile" | "dumpfile" => Effects::FILE,
                _ => Effects::UNKNOWN,
            };
            self.top.lists = false;
        }
    }

    /// A name, with what follows it: perhaps the call of a function.
    fn call(&mut self, piece: &Piece) {
        if !self.is_sign(self.at + 1, b'(') {
            return;
        }
        let before = self.at.checked_sub(1).and_then(|at| self.pieces.get(at));
        let qualified = before.is_some_and(|piece| piece.is_sign(b'.'));
        let is_alias = before.is_some_and(|piece| piece.text == "as" || piece.is_sign(b')'));
        let is_named = |named: &Named<'_>| std::ptr::eq(named.name, piece.written.as_str());
        if is_alias || !qualified && self.named.iter().any(is_named) {
            return;
        }
        // Behind an operand, `ESCAPE (` and its like are no calls.
        let is_operand = |piece: &Piece| match piece.kind {
            lexer::Kind::Sign(sign) => sign == b')',
            _ => piece.text != "select",
        };
        if functions::is_clause(&piece.text) && before.is_some_and(is_operand) {
            return;
        }
        let with_arguments = !self.is_sign(self.at + 2, b')');
        self.shape.effects |= match piece.kind {
            // A stored function, unless the session has `IGNORE_SPACE`.
            lexer::Kind::Word if functions::is_glued(&piece.text) && !piece.is_glued => Effects::UNKNOWN,
            lexer::Kind::Word if !qualified => {
                functions::effects(&piece.text, with_arguments).unwrap_or(Effects::UNKNOWN)
            }
            _ => Effects::UNKNOWN,
        };
    }
}

/// Words in front of a parenthesis in which `FROM` is a clause again, or which enclose tables.
fn is_clause(word: &str) -> bool {
    matches!(
        word,
        "in" | "exists"
            | "any"
            | "all"
            | "some"
            | "as"
            | "from"
            | "join"
            | "on"
            | "and"
            | "or"
            | "not"
            | "where"
            | "lateral"
            | "union"
            | "except"
            | "intersect"
            | "distinct"
            | "select"
            | "when"
            | "then"
            | "else"
            | "values"
            | "explain"
    )
}

/// A name that `WITH` gives to a query.
struct Named<'a> {
    name: &'a str,
    /// The first piece where it means that query: behind its own, unless that is recursive.
    from: usize,
    /// The piece that closes what it is known in.
    to: usize,
}

/// The names that `WITH` gives to queries: `name [(columns)] AS (`.
fn named(pieces: &[Piece]) -> Vec<Named<'_>> {
    let mut names = Vec::new();
    if !pieces.iter().any(|piece| piece.text == "with") {
        return names;
    }
    let recursive = pieces.iter().any(|piece| piece.text == "recursive");
    for (at, piece) in pieces.iter().enumerate() {
        let begins = (at.checked_sub(1).and_then(|at| pieces.get(at)))
            .is_some_and(|piece| matches!(piece.text.as_str(), "with" | "recursive") || piece.is_sign(b','));
        if !begins || !piece.is_name() || names.len() == NAMED_MAX {
            continue;
        }
        let mut next = at + 1;
        if pieces.get(next).is_some_and(|piece| piece.is_sign(b'(')) {
            next = closing(pieces, next + 1) + 1;
        }
        let is_as = pieces.get(next).is_some_and(|piece| piece.text == "as");
        if is_as && pieces.get(next + 1).is_some_and(|piece| piece.is_sign(b'(')) {
            let from = if recursive { at } else { closing(pieces, next + 2) };
            names.push(Named { name: piece.written.as_str(), from, to: closing(pieces, at) });
        }
    }
    names
}

/// Where the parenthesis closes that encloses the piece at `at`; the end if none does.
fn closing(pieces: &[Piece], at: usize) -> usize {
    let mut depth = 0_u32;
    for (ahead, piece) in pieces.iter().enumerate().skip(at) {
        if piece.is_sign(b'(') {
            depth += 1;
        } else if piece.is_sign(b')') {
            let Some(less) = depth.checked_sub(1) else { return ahead };
            depth = less;
        }
    }
    pieces.len()
}

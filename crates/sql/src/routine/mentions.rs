//! What a text names, whatever it does: where it is not enough to know that it leaves nothing.

use super::calls::{self, Called};
use super::{is_sign, tables, word};
use crate::lexer::Modes;
use crate::shape::Table;
use crate::shape::pieces::{Piece, Pieces};

/// The tables and routines that a statement names, or the body of a routine, a view or a trigger.
/// There may be some among them that are none.
///
/// ```
/// let body = b"BEGIN UPDATE totals SET n = (SELECT COUNT(*) FROM shop.orders); CALL log(2); END";
/// let named = sql::routine::Mentions::of(body, sql::Modes::default());
/// assert_eq!((named.reads.len(), named.writes.len(), named.routines.len()), (1, 1, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Tables and views that are read.
    pub reads: Vec<Table>,
    /// Tables and views that are changed.
    pub writes: Vec<Table>,
    /// Routines, functions that are not built in at all servers among them.
    pub routines: Vec<Called>,
    /// It prepares statements, whose texts may be made when it runs.
    pub prepares: bool,
    /// It may define, take away or load tables: [`names`](Self::names) has all that it may mean.
    pub defines: bool,
    /// All words and names of a text that defines.
    pub names: Vec<String>,
    /// Names of temporary tables that it makes.
    pub temporary: Vec<String>,
    /// Its end was not looked at.
    pub cut: bool,
}

impl Mentions {
    /// What a text in these modes names. Names have no quotes any more; what is no UTF-8 in them is
    /// U+FFFD.
    pub fn of(text: &[u8], modes: Modes) -> Self {
        let Pieces { all, cut, .. } = Pieces::of(text, modes);
        let (reads, writes) = tables::read_and_written(&all);
        let routines = calls::named(&all);
        let runs = |called: &Called| called.name.eq_ignore_ascii_case(RUNS_A_TEXT);
        let prepares = routines.iter().any(runs) || (0..all.len()).any(|at| prepares(&all, at));
        let defines = all.iter().any(|piece| DEFINES.contains(&piece.text.as_str()));
        let names = all.iter().filter(|piece| defines && piece.is_name());
        let names = names.map(|piece| piece.written.clone()).collect();
        let temporary = (0..all.len()).filter_map(|at| temporary(&all, at)).collect();
        Self { reads, writes, routines, prepares, defines, names, temporary, cut }
    }

    /// The same of a text whose quotes may have been undone, as MySQL's `information_schema` does:
    /// what is in them counts as well.
    pub fn of_unquoted(text: &[u8], modes: Modes) -> Self {
        let mut all = Self::of(text, modes);
        if text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\')) {
            let blank = |byte: &u8| if matches!(byte, b'\'' | b'"' | b'\\') { b' ' } else { *byte };
            let bare: Vec<u8> = text.iter().map(blank).collect();
            all.add(Self::of(&bare, modes));
        }
        all
    }

    /// What another text names, too.
    pub fn add(&mut self, more: Self) {
        self.reads.extend(more.reads);
        self.writes.extend(more.writes);
        self.routines.extend(more.routines);
        self.names.extend(more.names);
        self.temporary.extend(more.temporary);
        self.prepares |= more.prepares;
        self.defines |= more.defines;
        self.cut |= more.cut;
    }
}

/// Words of statements about tables that are not looked through for those.
const DEFINES: [&str; 12] = [
    "alter", "analyze", "check", "checksum", "create", "drop", "handler", "load", "optimize", "rename",
    "repair", "truncate",
];

/// A procedure of MySQL's schema `sys` that prepares its argument.
const RUNS_A_TEXT: &str = "execute_prepared_stmt";

/// The temporary table that is made at `at`.
fn temporary(pieces: &[Piece], at: usize) -> Option<String> {
    if word(pieces, at) != "temporary" || word(pieces, at + 1) != "table" {
        return None;
    }
    let at = if word(pieces, at + 2) == "if" { at + 5 } else { at + 2 };
    pieces.get(at).filter(|piece| piece.is_name()).map(|piece| piece.written.clone())
}

/// Whether `PREPARE a FROM` or `EXECUTE IMMEDIATE` is at `at`.
fn prepares(pieces: &[Piece], at: usize) -> bool {
    match word(pieces, at) {
        "prepare" => word(pieces, at + 2) == "from",
        "execute" => word(pieces, at + 1) == "immediate" && !is_sign(pieces, at + 2, b'.'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        let Mentions { reads, writes, routines, prepares, .. } =
            Mentions::of(text.as_bytes(), Modes::default());
        let full = |schema: &Option<String>, name: &str| match schema {
            Some(schema) => format!("{schema}.{name}"),
            None => name.to_owned(),
        };
        let tables = |all: &[Table]| {
            all.iter().map(|table| full(&table.schema, &table.name)).collect::<Vec<_>>().join(" ")
        };
        let routines: Vec<_> = routines.iter().map(|one| full(&one.schema, &one.name)).collect();
        let prepares = if prepares { " prepares" } else { "" };
        format!("{}; {}; {}{prepares}", tables(&reads), tables(&writes), routines.join(" "))
    }

    #[test]
    fn all_that_is_named_is_told() {
        for (text, all) in [
            ("SELECT f(1), `g` (2), a.h(3), COUNT(*) FROM t", "t; ; f g a.h"),
            ("SELECT 1e5, /*! f(1), */ `it's`(2)", "; ; f it's"),
            ("CALL p", "; ; p"),
            ("CALL a.p(f(1)); CALL `q r`()", "; ; a.p f q r"),
            ("SELECT a.b.c(1)", "; ; b.c"),
            ("BEGIN DECLARE c CURSOR FOR SELECT id FROM t; INSERT INTO u VALUES (1); END", "t; u; "),
            ("BEGIN PREPARE s FROM @text; EXECUTE s; END", "; ; prepares"),
            ("EXECUTE IMMEDIATE CONCAT('SELECT ', a)", "; ; prepares"),
            ("SELECT prepare, execute FROM t", "t; ; "),
            ("SET @a = f(1)", "; ; f"),
            ("select `s`.`f`(`s`.`t`.`a`) AS `x` from `s`.`t`", "s.t; ; s.f"),
            ("INSERT INTO t SELECT * FROM v", "v; t; "),
        ] {
            assert_eq!(named(text).replace(";  prepares", "; prepares"), all.replace(";  ", "; "), "{text}");
        }
    }
}

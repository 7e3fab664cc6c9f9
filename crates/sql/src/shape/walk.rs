//! From the first words of a statement to its shape.

use crate::lexer::{self, Modes};

use super::pieces::{Piece, Pieces};
use super::query::Walk;
use super::{Effects, Kind, Shape};

/// The shape of a text of any number of statements; `None` if nothing can be said.
pub(super) fn shape(sql: &[u8], modes: Modes) -> Option<Shape> {
    let Pieces { all: pieces, cut, unsure } = Pieces::of(sql, modes);
    let mut shape = text(&pieces);
    if pieces.iter().any(|piece| piece.conditional) {
        let seen_by_all: Vec<Piece> = pieces.iter().filter(|piece| !piece.conditional).cloned().collect();
        let other = text(&seen_by_all);
        if other.kind != shape.kind && other.kind != Kind::Empty {
            shape.effects |= Effects::UNKNOWN | Effects::WRITES;
        }
        shape.effects |= other.effects;
        shape.reads.extend(other.reads);
        shape.writes.extend(other.writes);
    }
    if cut && !matches!(shape.kind, Kind::Insert | Kind::Replace) {
        return None;
    }
    if cut || unsure {
        shape.effects |= Effects::UNKNOWN | Effects::WRITES;
    }
    Some(shape)
}

fn text(pieces: &[Piece]) -> Shape {
    let mut statements = pieces.split(|piece| piece.is_sign(b';')).filter(|statement| !statement.is_empty());
    let Some(first) = statements.next() else { return Shape::new(Kind::Empty, Effects::empty()) };
    let mut shape = statement(first);
    if defines_code(first) {
        // The semicolons are those of its body.
        return shape;
    }
    for other in statements {
        let other = statement(other);
        shape.kind = Kind::Several;
        shape.effects |= other.effects;
        shape.reads.extend(other.reads);
        shape.writes.extend(other.writes);
    }
    shape
}

/// Whether this creates or alters stored code, whose body may have semicolons.
fn defines_code(statement: &[Piece]) -> bool {
    let mut words = statement.iter().map(|piece| piece.text.as_str());
    let is_code = |word: &str| match word {
        "procedure" | "function" | "trigger" | "event" | "package" => Some(true),
        "table" | "view" | "index" | "database" | "schema" | "user" | "role" | "server" | "sequence"
        | "tablespace" => Some(false),
        _ => None,
    };
    matches!(words.next(), Some("create" | "alter")) && words.find_map(is_code) == Some(true)
}

/// The word at `at`; empty if there is none.
fn word(pieces: &[Piece], at: usize) -> &str {
    pieces.get(at).map_or("", |piece| piece.text.as_str())
}

fn has(pieces: &[Piece], word: &str) -> bool {
    pieces.iter().any(|piece| piece.text == word)
}

/// Where `word` is.
fn find(pieces: &[Piece], word: &str) -> Option<usize> {
    pieces.iter().position(|piece| piece.text == word)
}

/// The shape of a single statement.
pub(crate) fn statement(pieces: &[Piece]) -> Shape {
    let (first, second) = (word(pieces, 0), word(pieces, 1));
    let simple = |kind, effects| Shape::new(kind, effects);
    let ddl = Effects::WRITES | Effects::COMMITS;
    match first {
        "" | "select" | "values" | "table" | "with" => query(pieces),
        "insert" => Walk::of(pieces, Kind::Insert),
        "replace" => Walk::of(pieces, Kind::Replace),
        "update" => Walk::of(pieces, Kind::Update),
        "delete" => Walk::of(pieces, Kind::Delete),
        "load" if matches!(second, "data" | "xml") => Walk::of(pieces, Kind::Load),
        "call" => simple(Kind::Call, Effects::UNKNOWN | Effects::WRITES),
        "do" => Walk::of(pieces, Kind::Do),
        "handler" => simple(Kind::Handler, Effects::SESSION),
        "set" => set(pieces),
        "show" | "help" => show(pieces),
        "explain" | "describe" | "desc" => explain(pieces),
        "analyze" if !(second == "table" || word(pieces, 2) == "table") => explain(pieces),
        "use" => simple(Kind::Use, Effects::SESSION),
        "begin" | "start" => begin(pieces),
        "commit" | "rollback" => end(pieces),
        "savepoint" => simple(Kind::Savepoint, Effects::TRANSACTION | Effects::SAVEPOINT),
        "release" if second == "savepoint" => simple(Kind::Savepoint, Effects::TRANSACTION),
        "xa" => simple(Kind::Xa, Effects::TRANSACTION),
        "drop" if second == "prepare" => simple(Kind::Prepared, Effects::PREPARED),
        "prepare" if pieces.iter().any(|piece| piece.kind == lexer::Kind::UserVariable) => {
            simple(Kind::Prepared, Effects::PREPARED | Effects::READS_USER_VARIABLES)
        }
        "prepare" | "deallocate" => simple(Kind::Prepared, Effects::PREPARED),
        "execute" => simple(Kind::Prepared, Effects::PREPARED | Effects::UNKNOWN | Effects::WRITES),
        "create" | "alter" | "drop" | "rename" | "truncate" => define(pieces),
        "grant" | "revoke" => simple(Kind::Define, ddl),
        "lock" | "unlock" => simple(Kind::Lock, Effects::TABLE_LOCKS | Effects::COMMITS),
        "kill" => simple(Kind::Kill, Effects::empty()),
        // `WITH READ LOCK`, `FOR EXPORT`; without it nothing stays in the session.
        "flush" if has(pieces, "lock") || has(pieces, "export") => {
            simple(Kind::Admin, ddl | Effects::TABLE_LOCKS)
        }
        "flush" => simple(Kind::Admin, ddl),
        "analyze" | "optimize" | "repair" | "check" | "checksum" => tables(pieces, Kind::Admin, ddl),
        "get" => simple(Kind::Diagnostics, Effects::READS_LAST | Effects::SETS_USER_VARIABLES),
        "resignal" => simple(Kind::Diagnostics, Effects::READS_LAST),
        "load" | "install" | "uninstall" | "change" | "stop" | "reset" | "purge" | "shutdown" | "restart"
        | "clone" | "binlog" | "import" | "cache" | "backup" => simple(Kind::Admin, ddl | Effects::UNKNOWN),
        _ => Shape::unknown(),
    }
}

/// What begins with `SELECT`, `WITH`, `TABLE`, `VALUES`, or a parenthesis.
fn query(pieces: &[Piece]) -> Shape {
    let mut depth = 0;
    for piece in pieces {
        match piece.kind {
            lexer::Kind::Sign(b'(') => depth += 1,
            lexer::Kind::Sign(b')') => depth -= 1,
            _ => {}
        }
        let main = word(pieces, 0) != "with" || depth == 0;
        let kind = match piece.text.as_str() {
            "select" | "values" | "table" => Kind::Select,
            "update" => Kind::Update,
            "delete" => Kind::Delete,
            "insert" => Kind::Insert,
            "replace" => Kind::Replace,
            _ => continue,
        };
        if main {
            return Walk::of(pieces, kind);
        }
    }
    Shape::unknown()
}

fn show(pieces: &[Piece]) -> Shape {
    let mut shape = Walk::without_tables(pieces, Kind::Show);
    if has(pieces, "warnings") || has(pieces, "errors") {
        shape.effects |= Effects::READS_LAST;
        // `SHOW COUNT(*) WARNINGS` is carried out as a SELECT.
        shape.effects.set(Effects::COUNTS_ROWS, word(pieces, 1) == "count");
    }
    shape
}

/// `EXPLAIN` of a statement or table. With `ANALYZE`, the statement runs.
fn explain(pieces: &[Piece]) -> Shape {
    let is_verb = |piece: &Piece| {
        piece.is_sign(b'(')
            || matches!(
                piece.text.as_str(),
                "select" | "with" | "values" | "insert" | "replace" | "update" | "delete"
            )
    };
    let runs = word(pieces, 0) == "analyze" || word(pieces, 1) == "analyze";
    let Some(at) = pieces.iter().position(is_verb) else {
        let unknown = runs || word(pieces, 1) == "for" || word(pieces, 1) == "format";
        let mut shape = Shape::new(Kind::Explain, if unknown { Effects::UNKNOWN } else { Effects::empty() });
        if !unknown {
            let mut names = Walk::new(pieces, Kind::Explain);
            names.at = 1;
            shape.reads.extend(names.table());
        }
        return shape;
    };
    let (before, inner) = pieces.split_at(at);
    let mut shape = statement(inner);
    shape.kind = Kind::Explain;
    if !runs {
        let looks = Effects::UNKNOWN
            | Effects::READS_USER_VARIABLES
            | Effects::READS_SYSTEM_VARIABLES
            | Effects::READS_SESSION
            | Effects::VOLATILE;
        shape.effects &= looks;
        shape.reads.append(&mut shape.writes);
    }
    if before.iter().any(|piece| piece.kind == lexer::Kind::UserVariable) {
        shape.effects |= Effects::SETS_USER_VARIABLES;
    }
    shape
}

fn set(pieces: &[Piece]) -> Shape {
    let mut shape = Walk::of(pieces, Kind::Set);
    let mut depth = 0;
    let mut target = true;
    for piece in pieces.iter().skip(1) {
        match piece.kind {
            lexer::Kind::Sign(b'(') => depth += 1,
            lexer::Kind::Sign(b')') => depth -= 1,
            _ => {}
        }
        if target && piece.kind == lexer::Kind::UserVariable {
            shape.effects |= Effects::SETS_USER_VARIABLES;
        } else if target {
            shape.effects |= target_effects(piece);
        }
        target = depth == 0 && piece.is_sign(b',');
    }
    let second = word(pieces, 1);
    if second == "statement" {
        shape.effects |= Effects::UNKNOWN | Effects::WRITES;
    } else if second == "password" || second == "default" {
        shape.effects |= Effects::WRITES | Effects::COMMITS;
    }
    shape
}

/// What assigning to anything but a user variable does.
fn target_effects(piece: &Piece) -> Effects {
    let name = piece.written.to_ascii_lowercase();
    let name = name.trim_start_matches('@');
    let scope = name.split('.').next().unwrap_or_default();
    let mut effects = Effects::SESSION;
    if matches!(scope, "global" | "persist" | "persist_only") {
        effects |= Effects::WRITES;
    }
    if name.contains("autocommit") {
        effects |= Effects::TRANSACTION | Effects::COMMITS;
    }
    effects
}

fn begin(pieces: &[Piece]) -> Shape {
    let (first, second) = (word(pieces, 0), word(pieces, 1));
    let begins = Effects::TRANSACTION | Effects::COMMITS;
    let read_only = pieces.windows(2).any(|two| word(two, 0) == "read" && word(two, 1) == "only");
    match (first, second) {
        ("start", "transaction") => Shape::new(Kind::Begin { read_only }, begins),
        ("start", _) => Shape::new(Kind::Admin, begins | Effects::WRITES | Effects::UNKNOWN),
        ("begin", "" | "work") if pieces.len() <= 2 => Shape::new(Kind::Begin { read_only: false }, begins),
        // MariaDB's BEGIN NOT ATOMIC is code.
        _ => Shape::unknown(),
    }
}

fn end(pieces: &[Piece]) -> Shape {
    let kind = match word(pieces, 0) {
        "commit" => Kind::Commit,
        _ if has(pieces, "to") => Kind::Savepoint,
        _ => Kind::Rollback,
    };
    let released = find(pieces, "release").is_some_and(|at| at > 0 && word(pieces, at - 1) != "no");
    let session = if released { Effects::SESSION } else { Effects::empty() };
    Shape::new(kind, Effects::TRANSACTION | session)
}

/// `CREATE`, `ALTER`, `DROP`, `RENAME`, `TRUNCATE`.
fn define(pieces: &[Piece]) -> Shape {
    let temporary = pieces.iter().take(5).any(|piece| piece.text == "temporary");
    let ends = if temporary { Effects::TEMPORARY_TABLE } else { Effects::COMMITS };
    let head = pieces.get(..pieces.len().min(24)).unwrap_or_default();
    let code = defines_code(pieces);
    if !code && (find(head, "table").or(find(head, "tables"))).is_some() || word(pieces, 0) == "truncate" {
        let mut shape = tables(pieces, Kind::Define, Effects::WRITES | ends);
        if word(pieces, 0) == "create" {
            let source = find(pieces, "select").or(find(pieces, "like").filter(|at| *at < 12));
            if let Some(source) = source {
                let read = created_from(pieces.get(source..).unwrap_or_default());
                shape.reads.extend(read.reads);
                shape.effects |= read.effects;
            }
        }
        return shape;
    }
    let mut shape = Shape::new(Kind::Define, Effects::WRITES | ends);
    let named = if find(head, "index").is_some() { find(head, "on") } else { find(head, "view") };
    if let Some(named) = named.filter(|_| !code) {
        let mut names = Walk::new(pieces, Kind::Define);
        names.at = named + 1;
        shape.writes.extend(names.table());
        if let Some(select) = find(pieces, "select").filter(|_| find(head, "view").is_some()) {
            // The view is not run; its tables are looked at.
            shape.reads.extend(query(pieces.get(select..).unwrap_or_default()).reads);
        }
    }
    shape
}

/// What a table is made from: `LIKE other`, or a query.
fn created_from(pieces: &[Piece]) -> Shape {
    if word(pieces, 0) == "select" {
        return query(pieces);
    }
    let mut shape = Shape::new(Kind::Define, Effects::empty());
    let mut names = Walk::new(pieces, Kind::Define);
    names.at = 1;
    shape.reads.extend(names.table());
    shape
}

/// A statement with a list of tables behind the word `TABLE`.
fn tables(pieces: &[Piece], kind: Kind, effects: Effects) -> Shape {
    let mut shape = Shape::new(kind, effects);
    let mut names = Walk::new(pieces, kind);
    names.at = find(pieces, "table").or(find(pieces, "tables")).unwrap_or(0) + 1;
    loop {
        while matches!(word(pieces, names.at), "if" | "not" | "exists" | "wait" | "nowait") {
            names.at += 1;
        }
        shape.writes.extend(names.table());
        let next = pieces.get(names.at);
        if !next.is_some_and(|piece| piece.is_sign(b',') || piece.text == "to") {
            return shape;
        }
        names.at += 1;
    }
}

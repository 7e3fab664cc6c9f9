//! From the first words of a statement to its shape.

use crate::lexer::{self, Modes};

use super::Shape;
use super::effects::Effects;
use super::kind::StatementKind;
use super::pieces::{Piece, Pieces};
use super::query::Walk;

/// The shape of a text of any number of statements.
pub(super) fn shape(sql: &[u8], modes: Modes) -> Shape {
    let Pieces { all: pieces, cut, unsure } = Pieces::of(sql, modes);
    let mut shape = text(&pieces);
    if pieces.iter().any(|piece| piece.conditional) {
        let seen_by_all: Vec<Piece> = pieces.iter().filter(|piece| !piece.conditional).cloned().collect();
        let other = text(&seen_by_all);
        // Clauses of definitions may be for some servers only.
        let verb = word(&pieces, 0);
        let is_definition = matches!(verb, "create" | "alter" | "drop") && word(&seen_by_all, 0) == verb;
        let is_query = other.kind.is_select() && shape.kind.is_select();
        let agrees = other.kind == shape.kind || is_definition || is_query;
        if !(agrees && other.several == shape.several) && other.kind != StatementKind::Empty {
            shape.effects |= Effects::UNKNOWN | Effects::WRITES;
        }
        shape.effects |= other.effects;
        shape.reads.extend(other.reads);
        shape.writes.extend(other.writes);
    }
    if cut && !matches!(shape.kind, StatementKind::Insert | StatementKind::Replace) {
        let unknown = Shape::new(shape.kind, Effects::UNKNOWN | Effects::WRITES);
        return Shape { several: shape.several, ..unknown };
    }
    if cut || unsure {
        shape.effects |= Effects::UNKNOWN | Effects::WRITES;
    }
    shape
}

/// The kind of a text, or of the first of its statements, by its first words alone.
pub(super) fn kind(sql: &[u8], modes: Modes) -> StatementKind {
    let Pieces { all, cut, .. } = Pieces::first(sql, modes, HEAD);
    match text(&all).kind {
        // What it is stands too far behind; nearly always it is this.
        StatementKind::Unknown if cut && word(&all, 0) == "with" => StatementKind::Select,
        kind => kind,
    }
}

fn text(pieces: &[Piece]) -> Shape {
    let mut statements = pieces.split(|piece| piece.is_sign(b';')).filter(|statement| !statement.is_empty());
    let Some(first) = statements.next() else { return Shape::new(StatementKind::Empty, Effects::empty()) };
    let mut shape = statement(first);
    if defines_code(first) {
        // The semicolons are those of its body.
        return shape;
    }
    for other in statements {
        let other = statement(other);
        shape.several = true;
        shape.effects |= other.effects;
        shape.reads.extend(other.reads);
        shape.writes.extend(other.writes);
    }
    shape
}

/// Tokens of a definition within which the word stands that says what it is about.
const HEAD: usize = 24;

/// Whether this creates or alters stored code, whose body may have semicolons.
fn defines_code(pieces: &[Piece]) -> bool {
    matches!(word(pieces, 0), "create" | "alter")
        && (1..pieces.len()).find_map(|at| object(pieces, at)) == Some(true)
}

/// The same of the word at `at`. Behind `=` there is the value of an option, like `DEFINER`.
fn object(pieces: &[Piece], at: usize) -> Option<bool> {
    let is_value = pieces.get(at.wrapping_sub(1)).is_some_and(|before| before.is_sign(b'='));
    is_object(word(pieces, at)).filter(|_| !is_value)
}

/// Whether what this word names is stored code; nothing if it names nothing that is defined.
fn is_object(word: &str) -> Option<bool> {
    match word {
        "procedure" | "function" | "trigger" | "event" | "package" => Some(true),
        "table" | "tables" | "view" | "index" | "database" | "schema" | "user" | "role" | "server"
        | "sequence" | "tablespace" => Some(false),
        _ => None,
    }
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
        "insert" => Walk::of(pieces, StatementKind::Insert),
        "replace" => Walk::of(pieces, StatementKind::Replace),
        "update" => Walk::of(pieces, StatementKind::Update),
        "delete" => Walk::of(pieces, StatementKind::Delete),
        "load" if matches!(second, "data" | "xml") => Walk::of(pieces, StatementKind::Load),
        "call" => simple(StatementKind::Call, Effects::UNKNOWN | Effects::WRITES),
        "do" => Walk::of(pieces, StatementKind::Do),
        "handler" => simple(StatementKind::Handler, Effects::SESSION),
        "set" => set(pieces),
        "show" | "help" => show(pieces),
        "explain" | "describe" | "desc" => explain(pieces),
        "analyze" if !(second == "table" || word(pieces, 2) == "table") => explain(pieces),
        "use" => simple(StatementKind::Use, Effects::SESSION),
        "begin" | "start" => begin(pieces),
        "commit" | "rollback" => end(pieces),
        "savepoint" => simple(StatementKind::Savepoint, Effects::TRANSACTION | Effects::SAVEPOINT),
        "release" if second == "savepoint" => simple(StatementKind::ReleaseSavepoint, Effects::TRANSACTION),
        "xa" => simple(StatementKind::Xa, Effects::TRANSACTION),
        "drop" if second == "prepare" => simple(StatementKind::DropPrepare, Effects::PREPARED),
        "prepare" if pieces.iter().any(|piece| piece.kind == lexer::Kind::UserVariable) => {
            simple(StatementKind::Prepare, Effects::PREPARED | Effects::READS_USER_VARIABLES)
        }
        "prepare" => simple(StatementKind::Prepare, Effects::PREPARED),
        "deallocate" => simple(StatementKind::Deallocate, Effects::PREPARED),
        "execute" => simple(StatementKind::Execute, Effects::PREPARED | Effects::UNKNOWN | Effects::WRITES),
        "create" | "alter" | "drop" | "rename" | "truncate" => define(pieces),
        "grant" => simple(StatementKind::Grant, ddl),
        "revoke" => simple(StatementKind::Revoke, ddl),
        "lock" | "unlock" => simple(lock(first, second), Effects::TABLE_LOCKS | Effects::COMMITS),
        "kill" => simple(StatementKind::Kill, Effects::empty()),
        // `WITH READ LOCK`, `FOR EXPORT`; without it nothing stays in the session.
        "flush" if has(pieces, "lock") || has(pieces, "export") => {
            simple(StatementKind::Flush, ddl | Effects::TABLE_LOCKS)
        }
        "flush" => simple(StatementKind::Flush, ddl),
        "analyze" => tables(pieces, StatementKind::AnalyzeTable, ddl),
        "optimize" => tables(pieces, StatementKind::Optimize, ddl),
        "repair" | "check" | "checksum" => tables(pieces, StatementKind::Admin, ddl),
        "get" => simple(StatementKind::Diagnostics, Effects::READS_LAST | Effects::SETS_USER_VARIABLES),
        "resignal" => simple(StatementKind::Diagnostics, Effects::READS_LAST),
        "load" | "install" | "uninstall" | "change" | "stop" | "reset" | "purge" | "shutdown" | "restart"
        | "clone" | "binlog" | "import" | "cache" | "backup" => {
            simple(admin(first, second), ddl | Effects::UNKNOWN)
        }
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
            "select" | "values" | "table" => StatementKind::Select,
            "update" => StatementKind::Update,
            "delete" => StatementKind::Delete,
            "insert" => StatementKind::Insert,
            "replace" => StatementKind::Replace,
            _ => continue,
        };
        if main {
            let mut shape = Walk::of(pieces, kind);
            if kind == StatementKind::Select && ends_for_update(pieces) {
                shape.kind = StatementKind::SelectForUpdate;
            }
            return shape;
        }
    }
    Shape::unknown()
}

fn show(pieces: &[Piece]) -> Shape {
    let kind = match (word(pieces, 0), word(pieces, 1), word(pieces, 2)) {
        ("help", ..) => StatementKind::Help,
        (_, "table", "status") => StatementKind::ShowTableStatus,
        _ => StatementKind::Show,
    };
    let mut shape = Walk::without_tables(pieces, kind);
    if has(pieces, "warnings") || has(pieces, "errors") {
        shape.effects |= Effects::READS_LAST;
        // `SHOW COUNT(*) WARNINGS` is carried out as a SELECT.
        shape.effects.set(Effects::COUNTS_ROWS, word(pieces, 1) == "count");
    }
    shape
}

/// `EXPLAIN` of a statement or table. With `ANALYZE`, the statement runs.
fn explain(pieces: &[Piece]) -> Shape {
    let kind = match word(pieces, 0) {
        "explain" => StatementKind::Explain,
        "analyze" => StatementKind::Analyze,
        _ => StatementKind::Describe,
    };
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
        let mut shape = Shape::new(kind, if unknown { Effects::UNKNOWN } else { Effects::empty() });
        if !unknown {
            let mut names = Walk::new(pieces, kind);
            names.at = 1;
            shape.reads.extend(names.table());
        }
        return shape;
    };
    let (before, inner) = pieces.split_at(at);
    let mut shape = statement(inner);
    shape.kind = kind;
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
    let mut shape = Walk::of(pieces, StatementKind::Set);
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
        ("start", "transaction") if read_only => Shape::new(StatementKind::StartReadOnly, begins),
        ("start", "transaction") => Shape::new(StatementKind::StartTransaction, begins),
        ("start", _) => Shape::new(StatementKind::Admin, begins | Effects::WRITES | Effects::UNKNOWN),
        ("begin", "" | "work") if pieces.len() <= 2 => Shape::new(StatementKind::Begin, begins),
        // MariaDB's BEGIN NOT ATOMIC is code.
        _ => Shape { kind: StatementKind::Compound, ..Shape::unknown() },
    }
}

/// What `LOCK` and `UNLOCK` with this second word are.
fn lock(first: &str, second: &str) -> StatementKind {
    match (first, second) {
        ("lock", "table" | "tables") => StatementKind::LockTable,
        ("unlock", "table" | "tables") => StatementKind::UnlockTables,
        _ => StatementKind::LockInstance,
    }
}

/// What of that which administers the server is counted by itself.
fn admin(first: &str, second: &str) -> StatementKind {
    match (first, second) {
        ("load", _) => StatementKind::LoadIndex,
        ("change", "master") => StatementKind::ChangeMaster,
        ("reset", "master") => StatementKind::ResetMaster,
        ("reset", "slave" | "replica") => StatementKind::ResetSlave,
        ("purge", _) => StatementKind::Purge,
        _ => StatementKind::Admin,
    }
}

/// Whether the last words are `FOR UPDATE`.
fn ends_for_update(pieces: &[Piece]) -> bool {
    let is = |piece: &Piece, word: &str| piece.text == word && !piece.conditional;
    matches!(pieces, [.., before, last] if is(before, "for") && is(last, "update"))
}

fn end(pieces: &[Piece]) -> Shape {
    let kind = match word(pieces, 0) {
        "commit" => StatementKind::Commit,
        _ if has(pieces, "to") => StatementKind::RollbackSavepoint,
        _ => StatementKind::Rollback,
    };
    let released = find(pieces, "release").is_some_and(|at| at > 0 && word(pieces, at - 1) != "no");
    let session = if released { Effects::SESSION } else { Effects::empty() };
    Shape::new(kind, Effects::TRANSACTION | session)
}

/// What of `CREATE`, `ALTER`, `DROP`, `RENAME` and `TRUNCATE` is counted by itself: the verb and
/// the first word that says what it is about.
fn definition(pieces: &[Piece]) -> StatementKind {
    let verb = word(pieces, 0);
    let names =
        |at: &usize| object(pieces, *at).is_some() || verb == "create" && word(pieces, *at) == "temporary";
    let named = (1..pieces.len().min(HEAD)).find(names);
    match (verb, named.map_or("", |at| word(pieces, at))) {
        ("truncate", _) => StatementKind::TruncateTable,
        ("alter", "table") => StatementKind::AlterTable,
        ("alter", "view") => StatementKind::AlterView,
        ("rename", "table" | "tables") => StatementKind::RenameTable,
        ("create", "temporary") => StatementKind::CreateTemporary,
        ("create", "table") => StatementKind::CreateTable,
        ("create", "database" | "schema") => StatementKind::CreateDatabase,
        ("create", "index") => StatementKind::CreateIndex,
        ("create", "trigger") => StatementKind::CreateTrigger,
        ("create", "user") => StatementKind::CreateUser,
        ("create", "view") => StatementKind::CreateView,
        ("drop", "table" | "tables") => StatementKind::DropTable,
        ("drop", "database" | "schema") => StatementKind::DropDatabase,
        ("drop", "index") => StatementKind::DropIndex,
        ("drop", "trigger") => StatementKind::DropTrigger,
        ("drop", "user") => StatementKind::DropUser,
        ("drop", "view") => StatementKind::DropView,
        _ => StatementKind::Define,
    }
}

/// `CREATE`, `ALTER`, `DROP`, `RENAME`, `TRUNCATE`.
fn define(pieces: &[Piece]) -> Shape {
    let replaces = word(pieces, 1) == "or" && word(pieces, 2) == "replace";
    let temporary = matches!(word(pieces, 0), "create" | "drop")
        && word(pieces, if replaces { 3 } else { 1 }) == "temporary";
    let ends = if temporary { Effects::TEMPORARY_TABLE } else { Effects::COMMITS };
    let head = pieces.get(..pieces.len().min(HEAD)).unwrap_or_default();
    let code = defines_code(pieces);
    let kind = definition(pieces);
    if !code && (find(head, "table").or(find(head, "tables"))).is_some() || word(pieces, 0) == "truncate" {
        let mut shape = tables(pieces, kind, Effects::WRITES | ends);
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
    let mut shape = Shape::new(kind, Effects::WRITES | ends);
    let named = if find(head, "index").is_some() { find(head, "on") } else { find(head, "view") };
    if let Some(named) = named.filter(|_| !code) {
        let mut names = Walk::new(pieces, StatementKind::Define);
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
    let mut shape = Shape::new(StatementKind::Define, Effects::empty());
    let mut names = Walk::new(pieces, StatementKind::Define);
    names.at = 1;
    shape.reads.extend(names.table());
    shape
}

/// A statement with a list of tables behind the word `TABLE`.
fn tables(pieces: &[Piece], kind: StatementKind, effects: Effects) -> Shape {
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

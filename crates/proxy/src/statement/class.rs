//! What kind of statement a text is, as far as its first words tell: what it is counted as, and the
//! first thing asked about what it changes in its session.
//!
//! The classes are ProxySQL's. Some of them ProxySQL knows and never counts (`EXPLAIN`,
//! `TRUNCATE_TABLE`, `SELECT_FOR_UPDATE` and others); here they are counted.

use super::words::Words;

macro_rules! classes {
    ($($class:ident = $name:literal;)+) => {
        /// A class of statements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Class {
            $($class,)+
        }

        impl Class {
            /// All classes, in ProxySQL's order.
            pub(crate) const ALL: &[Self] = &[$(Self::$class),+];

            /// ProxySQL's name.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)+
                }
            }
        }
    };
}

classes! {
    AlterTable = "ALTER_TABLE";
    AlterView = "ALTER_VIEW";
    AnalyzeTable = "ANALYZE_TABLE";
    Begin = "BEGIN";
    Call = "CALL";
    ChangeMaster = "CHANGE_MASTER";
    Commit = "COMMIT";
    CreateDatabase = "CREATE_DATABASE";
    CreateIndex = "CREATE_INDEX";
    CreateTable = "CREATE_TABLE";
    CreateTemporary = "CREATE_TEMPORARY";
    CreateTrigger = "CREATE_TRIGGER";
    CreateUser = "CREATE_USER";
    CreateView = "CREATE_VIEW";
    Deallocate = "DEALLOCATE";
    Delete = "DELETE";
    Describe = "DESCRIBE";
    DropDatabase = "DROP_DATABASE";
    DropIndex = "DROP_INDEX";
    DropTable = "DROP_TABLE";
    DropTrigger = "DROP_TRIGGER";
    DropUser = "DROP_USER";
    DropView = "DROP_VIEW";
    Grant = "GRANT";
    Execute = "EXECUTE";
    Explain = "EXPLAIN";
    Flush = "FLUSH";
    Insert = "INSERT";
    Kill = "KILL";
    Load = "LOAD";
    LockTable = "LOCK_TABLE";
    Optimize = "OPTIMIZE";
    Prepare = "PREPARE";
    Purge = "PURGE";
    ReleaseSavepoint = "RELEASE_SAVEPOINT";
    RenameTable = "RENAME_TABLE";
    ResetMaster = "RESET_MASTER";
    ResetSlave = "RESET_SLAVE";
    Replace = "REPLACE";
    Revoke = "REVOKE";
    Rollback = "ROLLBACK";
    RollbackSavepoint = "ROLLBACK_SAVEPOINT";
    Savepoint = "SAVEPOINT";
    Select = "SELECT";
    SelectForUpdate = "SELECT_FOR_UPDATE";
    Set = "SET";
    ShowTableStatus = "SHOW_TABLE_STATUS";
    StartTransaction = "START_TRANSACTION";
    TruncateTable = "TRUNCATE_TABLE";
    UnlockTables = "UNLOCK_TABLES";
    Update = "UPDATE";
    Use = "USE";
    Show = "SHOW";
    Unknown = "UNKNOWN";
}

/// How many classes there are.
pub(crate) const CLASSES: usize = Class::ALL.len();

/// Bytes at the end of a `SELECT` in which `FOR UPDATE` is looked for.
const TAIL_BYTES: usize = 16;

/// The class of a statement, or of its beginning.
pub(crate) fn classify(text: &[u8]) -> Class {
    // The most frequent statement in its plainest form.
    match text.split_at_checked(7) {
        Some((b"SELECT " | b"select ", _)) => select(text),
        _ => by_words(text),
    }
}

fn select(text: &[u8]) -> Class {
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b";").unwrap_or(text);
    let tail = text.split_at_checked(text.len().saturating_sub(TAIL_BYTES)).map_or(text, |(_, tail)| tail);
    let for_update = || {
        let before = tail.trim_ascii_end().len().checked_sub(6)?;
        let (before, update) = tail.trim_ascii_end().split_at_checked(before)?;
        let before = before.trim_ascii_end();
        let (_, for_) = before.split_at_checked(before.len().checked_sub(4)?)?;
        let blank = for_.first().is_some_and(u8::is_ascii_whitespace);
        (blank && for_.get(1..)?.eq_ignore_ascii_case(b"FOR") && update.eq_ignore_ascii_case(b"UPDATE"))
            .then_some(())
    };
    // One look at the last letter is all that most statements cost.
    match tail.trim_ascii_end().last() {
        Some(b'E' | b'e') if for_update().is_some() => Class::SelectForUpdate,
        _ => Class::Select,
    }
}

fn by_words(text: &[u8]) -> Class {
    let mut words = Words::new(text);
    // Parentheses may stand in front: (SELECT 1) UNION (SELECT 2).
    while words.sign(b'(') {}
    let Some(first) = words.name() else { return Class::Unknown };
    let simple = SIMPLE.iter().find(|(name, _)| first.eq_ignore_ascii_case(name.as_bytes()));
    if let Some((_, class)) = simple {
        return if *class == Class::Select { select(text) } else { *class };
    }
    let longer = LONGER.iter().find(|(name, _)| first.eq_ignore_ascii_case(name.as_bytes()));
    longer.and_then(|(_, class)| class(words)).unwrap_or(Class::Unknown)
}

/// Statements that their first word tells.
const SIMPLE: &[(&str, Class)] = &[
    ("SELECT", Class::Select),
    ("TABLE", Class::Select),
    ("VALUES", Class::Select),
    ("WITH", Class::Select),
    ("INSERT", Class::Insert),
    ("UPDATE", Class::Update),
    ("DELETE", Class::Delete),
    ("SET", Class::Set),
    ("COMMIT", Class::Commit),
    ("BEGIN", Class::Begin),
    ("REPLACE", Class::Replace),
    ("USE", Class::Use),
    ("CALL", Class::Call),
    ("DESCRIBE", Class::Describe),
    ("DESC", Class::Describe),
    ("EXPLAIN", Class::Explain),
    ("PREPARE", Class::Prepare),
    ("EXECUTE", Class::Execute),
    ("DEALLOCATE", Class::Deallocate),
    ("SAVEPOINT", Class::Savepoint),
    ("FLUSH", Class::Flush),
    ("GRANT", Class::Grant),
    ("REVOKE", Class::Revoke),
    ("KILL", Class::Kill),
    ("LOAD", Class::Load),
    ("OPTIMIZE", Class::Optimize),
    ("PURGE", Class::Purge),
    ("TRUNCATE", Class::TruncateTable),
];

/// What the words behind the first one tell.
type ByMore = fn(Words<'_>) -> Option<Class>;

/// Statements of which more words are looked at.
const LONGER: &[(&str, ByMore)] = &[
    ("ROLLBACK", |mut words| {
        words.keyword("WORK");
        Some(if words.keyword("TO") { Class::RollbackSavepoint } else { Class::Rollback })
    }),
    ("START", |mut words| words.keyword("TRANSACTION").then_some(Class::StartTransaction)),
    ("RELEASE", |mut words| words.keyword("SAVEPOINT").then_some(Class::ReleaseSavepoint)),
    ("SHOW", |mut words| {
        let status = words.keyword("TABLE") && words.keyword("STATUS");
        Some(if status { Class::ShowTableStatus } else { Class::Show })
    }),
    ("LOCK", |mut words| any(&mut words, &["TABLE", "TABLES"]).then_some(Class::LockTable)),
    ("UNLOCK", |mut words| any(&mut words, &["TABLE", "TABLES"]).then_some(Class::UnlockTables)),
    ("ANALYZE", |mut words| {
        any(&mut words, &["NO_WRITE_TO_BINLOG", "LOCAL"]);
        words.keyword("TABLE").then_some(Class::AnalyzeTable)
    }),
    ("RENAME", |mut words| any(&mut words, &["TABLE", "TABLES"]).then_some(Class::RenameTable)),
    ("CHANGE", |mut words| words.keyword("MASTER").then_some(Class::ChangeMaster)),
    ("RESET", |mut words| {
        if words.keyword("MASTER") {
            return Some(Class::ResetMaster);
        }
        any(&mut words, &["SLAVE", "REPLICA"]).then_some(Class::ResetSlave)
    }),
    ("ALTER", |words| object(words, &[("TABLE", Class::AlterTable), ("VIEW", Class::AlterView)])),
    ("CREATE", |words| {
        object(
            words,
            &[
                ("TEMPORARY", Class::CreateTemporary),
                ("TABLE", Class::CreateTable),
                ("DATABASE", Class::CreateDatabase),
                ("SCHEMA", Class::CreateDatabase),
                ("INDEX", Class::CreateIndex),
                ("TRIGGER", Class::CreateTrigger),
                ("USER", Class::CreateUser),
                ("VIEW", Class::CreateView),
            ],
        )
    }),
    ("DROP", |words| {
        object(
            words,
            &[
                ("TABLE", Class::DropTable),
                ("TABLES", Class::DropTable),
                ("DATABASE", Class::DropDatabase),
                ("SCHEMA", Class::DropDatabase),
                ("INDEX", Class::DropIndex),
                ("TRIGGER", Class::DropTrigger),
                ("USER", Class::DropUser),
                ("VIEW", Class::DropView),
            ],
        )
    }),
];

/// Words between a verb and the kind of its object, signs and values of options apart.
const MODIFIERS: &[&str] = &[
    "OR",
    "REPLACE",
    "UNIQUE",
    "FULLTEXT",
    "SPATIAL",
    "ONLINE",
    "OFFLINE",
    "IGNORE",
    "ALGORITHM",
    "UNDEFINED",
    "MERGE",
    "TEMPTABLE",
    "SQL",
    "SECURITY",
    "INVOKER",
    "TEMPORARY",
];

/// The class that the kind of object tells, behind modifiers like `OR REPLACE`, `ALGORITHM = MERGE`
/// or `DEFINER = a@b`.
fn object(mut words: Words<'_>, classes: &[(&str, Class)]) -> Option<Class> {
    loop {
        if let Some((_, class)) = classes.iter().find(|(name, _)| words.keyword(name)) {
            return Some(*class);
        }
        if words.keyword("DEFINER") {
            // Behind SQL SECURITY it stands alone.
            if words.sign(b'=') && !account(&mut words) {
                return None;
            }
        } else if !(any(&mut words, MODIFIERS) || words.sign(b'=')) {
            return None;
        }
    }
}

/// Passes over an account: `CURRENT_USER()`, `a@localhost`, `'a'@'%'`.
fn account(words: &mut Words<'_>) -> bool {
    if !name_or_text(words) {
        return false;
    }
    if words.sign(b'(') {
        return words.sign(b')');
    }
    if words.sign(b'@') && !name_or_text(words) {
        return false;
    }
    while words.sign(b'.') {
        words.name();
    }
    true
}

/// Passes over a name, or anything in quotes.
fn name_or_text(words: &mut Words<'_>) -> bool {
    let Some(quote) = [b'`', b'\'', b'"'].into_iter().find(|quote| words.sign(*quote)) else {
        return words.name().is_some();
    };
    while !words.sign(quote) {
        if words.next().is_none() {
            return false;
        }
    }
    true
}

fn any(words: &mut Words<'_>, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| words.keyword(keyword))
}

/// What a `SET` is about, where it is counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetOf {
    Names,
    Autocommit,
    Other,
}

/// Looks at what a statement of [`Class::Set`] sets first.
pub(crate) fn set_of(text: &[u8]) -> SetOf {
    let mut words = Words::new(text);
    words.keyword("SET");
    if words.keyword("NAMES") {
        return SetOf::Names;
    }
    while words.sign(b'@') {}
    any(&mut words, &["SESSION", "LOCAL"]);
    words.sign(b'.');
    if words.keyword("AUTOCOMMIT") { SetOf::Autocommit } else { SetOf::Other }
}

/// The schema that a statement of [`Class::Use`] names; nothing if it is not certain what servers
/// take for its name.
pub(crate) fn used_schema(text: &[u8]) -> Option<&[u8]> {
    let mut words = Words::new(text);
    words.keyword("USE");
    let rest = words.next_text()?;
    let (name, behind) = if let Some(rest) = rest.strip_prefix(b"`") {
        let end = rest.iter().position(|byte| *byte == b'`')?;
        (rest.get(..end)?, rest.get(end + 1..)?)
    } else {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
        rest.split_at_checked(rest.iter().take_while(|byte| is_plain(byte)).count())?
    };
    // Another backtick behind the name would be a part of it.
    let is_all = Words::new(behind).ends();
    (is_all && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests;

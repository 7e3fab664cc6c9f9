//! The classes that `stats_mysql_commands_counters` counts statements under, told from their first words.

/// Declares the classes with the names that ProxySQL's table has.
macro_rules! classes {
    ($($class:ident $name:literal,)*) => {
        /// A class of statements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the statement that its name says")]
        pub enum Class { $($class,)* }

        impl Class {
            /// All classes, in the order of ProxySQL's table.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// The name in the table.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$class => $name,)* }
            }
        }
    };
}

classes! {
    AlterTable "ALTER_TABLE", AlterView "ALTER_VIEW", AnalyzeTable "ANALYZE_TABLE", Begin "BEGIN", Call "CALL",
    ChangeMaster "CHANGE_MASTER", Commit "COMMIT", CreateDatabase "CREATE_DATABASE", CreateIndex "CREATE_INDEX",
    CreateTable "CREATE_TABLE", CreateTemporary "CREATE_TEMPORARY", CreateTrigger "CREATE_TRIGGER",
    CreateUser "CREATE_USER", CreateView "CREATE_VIEW", Deallocate "DEALLOCATE", Delete "DELETE",
    Describe "DESCRIBE", DropDatabase "DROP_DATABASE", DropIndex "DROP_INDEX", DropTable "DROP_TABLE",
    DropTrigger "DROP_TRIGGER", DropUser "DROP_USER", DropView "DROP_VIEW", Grant "GRANT", Execute "EXECUTE",
    Explain "EXPLAIN", Flush "FLUSH", Insert "INSERT", Kill "KILL", Load "LOAD", LockTable "LOCK_TABLE",
    Optimize "OPTIMIZE", Prepare "PREPARE", Purge "PURGE", ReleaseSavepoint "RELEASE_SAVEPOINT",
    RenameTable "RENAME_TABLE", ResetMaster "RESET_MASTER", ResetSlave "RESET_SLAVE", Replace "REPLACE",
    Revoke "REVOKE", Rollback "ROLLBACK", RollbackSavepoint "ROLLBACK_SAVEPOINT", Savepoint "SAVEPOINT",
    Select "SELECT", SelectForUpdate "SELECT_FOR_UPDATE", Set "SET", ShowTableStatus "SHOW_TABLE_STATUS",
    StartTransaction "START_TRANSACTION", TruncateTable "TRUNCATE_TABLE", UnlockTables "UNLOCK_TABLES",
    Update "UPDATE", Use "USE", Show "SHOW", Unknown "UNKNOWN",
}

/// Words looked at; no class needs more.
const WORDS: usize = 4;

impl Class {
    /// The class of a statement with this digest text.
    ///
    /// ProxySQL 2.7 counts `EXPLAIN`, `TRUNCATE`, `USE`, `LOCK TABLES`, `DROP DATABASE`, `DROP INDEX` as unknown and
    /// locking reads as `SELECT`, although its table has their names; here they are what they are.
    pub fn of(digest: &[u8]) -> Self {
        let mut words = [&b""[..]; WORDS];
        let begin = digest.trim_ascii_start();
        let begin = begin.strip_prefix(b"(").unwrap_or(begin).trim_ascii_start();
        let found = begin
            .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
            .filter(|word| !word.is_empty());
        for (word, found) in words.iter_mut().zip(found) {
            *word = found;
        }
        if begin.first().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
            return Self::Unknown;
        }
        Self::of_words(words, digest)
    }

    fn of_words([first, second, third, fourth]: [&[u8]; WORDS], digest: &[u8]) -> Self {
        let is = |word: &[u8], one: &str| word.eq_ignore_ascii_case(one.as_bytes());
        let mut lower = [0; 10];
        let Some(first) = lowered(first, &mut lower) else { return Self::Unknown };
        match first {
            b"select" if locks(digest) => Self::SelectForUpdate,
            b"select" | b"with" | b"values" | b"table" => Self::Select,
            b"insert" => Self::Insert,
            b"update" => Self::Update,
            b"delete" => Self::Delete,
            b"replace" => Self::Replace,
            b"set" => Self::Set,
            b"begin" => Self::Begin,
            b"commit" => Self::Commit,
            b"rollback" if is(second, "to") || is(third, "to") => Self::RollbackSavepoint,
            b"rollback" => Self::Rollback,
            b"savepoint" => Self::Savepoint,
            b"release" if is(second, "savepoint") => Self::ReleaseSavepoint,
            b"start" if is(second, "transaction") => Self::StartTransaction,
            b"show" if is(second, "table") && is(third, "status") => Self::ShowTableStatus,
            b"show" => Self::Show,
            b"desc" | b"describe" => Self::Describe,
            b"explain" => Self::Explain,
            b"use" => Self::Use,
            b"call" => Self::Call,
            b"load" => Self::Load,
            b"lock" => Self::LockTable,
            b"unlock" => Self::UnlockTables,
            b"truncate" => Self::TruncateTable,
            b"optimize" => Self::Optimize,
            b"analyze" if is(second, "table") || is(third, "table") => Self::AnalyzeTable,
            b"prepare" => Self::Prepare,
            b"execute" => Self::Execute,
            b"deallocate" => Self::Deallocate,
            b"grant" => Self::Grant,
            b"revoke" => Self::Revoke,
            b"flush" => Self::Flush,
            b"kill" => Self::Kill,
            b"purge" => Self::Purge,
            b"change" if is(second, "master") => Self::ChangeMaster,
            b"rename" if is(second, "table") => Self::RenameTable,
            b"reset" if is(second, "master") => Self::ResetMaster,
            b"reset" if is(second, "slave") => Self::ResetSlave,
            b"alter" if is(second, "table") || is(third, "table") => Self::AlterTable,
            b"alter" if [second, third, fourth].iter().any(|word| is(word, "view")) => Self::AlterView,
            b"create" => Self::created([second, third, fourth], digest),
            b"drop" => Self::dropped(if is(second, "temporary") { third } else { second }),
            _ => Self::Unknown,
        }
    }

    fn created(words: [&[u8]; 3], digest: &[u8]) -> Self {
        // What is created comes behind words such as OR REPLACE, UNIQUE or DEFINER=...; views have the most of them.
        for word in words {
            let mut lower = [0; 10];
            match lowered(word, &mut lower) {
                Some(b"table") => return Self::CreateTable,
                Some(b"temporary") => return Self::CreateTemporary,
                Some(b"database" | b"schema") => return Self::CreateDatabase,
                Some(b"index") => return Self::CreateIndex,
                Some(b"trigger") => return Self::CreateTrigger,
                Some(b"user") => return Self::CreateUser,
                Some(b"view" | b"algorithm") => return Self::CreateView,
                Some(b"definer") if has(digest, b" view ") => return Self::CreateView,
                Some(b"definer") if has(digest, b" trigger ") => return Self::CreateTrigger,
                Some(b"function" | b"procedure" | b"event" | b"server" | b"role") => return Self::Unknown,
                _ => {}
            }
        }
        Self::Unknown
    }

    fn dropped(what: &[u8]) -> Self {
        let mut lower = [0; 10];
        match lowered(what, &mut lower) {
            Some(b"table" | b"tables") => Self::DropTable,
            Some(b"database" | b"schema") => Self::DropDatabase,
            Some(b"index") => Self::DropIndex,
            Some(b"trigger") => Self::DropTrigger,
            Some(b"user") => Self::DropUser,
            Some(b"view") => Self::DropView,
            _ => Self::Unknown,
        }
    }
}

/// `word` in lower case, if it is short enough to be one of ours.
fn lowered<'a>(word: &[u8], into: &'a mut [u8; 10]) -> Option<&'a [u8]> {
    let into = into.get_mut(..word.len())?;
    into.copy_from_slice(word);
    into.make_ascii_lowercase();
    Some(into)
}

/// Whether a `SELECT` locks what it reads.
fn locks(digest: &[u8]) -> bool {
    has(digest, b" for update") || has(digest, b" for share") || has(digest, b" lock in share mode")
}

/// Whether `text` has `part`, which is in lower case, in any case.
fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_tell() {
        use Class as C;
        for (digest, class) in [
            ("SELECT ?", C::Select),
            ("(select ?) union (select ?)", C::Select),
            ("select a from t where b=? FOR UPDATE", C::SelectForUpdate),
            ("select a from t lock in share mode", C::SelectForUpdate),
            ("insert into t values (?)", C::Insert),
            ("START TRANSACTION READ ONLY", C::StartTransaction),
            ("START SLAVE", C::Unknown),
            ("rollback", C::Rollback),
            ("rollback work to savepoint a", C::RollbackSavepoint),
            ("ROLLBACK TO a", C::RollbackSavepoint),
            ("release savepoint a", C::ReleaseSavepoint),
            ("show table status", C::ShowTableStatus),
            ("show tables", C::Show),
            ("create or replace table t (a int)", C::CreateTable),
            ("create temporary table t (a int)", C::CreateTemporary),
            ("create unique index i on t (a)", C::CreateIndex),
            ("create algorithm=merge definer=u@h sql security invoker view v as select ?", C::CreateView),
            ("CREATE DEFINER=`u`@`h` TRIGGER t before insert on t for each row set @a=?", C::CreateTrigger),
            ("create function f() returns int return ?", C::Unknown),
            ("alter ignore table t add a int", C::AlterTable),
            ("analyze local table t", C::AnalyzeTable),
            ("analyze select ?", C::Unknown),
            ("drop temporary table t", C::DropTable),
            ("drop database d", C::DropDatabase),
            ("TRUNCATE t", C::TruncateTable),
            ("desc t", C::Describe),
            ("lock tables t read", C::LockTable),
            ("unlock tables", C::UnlockTables),
            ("", C::Unknown),
            ("?", C::Unknown),
            ("selects", C::Unknown),
            ("averyveryverylongwordthatisnothing", C::Unknown),
        ] {
            assert_eq!(C::of(digest.as_bytes()), class, "{digest}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::HashSet<_> = Class::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(names.len(), Class::ALL.len());
        assert!(names.contains("UNKNOWN") && names.contains("SELECT_FOR_UPDATE"));
    }
}

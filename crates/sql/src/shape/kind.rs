//! The kinds of statements.

/// What a statement is, by its first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing: blanks and comments.
    Empty,
    /// `SELECT`, `TABLE`, `VALUES`, also behind `WITH` and in parentheses.
    Select,
    /// `INSERT`.
    Insert,
    /// `REPLACE`.
    Replace,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `LOAD DATA`, `LOAD XML`.
    Load,
    /// `CALL`.
    Call,
    /// `DO`.
    Do,
    /// `HANDLER`.
    Handler,
    /// `SET` in all forms.
    Set,
    /// `SHOW`, `HELP`.
    Show,
    /// `EXPLAIN`, `DESCRIBE`, `DESC`, and `ANALYZE` of a statement.
    Explain,
    /// `USE`.
    Use,
    /// `BEGIN`, `START TRANSACTION`.
    Begin {
        /// `READ ONLY` was said.
        read_only: bool,
    },
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK` of a transaction.
    Rollback,
    /// `SAVEPOINT`, `ROLLBACK TO`, `RELEASE SAVEPOINT`.
    Savepoint,
    /// `XA`.
    Xa,
    /// `CREATE`, `ALTER`, `DROP`, `RENAME`, `TRUNCATE` of tables and other objects; accounts and
    /// their rights.
    Define,
    /// `LOCK TABLES`, `LOCK INSTANCE` and their opposites.
    Lock,
    /// `PREPARE`, `EXECUTE`, `DEALLOCATE PREPARE`.
    Prepared,
    /// `KILL`.
    Kill,
    /// What administers the server: `FLUSH`, `ANALYZE TABLE`, `CHANGE`, `RESET` and others.
    Admin,
    /// `GET DIAGNOSTICS`, `RESIGNAL`.
    Diagnostics,
    /// More than one statement.
    Several,
    /// Anything else.
    Unknown,
}

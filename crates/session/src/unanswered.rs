//! What may have become of a statement whose server was lost before it answered, and so what may be
//! done with it.

use sql::StatementKind;
use sql::shape::Effects;
use wire::StatusFlags;
use wire::command::Kind;

use crate::ran::Ran;

/// Effects that make a statement unsafe to send twice: what it does outlasts it, or means something
/// else if it is done again.
pub const NOT_HARMLESS: Effects = Effects::WRITES
    .union(Effects::LOCKS)
    .union(Effects::NAMED_LOCKS)
    .union(Effects::SEQUENCE)
    .union(Effects::FILE)
    .union(Effects::FUNCTION)
    .union(Effects::TEMPORARY_TABLE)
    .union(Effects::COMMITS)
    .union(Effects::SESSION)
    .union(Effects::READS_LAST)
    .union(Effects::SETS_LAST_INSERT_ID)
    .union(Effects::SETS_USER_VARIABLES)
    .union(Effects::WAITS_FOR_POSITION)
    .union(Effects::UNKNOWN);

/// What may commit. Stored functions cannot.
const MAY_COMMIT: Effects = Effects::COMMITS.union(Effects::UNKNOWN);

/// What was sent and not answered.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The command whose answer is the next one.
    pub kind: Option<Kind>,
    /// The statements that were sent, answered or not.
    pub ran: Ran,
    /// Nothing was sent behind it.
    pub is_last: bool,
    /// Whether a transaction was open before it, and whether each statement outside of one is one
    /// of its own.
    pub status: StatusFlags,
    /// All that it changes are settings of the session, which are said again elsewhere.
    pub only_sets: bool,
}

/// What is to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// It changes nothing but the connection, and may be sent again.
    Again,
    /// It has changed nothing, and cannot be sent again.
    Nothing,
    /// It was part of a transaction that is rolled back.
    RolledBack,
    /// It was done or not.
    Unknown,
}

impl Unanswered {
    /// How the log calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Again | Self::Nothing => "nothing done",
            Self::RolledBack => "transaction rolled back",
            Self::Unknown => "outcome unknown",
        }
    }
}

impl Sent {
    /// What may have become of it.
    pub fn unanswered(self) -> Unanswered {
        let Self { ran, .. } = self;
        if ran.statements > 0 && self.may_commit() {
            return Unanswered::Unknown;
        }
        // A client that rolls back has got what it wants; another server says so.
        if self.in_transaction() && !(ran.sent.statement == Some(StatementKind::Rollback) && self.is_last) {
            return Unanswered::RolledBack;
        }
        let harmless = ran.statements == 0 || self.only_sets || self.is_harmless();
        match self.kind {
            // Without autocommit nothing lasts that was not committed.
            _ if !harmless && !self.status.contains(StatusFlags::AUTOCOMMIT) => Unanswered::RolledBack,
            _ if !harmless => Unanswered::Unknown,
            Some(Kind::Query | Kind::StmtPrepare | Kind::StmtExecute) if self.is_last => Unanswered::Again,
            _ => Unanswered::Nothing,
        }
    }

    const fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::IN_TRANSACTION)
    }

    /// Whether it may have made something last that a transaction has done, or all that the
    /// transaction has.
    fn may_commit(&self) -> bool {
        let ran = &self.ran;
        // `SET autocommit` commits.
        if self.only_sets && !self.in_transaction() {
            return false;
        }
        if ran.effects.intersects(MAY_COMMIT) || ran.statements > 1 {
            return true;
        }
        match ran.sent.statement {
            // They end the one before.
            Some(kind) if kind.begins() || kind == StatementKind::Commit => self.in_transaction(),
            _ => false,
        }
    }

    /// Whether it may be done twice outside of a transaction, and is not missed if it was not done.
    fn is_harmless(&self) -> bool {
        let is_one_of_them = matches!(
            self.ran.sent.statement,
            Some(
                StatementKind::Select
                    | StatementKind::Show
                    | StatementKind::Begin
                    | StatementKind::StartTransaction
                    | StatementKind::StartReadOnly
                    | StatementKind::Commit
                    | StatementKind::Rollback
            )
        );
        is_one_of_them && !self.ran.effects.intersects(NOT_HARMLESS)
    }
}

#[cfg(test)]
mod tests {
    use route::reader::{Reading, plan};

    use super::*;
    use crate::change::{At, Change};
    use crate::ran;

    /// A statement that was sent alone, with autocommit.
    fn sent(sql: &str, in_transaction: bool) -> Sent {
        let plan = plan::of(sql.as_bytes(), true, Reading::default());
        let statements = if plan.several { 2 } else { 1 };
        let (sent, open) =
            (ran::Sent { statement: plan.statement(), ..ran::Sent::default() }, StatusFlags::IN_TRANSACTION);
        let change = Change::of_one(plan, sql.as_bytes(), At { schema: b"", two_byte_quotes: false });
        Sent {
            kind: Some(Kind::Query),
            ran: Ran { effects: plan.effects, statements, sent, ..Ran::default() },
            is_last: true,
            status: if in_transaction { open | StatusFlags::AUTOCOMMIT } else { StatusFlags::AUTOCOMMIT },
            only_sets: change.only_sets(),
        }
    }

    const fn word(unanswered: Unanswered) -> &'static str {
        match unanswered {
            Unanswered::Again => "sent again",
            Unanswered::Nothing => "1213: nothing was changed",
            Unanswered::RolledBack => "1213: rolled back",
            Unanswered::Unknown => "9009: unknown",
        }
    }

    /// Kinds of statements, an example of each first.
    const KINDS: &[&[&str]] = &[
        &["SELECT a FROM t", "SHOW TABLES", "SELECT LAST_INSERT_ID()", "(SELECT 1) UNION (SELECT 2)"],
        &["SELECT a FROM t FOR UPDATE", "SELECT GET_LOCK('a', 1)", "SELECT NEXTVAL(s)", "SELECT f(a) FROM t"],
        &["INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "REPLACE INTO t VALUES (1)"],
        &["BEGIN", "START TRANSACTION READ ONLY"],
        &["COMMIT", "COMMIT AND CHAIN"],
        &["ROLLBACK"],
        &["SET NAMES utf8mb4", "USE test"],
        &["SET autocommit = 1"],
        &["CREATE TABLE t (a INT)", "TRUNCATE TABLE t", "ALTER TABLE t ADD b INT", "DROP TABLE t"],
        &["CALL p()", "EXECUTE s"],
        &["DELETE FROM t; SELECT 1", "SELECT 1; COMMIT"],
    ];

    #[test]
    fn c10_the_manual_has_what_becomes_of_statements_without_an_answer() {
        let manual = include_str!("../../../docs/src/failover.md");
        let mut rows = 0;
        for kind in KINDS {
            let [outside, within] = [false, true].map(|within| sent(kind[0], within).unanswered());
            let row = format!("\n| `{}` | {} | {} |\n", kind.join("`, `"), word(outside), word(within));
            assert!(manual.contains(&row), "docs/src/failover.md lacks this row: {row}");
            rows += 1;
            for sql in *kind {
                let both = [false, true].map(|within| sent(sql, within).unanswered());
                assert_eq!(both, [outside, within], "{sql}");
            }
        }
        assert_eq!(manual.matches("\n| `").count(), rows, "rows of statements");
    }

    #[test]
    fn c10_what_was_sent_together_is_not_sent_again() {
        let one = sent("SELECT a FROM t", false);
        assert_eq!(Sent { is_last: false, ..one }.unanswered(), Unanswered::Nothing);
        let both = Ran { statements: 2, ..one.ran };
        assert_eq!(Sent { ran: both, ..one }.unanswered(), Unanswered::Unknown);
    }

    #[test]
    fn without_autocommit_what_was_not_committed_is_rolled_back() {
        let one = sent("INSERT INTO t VALUES (1)", false);
        assert_eq!(Sent { status: StatusFlags::empty(), ..one }.unanswered(), Unanswered::RolledBack);
    }

    #[test]
    fn commands_that_are_no_statements_change_nothing() {
        let none = Sent { ran: Ran::default(), ..sent("", false) };
        for (kind, expected) in [
            (Kind::StmtPrepare, Unanswered::Again),
            (Kind::InitDb, Unanswered::Nothing),
            (Kind::ResetConnection, Unanswered::Nothing),
        ] {
            assert_eq!(Sent { kind: Some(kind), ..none }.unanswered(), expected);
        }
    }
}

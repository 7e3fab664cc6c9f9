//! What the statements did that ran over a connection, as far as later ones may ask: pure.

use route::StatementPlan;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;
use wire::reply::{End, Outcome};

use crate::state::results::LastId;
use crate::state::substitute::Counted;

/// What may change `LAST_INSERT_ID()`.
const CHANGES_LAST_ID: Effects =
    Effects::WRITES.union(Effects::SETS_LAST_INSERT_ID).union(Effects::FUNCTION).union(Effects::UNKNOWN);

/// Of these the answer does not tell whether they have changed it.
const HIDES_LAST_ID: Effects = Effects::SETS_LAST_INSERT_ID.union(Effects::FUNCTION).union(Effects::UNKNOWN);

/// With these nothing is certain of what a statement does besides.
const UNKNOWN: Effects = Effects::FUNCTION.union(Effects::UNKNOWN);

/// Whether a `GET DIAGNOSTICS` does this: it puts what it finds into user variables; a `DO` does
/// not.
const fn diagnoses(effects: Effects) -> bool {
    effects.intersects(Effects::READS_LAST) && effects.intersects(Effects::SETS_USER_VARIABLES)
}

/// A statement, as far as its own answer is concerned.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sent {
    /// What kind of statement it is.
    pub statement: Option<StatementKind>,
    /// Whether it reads or writes tables for certain.
    pub tables: bool,
    /// What it may do.
    pub effects: Effects,
    /// Whether its text has several statements.
    pub several: bool,
}

impl Sent {
    /// What is being sent, if it is a statement and no other command.
    pub fn of(kind: Kind, plan: StatementPlan) -> Option<Self> {
        let is_statement = matches!(kind, Kind::Query | Kind::StmtExecute | Kind::StmtBulkExecute);
        is_statement.then(|| Self::new(plan))
    }

    const fn new(plan: StatementPlan) -> Self {
        let tables = plan.tables && !plan.effects.intersects(UNKNOWN);
        Self { statement: plan.statement(), tables, effects: plan.effects, several: plan.several }
    }
}

/// What the statements did that ran since the connection was taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ran {
    /// What all of them may do, together.
    pub effects: Effects,
    /// The one that is answered next, or was answered last.
    pub sent: Sent,
    /// How many there were, each of several in one text.
    pub statements: u32,
    /// Whether it is one that is answered next.
    pub is_unanswered: bool,
    /// Whether one was sent while others were not answered: which end is whose is not told apart.
    pub is_ahead: bool,
    /// Whether `FOUND_ROWS()` was set by one of them, as far as is known.
    pub counts: bool,
    /// How it ended, and how many rows it had.
    pub end: Option<End>,
    /// How many rows it had.
    pub rows: u64,
}

impl Ran {
    /// A command that is no statement, and leaves something behind.
    pub fn command() -> Self {
        Self { statements: 1, ..Self::default() }
    }

    /// A statement is being sent.
    pub const fn note(&mut self, plan: StatementPlan, ahead: bool) {
        if !ahead {
            self.work_at(Some(Sent::new(plan)));
        }
        self.effects = self.effects.union(plan.effects);
        self.statements = self.statements.saturating_add(1 + plan.several as u32);
        self.is_ahead |= ahead;
    }

    /// The server works at this now, which is answered next.
    pub const fn work_at(&mut self, sent: Option<Sent>) {
        self.is_unanswered = sent.is_some();
        if let Some(sent) = sent {
            self.sent = sent;
        }
    }

    /// The command that is answered next has ended like this. How many rows the last statement had,
    /// if the one before had `before`.
    pub fn note_end(&mut self, outcome: Outcome, before: Counted) -> Counted {
        let affected = match outcome.end {
            End::Ok { affected_rows, .. } => Some(affected_rows.cast_signed()),
            End::Err { .. } => Some(-1),
            _ => None,
        };
        if !std::mem::take(&mut self.is_unanswered) {
            // No statement: one that is answered with OK counts as one that has changed nothing,
            // one that ends rows as one that has some.
            let rows = outcome.ends_rows.then_some(-1);
            let Some(changed) = rows.or(affected) else { return before };
            self.statements = self.statements.max(1);
            return Counted { changed, ..before };
        }
        (self.end, self.rows) = (Some(outcome.end), outcome.rows);
        let returns_rows = matches!(
            self.sent.statement,
            Some(
                StatementKind::Select
                    | StatementKind::SelectForUpdate
                    | StatementKind::Show
                    | StatementKind::Explain
                    | StatementKind::Describe
            )
        );
        let is_error = matches!(outcome.end, End::Err { .. });
        let has_rows = outcome.rows > 0
            || outcome.ends_rows
            || returns_rows && affected.is_none_or(|affected| affected == 0);
        let counts = match self.sent.statement {
            _ if is_error => false,
            Some(StatementKind::Select | StatementKind::SelectForUpdate | StatementKind::Execute) => has_rows,
            // What tells of the statement before leaves it as it was.
            Some(StatementKind::Show | StatementKind::Describe) => {
                !self.sent.effects.intersects(Effects::READS_LAST)
                    || self.sent.effects.intersects(Effects::COUNTS_ROWS)
            }
            _ => false,
        };
        self.counts |= counts || self.is_ahead || !self.keeps_found();
        let changed = match outcome.end {
            End::Ok { warnings, .. } if self.is_diagnosis() => {
                if warnings > 0 {
                    -1
                } else {
                    before.changed
                }
            }
            // Behind rows there may be another statement in the same text, if only a comment.
            _ => affected.filter(|_| !outcome.ends_rows).unwrap_or(-1),
        };
        Counted { changed, found: if counts { outcome.rows } else { before.found } }
    }

    /// Whether the last one was a `GET DIAGNOSTICS`, which leaves what it asks about as it was,
    /// unless it warns.
    fn is_diagnosis(&self) -> bool {
        self.sent.statement == Some(StatementKind::Diagnostics) && diagnoses(self.sent.effects)
    }

    /// Whether there may be one among those that ran.
    pub const fn may_only_look(&self) -> bool {
        diagnoses(self.effects)
    }

    /// Whether all that ran was one of these, and `ROW_COUNT()` is what it was where the statement
    /// before ran.
    pub(super) fn only_looked(&self) -> bool {
        self.is_single() && self.is_diagnosis() && matches!(self.end, Some(End::Ok { warnings: 0, .. }))
    }

    /// Whether the end that was seen says of all that has run whether a key was generated.
    fn tells_key(&self) -> bool {
        let is_one = self.statements <= 1 && !self.is_ahead && self.rows == 0;
        // MariaDB does not say it of what comes from a file.
        is_one && self.sent.statement != Some(StatementKind::Load) && !self.effects.intersects(HIDES_LAST_ID)
    }

    /// Whether the last one has left `FOUND_ROWS()` as it was. Where servers differ, this is
    /// MariaDB.
    fn keeps_found(&self) -> bool {
        matches!(self.end, Some(End::Err { .. }))
            || self.is_single()
                && !matches!(
                    self.sent.statement,
                    None | Some(
                        StatementKind::Select
                            | StatementKind::SelectForUpdate
                            | StatementKind::Call
                            | StatementKind::Execute
                    )
                )
    }

    /// Whether the last one was the only one.
    const fn is_single(&self) -> bool {
        self.statements == 1
    }

    /// What `LAST_INSERT_ID()` is after this, if it was `before`; it ran over this connection.
    pub fn last_id(self, before: LastId, connection: u64) -> LastId {
        let at_server = |known| LastId::AtServer { known, connection };
        let generated = match self.end {
            Some(End::Ok { last_insert_id, .. }) => Some(last_insert_id),
            _ => None,
        };
        match generated {
            _ if !self.effects.intersects(CHANGES_LAST_ID) => before,
            // What ends rows says nothing of keys.
            Some(0) if self.tells_key() => before,
            // A key that the statement has named is told as well, and changes nothing.
            Some(id) if id > 0 && !self.is_ahead => at_server(id),
            _ => at_server(before.known()),
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::StatusFlags;

    use super::*;

    fn after(effects: Effects, end: End, statements: u32) -> LastId {
        Ran { effects, statements, end: Some(end), ..Ran::default() }.last_id(LastId::Is(3), 1)
    }

    const fn at_server(known: u64) -> LastId {
        LastId::AtServer { known, connection: 1 }
    }

    const fn ok(last_insert_id: u64) -> End {
        End::Ok { affected_rows: 1, last_insert_id, status: StatusFlags::AUTOCOMMIT, warnings: 0 }
    }

    #[test]
    fn what_may_have_changed_the_last_key() {
        assert_eq!(after(Effects::empty(), ok(0), 1), LastId::Is(3));
        assert_eq!(after(Effects::WRITES, ok(0), 1), LastId::Is(3));
        assert_eq!(after(Effects::WRITES, ok(9), 1), at_server(9));
        assert_eq!(after(Effects::WRITES, ok(0), 2), at_server(3), "the first one may have");
        assert_eq!(after(Effects::WRITES, End::Err { code: 1062 }, 1), at_server(3));
        assert_eq!(after(Effects::READS_LAST_INSERT_ID, ok(0), 1), LastId::Is(3), "it was only read");
        assert_eq!(after(Effects::SETS_LAST_INSERT_ID, ok(0), 1), at_server(3));
    }

    #[test]
    fn how_many_rows_there_were() {
        let of = |statement, effects, affected_rows, rows| {
            let sent = Sent { statement: Some(statement), effects, ..Sent::default() };
            let mut ran = Ran { effects, sent, is_unanswered: true, ..Ran::default() };
            let end =
                End::Ok { affected_rows, last_insert_id: 0, status: StatusFlags::AUTOCOMMIT, warnings: 0 };
            let counted =
                ran.note_end(Outcome { end, rows, ends_rows: rows > 0 }, Counted { changed: 1, found: 9 });
            (counted.changed, counted.found)
        };
        assert_eq!(of(StatementKind::Select, Effects::empty(), 0, 4), (-1, 4));
        assert_eq!(of(StatementKind::SelectForUpdate, Effects::empty(), 0, 4), (-1, 4));
        assert_eq!(
            of(StatementKind::Select, Effects::empty(), 0, 0),
            (0, 0),
            "into variables, of which there was nothing"
        );
        assert_eq!(of(StatementKind::Select, Effects::FILE, 3, 0), (3, 9), "into a file");
        assert_eq!(of(StatementKind::Update, Effects::WRITES, 2, 0), (2, 9));
        assert_eq!(of(StatementKind::Insert, Effects::WRITES, 0, 1), (-1, 9), "RETURNING");
        assert_eq!(of(StatementKind::Commit, Effects::empty(), 0, 0), (0, 9));
        assert_eq!(of(StatementKind::Show, Effects::READS_LAST, 0, 2), (-1, 9), "SHOW WARNINGS");
        assert_eq!(of(StatementKind::Show, Effects::empty(), 0, 2), (-1, 2));
        assert_eq!(of(StatementKind::Explain, Effects::empty(), 0, 2), (-1, 9));
        let counts = Effects::READS_LAST.union(Effects::COUNTS_ROWS);
        assert_eq!(of(StatementKind::Show, counts, 0, 1), (-1, 1), "SHOW COUNT(*) WARNINGS");
        let asks = Effects::READS_LAST.union(Effects::SETS_USER_VARIABLES);
        assert_eq!(of(StatementKind::Diagnostics, asks, 0, 0), (1, 9), "GET DIAGNOSTICS");
        assert_eq!(of(StatementKind::Do, Effects::READS_LAST, 0, 0), (0, 9), "DO ROW_COUNT()");
        let sent = Sent { statement: Some(StatementKind::Select), ..Sent::default() };
        let mut ran = Ran { sent, ..Ran::default() };
        let ping = ran
            .note_end(Outcome { end: ok(0), rows: 0, ends_rows: false }, Counted { changed: -1, found: 9 });
        assert_eq!(ping, Counted { changed: 1, found: 9 });
    }
}

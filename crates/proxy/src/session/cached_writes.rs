//! Statements that make answers of the query cache too old.
//!
//! An answer in the mode `own` is from after the last write that a client of this proxy was told to
//! have succeeded. Triggers and foreign keys change tables that no text names. So each write counts
//! as one to all tables.

use cache::Writing;
use route::StatementPlan;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;

use super::Session;
use super::decided::Decided;
use super::state::Past;

/// What may change rows.
const WRITES: Effects = Effects::WRITES.union(Effects::UNKNOWN).union(Effects::FUNCTION);

/// Words of statements that change privileges, in texts of which no more is known.
const OF_PRIVILEGES: [&[u8]; 6] = [b"grant", b"revoke", b"user", b"role", b"privileges", b"view"];

impl Session {
    /// A statement is being sent: as long as it runs, answers that it may change are not given.
    #[inline]
    pub(super) fn note_write(&mut self, kind: Kind, payload: &[u8], decided: &Decided) {
        if may_write(decided.plan) {
            self.begin_write(kind, payload, decided);
        }
    }

    #[cold]
    fn begin_write(&mut self, kind: Kind, payload: &[u8], decided: &Decided) {
        let plan = decided.plan;
        // Transactions are known from their beginning, also if answers are cached from now on only.
        if self.links.pipelined.is_empty() && !self.state.link.in_transaction() {
            self.state.past.remove(Past::WROTE);
        }
        if plan.effects.intersects(WRITES) || plan.kind == StatementKind::Xa {
            self.state.past.insert(Past::WROTE);
        }
        if !self.worker.shared.cache.watches_writes() {
            return;
        }
        if self.state.past.contains(Past::WROTE) {
            self.add_write();
        }
        if let Some(changes) = self.begin_definition(kind, payload, decided) {
            self.flight().taps.add_write(changes);
        }
    }

    /// What a statement does to definitions and privileges, if it may.
    fn begin_definition(&mut self, kind: Kind, payload: &[u8], decided: &Decided) -> Option<Writing> {
        let plan = decided.plan;
        let text = match kind {
            Kind::Query => self.statement(payload),
            _ => self.state.executed_text(payload).unwrap_or_default(),
        };
        let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
        // What comes from a variable may be anything; values of an EXECUTE are none of that.
        let is_text =
            plan.kind == StatementKind::Prepare || plan.kind == StatementKind::Execute && has(b"immediate");
        let may_name = OF_PRIVILEGES.into_iter().any(has) || is_text && has(b"@");
        let cache = &self.worker.shared.cache;
        let changes = if self.changes_privileges(plan, text, may_name, decided) {
            Some(Writing::of_privileges(cache))
        } else if plan.effects.intersects(Effects::COMMITS | Effects::UNKNOWN) {
            Some(Writing::of_proofs(cache))
        } else {
            None
        };
        if plan.kind == StatementKind::Prepare && may_name {
            self.state.past.insert(Past::PREPARED_PRIVILEGES);
        }
        changes
    }

    /// The open transaction is being committed.
    pub(super) fn note_commit(&mut self) {
        if self.state.past.contains(Past::WROTE) && self.worker.shared.cache.watches_writes() {
            self.add_write();
        }
    }

    fn add_write(&mut self) {
        let write = Writing::of_rows(&self.worker.shared.cache);
        self.flight().taps.add_write(write);
    }

    /// Whether a statement may change what accounts may read.
    /// `may_name`: it has words of statements about privileges.
    fn changes_privileges(
        &self,
        plan: StatementPlan,
        text: &[u8],
        may_name: bool,
        decided: &Decided,
    ) -> bool {
        use StatementKind as Of;
        let is_server = |schema: &[u8]| schema.eq_ignore_ascii_case(b"mysql");
        let writes_there = || {
            let tables = self.tables_of(text, decided);
            tables.writes.iter().any(|table| {
                is_server(table.schema.as_deref().map_or(self.state.caller.schema(), str::as_bytes))
            })
        };
        match plan.kind {
            Of::Grant
            | Of::Revoke
            | Of::CreateUser
            | Of::DropUser
            | Of::CreateView
            | Of::AlterView
            | Of::DropView
            | Of::Define
            | Of::Flush => true,
            Of::Execute => may_name || self.state.past.contains(Past::PREPARED_PRIVILEGES),
            _ if plan.several || plan.effects.contains(Effects::UNKNOWN) => may_name,
            _ => plan.effects.contains(Effects::WRITES) && writes_there(),
        }
    }
}

/// Whether something may be changed by a statement, or become visible to others.
const fn may_write(plan: StatementPlan) -> bool {
    // A COMMIT may be behind the first of several statements.
    plan.several
        || !matches!(plan.kind, StatementKind::Select | StatementKind::Show)
        || plan.effects.intersects(WRITES)
}

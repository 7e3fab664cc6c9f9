//! Statements that make answers of the query cache too old.
//!
//! An answer in the mode `own` is from after the last write that a client of this proxy was told to
//! have succeeded. Triggers and foreign keys change tables that no text names. So each write counts
//! as one to all tables.

use cache::{Name, Scope};
use route::StatementPlan;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;

use super::Session;
use super::decided::Decided;
use super::state::Past;
use crate::taps::Writing;

/// What may change rows.
const WRITES: Effects = Effects::WRITES.union(Effects::UNKNOWN).union(Effects::FUNCTION);

/// Words of texts with several statements that may change privileges.
const OF_PRIVILEGES: [&[u8]; 5] = [b"grant", b"revoke", b"user", b"role", b"privileges"];

impl Session {
    /// A statement is being sent: as long as it runs, answers that it may change are not given.
    #[inline]
    pub(super) fn note_write(&mut self, kind: Kind, payload: &[u8], decided: &Decided) {
        if self.worker.shared.cache.watches_writes() && may_write(decided.plan) {
            self.begin_write(kind, payload, decided);
        }
    }

    #[cold]
    fn begin_write(&mut self, kind: Kind, payload: &[u8], decided: &Decided) {
        let plan = decided.plan;
        let text = match kind {
            Kind::Query => self.statement(payload),
            _ => self.state.executed_text(payload).unwrap_or_default(),
        };
        if self.changes_privileges(plan, text, decided) {
            let change = self.worker.shared.cache.begin_privilege_change();
            self.flight().taps.add_write(Writing::Privileges(change));
        }
        let is_known = self.links.pipelined.is_empty();
        if is_known && !self.state.link.in_transaction() {
            self.state.past.remove(Past::WROTE);
        }
        let writes = plan.effects.intersects(WRITES) || plan.kind == StatementKind::Xa;
        if writes || self.state.past.contains(Past::WROTE) {
            self.add_write();
        }
        self.state.past.set(Past::WROTE, writes || self.state.past.contains(Past::WROTE));
    }

    /// The open transaction is being committed.
    pub(super) fn note_commit(&mut self) {
        if self.state.past.contains(Past::WROTE) {
            self.add_write();
        }
    }

    fn add_write(&mut self) {
        let cache = &self.worker.shared.cache;
        let mut scope = Scope::new();
        scope.add(Name::AnyWrite.hash());
        let write = cache.versions.begin_write(scope);
        self.flight().taps.add_write(Writing::Rows(write));
    }

    /// Whether a statement may change what accounts may read.
    fn changes_privileges(&self, plan: StatementPlan, text: &[u8], decided: &Decided) -> bool {
        use StatementKind as Of;
        let is_such = matches!(
            plan.kind,
            Of::Grant
                | Of::Revoke
                | Of::CreateUser
                | Of::DropUser
                | Of::CreateView
                | Of::AlterView
                | Of::DropView
                | Of::Define
                | Of::Flush
                | Of::Execute
        );
        let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
        let is_server = |schema: &[u8]| schema.eq_ignore_ascii_case(b"mysql");
        is_such
            || plan.several && OF_PRIVILEGES.into_iter().any(has)
            || plan.effects.contains(Effects::WRITES)
                && self.tables_of(text, decided).writes.iter().any(|table| {
                    is_server(table.schema.as_deref().map_or(self.state.caller.schema(), str::as_bytes))
                })
    }
}

/// Whether something may be changed by a statement, or become visible to others.
const fn may_write(plan: StatementPlan) -> bool {
    !matches!(plan.kind, StatementKind::Select | StatementKind::Show) || plan.effects.intersects(WRITES)
}

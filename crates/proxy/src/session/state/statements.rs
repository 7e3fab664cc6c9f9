//! What the state knows of the prepared statement that a command names.

use route::StatementPlan;
use wire::command::{Kind, statement_id};
use wire::frame::HEADER_LEN;

use super::{Past, SessionState};
use crate::routing::plan::may_begin_with_load;
use crate::session::route::names_statement;
use session::change::Change;
use session::link::LinkState;

impl SessionState {
    /// The text of the statement that a command names, as far as it is kept.
    pub(in crate::session) fn prepared_text(&self, payload: &[u8]) -> Option<&[u8]> {
        self.prepared.as_ref()?.get(statement_id(payload)?)?.what.text.as_deref()
    }

    /// The same of a command that is sent, and names it as the backend in use does.
    pub(in crate::session) fn executed_text(
        &self,
        link: Option<&LinkState>,
        payload: &[u8],
    ) -> Option<&[u8]> {
        self.prepared.as_ref()?.executed(statement_id(payload)?, link)?.text.as_deref()
    }

    /// What the prepared statement changes that the command is about.
    pub(in crate::session) fn prepared_change(
        &self,
        link: Option<&LinkState>,
        kind: Kind,
        input: &[u8],
    ) -> Option<&Change> {
        let payload = input.get(HEADER_LEN..).unwrap_or_default();
        let id = statement_id(payload).filter(|_| names_statement(kind))?;
        let all = self.prepared.as_ref()?;
        let what = all.get(id).map(|prepared| &prepared.what).or_else(|| all.executed(id, link))?;
        what.change.as_ref()
    }

    /// The parts that are kept for this statement, if the command is one that needs them, or that
    /// forgets them.
    pub(in crate::session) fn take_parts(&mut self, kind: Kind, id: u32) -> Vec<u8> {
        let needs =
            matches!(kind, Kind::SendLongData | Kind::StmtExecute | Kind::StmtBulkExecute | Kind::StmtReset);
        let prepared = self.prepared.as_mut().filter(|_| needs).and_then(|all| all.get_mut(id));
        prepared.map(|prepared| std::mem::take(&mut prepared.unsent)).unwrap_or_default()
    }

    /// Keeps them again.
    pub(in crate::session) fn put_parts_back(&mut self, id: u32, parts: Vec<u8>) {
        if let Some(prepared) = self.prepared.as_mut().and_then(|all| all.get_mut(id)) {
            prepared.unsent = parts;
        }
    }

    /// A statement is prepared. MariaDB prepares LOAD DATA as well.
    pub(in crate::session) fn note_prepared_load(&mut self, payload: &[u8]) {
        if may_begin_with_load(payload.get(1..).unwrap_or_default()) {
            self.past |= Past::PREPARED_LOAD;
        }
    }

    /// Whether the server may ask for a file when it gets this command, of which there may be only
    /// a part.
    pub(in crate::session) fn may_ask_for_file(
        &mut self,
        kind: Kind,
        payload: &[u8],
        is_whole: bool,
        plan: StatementPlan,
    ) -> bool {
        match kind {
            Kind::Query => !is_whole || plan.may_load,
            Kind::StmtPrepare => {
                self.note_prepared_load(payload);
                false
            }
            Kind::StmtExecute => self.past.contains(Past::PREPARED_LOAD),
            _ => false,
        }
    }
}

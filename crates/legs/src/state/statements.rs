//! What the state knows of the prepared statement that a command names.

use command::Command;
use route::StatementPlan;
use runtime::prepared::{Prepared, Preparing};
use runtime::routing::plan::may_begin_with_load;
use wire::command::Kind;

use crate::state::{Past, SessionState};

impl SessionState {
    /// The prepared statement that the client knows as `id`.
    pub fn statement(&self, id: u32) -> Option<&Prepared> {
        self.prepared.as_ref()?.get(id)
    }

    /// The one that a command names.
    pub fn named(&self, command: Command<'_>) -> Option<&Prepared> {
        self.statement(command.statement()?)
    }

    /// What a command executes, which a server may still be preparing.
    pub fn executed(&self, command: Command<'_>) -> Option<&Preparing> {
        self.prepared.as_ref()?.executed(command.statement()?)
    }

    /// The text of a statement that a command has or names, without what rules make of it.
    pub fn text_of<'a>(&'a self, command: Command<'a>) -> &'a [u8] {
        match command.kind {
            Kind::StmtExecute | Kind::StmtBulkExecute => {
                self.executed(command).and_then(|what| what.text.as_deref()).unwrap_or_default()
            }
            _ => command.text(),
        }
    }

    /// The value of a parameter of an execution, if it is a number.
    pub fn value_of(&self, command: Command<'_>, at: u16) -> Option<u64> {
        let prepared = self.named(command)?;
        let last = prepared.types().map(|(types, _)| types);
        command.execution()?.whole_number((prepared.params(), last), at, command.caps)
    }

    /// The number that the client knows the statement of an execution by; 0 for other commands.
    pub(crate) fn executed_id(&self, command: Command<'_>) -> u32 {
        let is_execution = matches!(command.kind, Kind::StmtExecute | Kind::StmtBulkExecute);
        let Some(id) = command.statement().filter(|_| is_execution) else { return 0 };
        self.prepared.as_ref().map_or(id, |all| all.meant(id))
    }

    /// Takes note of the types in an execution that no server gets: the next one may come without,
    /// as where a server has refused it.
    pub fn keep_types(&mut self, command: Command<'_>) {
        let version = self.version();
        if let Some(id) = command.statement()
            && let Some(prepared) = self.prepared.as_mut().and_then(|all| all.get_mut(id))
            && let Some(types) = command.types(prepared.params())
        {
            prepared.keep_types(types, version);
        }
    }

    /// Keeps these parts for a statement, in place of those that are kept for it. Returns the
    /// latter.
    pub(crate) fn keep_parts(&mut self, id: u32, parts: Vec<u8>) -> Vec<u8> {
        let prepared = self.prepared.as_mut().and_then(|all| all.get_mut(id));
        prepared.map(|prepared| std::mem::replace(&mut prepared.unsent, parts)).unwrap_or_default()
    }

    /// A statement is prepared. MariaDB prepares LOAD DATA as well.
    pub fn note_prepared_load(&mut self, text: &[u8]) {
        if may_begin_with_load(text) {
            self.past |= Past::PREPARED_LOAD;
        }
    }

    /// Whether the server may ask for a file when it gets this command, of which there may be only
    /// a part.
    pub fn may_ask_for_file(&mut self, command: Command<'_>, is_whole: bool, plan: StatementPlan) -> bool {
        match command.kind {
            Kind::Query => !is_whole || plan.may_load,
            Kind::StmtPrepare => {
                self.note_prepared_load(command.text());
                false
            }
            Kind::StmtExecute => self.past.contains(Past::PREPARED_LOAD),
            _ => false,
        }
    }
}

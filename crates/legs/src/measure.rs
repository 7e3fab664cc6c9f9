//! Counting what a session does: commands when they are sent. Replies are counted by
//! [`counted`](runtime::counted).

use command::Command;
use front::audit;
use observe::counts::Counter;
use observe::running::{Also, Measured};
use querylog::AuditEvent;
use runtime::counted::{Ended, answered, is_question, note_time};
use runtime::decided::Decided;
use runtime::worker::Worker;
use session::statement::set_use::{SetOf, set_of, used_schema};
use sql::StatementKind;
use tokio::time::Instant;
use upstream::Reply;
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::links::Links;
use crate::state::SessionState;
use crate::traced::also_traced;

impl BookEntry {
    /// The session waits for its client from now on, in the middle of a command.
    pub fn set_slow(&self) {
        self.control.set_slow(self.worker.now());
    }

    /// Counts a command; of a statement, which one it is may be known already.
    pub fn measure_as(&self, command: Command<'_>, known: Option<StatementKind>) -> Measured {
        let kind = command.kind;
        let counts = &self.worker.counts;
        if is_question(kind) {
            counts.note(Counter::Questions);
        }
        let mut statement = None;
        match kind {
            Kind::Query => {
                let text = command.text();
                let known = known.unwrap_or_else(|| StatementKind::of(text));
                self.note_statement(known, text);
                statement = Some(known);
            }
            Kind::StmtPrepare => counts.note(Counter::Prepare),
            Kind::StmtExecute | Kind::StmtBulkExecute => counts.note(Counter::Execute),
            Kind::StmtClose => counts.note(Counter::Close),
            Kind::InitDb => {
                counts.note(Counter::InitDb);
                self.note_schema(command.text());
            }
            _ => {}
        }
        Measured { statement, ..Measured::plain(kind) }
    }

    /// Counts what is counted of some statements.
    fn note_statement(&self, statement: StatementKind, text: &[u8]) {
        let counts = &self.worker.counts;
        match statement {
            StatementKind::Commit => counts.note(Counter::Commit),
            StatementKind::Rollback => counts.note(Counter::Rollback),
            StatementKind::Set => match set_of(text) {
                SetOf::Names => counts.note(Counter::SetNames),
                SetOf::Autocommit => counts.note(Counter::Autocommit),
                SetOf::Other => {}
            },
            StatementKind::Use => {
                counts.note(Counter::UseDb);
                if let Some(schema) = used_schema(text) {
                    self.note_schema(schema);
                }
            }
            _ => {}
        }
    }

    /// The client asks for another schema.
    fn note_schema(&self, schema: &[u8]) {
        self.control.about.set_schema(schema);
        audit::note(&self.worker.front, &*self.control, AuditEvent::InitDb);
    }

    /// From now on `measured` runs, and `text` is shown.
    pub fn begin_running(&self, measured: Measured, text: &[u8]) {
        self.begin_running_at(measured, text, Instant::now());
    }

    /// The same for who has just looked at the clock.
    pub(crate) fn begin_running_at(&self, measured: Measured, text: &[u8], now: Instant) {
        let kept = self.worker.settings().logs.text_kept();
        self.control.running.begin(&self.worker.shown, measured, text, kept, now);
    }

    /// Nothing runs any more.
    pub fn end_running(&self, links: &Links) {
        self.control.running.rest(&self.worker.shown);
        if let Some(link) = links.connection() {
            link.note_answered();
        }
    }

    /// Counts the answer that the proxy itself has given to the command that runs; `error` is its
    /// number, 0 if it is none.
    pub fn answered_here(&self, links: &Links, error: u16) {
        note_time(&self.worker, &self.control, Ended::Here(error));
        self.end_running(links);
    }

    /// Counts the answer that the backend has given to the command that runs, of which the client
    /// gets another form.
    pub fn answered_at_server(&self, links: &Links, reply: &Reply) {
        answered(&self.worker, &self.control, reply.outcome, Some(&reply.bytes));
        self.end_running(links);
    }
}

/// What logs want of a command that is sent with the one before it.
pub fn also_logged(worker: &Worker, state: &SessionState, command: Command<'_>, decided: &Decided) -> Also {
    if !logs(worker) || !is_question(command.kind) {
        return Also::default();
    }
    let text = state.shown(worker, command);
    let kept = text.get(..worker.settings().logs.text_kept()).unwrap_or(text);
    Also {
        text: kept.into(),
        text_len: text.len(),
        statement: state.executed_id(command),
        traced: also_traced(worker, state, command, decided),
    }
}

/// Counts a command that a server gets, be it the client's or the proxy's own.
pub(crate) fn note_at_server(worker: &Worker, kind: Kind) {
    let counter = match kind {
        Kind::StmtPrepare => Counter::ServerPrepare,
        Kind::StmtExecute | Kind::StmtBulkExecute => Counter::ServerExecute,
        Kind::StmtClose => Counter::ServerClose,
        Kind::InitDb => Counter::ServerInitDb,
        _ => return,
    };
    worker.counts.note(counter);
}

/// Whether statements are logged or traced, or some of them.
pub fn logs(worker: &Worker) -> bool {
    worker.settings().logs.is_any
}

impl SessionState {
    /// The text of a command that lists of sessions and logs show.
    pub fn shown<'a>(&'a self, worker: &Worker, command: Command<'a>) -> &'a [u8] {
        if logs(worker) { self.text_of(command) } else { command.text() }
    }
}

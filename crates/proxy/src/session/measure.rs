//! Counting what a session does: commands when they are sent, and statements when they are
//! answered.

use std::num::NonZeroU64;
use std::time::Duration;

use querylog::AuditEvent;
use sql::StatementKind;
use tokio::time::Instant;
use wire::command::Kind;
use wire::frame::{HEADER_LEN, Header};
use wire::reply::{End, Outcome};
use wire::{Capabilities, Codec as _, packet};

use super::Session;
use super::decided::Decided;

use super::execute::id;
use crate::audit;
use crate::backend::Reply;
use crate::clock::unix_s;
use crate::control::Control;
use crate::control::running::{Also, Measured, Paused, Warned};
use crate::counts::Counter;
use crate::counts::errors::{Key, Name};
use crate::limits::ERROR_MESSAGE_BYTES_MAX;
use crate::logs::{self, Over};
use crate::statement::set_use::{SetOf, set_of, used_schema};
use crate::worker::Worker;
use observe::digests::Done;

/// Whether ProxySQL counts the command as a question.
const fn is_question(kind: Kind) -> bool {
    matches!(kind, Kind::Query | Kind::StmtPrepare | Kind::StmtExecute | Kind::StmtBulkExecute)
}

impl Session {
    /// Counts a command that the backend gets. Of a long one `payload` is the beginning. One that
    /// was `paused` was counted as one of the client's before.
    pub(super) fn measure(
        &mut self,
        kind: Kind,
        payload: &[u8],
        decided: &Decided,
        paused: Option<&Paused>,
    ) -> Measured {
        let own = match paused {
            Some(paused) => Measured { statement: paused.measured.statement, ..Measured::plain(kind) },
            None if decided.is_counted => Measured::plain(kind),
            None => {
                self.note_ruling(kind, payload, decided);
                self.note_sighting(kind, payload, decided);
                self.measure_as(kind, payload, decided.plan.statement())
            }
        };
        if is_question(kind)
            && let Some(backend) = &self.backend
        {
            backend.connection().note_query();
        }
        let place = self.place(kind, payload, decided);
        let (digest, log) = (decided.digest(), decided.log());
        let bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        self.note_at_server(kind);
        if own.statement == Some(StatementKind::Set) && set_of(self.statement(payload)) == SetOf::Names {
            self.worker.counts.note(Counter::ServerSetNames);
        }
        Measured { digest, log, place, bytes, ..own }
    }

    /// Counts a command that a server gets, be it the client's or the proxy's own.
    pub(super) fn note_at_server(&self, kind: Kind) {
        let counter = match kind {
            Kind::StmtPrepare => Counter::ServerPrepare,
            Kind::StmtExecute | Kind::StmtBulkExecute => Counter::ServerExecute,
            Kind::StmtClose => Counter::ServerClose,
            Kind::InitDb => Counter::ServerInitDb,
            _ => return,
        };
        self.worker.counts.note(counter);
    }

    /// Counts a command that no server gets.
    pub(super) fn measure_own(&self, kind: Kind, payload: &[u8]) -> Measured {
        self.measure_as(kind, payload, None)
    }

    /// Counts a command; of a statement, which one it is may be known already.
    fn measure_as(&self, kind: Kind, payload: &[u8], known: Option<StatementKind>) -> Measured {
        let counts = &self.worker.counts;
        if is_question(kind) {
            counts.note(Counter::Questions);
        }
        let mut statement = None;
        match kind {
            Kind::Query => {
                let text = self.statement(payload);
                let known = known.unwrap_or_else(|| StatementKind::of(text));
                self.note_statement(known, text);
                statement = Some(known);
            }
            Kind::StmtPrepare => counts.note(Counter::Prepare),
            Kind::StmtExecute | Kind::StmtBulkExecute => counts.note(Counter::Execute),
            Kind::StmtClose => counts.note(Counter::Close),
            Kind::InitDb => {
                counts.note(Counter::InitDb);
                self.note_schema(payload.get(1..).unwrap_or_default());
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
        audit::note(&self.worker, &self.control, AuditEvent::InitDb);
    }

    /// The text of a command that lists of sessions and logs show.
    pub(super) fn shown<'a>(&'a self, kind: Kind, payload: &'a [u8]) -> &'a [u8] {
        match kind {
            Kind::Query => self.statement(payload),
            Kind::StmtPrepare | Kind::InitDb => payload.get(1..).unwrap_or_default(),
            Kind::StmtExecute | Kind::StmtBulkExecute if self.logs() => {
                self.prepared_text(payload).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The same of a command that is sent, and names its prepared statement as the server does.
    fn shown_sent<'a>(&'a self, kind: Kind, payload: &'a [u8]) -> &'a [u8] {
        match kind {
            Kind::StmtExecute | Kind::StmtBulkExecute if self.logs() => {
                self.executed_text(payload).unwrap_or_default()
            }
            kind => self.shown(kind, payload),
        }
    }

    /// Whether statements are logged, or some of them.
    pub(super) fn logs(&self) -> bool {
        self.worker.settings().logs.policy.is_any()
    }

    /// What logs want of a command that is sent with the one before it.
    pub(super) fn also(&self, kind: Kind, payload: &[u8]) -> Also {
        if !self.logs() || !is_question(kind) {
            return Also::default();
        }
        let text = self.shown_sent(kind, payload);
        let kept = text.get(..self.worker.settings().logs.text_kept()).unwrap_or(text);
        Also { text: kept.into(), text_len: text.len(), statement: statement_id(kind, payload) }
    }

    /// From now on `measured` runs, and `text` is shown.
    pub(super) fn begin_running(&self, measured: Measured, text: &[u8]) {
        self.begin_running_at(measured, text, Instant::now());
    }

    /// The same for who has just looked at the clock.
    fn begin_running_at(&self, measured: Measured, text: &[u8], now: Instant) {
        let kept = self.worker.settings().logs.text_kept();
        self.control.running.begin(&self.worker.shown, measured, text, kept, now);
    }

    /// The same for a command that is sent to the backend, of which `missing` bytes have not come
    /// yet.
    pub(super) fn begin_sent(&self, measured: Measured, payload: &[u8], missing: usize) {
        self.begin_running(measured, self.shown_sent(measured.kind, payload));
        self.control.running.note_missing(missing);
        if measured.kind == Kind::StmtExecute && missing == 0 {
            self.control.running.keep_execution(&self.worker.shown, payload);
        }
        self.control.running.set_statement(statement_id(measured.kind, payload));
    }

    /// Nothing runs any more.
    pub(super) fn end_running(&self) {
        self.control.running.rest(&self.worker.shown);
        if let Some(backend) = &self.backend {
            backend.connection().note_answered();
        }
    }

    /// The command in the backlog waits for a backend.
    pub(super) fn show_waiting(&self) {
        self.show_waiting_since(Instant::now());
    }

    /// The same for who has just looked at the clock.
    pub(super) fn show_waiting_since(&self, now: Instant) {
        if let Some((kind, payload)) = self.first_of_backlog() {
            self.begin_running_at(Measured::plain(kind), self.shown(kind, payload), now);
        }
        if let Some(paused) = &self.flight.paused {
            self.control.running.resume(paused);
        }
    }

    /// The command in the backlog, which no server gets, begins to run. It is counted, unless it
    /// was before.
    pub(super) fn begin_own(&mut self, kind: Kind) {
        let place = self.place_here(kind);
        let paused = self.flight.paused.as_ref();
        let measured = match paused {
            Some(paused) => paused.measured,
            None => self.measure_own(kind, self.io.front()),
        };
        let digest = self.flight.digest.map(NonZeroU64::get).or(measured.digest);
        let log = self.flight.log;
        self.begin_running(Measured { digest, log, place, ..measured }, self.text_for_logs());
        if let Some(paused) = paused {
            self.control.running.resume(paused);
        }
    }

    /// Counts the command in the backlog, which no server gets, unless it was counted before.
    pub(super) fn measure_refused(&self) {
        if let Some((kind, payload)) = self.first_of_backlog().filter(|_| self.flight.paused.is_none()) {
            self.measure_own(kind, payload);
        }
    }

    /// Counts the answer that the proxy itself has given to the command that runs; `error` is its
    /// number, 0 if it is none.
    pub(super) fn answered_here(&mut self, error: u16) {
        note_time(&self.worker, &self.control, None, error);
        self.end_running();
    }

    /// Counts the answer that the backend has given to the command that runs, of which the client
    /// gets another form.
    pub(super) fn answered_at_server(&self, reply: &Reply) {
        answered(&self.worker, &self.control, reply.outcome, Some(&reply.bytes));
        self.end_running();
    }

    /// The text of the command in the backlog, if logs want it.
    pub(super) fn text_for_logs(&self) -> &[u8] {
        let first = self.first_of_backlog().filter(|_| self.logs());
        first.map_or(&[], |(kind, payload)| self.shown(kind, payload))
    }

    fn first_of_backlog(&self) -> Option<(Kind, &[u8])> {
        let payload = self.io.front();
        Some((Kind::try_from(*payload.first()?).ok()?, payload))
    }
}

/// The backend has answered. `bytes` are the last ones of the answer, if they begin with a packet.
pub(super) fn answered(worker: &Worker, control: &Control, outcome: Outcome, bytes: Option<&[u8]>) {
    let measured = note_time(worker, control, Some(outcome), 0);
    match (outcome.end, measured) {
        (End::Err { code }, measured) => {
            let digest = measured.and_then(|measured| measured.digest);
            note_error(worker, control, code, bytes.and_then(message).unwrap_or_default(), digest);
        }
        (End::Ok { warnings: 1.., .. } | End::Eof { warnings: 1.., .. }, Some(measured)) => {
            note_warned(worker, control, &measured);
        }
        _ => {}
    }
}

/// A statement had warnings: those of one in so many are logged, if any are. A `SHOW` tells of
/// those of the statement before.
#[cold]
fn note_warned(worker: &Worker, control: &Control, measured: &Measured) {
    let is_wanted = worker.settings().variables.log_mysql_warnings_enabled
        && is_question(measured.kind)
        && measured.statement != Some(StatementKind::Show);
    if is_wanted && let Some(hidden) = worker.logged.warned.admit(Instant::now()) {
        control.running.set_warned(Warned { digest: measured.digest.unwrap_or(0), hidden });
    }
}

/// The number of the prepared statement that is executed; 0 for other commands.
fn statement_id(kind: Kind, payload: &[u8]) -> u32 {
    match kind {
        Kind::StmtExecute | Kind::StmtBulkExecute => id(payload).unwrap_or(0),
        _ => 0,
    }
}

/// Counts the statement that runs as one that is over, and logs it if it shall be. `outcome` is
/// what a server has answered. Returns what it was.
fn note_time(
    worker: &Worker,
    control: &Control,
    outcome: Option<Outcome>,
    own_error: u16,
) -> Option<Measured> {
    let now = Instant::now();
    let (measured, took) = control.running.end(now)?;
    if let Some(place) = measured.place {
        let done = done(took, measured.bytes, control.running.answered(), outcome);
        worker.counts.digests.note(place, &done, worker.unix_s());
    }
    let (counts, settings) = (&worker.counts, worker.settings());
    if let Some(statement) = measured.statement.filter(|_| settings.variables.commands_stats) {
        counts.commands.note(statement, took);
    }
    if is_question(measured.kind) {
        counts.add(Counter::QueryNanoseconds, nanoseconds(took));
        if took > settings.variables.long_query_time {
            counts.note(Counter::SlowQueries);
        }
        if settings.logs.policy.is_any() {
            logs::note(worker, control, &Over { measured, took, outcome, own_error });
        }
    }
    Some(measured)
}

/// Whole nanoseconds; there are no statements of 500 years.
fn nanoseconds(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1_000_000_000).saturating_add(time.subsec_nanos().into())
}

/// What is counted of an execution by its digest.
fn done(took: Duration, received: u32, sent: u64, outcome: Option<Outcome>) -> Done {
    let (rows_affected, failed) = match outcome.map(|outcome| outcome.end) {
        Some(End::Ok { affected_rows, .. }) => (affected_rows, false),
        Some(End::Err { .. }) => (0, true),
        _ => (0, false),
    };
    Done {
        took,
        rows_sent: outcome.map_or(0, |outcome| outcome.rows),
        rows_affected,
        bytes_sent: sent,
        bytes_received: received.into(),
        failed,
    }
}

/// Counts an error that the backend has answered.
#[cold]
fn note_error(worker: &Worker, control: &Control, code: u16, message: &[u8], digest: Option<u64>) {
    let about = &control.about;
    let (Some(server), Some(user)) = (about.server(), about.user()) else { return };
    let message = message.get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(message);
    if worker.settings().variables.verbose_query_error
        && let Some(hidden) = worker.logged.failed.admit(Instant::now())
    {
        let (hostgroup, server) = (server.hostgroup(), server.endpoint());
        let (user, schema) = (user.name.escape_ascii(), about.schema().unwrap_or_default());
        // It has parts of the client's text in it, which must not look like lines of the log.
        let error = String::from_utf8_lossy(message).replace(char::is_control, " ");
        let schema = schema.escape_ascii();
        let digest = format_args!("0x{:016X}", digest.unwrap_or(0));
        tracing::warn!(hostgroup, %server, %user, %schema, code, error, %digest, hidden, "a statement has failed");
    }
    let key = Key {
        server: server.id(),
        user: Name(user),
        client: about.client_ip(),
        schema: about.schema(),
        code,
    };
    worker.counts.errors.borrow_mut().note(key, message, unix_s());
}

/// The text of the ERR packet that `packets` end with, if all of it is there.
fn message(mut packets: &[u8]) -> Option<&[u8]> {
    loop {
        let (header, behind) = packets.split_first_chunk::<HEADER_LEN>()?;
        let (payload, rest) = behind.split_at_checked(Header::parse(*header).len as usize)?;
        if rest.is_empty() {
            return packet::Err::decode(payload, Capabilities::PROTOCOL_41).ok().map(|error| error.message);
        }
        packets = rest;
    }
}

#[cfg(test)]
mod tests {
    use wire::frame::put_message;

    use super::message;

    #[test]
    fn the_last_packet_has_the_message() {
        let mut packets = Vec::new();
        assert_eq!(message(&packets), None);
        put_message(&mut packets, 1, b"a row");
        put_message(&mut packets, 2, b"\xff\x15\x04#28000No");
        assert_eq!(message(&packets), Some(&b"No"[..]));
        assert_eq!(message(&packets[..packets.len() - 1]), None);
        assert_eq!(message(b"\xff\xff\xff"), None);
    }
}

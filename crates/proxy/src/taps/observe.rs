//! Counting replies: what is counted, logged and kept of a statement that is over.

use std::sync::Arc;
use std::time::Duration;

use observe::digests::Done;
use sql::StatementKind;
use tokio::time::Instant;
use wire::command::Kind;
use wire::frame::{HEADER_LEN, Header};
use wire::reply::{End, Outcome};
use wire::{Capabilities, Codec as _, packet};

use crate::clock::unix_s;
use crate::control::Control;
use crate::counts::Counter;
use crate::counts::errors::Key;
use crate::limits::ERROR_MESSAGE_BYTES_MAX;
use crate::logs::Over;
use crate::record;
use crate::worker::Worker;
use observe::running::{Measured, Warned};

/// Whether ProxySQL counts the command as a question.
pub(crate) const fn is_question(kind: Kind) -> bool {
    matches!(kind, Kind::Query | Kind::StmtPrepare | Kind::StmtExecute | Kind::StmtBulkExecute)
}

/// The backend has answered. `bytes` are the last ones of the answer, if they begin with a packet.
pub(crate) fn answered(worker: &Worker, control: &Control, outcome: Outcome, bytes: Option<&[u8]>) {
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

/// Counts the statement that runs as one that is over, and logs it if it shall be. `outcome` is
/// what a server has answered. Returns what it was.
pub(crate) fn note_time(
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
        let by_server = outcome.is_some().then_some(took);
        worker.followed.end(&worker.shared, control.id(), control.running.answered(), by_server);
    }
    let (counts, settings) = (&worker.counts, worker.settings());
    if let Some(statement) = measured.statement.filter(|_| settings.variables.commands_stats) {
        counts.commands.note(statement, took);
        if let Some(hostgroup) = outcome.and_then(|_| control.about.hostgroup()) {
            counts.hostgroups.note_statement(hostgroup, took);
        }
    }
    if is_question(measured.kind) {
        counts.add(Counter::QueryNanoseconds, nanoseconds(took));
        if took > settings.variables.long_query_time {
            counts.note(Counter::SlowQueries);
        }
        if settings.logs.policy.is_any() {
            record::note(worker, control, &Over { measured, took, outcome, own_error });
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
        user: Arc::clone(&user.name),
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

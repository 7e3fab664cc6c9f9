//! Counting replies: what is counted, logged and kept of a statement that is over.

use std::sync::Arc;
use std::time::Duration;

use observe::digests::Done;
use observe::rows::NO_HOSTGROUP;
use sql::StatementKind;
use sql::secrets::message_without_passwords;
use tokio::time::Instant;
use wire::command::Kind;
use wire::frame::Packet;
use wire::reply::{End, Outcome};
use wire::{Capabilities, Codec as _, packet};

use crate::clock::unix_s;
use crate::control::Control;
use crate::counts::Counter;
use crate::counts::errors::{Key, Maker};
use crate::error::ClientError;
use crate::limits::ERROR_MESSAGE_BYTES_MAX;
use crate::logs::Over;
use crate::record;
use crate::worker::Worker;
use observe::running::{Measured, Warned};

/// What has answered a statement that is over.
#[derive(Debug, Clone, Copy)]
pub enum Ended {
    /// A server, like this.
    AtServer(Outcome),
    /// The query cache, with so many rows.
    FromCache {
        /// Rows of the answer.
        rows: u64,
    },
    /// The proxy, with the error of this number; 0 if it is none.
    Here(u16),
}

/// Whether ProxySQL counts the command as a question.
pub const fn is_question(kind: Kind) -> bool {
    matches!(kind, Kind::Query | Kind::StmtPrepare | Kind::StmtExecute | Kind::StmtBulkExecute)
}

/// The backend has answered. `bytes` are the last ones of the answer, if they begin with a packet.
pub fn answered(worker: &Worker, control: &Control, outcome: Outcome, bytes: Option<&[u8]>) {
    let measured = note_time(worker, control, Ended::AtServer(outcome));
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
        control.running.warned.set(Some(Warned { digest: measured.digest.unwrap_or(0), hidden }));
    }
}

/// Counts the statement that runs as one that is over, and logs it if it shall be. Returns what it
/// was.
pub fn note_time(worker: &Worker, control: &Control, ended: Ended) -> Option<Measured> {
    let now = Instant::now();
    let (measured, took) = control.running.end(now)?;
    let (outcome, own_error) = match ended {
        Ended::AtServer(outcome) => (Some(outcome), 0),
        Ended::FromCache { .. } => (None, 0),
        Ended::Here(error) => (None, error),
    };
    if let Some(place) = measured.place {
        let done = done(took, measured.bytes, control.running.answered.get(), ended);
        worker.counts.digests.table.borrow_mut().note(place, &done, worker.unix_s.get());
        let by_server = outcome.is_some().then_some(took);
        let at_ms = || worker.uptime_us_at(now) / 1000;
        let cache = &worker.shared.cache;
        worker.followed.end((cache, at_ms), control.id(), control.running.answered.get(), by_server);
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
    }
    if settings.logs.is_any {
        let is_hit = matches!(ended, Ended::FromCache { .. });
        record::note(worker, control, &Over { measured, took, at: now, is_hit, outcome, own_error });
    }
    Some(measured)
}

/// Whole nanoseconds; there are no statements of 500 years.
fn nanoseconds(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1_000_000_000).saturating_add(time.subsec_nanos().into())
}

/// What is counted of an execution by its digest.
fn done(took: Duration, received: u32, sent: u64, ended: Ended) -> Done {
    let mut done = Done {
        took,
        rows_sent: 0,
        rows_affected: 0,
        bytes_sent: sent,
        bytes_received: received.into(),
        failed: false,
    };
    match ended {
        Ended::AtServer(outcome) => {
            done.rows_sent = outcome.rows;
            match outcome.end {
                End::Ok { affected_rows, .. } => done.rows_affected = affected_rows,
                End::Err { .. } => done.failed = true,
                _ => {}
            }
        }
        Ended::FromCache { rows } => done.rows_sent = rows,
        Ended::Here(_) => {}
    }
    done
}

/// Counts an error that the backend has answered.
#[cold]
fn note_error(worker: &Worker, control: &Control, code: u16, message: &[u8], digest: Option<u64>) {
    let about = &control.about;
    let (Some(server), Some(user)) = (about.server(), about.user()) else { return };
    // Servers quote statements, whose text is there until the next one begins.
    let message = control.running.read_text(|sql| message_without_passwords(message, sql));
    let message = message.get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(&message);
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
        maker: Maker::Server(server.id()),
        user: Arc::clone(&user.name),
        client: about.client_ip(),
        schema: about.schema(),
        code,
    };
    worker.counts.errors.borrow_mut().note(key, message, unix_s());
}

/// Counts an error that the proxy has made for the session of `control`.
#[cold]
pub fn note_own_error(worker: &Worker, control: &Control, error: &ClientError) {
    let about = &control.about;
    let hostgroup = error.hostgroup().or_else(|| about.last_hostgroup());
    let key = Key {
        maker: Maker::Proxy(hostgroup.unwrap_or(NO_HOSTGROUP)),
        user: about.user().map_or_else(|| Arc::from([]), |user| Arc::clone(&user.name)),
        client: about.client_ip(),
        schema: about.schema(),
        code: error.code(),
    };
    front::errors::note(&worker.counts, key, error);
}

/// The text of the ERR packet that `packets` end with, if all of it is there.
fn message(packets: &[u8]) -> Option<&[u8]> {
    let error = packet::Err::decode(Packet::last(packets)?.payload, Capabilities::PROTOCOL_41).ok()?;
    Some(error.message)
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

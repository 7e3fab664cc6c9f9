//! Records of statements that are over, for the query log and the slow log. Those of clients are in
//! [`audit`](crate::audit).
//!
//! What is written where, and by whom, is in the crate [`querylog`].

use std::borrow::Cow;

use querylog::{Event, Logs, Record};
use sql::secrets::without_passwords;
use wire::command::Kind;

use crate::clock::unix_us;
use crate::control::Control;
use crate::counted::is_question;
use crate::logs::Over;
use crate::spans;
use crate::worker::Worker;
use observe::running::Measured;

/// Logs and traces a statement that is over, if it is one of those that are wanted. Called only if
/// there is a log or a collector, for commands without a statement as well.
pub fn note(worker: &Worker, control: &Control, over: &Over) {
    let settings = worker.settings();
    if let Some(traces) = &settings.logs.traces {
        let traced = control.running.take_traced();
        if is_question(over.measured.kind) {
            spans::note(worker, control, over, traces, &traced);
        }
    }
    if !settings.logs.policy.is_any() || !is_question(over.measured.kind) {
        return;
    }
    let [events, slow, _] = &worker.samplers;
    let is_slow = over.took > settings.variables.long_query_time;
    let logs = settings.logs.policy.logs(over.measured.log, is_slow, [events, slow], || worker.dice.roll());
    if !logs.is_any() {
        return;
    }
    let (of_logs, written) = (&worker.shared.logs, settings.logs.writes(logs));
    let record = record(control, over, logs, settings.logs.text_max);
    if let Some(text_max) = settings.logs.recent_text_max().filter(|_| logs.events) {
        let text = record.text.get(..text_max).unwrap_or(&record.text).into();
        of_logs.recent.push(Box::new(Record { text, ..(*record).clone() }));
    }
    if written {
        of_logs.statements.offer(record);
    }
}

fn record(control: &Control, over: &Over, logs: Logs, text_max: usize) -> Box<Record> {
    let (text, text_len) = control.running.text(text_max);
    let text = match without_passwords(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shorter) => shorter.into(),
    };
    let (Measured { kind, digest, .. }, id) = (over.measured, control.running.statement.get());
    let mut record = Record {
        logs,
        event: event(kind, id),
        thread_id: control.id(),
        user: Box::default(),
        schema: Box::default(),
        client: Box::default(),
        target: None,
        end_us: unix_us(),
        took_us: u64::try_from(over.took.as_micros()).unwrap_or(u64::MAX),
        digest,
        outcome: over.outcome(),
        gtid: control.running.take_gtid(),
        text,
        text_len,
    };
    control.about.describe(&mut record);
    if over.outcome.is_none() {
        record.target = None;
    }
    Box::new(record)
}

/// What a command is to logs; `id` is the client's number of its prepared statement.
pub const fn event(kind: Kind, id: u32) -> Event {
    match kind {
        Kind::StmtPrepare => Event::Prepare(id),
        Kind::StmtExecute | Kind::StmtBulkExecute => Event::Execute(id),
        _ => Event::Query,
    }
}

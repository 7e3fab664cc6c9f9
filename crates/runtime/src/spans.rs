//! Spans of statements that are over, for OpenTelemetry.
//!
//! What becomes of a span is in the crate [`otlp`].

use std::time::Duration;

use otlp::{Parent, SPAN_TEXT_BYTES_MAX, Span, Times};

use crate::clock::unix_us;
use crate::control::Control;
use crate::logs::{Over, Traces};
use crate::record::event;
use crate::worker::Worker;
use observe::running::Traced;

/// Makes a span of a statement that is over, if it is traced. Called only if there is a collector.
///
/// A client that has sent a parent decides by the flag of its trace; a sampler decides about the
/// others.
pub fn note(worker: &Worker, control: &Control, over: &Over, traces: &Traces, traced: &Traced) {
    let parent = traced.parent.or_else(|| control.running.read_text(Parent::in_comment));
    let is_traced = match parent {
        Some(parent) => parent.is_sampled,
        None => traces.sample > 0 && worker.samplers[2].takes(traces.sample, || worker.dice.roll()),
    };
    if is_traced {
        worker.shared.logs.spans.offer(span(worker, control, over, traced, parent));
    }
}

#[cold]
fn span(
    worker: &Worker,
    control: &Control,
    over: &Over,
    traced: &Traced,
    parent: Option<Parent>,
) -> Box<Span> {
    let outcome = over.outcome();
    let roll = || worker.dice.roll().max(1);
    let sent = over.at.checked_sub(over.took);
    let waited = traced.waiting_since.zip(sent).map(|(since, sent)| sent.saturating_duration_since(since));
    let mut span = Span {
        parent,
        trace: u128::from(roll()) << 64 | u128::from(roll()),
        id: roll(),
        times: Times {
            waited: waited.filter(|waited| !waited.is_zero()),
            took: over.took,
            end: Duration::from_micros(unix_us()),
        },
        digest: if traced.shows_digest { digest(worker, control, over) } else { String::new() },
        command: event(over.measured.kind, 0).name(),
        schema: String::new(),
        user: String::new(),
        client: String::new(),
        server: None,
        rule: traced.rule,
        is_hit: over.is_hit,
        rows: outcome.rows_sent,
        error: outcome.error,
    };
    control.about.describe_span(&mut span);
    if over.outcome.is_none() {
        span.server = None;
    }
    Box::new(span)
}

/// The text of the statement's digest; empty if it has none.
fn digest(worker: &Worker, control: &Control, over: &Over) -> String {
    let Some(digest) = over.measured.digest else { return String::new() };
    let known = worker.counts.digests.table.borrow().text(digest);
    let text = known.unwrap_or_else(|| {
        control.running.read_text(|text| worker.routing.borrow_mut().shown_of(digest, text).into())
    });
    let text = String::from_utf8_lossy(text.get(..SPAN_TEXT_BYTES_MAX).unwrap_or(&text));
    // A byte that is no UTF-8 becomes three.
    let end = (0..=SPAN_TEXT_BYTES_MAX.min(text.len())).rfind(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

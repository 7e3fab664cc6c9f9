//! In which state each server was when, from what the proxy remembers of its changes.

use std::collections::BTreeMap;

use observe::rows::ServerEvent;
use serde_json::{Value, json};

use crate::reading::{Reading, ServerKey, address};

/// Whether causes of events are shown: a cause may have the message of a server's error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Causes {
    /// Whether they are.
    pub(crate) shown: bool,
}

impl Causes {
    /// The cause of an event; empty where causes are not shown.
    pub(crate) fn of(self, event: &ServerEvent) -> &str {
        if self.shown { &event.cause } else { "" }
    }
}

/// A time in one state, in milliseconds of Unix time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    from_ms: u64,
    state: &'static str,
    cause: String,
}

/// The states of an event: before it, and after it.
fn states(event: &str) -> Option<[&'static str; 2]> {
    match event {
        "SHUNNED" => Some(["ONLINE", "SHUNNED"]),
        "ONLINE" => Some(["SHUNNED", "ONLINE"]),
        "SHUNNED_REPLICATION_LAG" => Some(["ONLINE", "SHUNNED_REPLICATION_LAG"]),
        "CAUGHT_UP" => Some(["SHUNNED_REPLICATION_LAG", "ONLINE"]),
        "JOINED" => Some(["ABSENT", "ONLINE"]),
        "LEFT" => Some(["ONLINE", "ABSENT"]),
        _ => None,
    }
}

/// The spans of one server from `from_ms` on, which is in `state` now. `changed_ms`: when the
/// configuration of servers changed last, which may have switched it off.
fn spans(
    events: &[&ServerEvent],
    from_ms: u64,
    state: &'static str,
    reason: Option<&str>,
    changed_ms: Option<u64>,
    causes: Causes,
) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for event in events {
        let Some([before, after]) = states(event.event) else { continue };
        let at_ms = event.time_us / 1000;
        if spans.is_empty() {
            spans.push(Span { from_ms, state: before, cause: String::new() });
        }
        let span = Span { from_ms: at_ms.max(from_ms), state: after, cause: causes.of(event).to_owned() };
        match spans.last_mut() {
            Some(last) if last.from_ms == span.from_ms => *last = span,
            Some(last) if last.state == span.state => {}
            _ => spans.push(span),
        }
    }
    let cause = || reason.unwrap_or_default().to_owned();
    match spans.last().map(|last| (last.from_ms, last.state)) {
        None => spans.push(Span { from_ms, state, cause: cause() }),
        Some((_, last)) if last == state => {}
        Some((since, _)) => {
            // What no event tells is the configuration's doing.
            let at_ms = changed_ms.unwrap_or(from_ms).max(since).max(from_ms);
            spans.push(Span { from_ms: at_ms, state, cause: cause() });
        }
    }
    if spans.len() == 1
        && state.starts_with("OFFLINE")
        && let (Some(first), Some(at_ms)) = (spans.first_mut(), changed_ms.filter(|at| *at > from_ms))
    {
        // Until then it was in use, as far as is known.
        first.state = "ONLINE";
        first.cause.clear();
        spans.push(Span { from_ms: at_ms, state, cause: cause() });
    }
    spans
}

/// The timeline of all servers from `from_ms` to the reading.
pub(crate) fn timeline(
    reading: &Reading,
    from_ms: u64,
    changed_ms: Option<u64>,
    causes: Causes,
    name: impl Fn(&ServerKey) -> String,
) -> Value {
    let mut servers: BTreeMap<ServerKey, &'static str> = BTreeMap::new();
    let mut events: BTreeMap<ServerKey, Vec<&ServerEvent>> = BTreeMap::new();
    for event in &reading.events {
        let key = (event.hostgroup, event.host.clone(), event.port);
        if event.time_us / 1000 >= from_ms {
            servers.insert(key.clone(), "ABSENT");
        }
        events.entry(key).or_default().push(event);
    }
    for server in &reading.pool {
        servers.insert((server.hostgroup, server.host.clone(), server.port), server.status);
    }
    let row = |(key, state): (ServerKey, &'static str)| {
        let (hostgroup, host, port) = &key;
        let all = events.get(&key).map(Vec::as_slice).unwrap_or_default();
        let reason = reading.reason(*hostgroup, host, *port);
        let spans = spans(all, from_ms, state, reason, changed_ms, causes);
        let ends = spans.iter().skip(1).map(|span| span.from_ms).chain([reading.unix_ms]);
        let spans: Vec<Value> = spans
            .iter()
            .zip(ends)
            .map(|(span, to_ms)| {
                json!({ "from_ms": span.from_ms, "to_ms": to_ms, "state": span.state, "cause": span.cause })
            })
            .collect();
        let server = address(host, *port);
        json!({ "hostgroup": hostgroup, "server": server, "name": name(&key), "spans": spans })
    };
    let servers: Vec<Value> = servers.into_iter().map(row).collect();
    json!({ "from_ms": from_ms, "to_ms": reading.unix_ms, "servers": servers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ms: u64, event: &'static str) -> ServerEvent {
        ServerEvent { time_us: ms * 1000, event, cause: format!("at {ms}"), ..ServerEvent::default() }
    }

    fn told(events: &[ServerEvent], state: &'static str, changed: Option<u64>) -> Vec<(u64, &'static str)> {
        let events: Vec<_> = events.iter().collect();
        let spans = spans(&events, 100, state, None, changed, Causes { shown: true });
        spans.into_iter().map(|span| (span.from_ms, span.state)).collect()
    }

    #[test]
    fn spans_follow_the_events() {
        assert_eq!(told(&[], "ONLINE", None), [(100, "ONLINE")]);
        let down = [event(200, "SHUNNED"), event(300, "ONLINE")];
        assert_eq!(told(&down, "ONLINE", None), [(100, "ONLINE"), (200, "SHUNNED"), (300, "ONLINE")]);
        assert_eq!(
            told(&[event(200, "CAUGHT_UP")], "ONLINE", None),
            [(100, "SHUNNED_REPLICATION_LAG"), (200, "ONLINE")]
        );
        assert_eq!(told(&[event(200, "LEFT")], "ABSENT", None), [(100, "ONLINE"), (200, "ABSENT")]);
    }

    #[test]
    fn events_from_before_tell_the_first_state() {
        assert_eq!(told(&[event(50, "SHUNNED")], "SHUNNED", None), [(100, "SHUNNED")]);
        let both = [event(50, "SHUNNED"), event(150, "ONLINE")];
        assert_eq!(told(&both, "ONLINE", None), [(100, "SHUNNED"), (150, "ONLINE")]);
    }

    #[test]
    fn what_no_event_tells_begins_with_the_configuration() {
        assert_eq!(told(&[], "OFFLINE_SOFT", Some(400)), [(100, "ONLINE"), (400, "OFFLINE_SOFT")]);
        assert_eq!(told(&[], "OFFLINE_SOFT", Some(50)), [(100, "OFFLINE_SOFT")]);
        let up = [event(200, "ONLINE")];
        assert_eq!(
            told(&up, "OFFLINE_HARD", Some(400)),
            [(100, "SHUNNED"), (200, "ONLINE"), (400, "OFFLINE_HARD")]
        );
    }
}

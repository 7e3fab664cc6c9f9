//! A batch of spans as JSON: `ExportTraceServiceRequest` of OTLP 1.x. Numbers of 64 bits are texts
//! there, and ids are hexadecimal.
//!
//! Names of attributes are those of OpenTelemetry's conventions for databases.

use std::time::Duration;

use serde_json::{Value, json};

use crate::summary::Summary;
use crate::{Server, Span};

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;
/// `SPAN_KIND_CLIENT`.
const CLIENT: u8 = 3;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// The body of a request with these spans.
pub(crate) fn request(spans: &[Span]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let spans: Vec<Value> = spans.iter().flat_map(of).collect();
    let resource = [text("service.name", "pointsman"), text("service.version", version)];
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": "pointsman", "version": version },
                "spans": spans,
            }],
        }],
    })
    .to_string()
}

/// The statement's span; behind it the wait for a connection and the time at the server, as far as
/// there were any.
fn of(span: &Span) -> Vec<Value> {
    let (times, trace) = (&span.times, format!("{:032x}", span.trace()));
    let part = |number: u64, name: &str, kind: u8, from: Duration, to: Duration| {
        json!({
            "traceId": trace,
            "spanId": format!("{:016x}", part_id(span.id, number)),
            "parentSpanId": format!("{:016x}", span.id),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": from.as_nanos().to_string(),
            "endTimeUnixNano": to.as_nanos().to_string(),
        })
    };
    let summary = Summary::of(&span.digest);
    let name = summary.as_ref().map_or_else(|| span.command.to_owned(), Summary::name);
    let mut whole = json!({
        "traceId": trace,
        "spanId": format!("{:016x}", span.id),
        "name": name,
        "kind": SERVER,
        "startTimeUnixNano": times.came().as_nanos().to_string(),
        "endTimeUnixNano": times.end.as_nanos().to_string(),
        "attributes": about(span, summary.as_ref()),
    });
    if let Some(parent) = span.parent {
        put(&mut whole, "parentSpanId", format!("{:016x}", parent.span).into());
    }
    if span.error != 0 {
        put(&mut whole, "status", json!({ "code": ERROR }));
    }
    let mut all = vec![whole];
    if times.waited.is_some() {
        all.push(part(1, "wait for a connection", INTERNAL, times.came(), times.sent()));
    }
    if let Some(server) = &span.server {
        let mut there = part(2, &name, CLIENT, times.sent(), times.end);
        let mut attributes = vec![text("db.system.name", "mysql")];
        attributes.extend(place(server));
        put(&mut there, "attributes", attributes.into());
        all.push(there);
    }
    all
}

/// The attributes of a statement.
fn about(span: &Span, summary: Option<&Summary<'_>>) -> Vec<Value> {
    let mut all = vec![text("db.system.name", "mysql"), text("pointsman.command", span.command)];
    let texts = [
        ("db.query.text", span.digest.as_str()),
        ("db.namespace", &span.schema),
        ("pointsman.user", &span.user),
        ("client.address", &span.client),
    ];
    all.extend(texts.into_iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| text(key, value)));
    if let Some(summary) = summary {
        all.push(text("db.operation.name", &summary.command));
        all.push(text("db.query.summary", &summary.name()));
        all.extend(summary.table.map(|table| text("db.collection.name", table)));
    }
    all.extend(span.server.iter().flat_map(place));
    all.extend(span.rule.map(|rule| number("pointsman.rule", rule)));
    all.extend(span.rows.map(|rows| number("db.response.returned_rows", rows)));
    all.push(json!({ "key": "pointsman.cache_hit", "value": { "boolValue": span.is_hit } }));
    if span.error != 0 {
        all.push(text("db.response.status_code", &span.error.to_string()));
        all.push(text("error.type", &span.error.to_string()));
    }
    all
}

/// The attributes of a server.
fn place(server: &Server) -> Vec<Value> {
    let mut all = vec![number("pointsman.hostgroup", server.hostgroup), text("server.address", &server.host)];
    all.extend(server.port.map(|port| number("server.port", port)));
    all
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: impl Into<i128>) -> Value {
    let value: i128 = value.into();
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

/// The id of a part: another number than that of the whole, and never 0.
const fn part_id(id: u64, number: u64) -> u64 {
    let part = id ^ number << 56;
    if part == 0 { number } else { part }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Parent, Times};

    /// A read that has waited 2 ms, and took 5 ms.
    pub(crate) fn span() -> Box<Span> {
        Box::new(Span {
            parent: Some(Parent { trace: 0xabc, span: 0xdef, is_sampled: true }),
            trace: 1,
            id: 7,
            times: Times {
                waited: Some(Duration::from_millis(2)),
                took: Duration::from_millis(5),
                end: Duration::from_secs(1_000),
            },
            digest: "SELECT a FROM t WHERE b = ?".to_owned(),
            command: "COM_QUERY",
            schema: "shop".to_owned(),
            user: "app".to_owned(),
            client: "127.0.0.1:5000".to_owned(),
            server: Some(Server { hostgroup: 3, host: "db1".to_owned(), port: Some(3306) }),
            rule: Some(12),
            is_hit: false,
            rows: Some(4),
            error: 0,
        })
    }

    /// The spans of a request, with their attributes by name.
    fn spans(body: &str) -> Vec<Value> {
        let body: Value = serde_json::from_str(body).unwrap();
        body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
    }

    /// The value of an attribute.
    fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
        let all = span["attributes"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key)?["value"].as_object()?.values().next()
    }

    #[test]
    fn a_statement_is_a_span_with_its_parts() {
        let spans = spans(&request(&[*span()]));
        let [whole, wait, there] = spans.as_slice() else { panic!("{spans:?}") };
        for span in [whole, wait, there] {
            assert_eq!(span["traceId"], format!("{:032x}", 0xabc));
        }
        assert_eq!(whole["parentSpanId"], "0000000000000def");
        assert_eq!((&whole["spanId"], &whole["kind"]), (&json!("0000000000000007"), &json!(SERVER)));
        assert_eq!(whole["name"], "SELECT t");
        assert_eq!(whole["startTimeUnixNano"], "999993000000");
        assert_eq!(whole["endTimeUnixNano"], "1000000000000");
        assert_eq!(whole.get("status"), None);
        for (key, value) in [
            ("db.system.name", json!("mysql")),
            ("db.query.text", json!("SELECT a FROM t WHERE b = ?")),
            ("db.query.summary", json!("SELECT t")),
            ("db.namespace", json!("shop")),
            ("server.address", json!("db1")),
            ("server.port", json!("3306")),
            ("pointsman.hostgroup", json!("3")),
            ("pointsman.rule", json!("12")),
            ("pointsman.cache_hit", json!(false)),
            ("db.response.returned_rows", json!("4")),
        ] {
            assert_eq!(attribute(whole, key), Some(&value), "{key}");
        }
        assert_eq!(attribute(whole, "db.response.status_code"), None);
        for (part, kind, from, to) in [
            (wait, INTERNAL, "999993000000", "999995000000"),
            (there, CLIENT, "999995000000", "1000000000000"),
        ] {
            assert_eq!((&part["parentSpanId"], &part["kind"]), (&whole["spanId"], &json!(kind)));
            assert_eq!((&part["startTimeUnixNano"], &part["endTimeUnixNano"]), (&json!(from), &json!(to)));
        }
        assert!(wait["spanId"] != there["spanId"] && wait["spanId"] != whole["spanId"]);
    }

    #[test]
    fn what_is_not_known_is_not_there() {
        let own = Span {
            parent: None,
            times: Times { waited: None, ..span().times },
            digest: String::new(),
            server: None,
            rule: None,
            is_hit: true,
            error: 1146,
            ..*span()
        };
        let spans = spans(&request(&[own]));
        let [whole] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!((&whole["name"], &whole["traceId"]), (&json!("COM_QUERY"), &json!(format!("{:032x}", 1))));
        assert_eq!(whole.get("parentSpanId"), None);
        assert_eq!(whole["status"], json!({ "code": ERROR }));
        assert_eq!(attribute(whole, "db.response.status_code"), Some(&json!("1146")));
        assert_eq!(attribute(whole, "pointsman.cache_hit"), Some(&json!(true)));
        for key in ["db.query.text", "db.query.summary", "server.address", "pointsman.rule"] {
            assert_eq!(attribute(whole, key), None, "{key}");
        }
    }

    #[test]
    fn ids_of_parts_are_not_zero() {
        for id in [0, 1, 1 << 56, 2 << 56, u64::MAX] {
            assert!(part_id(id, 1) != 0 && part_id(id, 2) != 0 && part_id(id, 1) != part_id(id, 2));
        }
    }
}

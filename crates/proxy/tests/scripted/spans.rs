//! Spans of statements, as a collector gets them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use config::{Address, Config};
use serde_json::Value;
use testkit::client::CAPABILITIES;
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

use super::attributes::execution;
use super::cached::{cached, hit, miss};
use super::left_statements::config_with;
use super::pipeline::accept_with;
use super::shared::two_of;
use super::split_prepared::{prepare, prepared};
use super::support::{config, log_in, log_in_as, ms, options, play, rule, session_in, stage};

const ANNOUNCED: Capabilities = CAPABILITIES.union(Capabilities::QUERY_ATTRIBUTES);
/// Nothing here takes that long.
const WAIT: Duration = Duration::from_secs(30);
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A `traceparent` whose last digit is the flag.
fn traceparent(sampled: u8) -> String {
    format!("00-{TRACE}-{PARENT}-0{sampled}")
}

/// A collector, and the spans that it gets.
struct Collector {
    address: Address,
    spans: Receiver<Value>,
}

impl Collector {
    /// One that ends with the process.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let (sender, spans) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                let body = loop {
                    let text = String::from_utf8_lossy(&request);
                    let body = text.split_once("\r\n\r\n").map(|(_, body)| serde_json::from_str(body));
                    if let Some(Ok(body)) = body {
                        break body;
                    }
                    let read = stream.read(&mut buffer).unwrap();
                    assert!(read > 0, "the request is cut");
                    request.extend_from_slice(&buffer[..read]);
                };
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                let body: Value = body;
                let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
                for span in spans {
                    let _ = sender.send(span.clone());
                }
            }
        });
        Self { address, spans }
    }

    /// A proxy that sends its spans here.
    fn traced(&self, sample: u32) -> Config {
        self.trace(sample, config())
    }

    fn trace(&self, sample: u32, mut config: Config) -> Config {
        config.pointsman.otlp_address = vec![self.address.clone()];
        config.pointsman.otlp_sample = sample;
        config
    }

    fn next(&self) -> Value {
        self.spans.recv_timeout(WAIT).expect("a span comes")
    }

    /// So many spans.
    fn parts(&self, count: usize) -> Vec<Value> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// The value of an attribute.
fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let all = span["attributes"].as_array()?;
    all.iter().find(|one| one["key"] == key)?["value"].as_object()?.values().next()
}

fn nanoseconds(span: &Value, key: &str) -> u64 {
    span[key].as_str().unwrap().parse().unwrap()
}

#[test]
fn an_attribute_or_a_comment_makes_a_statement_part_of_its_trace() {
    play(async || {
        let collector = Collector::start();
        let mut config = collector.traced(0);
        let mut to_here = rule(7, "FROM t");
        to_here.destination_hostgroup = Some(0);
        config.query_rules.push(to_here);
        let (stage, mut servers) = stage(config);
        // From the login to a server the proxy learns what it can offer to the next client.
        let mut first = log_in(&stage).await;
        first.send_query("DO 0").await;
        tokio::time::sleep(ms(5)).await;
        let mut database = accept_with(&mut servers, ANNOUNCED).await;
        database.expect_query("DO 0").await;
        database.ok().await;
        first.expect_ok().await;
        let mut client = log_in_as(&stage, &options().capabilities(ANNOUNCED)).await;
        // None: the trace is not recorded.
        let not_sampled = format!("\0\x01SELECT a FROM t /*traceparent='{}'*/", traceparent(0));
        client.send_command(Kind::Query, not_sampled.as_bytes()).await;
        tokio::time::sleep(ms(5)).await;
        let mut database = accept_with(&mut servers, ANNOUNCED).await;
        database.expect_command(Kind::Query, not_sampled.as_bytes()).await;
        database.ok().await;
        client.expect_ok().await;
        let value = traceparent(1);
        let attribute_of = |text: &str| {
            let head = b"\x01\x01\0\x01\xfe\0\x0btraceparent\x37";
            [&head[..], value.as_bytes(), text.as_bytes()].concat()
        };
        let with_attribute = attribute_of("SELECT a FROM t WHERE b = 5");
        let with_comment = format!("\0\x01DELETE FROM u /*traceparent='{value}'*/");
        for body in [&with_attribute[..], with_comment.as_bytes(), b"\0\x01SELECT a FROM t"] {
            client.send_command(Kind::Query, body).await;
            database.expect_command(Kind::Query, body).await;
            database.ok().await;
            client.expect_ok().await;
        }
        let id = prepare(&mut client, &mut database, b"SELECT c FROM v WHERE b = ?", 7).await;
        let body = execution(id, &[(b"traceparent", value.as_bytes())]);
        for body in [body, execution(id, &[])] {
            client.send_command(Kind::StmtExecute, &body).await;
            database.expect_command(Kind::StmtExecute, &body).await;
            database.ok().await;
            client.expect_ok().await;
        }
        let spans = collector.parts(6);
        let [by_attribute, there, by_comment, _, executed, _] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!(executed["name"], "SELECT v");
        assert_eq!(attribute(executed, "pointsman.command"), Some(&"COM_STMT_EXECUTE".into()));
        for span in [by_attribute, by_comment, executed] {
            assert_eq!((&span["traceId"], &span["parentSpanId"]), (&TRACE.into(), &PARENT.into()));
        }
        assert_eq!(by_attribute["name"], "SELECT t");
        assert_eq!(attribute(by_attribute, "db.query.text"), Some(&"SELECT a FROM t WHERE b = ?".into()));
        assert_eq!(attribute(by_attribute, "pointsman.rule"), Some(&"7".into()));
        assert_eq!(attribute(by_attribute, "server.address"), Some(&"db".into()));
        assert_eq!(attribute(by_attribute, "server.port"), Some(&"3306".into()));
        assert_eq!((&there["parentSpanId"], &there["kind"]), (&by_attribute["spanId"], &3.into()));
        assert_eq!(by_comment["name"], "DELETE u");
        assert_eq!(attribute(by_comment, "pointsman.rule"), None);
        assert!(collector.spans.try_recv().is_err(), "no other statement is traced");
    });
}

#[test]
fn one_in_so_many_is_traced_with_its_wait_and_its_error() {
    play(async || {
        let collector = Collector::start();
        let (stage, mut servers) = stage(collector.traced(1));
        let mut client = log_in(&stage).await;
        client.send_query("SELECT a FROM t").await;
        tokio::time::sleep(ms(5)).await;
        let mut database = servers.accept().await;
        database.expect_query("SELECT a FROM t").await;
        database.err(1146, "42S02", "no such table").await;
        client.expect_err(1146).await;
        let spans = collector.parts(3);
        let [whole, wait, there] = spans.as_slice() else { panic!("{spans:?}") };
        assert!(whole.get("parentSpanId").is_none() && whole["traceId"] != "0".repeat(32));
        assert_eq!(attribute(whole, "db.response.status_code"), Some(&"1146".into()));
        assert_eq!(wait["name"], "wait for a connection");
        let waited = nanoseconds(wait, "endTimeUnixNano") - nanoseconds(wait, "startTimeUnixNano");
        assert!(waited >= 5_000_000, "{waited}");
        assert_eq!(wait["startTimeUnixNano"], whole["startTimeUnixNano"]);
        assert_eq!(wait["endTimeUnixNano"], there["startTimeUnixNano"]);
        // The wait was that of the first one.
        client.send_query("DO 1").await;
        database.expect_query("DO 1").await;
        database.ok().await;
        client.expect_ok().await;
        let next = collector.parts(2);
        assert_eq!((&next[0]["name"], &next[1]["kind"]), (&"DO".into(), &3.into()));
    });
}

#[test]
fn an_answer_from_the_cache_has_no_server() {
    play(async || {
        let collector = Collector::start();
        let (_stage, _, mut client, mut database) = session_in(collector.trace(1, cached())).await;
        let sql = "SELECT a FROM t";
        miss(&mut client, &mut database, sql, "1").await;
        hit(&mut client, sql, "1").await;
        let is_hit = |span: &Value| attribute(span, "pointsman.cache_hit") == Some(&true.into());
        let spans: Vec<Value> = std::iter::repeat_with(|| collector.next())
            .filter(|span| span["kind"] == 2 && span["name"] == "SELECT t")
            .take(2)
            .collect();
        let [missed, hit] = spans.as_slice() else { panic!("{spans:?}") };
        assert!(!is_hit(missed) && is_hit(hit));
        assert_eq!(attribute(missed, "server.address"), Some(&"db".into()));
        assert_eq!(attribute(hit, "server.address"), None);
        assert_eq!(attribute(hit, "pointsman.rule"), None, "the rule has chosen no hostgroup");
    });
}

#[test]
fn a_command_without_a_reply_leaves_no_wait_to_the_next_one() {
    play(async || {
        let collector = Collector::start();
        let config = collector.trace(1, config_with(20));
        let (_stage, _servers, mut client, mut other, mut database) =
            two_of(config, &options(), &options()).await;
        let sql = b"SELECT c FROM v WHERE b = ?";
        let id = prepare(&mut client, &mut database, sql, 7).await;
        // Another session takes the connection.
        other.send_query("BEGIN").await;
        database.expect_query("BEGIN").await;
        database.status |= StatusFlags::IN_TRANSACTION;
        database.ok().await;
        other.expect_ok().await;
        let part = |id: [u8; 4]| [&id[..], &[0, 0, b'x']].concat();
        let known_as = 9_u32.to_le_bytes();
        client.send_command(Kind::SendLongData, &part(id)).await;
        tokio::time::sleep(ms(5)).await;
        other.send_query("COMMIT").await;
        database.expect_query("COMMIT").await;
        database.status -= StatusFlags::IN_TRANSACTION;
        database.ok().await;
        other.expect_ok().await;
        database.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut database, 9).await;
        database.expect_command(Kind::SendLongData, &part(known_as)).await;
        // The client takes its time.
        tokio::time::sleep(ms(5)).await;
        let execution = |id: [u8; 4]| [&id[..], &[0, 1, 0, 0, 0, 0, 1, 0xfc, 0]].concat();
        client.send_command(Kind::StmtExecute, &execution(id)).await;
        database.expect_command(Kind::StmtExecute, &execution(known_as)).await;
        database.ok().await;
        client.expect_ok().await;
        let is_execution =
            |span: &Value| attribute(span, "pointsman.command") == Some(&"COM_STMT_EXECUTE".into());
        let mut spans = std::iter::repeat_with(|| collector.next());
        let executed = spans.find(|span| is_execution(span)).unwrap();
        assert_eq!((&executed["kind"], &spans.next().unwrap()["kind"]), (&2.into(), &3.into()), "{executed}");
    });
}

#[test]
fn a_span_has_no_text_where_the_digest_may_have_literals() {
    play(async || {
        let collector = Collector::start();
        let (_stage, _, mut client, mut database) = session_in(collector.traced(1)).await;
        for (sql, is_shown) in [
            (r"SELECT a FROM t WHERE b IN ('a\', 'secret')", true),
            ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'", true),
            (r"SELECT a FROM t WHERE b IN ('a\', 'secret')", false),
            ("SELECT a FROM t WHERE b = 'secret'", true),
        ] {
            client.send_query(sql).await;
            database.expect_query(sql).await;
            if sql.starts_with("SET") {
                database.status |= StatusFlags::NO_BACKSLASH_ESCAPES;
            }
            database.ok().await;
            client.expect_ok().await;
            let mut spans = std::iter::repeat_with(|| collector.next());
            let whole = spans.find(|span| span["kind"] == 2 && span["name"] != "DO").unwrap();
            assert_eq!(attribute(&whole, "db.query.text").is_some(), is_shown, "{sql}: {whole}");
        }
    });
}

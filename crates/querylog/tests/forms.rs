//! What records look like in the logs: golden files, and a reader of the binary form written from
//! ProxySQL's.
//!
//! `POINTSMAN_WRITE_GOLDEN=1` writes the files anew.

use std::fmt::Write as _;
use std::path::Path;

use querylog::{Event, Logs, Outcome, Record, Target, Zone, binary, json, slow};

/// A plain statement; one that failed, was cut and holds what needs escapes; one that the proxy
/// answered; a prepare and an execution.
fn records() -> Vec<Record> {
    let plain = Record {
        logs: Logs { events: true, slow: true },
        event: Event::Query,
        thread_id: 1_073_741_824,
        user: (*b"sbtest").into(),
        schema: (*b"shop").into(),
        client: "127.0.0.1:39840".into(),
        target: Some(Target { hostgroup: 0, server: "127.0.0.1:3306".into() }),
        end_us: 1_563_091_474_400_688,
        took_us: 8_570,
        digest: Some(0x1E09_2DAE_FFBB_F262),
        outcome: Outcome { rows_sent: Some(1), ..Outcome::default() },
        gtid: None,
        text: (*b"select 1").into(),
        text_len: 8,
    };
    let write = Outcome { rows_affected: Some(3), last_insert_id: 70_000, ..Outcome::default() };
    vec![
        plain.clone(),
        Record {
            user: (*b"o'brien [x]").into(),
            schema: (*b"my`db").into(),
            client: "[::1]:5".into(),
            took_us: 12_000_000,
            outcome: Outcome { error: 1064, ..Outcome::default() },
            text: (*b"SELECT \"a\\b\"\n\t, '\xff\x01\xc3\xa9'; ; ").into(),
            text_len: 100_000,
            ..plain.clone()
        },
        Record {
            target: None,
            client: "".into(),
            schema: [].into(),
            digest: None,
            took_us: 0,
            outcome: Outcome::default(),
            text: (*b"/* x */ SHOW POINTSMAN TRACE;").into(),
            text_len: 29,
            ..plain.clone()
        },
        Record {
            event: Event::Prepare(7),
            text: (*b"INSERT INTO t VALUES (?)").into(),
            text_len: 24,
            outcome: Outcome::default(),
            ..plain.clone()
        },
        Record { event: Event::Execute(300), outcome: write, text: [].into(), text_len: 0, ..plain },
    ]
}

fn golden(name: &str, written: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, written).unwrap();
    }
    let expected = std::fs::read(&path).unwrap();
    assert_eq!(String::from_utf8_lossy(written), String::from_utf8_lossy(&expected), "{name}");
    assert_eq!(written, expected);
}

#[test]
fn json_is_that_of_proxysql() {
    let mut lines = Vec::new();
    for record in records() {
        json::write(&record, &Zone::utc(), &mut lines);
    }
    golden("events.json", &lines);
    // The example of ProxySQL's documentation, with what 2.7 leaves out and a time zone like that
    // of its author.
    let first = String::from_utf8(lines).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(
        first,
        r#"{"client":"127.0.0.1:39840","digest":"0x1E092DAEFFBBF262","duration_us":8570,"endtime":"2019-07-14 08:04:34.400688","endtime_timestamp_us":1563091474400688,"event":"COM_QUERY","hostgroup_id":0,"query":"select 1","rows_sent":1,"schemaname":"shop","server":"127.0.0.1:3306","starttime":"2019-07-14 08:04:34.392118","starttime_timestamp_us":1563091474392118,"thread_id":1073741824,"username":"sbtest"}"#
    );
}

#[test]
fn the_slow_log_is_that_of_mysql() {
    let mut entries = Vec::new();
    for record in records() {
        slow::write(&record, &mut entries);
    }
    golden("slow.log", &entries);
}

/// What stands in a binary record, in ProxySQL's order.
fn read(bytes: &mut &[u8]) -> String {
    let mut read = String::new();
    let length = u64::from_le_bytes(take(bytes, 8).try_into().unwrap());
    let before = bytes.len();
    let kind = take(bytes, 1)[0];
    write!(read, "kind={kind} thread={}", number(bytes)).unwrap();
    write!(read, " user={:?} schema={:?} client={:?}", text(bytes), text(bytes), text(bytes)).unwrap();
    match number(bytes) {
        u64::MAX => read.push_str(" local"),
        hostgroup => write!(read, " hostgroup={hostgroup} server={:?}", text(bytes)).unwrap(),
    }
    write!(read, " start={} end={}", number(bytes), number(bytes)).unwrap();
    if kind != 0 {
        write!(read, " statement={}", number(bytes)).unwrap();
    }
    write!(read, " affected={} id={} sent={}", number(bytes), number(bytes), number(bytes)).unwrap();
    write!(read, " digest={:#x} query={:?}", number(bytes), text(bytes)).unwrap();
    let extra = u64::from(kind == 0);
    assert_eq!(length, (before - bytes.len()) as u64 + extra, "one more for queries, as in ProxySQL");
    read
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(len);
    *bytes = rest;
    taken
}

fn number(bytes: &mut &[u8]) -> u64 {
    let len = match take(bytes, 1)[0] {
        small @ 0..=250 => return small.into(),
        0xfc => 2,
        0xfd => 3,
        _ => 8,
    };
    let mut value = [0; 8];
    value[..len].copy_from_slice(take(bytes, len));
    u64::from_le_bytes(value)
}

fn text(bytes: &mut &[u8]) -> String {
    let len = usize::try_from(number(bytes)).unwrap();
    String::from_utf8_lossy(take(bytes, len)).into_owned()
}

#[test]
fn the_binary_form_is_that_of_proxysql() {
    let mut bytes = Vec::new();
    for record in records() {
        binary::write(&record, &mut bytes);
    }
    let mut rest = &bytes[..];
    let mut lines = String::new();
    while !rest.is_empty() {
        lines.push_str(&read(&mut rest));
        lines.push('\n');
    }
    golden("events.binary", lines.as_bytes());
}

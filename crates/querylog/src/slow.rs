//! The slow log, in the form of MySQL 8: MySQL's `mysqldumpslow` and Percona's `pt-query-digest`
//! read it.
//!
//! Entries stand for themselves: each has its time and its schema. What a server would not know
//! (hostgroup, server, digest) stands at the end of the line that begins with `# Query_time`, where
//! MySQL puts what `log_slow_extra` adds.

use std::io::Write as _;

use crate::clock::iso;
use crate::{Event, Record};

/// Microseconds of a second.
const SECOND_US: u64 = 1_000_000;

/// Appends the entry of a record.
pub fn write(record: &Record, out: &mut Vec<u8>) {
    let outcome = &record.outcome;
    let user = OneWord(&record.user);
    let host = record.client.rsplit_once(':').map_or("", |(host, _)| host.trim_matches(['[', ']']));
    // Writing to a vector cannot fail.
    let _ = writeln!(out, "# Time: {}", iso(record.end_us));
    let _ = write!(out, "# User@Host: ");
    user.write(out);
    out.push(b'[');
    user.write(out);
    let place = if record.client.is_empty() { "localhost" } else { "" };
    let _ = writeln!(out, "] @ {place} [{host}]  Id: {}", record.thread_id);
    let (seconds, micros) = (record.took_us / SECOND_US, record.took_us % SECOND_US);
    let _ = write!(
        out,
        "# Query_time: {seconds}.{micros:06}  Lock_time: 0.000000 Rows_sent: {}  Rows_examined: 0 Rows_affected: {} Errno: {}",
        outcome.rows_sent.unwrap_or(0),
        outcome.rows_affected.unwrap_or(0),
        outcome.error,
    );
    match &record.target {
        Some(target) => {
            let _ = write!(out, " Hostgroup: {} Server: {}", target.hostgroup, target.server);
        }
        None => out.extend_from_slice(b" Hostgroup: -1"),
    }
    if let Some(digest) = record.digest {
        let _ = write!(out, " Digest: 0x{digest:016X}");
    }
    if record.is_cut() {
        let _ = write!(out, " Query_bytes: {}", record.text_len);
    }
    out.push(b'\n');
    use_schema(&record.schema, out);
    let _ = writeln!(out, "SET timestamp={};", record.start_us() / SECOND_US);
    match record.event {
        Event::Prepare(_) if record.text.is_empty() => {
            out.extend_from_slice(b"# administrator command: Prepare");
        }
        Event::Execute(_) if record.text.is_empty() => {
            out.extend_from_slice(b"# administrator command: Execute");
        }
        _ => out.extend_from_slice(trimmed(&record.text)),
    }
    out.extend_from_slice(b";\n");
}

/// `use shop;`, with quotes where a plain word would not do.
fn use_schema(schema: &[u8], out: &mut Vec<u8>) {
    if schema.is_empty() {
        return;
    }
    let is_plain = schema.iter().all(|&byte| byte == b'_' || byte.is_ascii_alphanumeric());
    out.extend_from_slice(b"use ");
    if is_plain {
        out.extend_from_slice(schema);
    } else {
        out.push(b'`');
        for &byte in schema.iter().filter(|byte| **byte != b'\n') {
            if byte == b'`' {
                out.push(b'`');
            }
            out.push(byte);
        }
        out.push(b'`');
    }
    out.extend_from_slice(b";\n");
}

/// A name in a header, which is read up to the next blank or bracket.
struct OneWord<'a>(&'a [u8]);

impl OneWord<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.0.iter().map(|&byte| match byte {
            b'[' | b']' | 0..=b' ' => b'_',
            other => other,
        }));
    }
}

/// A statement without blanks and semicolons at its end: the entry has its own.
fn trimmed(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii_end();
    while let Some(shorter) = text.strip_suffix(b";") {
        text = shorter.trim_ascii_end();
    }
    text
}

//! The query log's JSON form (`mysql-eventslog_format = 2`): one object in one line for each
//! statement.
//!
//! Names, their order and the forms of values are those of ProxySQL 2.7 (`MySQL_Logger`), which
//! sorts the names. `errno` is there for statements that failed, as in ProxySQL 3, and
//! `query_bytes` for texts that were cut: only here.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::{Record, Zone};

/// Appends the line of a record, with its end. Times are written in the zone.
pub fn write(record: &Record, zone: &Zone, line: &mut Vec<u8>) {
    append(&Line { record, zone }, line);
}

/// Appends an object as a line.
pub(crate) fn append(object: &impl Serialize, line: &mut Vec<u8>) {
    // Keys are texts and memory takes all, so that nothing can fail.
    let _ = serde_json::to_writer(&mut *line, object);
    line.push(b'\n');
}

/// Bytes as text. What is not UTF-8 becomes U+FFFD: JSON has nothing for it.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

struct Line<'a> {
    record: &'a Record,
    zone: &'a Zone,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { record, zone } = *self;
        let outcome = &record.outcome;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("client", &record.client)?;
        if let Some(id) = record.event.statement() {
            object.serialize_entry("client_stmt_id", &id)?;
        }
        object.serialize_entry("digest", &format_args!("0x{:016X}", record.digest.unwrap_or(0)))?;
        object.serialize_entry("duration_us", &record.took_us)?;
        object.serialize_entry("endtime", &zone.show(record.end_us))?;
        object.serialize_entry("endtime_timestamp_us", &record.end_us)?;
        if outcome.error != 0 {
            object.serialize_entry("errno", &outcome.error)?;
        }
        object.serialize_entry("event", record.event.name())?;
        let hostgroup = record.target.as_ref().map_or(-1, |target| i64::from(target.hostgroup));
        object.serialize_entry("hostgroup_id", &hostgroup)?;
        if let Some(gtid) = &record.gtid {
            object.serialize_entry("last_gtid", gtid)?;
        }
        if outcome.last_insert_id != 0 {
            object.serialize_entry("last_insert_id", &outcome.last_insert_id)?;
        }
        object.serialize_entry("query", &text(&record.text))?;
        if record.is_cut() {
            object.serialize_entry("query_bytes", &record.text_len)?;
        }
        if let Some(rows) = outcome.rows_affected {
            object.serialize_entry("rows_affected", &rows)?;
        }
        if let Some(rows) = outcome.rows_sent {
            object.serialize_entry("rows_sent", &rows)?;
        }
        object.serialize_entry("schemaname", &text(&record.schema))?;
        if let Some(target) = &record.target {
            object.serialize_entry("server", &target.server)?;
        }
        object.serialize_entry("starttime", &zone.show(record.start_us()))?;
        object.serialize_entry("starttime_timestamp_us", &record.start_us())?;
        object.serialize_entry("thread_id", &record.thread_id)?;
        object.serialize_entry("username", &text(&record.user))?;
        object.end()
    }
}

//! The query log's JSON form (`mysql-eventslog_format = 2`): one object in one line for each
//! statement.
//!
//! Names, their order and the forms of values are those of ProxySQL 2.7 (`MySQL_Logger`), which
//! sorts the names. `errno` is there for statements that failed, as in ProxySQL 3, and
//! `query_bytes` for texts that were cut: only here.

use crate::object::Object;
use crate::{Record, Zone};

/// Appends the line of a record, with its end. Times are written in the zone.
pub fn write(record: &Record, zone: &Zone, line: &mut Vec<u8>) {
    let mut object = Object::with_room(512 + record.text.len());
    let outcome = &record.outcome;
    object.text("client", record.client.as_bytes());
    if let Some(id) = record.event.statement() {
        object.number("client_stmt_id", id);
    }
    object.text("digest", format!("0x{:016X}", record.digest.unwrap_or(0)).as_bytes());
    object.number("duration_us", record.took_us);
    object.text("endtime", zone.show(record.end_us).as_bytes());
    object.number("endtime_timestamp_us", record.end_us);
    if outcome.error != 0 {
        object.number("errno", outcome.error);
    }
    object.text("event", record.event.name().as_bytes());
    object.number("hostgroup_id", record.target.as_ref().map_or(-1, |target| i64::from(target.hostgroup)));
    if let Some(gtid) = &record.gtid {
        object.text("last_gtid", gtid.as_bytes());
    }
    if outcome.last_insert_id != 0 {
        object.number("last_insert_id", outcome.last_insert_id);
    }
    object.text("query", &record.text);
    if record.is_cut() {
        object.number("query_bytes", record.text_len);
    }
    if let Some(rows) = outcome.rows_affected {
        object.number("rows_affected", rows);
    }
    if let Some(rows) = outcome.rows_sent {
        object.number("rows_sent", rows);
    }
    object.text("schemaname", &record.schema);
    if let Some(target) = &record.target {
        object.text("server", target.server.as_bytes());
    }
    object.text("starttime", zone.show(record.start_us()).as_bytes());
    object.number("starttime_timestamp_us", record.start_us());
    object.number("thread_id", record.thread_id);
    object.text("username", &record.user);
    object.end(line);
}

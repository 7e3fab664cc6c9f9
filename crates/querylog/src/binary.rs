//! The query log's binary form (`mysql-eventslog_format = 1`), ProxySQL's own and its default.
//!
//! A record is its length (8 bytes, little-endian, without these 8), a byte for its kind, and then
//! numbers and texts in the length-encoded form of MySQL's protocol. Source: ProxySQL 2.7
//! (`MySQL_Event::write_query_format_1`), whose reader is `eventslog_reader_sample`.

use crate::Record;

/// What stands for "no hostgroup".
const NO_HOSTGROUP: u64 = u64::MAX;

/// Appends a record.
pub fn write(record: &Record, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; size_of::<u64>()]);
    out.push(record.event.number());
    number(out, record.thread_id.into());
    text(out, &record.user);
    text(out, &record.schema);
    text(out, record.client.as_bytes());
    match &record.target {
        None => number(out, NO_HOSTGROUP),
        Some(target) => {
            number(out, target.hostgroup.into());
            text(out, target.server.as_bytes());
        }
    }
    number(out, record.start_us());
    number(out, record.end_us);
    if let Some(id) = record.event.statement() {
        number(out, id.into());
    }
    number(out, record.outcome.rows_affected.unwrap_or(0));
    number(out, record.outcome.last_insert_id);
    number(out, record.outcome.rows_sent.unwrap_or(0));
    number(out, record.digest.unwrap_or(0));
    text(out, &record.text);
    // ProxySQL counts a byte for the statement's id where there is none, too; so do those who read
    // its files.
    let extra = usize::from(record.event.statement().is_none());
    let len = (out.len() - start - size_of::<u64>() + extra) as u64;
    if let Some(place) = out.get_mut(start..start + size_of::<u64>()) {
        place.copy_from_slice(&len.to_le_bytes());
    }
}

/// MySQL's length-encoded integer.
fn number(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    let (mark, len) = match value {
        0..=250 => (None, 1),
        251..=0xffff => (Some(0xfc), 2),
        0x1_0000..=0xff_ffff => (Some(0xfd), 3),
        _ => (Some(0xfe), 8),
    };
    out.extend(mark);
    out.extend_from_slice(bytes.get(..len).unwrap_or(&bytes));
}

fn text(out: &mut Vec<u8>, value: &[u8]) {
    number(out, value.len() as u64);
    out.extend_from_slice(value);
}

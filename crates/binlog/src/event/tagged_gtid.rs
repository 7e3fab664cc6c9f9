//! A transaction of MySQL begins whose GTID has a tag (8.3 and later).

use ::gtid::{Gtid, mysql};
use wire::WireError;
use wire::codec::Reader;

use super::variable_length::{not_negative, unsigned};
use super::{Begin, Change};

/// Bytes of a UUID.
const UUID_LEN: usize = 16;

/// Numbers of the fields in the order in which they come.
const FLAGS: u64 = 0;
const UUID: u64 = 1;
const NUMBER: u64 = 2;
const TAG: u64 = 3;

/// Reads the first fields of `GTID_TAGGED_LOG_EVENT`, which is a message of the library
/// `serialization`: its version, its length, the last field that must be known, then fields behind
/// their numbers.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Begin, WireError> {
    for field in ["version of the message", "length of the message", "last field to be known"] {
        unsigned(reader, field)?;
    }
    expect(reader, FLAGS)?;
    unsigned(reader, "flags")?;
    expect(reader, UUID)?;
    let mut uuid = [0; UUID_LEN];
    for slot in &mut uuid {
        let byte = unsigned(reader, "UUID")?;
        *slot = u8::try_from(byte).map_err(|_| WireError::Invalid { field: "UUID", value: byte })?;
    }
    expect(reader, NUMBER)?;
    let number = not_negative(reader, "transaction number")?;
    expect(reader, TAG)?;
    let len = unsigned(reader, "tag")?;
    let tag = reader.bytes(usize::try_from(len).unwrap_or(usize::MAX), "tag")?;
    let tag = std::str::from_utf8(tag).map_err(|_| WireError::NotUtf8("tag"))?;
    let source = mysql::Source::of(u128::from_be_bytes(uuid));
    let invalid = WireError::Invalid { field: "tag", value: len };
    let source = if tag.is_empty() { source } else { source.with_tag(tag).map_err(|_| invalid)? };
    Ok(Begin { gtid: Some(Gtid::MySql(mysql::Gtid { source, number })), change: Change::ToBeSeen })
}

/// Reads the number of a field.
fn expect(reader: &mut Reader<'_>, field: u64) -> Result<(), WireError> {
    match unsigned(reader, "field")? {
        number if number == field => Ok(()),
        value => Err(WireError::Invalid { field: "field", value }),
    }
}

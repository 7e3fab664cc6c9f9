//! The columns of the client's result, out of the definitions of all shards.

use ::shard::seen::Names;
use wire::packet::Column;
use wire::{Capabilities, Codec as _};

use super::Failure;
use super::fault::Wrong;
use super::shard::Shard;

/// Flags by which clients read values: BLOB, UNSIGNED, ZEROFILL, BINARY, ENUM, SET. The other flags
/// tell of keys and defaults, and hold if they hold at all shards.
const READING: u16 = 16 | 32 | 64 | 128 | 256 | 2048;

/// One definition for each column, with the names of the first shard in physical form.
///
/// Names, types, collations and the flags that matter to readers must be equal at all shards.
/// Lengths and decimals are the largest ones.
pub(super) fn unite(shards: &[Shard], caps: Capabilities) -> Result<Vec<Column<'_>>, Failure> {
    let mut united = Vec::new();
    for (n, shard) in shards.iter().enumerate() {
        let fault = |wrong| Failure::Wrong(n, wrong);
        let columns = shard.definitions.iter().map(|payload| Column::decode(payload, caps));
        let columns: Vec<_> =
            columns.collect::<Result<_, _>>().map_err(|error| fault(Wrong::Bytes(error)))?;
        if n == 0 {
            united = columns;
            continue;
        }
        if columns.len() != united.len() {
            return Err(fault(Wrong::Columns { here: columns.len(), there: united.len() }));
        }
        for (at, (one, other)) in united.iter_mut().zip(&columns).enumerate() {
            if let Some(what) = difference(one, other) {
                let name = String::from_utf8_lossy(other.name).into_owned();
                return Err(fault(Wrong::Column { number: at + 1, name, what }));
            }
            one.max_len = one.max_len.max(other.max_len);
            one.decimals = one.decimals.max(other.decimals);
            one.flags &= other.flags;
        }
    }
    Ok(united)
}

/// What keeps two columns from being one.
fn difference(one: &Column<'_>, other: &Column<'_>) -> Option<&'static str> {
    // A name that differs in its case only is that of the same column.
    let differs = [
        (!one.name.eq_ignore_ascii_case(other.name), "name"),
        (one.kind != other.kind || one.extended_type != other.extended_type, "type"),
        (one.collation != other.collation, "collation"),
        (one.flags & READING != other.flags & READING, "form of its values"),
    ];
    differs.into_iter().find_map(|(differs, what)| differs.then_some(what))
}

/// A definition with the names that clients know. An alias stays.
pub(super) fn logical<'a>(column: &Column<'a>, names: &'a Names) -> Column<'a> {
    let Some((schema, table)) = table_of(column, names) else { return *column };
    let shown = if column.table == column.org_table { table } else { column.table };
    Column { schema, table: shown, org_table: table, ..*column }
}

/// Schema and table for clients, if they differ from those of the servers. A server that has copied
/// rows into a temporary table may leave the schema out.
fn table_of<'a>(column: &Column<'a>, names: &'a Names) -> Option<(&'a [u8], &'a [u8])> {
    let schema = std::str::from_utf8(column.schema).ok()?;
    let table = std::str::from_utf8(column.org_table).ok()?;
    if schema.is_empty() {
        return names.logical_table(table).map(|table| (column.schema, table.as_bytes()));
    }
    names.logical(schema, table).map(|(schema, table)| (schema.as_bytes(), table.as_bytes()))
}

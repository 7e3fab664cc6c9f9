//! The columns of the client's result, out of the definitions of all shards.

use planner::merge::{Columns, Protocol};
use planner::seen::Names;
use wire::packet::Column;
use wire::{Capabilities, Codec as _};

use super::Failure;
use super::fault::Wrong;
use super::shard::Shard;

/// Flags by which clients read values: UNSIGNED, ZEROFILL, ENUM, SET. The other flags tell of keys
/// and defaults, and hold if they hold at all shards. BINARY says of texts what their collation
/// says, and of numbers nothing; BLOB says what the type says.
const READING: u16 = 32 | 64 | 256 | 2048;

/// Types of integers, the narrowest first: TINY, SHORT, YEAR, INT24, LONG, LONGLONG.
const INTEGERS: [u8; 6] = [0x01, 0x02, 0x0d, 0x09, 0x03, 0x08];

/// Types of texts and bytes, whose values look the same: `STRING`, `VARCHAR`, `VAR_STRING`, BLOBs.
const TEXTS: [u8; 7] = [0xfe, 0x0f, 0xfd, 0xf9, 0xfc, 0xfa, 0xfb];

/// One definition for each column, with the names of the first shard in physical form, out of those
/// of all shards that have begun their results.
///
/// Names, types, collations and the flags that matter to readers must be equal at all shards.
/// Lengths and decimals are the largest ones. Types of texts and of integers may differ: an
/// expression has another one where a server has copied it into a temporary table. Of integers the
/// widest is told.
pub(super) fn unite(shards: &[Shard], caps: Capabilities) -> Result<Vec<Column<'_>>, Failure> {
    let mut united = Vec::new();
    for (at, shard) in shards.iter().enumerate().filter(|(_, shard)| !shard.definitions.is_empty()) {
        let columns = decode(&shard.definitions, caps);
        let joined = columns.and_then(|columns| join(&mut united, columns));
        joined.map_err(|wrong| Failure::Wrong(at, wrong))?;
    }
    Ok(united)
}

/// The columns of a shard for a client that was told of others; none if its rows can stay as they
/// are. The last `keys` are hidden.
pub(super) fn own_columns(
    told: &[Column<'_>],
    own: &[Box<[u8]>],
    (protocol, keys): (Protocol, usize),
    caps: Capabilities,
) -> Result<Option<Box<Columns>>, Wrong> {
    let own = decode(own, caps)?;
    let is_as_told = own.iter().zip(told).all(|(own, told)| own.kind == told.kind);
    if protocol == Protocol::Text || is_as_told {
        return Ok(None);
    }
    Ok(Some(Box::new(Columns::new(protocol, &own, keys)?.shown_as(told))))
}

/// Checks that the definitions of a shard go with those of the result, which has begun before.
pub(super) fn check(told: &[Column<'_>], own: &[Box<[u8]>], caps: Capabilities) -> Result<(), Wrong> {
    join(&mut told.to_vec(), decode(own, caps)?)
}

/// Definitions as columns.
pub(super) fn decode(payloads: &[Box<[u8]>], caps: Capabilities) -> Result<Vec<Column<'_>>, Wrong> {
    Ok(payloads.iter().map(|payload| Column::decode(payload, caps)).collect::<Result<_, _>>()?)
}

/// Makes definitions those of one more shard, too.
fn join<'a>(united: &mut Vec<Column<'a>>, columns: Vec<Column<'a>>) -> Result<(), Wrong> {
    if united.is_empty() {
        *united = columns;
        return Ok(());
    }
    if columns.len() != united.len() {
        return Err(Wrong::Columns { here: columns.len(), there: united.len() });
    }
    for (at, (one, other)) in united.iter_mut().zip(&columns).enumerate() {
        let kind = common_kind(one.kind, other.kind);
        let Some(kind) = kind.filter(|_| difference(one, other).is_none()) else {
            let name = String::from_utf8_lossy(other.name).into_owned();
            let what = difference(one, other).unwrap_or("type");
            return Err(Wrong::Column { number: at + 1, name, what });
        };
        one.kind = kind;
        one.max_len = one.max_len.max(other.max_len);
        one.decimals = one.decimals.max(other.decimals);
        one.flags &= other.flags;
    }
    Ok(())
}

/// The type of a column that has one of two at different shards; nothing if there is none.
fn common_kind(one: u8, other: u8) -> Option<u8> {
    if one == other {
        return Some(one);
    }
    let later = |kinds: &[u8]| {
        let place = |kind: u8| kinds.iter().position(|other| *other == kind);
        let later = place(one).zip(place(other)).map(|(one, other)| one.max(other))?;
        kinds.get(later).copied()
    };
    later(&INTEGERS).or_else(|| later(&TEXTS))
}

/// What keeps two columns from being one.
fn difference(one: &Column<'_>, other: &Column<'_>) -> Option<&'static str> {
    // A name that differs in its case only is that of the same column.
    let differs = [
        (!one.name.eq_ignore_ascii_case(other.name), "name"),
        (one.extended_type != other.extended_type, "type"),
        (one.collation != other.collation, "collation"),
        (one.flags & READING != other.flags & READING, "form of its values"),
    ];
    differs.into_iter().find_map(|(differs, what)| differs.then_some(what))
}

/// A definition with the names that clients know. Aliases stay.
pub fn logical<'a>(column: &Column<'a>, names: &'a Names) -> Column<'a> {
    let text = std::str::from_utf8;
    let (Ok(schema), Ok(table)) = (text(column.schema), text(column.org_table)) else { return *column };
    if let Some((schema, table)) = names.logical(schema, table) {
        return renamed(column, schema.as_bytes(), table.as_bytes());
    }
    // The columns of a derived table have its alias, in the schema of the tables behind it.
    if let Some(schema) = names.logical_schema(schema) {
        return Column { schema: schema.as_bytes(), ..*column };
    }
    // A server that has copied rows into a temporary table may leave the schema out.
    match names.logical_table(table).filter(|_| schema.is_empty()) {
        Some(table) => renamed(column, column.schema, table.as_bytes()),
        None => *column,
    }
}

/// The definition for a table of another name, which is shown too where there is no alias.
fn renamed<'a>(column: &Column<'a>, schema: &'a [u8], table: &'a [u8]) -> Column<'a> {
    let shown = if column.table == column.org_table { table } else { column.table };
    Column { schema, table: shown, org_table: table, ..*column }
}

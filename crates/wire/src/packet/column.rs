//! What a result says about one of its columns.

use crate::{
    Capabilities, Codec, WireError,
    codec::{NULL, Reader, put_lenenc, put_lenenc_bytes},
};

/// The definition of a column or of a statement's parameter.
///
/// Source: `Protocol::ColumnDefinition41`, and "Column Definition Packet" of MariaDB for the
/// extended type. Names are in the character set of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// Always `def`.
    pub catalog: &'a [u8],
    /// The schema of the table.
    pub schema: &'a [u8],
    /// The table's name in the statement.
    pub table: &'a [u8],
    /// The table's own name.
    pub org_table: &'a [u8],
    /// The column's name in the statement.
    pub name: &'a [u8],
    /// The column's own name.
    pub org_name: &'a [u8],
    /// MariaDB: pairs of a kind byte and length-encoded data; travels only with
    /// [`Capabilities::MARIADB_EXTENDED_METADATA`], and is empty without.
    pub extended_type: &'a [u8],
    /// The collation of the values, 63 for binary ones.
    pub collation: u16,
    /// Bytes of the longest value.
    pub max_len: u32,
    /// The type (`MYSQL_TYPE_*`).
    pub kind: u8,
    /// Flags (`NOT_NULL_FLAG` and others).
    pub flags: u16,
    /// Digits after the decimal point, 31 for a changing number of them.
    pub decimals: u8,
    /// The default value, only in the answer to `COM_FIELD_LIST`.
    pub default_value: DefaultValue<'a>,
}

/// The last field of a [`Column`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue<'a> {
    /// There is no such field: this is not the answer to `COM_FIELD_LIST`.
    Absent,
    /// The default is NULL, or there is none.
    Null,
    /// The default as text.
    Text(&'a [u8]),
}

/// `MYSQL_TYPE_VAR_STRING`.
const VAR_STRING: u8 = 253;

/// Longest value that [`Column::text`] claims: the values are not counted.
const TEXT_BYTES: u32 = 65_535;

/// Digits after the point of what is no number.
const NOT_FIXED: u8 = 31;

impl<'a> Column<'a> {
    /// A column of texts in this collation that belongs to no table: what programs that are no
    /// servers answer with.
    pub const fn text(name: &'a [u8], collation: u16) -> Self {
        Self {
            catalog: b"def",
            schema: b"",
            table: b"",
            org_table: b"",
            name,
            org_name: b"",
            extended_type: b"",
            collation,
            max_len: TEXT_BYTES,
            kind: VAR_STRING,
            flags: 0,
            decimals: NOT_FIXED,
            default_value: DefaultValue::Absent,
        }
    }
}

/// Bytes of the fields after the names.
const FIXED_LEN: u64 = 12;

impl<'a> Codec<'a> for Column<'a> {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        let catalog = reader.lenenc_bytes("catalog")?;
        let schema = reader.lenenc_bytes("schema")?;
        let table = reader.lenenc_bytes("table")?;
        let org_table = reader.lenenc_bytes("original table")?;
        let name = reader.lenenc_bytes("column name")?;
        let org_name = reader.lenenc_bytes("original column name")?;
        let extended_type = if caps.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            reader.lenenc_bytes("extended type")?
        } else {
            &[]
        };
        match reader.lenenc("length of fixed fields")? {
            FIXED_LEN => {}
            value => return Err(WireError::Invalid { field: "length of fixed fields", value }),
        }
        let collation = reader.u16("column collation")?;
        let max_len = reader.u32("column length")?;
        let kind = reader.u8("column type")?;
        let flags = reader.u16("column flags")?;
        let decimals = reader.u8("column decimals")?;
        reader.u16("column filler")?;
        let default_value = if reader.is_empty() {
            DefaultValue::Absent
        } else {
            reader.cell("default value")?.map_or(DefaultValue::Null, DefaultValue::Text)
        };
        Ok(Self {
            catalog,
            schema,
            table,
            org_table,
            name,
            org_name,
            extended_type,
            collation,
            max_len,
            kind,
            flags,
            decimals,
            default_value,
        })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        for text in [self.catalog, self.schema, self.table, self.org_table, self.name, self.org_name] {
            put_lenenc_bytes(out, text);
        }
        if caps.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            put_lenenc_bytes(out, self.extended_type);
        }
        put_lenenc(out, FIXED_LEN);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.max_len.to_le_bytes());
        out.push(self.kind);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
        match self.default_value {
            DefaultValue::Absent => {}
            DefaultValue::Null => out.push(NULL),
            DefaultValue::Text(text) => put_lenenc_bytes(out, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{array::uniform7, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn round_trips(
            names in uniform7(any::<Vec<u8>>()),
            (collation, max_len, kind, flags, decimals) in any::<(u16, u32, u8, u16, u8)>(),
            default: Option<Option<Vec<u8>>>,
            extended: bool,
        ) {
            let [catalog, schema, table, org_table, name, org_name, extended_type] = &names;
            let column = Column {
                catalog,
                schema,
                table,
                org_table,
                name,
                org_name,
                extended_type: if extended { extended_type } else { &[] },
                collation,
                max_len,
                kind,
                flags,
                decimals,
                default_value: match &default {
                    None => DefaultValue::Absent,
                    Some(None) => DefaultValue::Null,
                    Some(Some(text)) => DefaultValue::Text(text),
                },
            };
            let mut caps = Capabilities::PROTOCOL_41;
            caps.set(Capabilities::MARIADB_EXTENDED_METADATA, extended);
            let bytes = column.encode(caps);
            prop_assert_eq!(Column::decode(&bytes, caps), Ok(column));
        }
    }

    /// From MariaDB 10.11, for `SELECT 1`.
    #[test]
    fn it_is_what_servers_send() {
        let bytes = b"\x03def\0\0\0\x011\0\x0c?\0\x01\0\0\0\x03\x81\0\0\0\0";
        let column = Column::decode(bytes, Capabilities::PROTOCOL_41).unwrap();
        assert_eq!((column.catalog, column.name), (&b"def"[..], &b"1"[..]));
        assert_eq!((column.collation, column.max_len, column.kind, column.flags), (63, 1, 3, 0x81));
        assert_eq!(column.default_value, DefaultValue::Absent);
        assert_eq!(column.encode(Capabilities::PROTOCOL_41), bytes);
        for len in 0..bytes.len() {
            assert!(Column::decode(&bytes[..len], Capabilities::PROTOCOL_41).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn other_fixed_fields_are_refused() {
        let bytes = b"\x03def\0\0\0\x011\0\x0d?\0\x01\0\0\0\x03\x81\0\0\0\0\0";
        assert_eq!(
            Column::decode(bytes, Capabilities::PROTOCOL_41),
            Err(WireError::Invalid { field: "length of fixed fields", value: 13 })
        );
    }
}

//! The first packet of a result: how many columns it has.

use crate::{
    Capabilities, Codec, WireError,
    codec::{Reader, put_lenenc},
};

/// The number of column definitions or, if they are left out, of columns.
///
/// Source: "Result Set Packets" of MariaDB, and `Protocol_classic::start_result_metadata` in
/// MySQL's server: both put the flag behind the count. (MySQL's page on text resultsets shows it in
/// front.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnCount {
    /// Columns of the result.
    pub count: u64,
    /// Whether the definitions follow. There is such a field only with
    /// [`Capabilities::OPTIONAL_RESULTSET_METADATA`] or [`Capabilities::MARIADB_CACHE_METADATA`];
    /// then, `None` is written as `true`.
    pub metadata_follows: Option<bool>,
}

/// The capabilities that bring the flag.
const WITH_FLAG: Capabilities =
    Capabilities::OPTIONAL_RESULTSET_METADATA.union(Capabilities::MARIADB_CACHE_METADATA);

impl<'a> Codec<'a> for ColumnCount {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        let count = reader.lenenc("column count")?;
        let metadata_follows = if caps.intersects(WITH_FLAG) { Some(flag(reader)?) } else { None };
        Ok(Self { count, metadata_follows })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        put_lenenc(out, self.count);
        if caps.intersects(WITH_FLAG) {
            out.push(u8::from(self.metadata_follows.unwrap_or(true)));
        }
    }
}

/// A byte that says whether metadata follows (`RESULTSET_METADATA_NONE`,
/// `RESULTSET_METADATA_FULL`).
pub(super) fn flag(reader: &mut Reader<'_>) -> Result<bool, WireError> {
    match reader.u8("metadata follows")? {
        0 => Ok(false),
        1 => Ok(true),
        byte => Err(WireError::Invalid { field: "metadata follows", value: byte.into() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MYSQL: Capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA;
    const MARIADB: Capabilities = Capabilities::MARIADB_CACHE_METADATA;

    proptest! {
        #[test]
        fn round_trips(count: u64, follows: bool) {
            for (caps, metadata_follows) in
                [(Capabilities::empty(), None), (MYSQL, Some(follows)), (MARIADB, Some(follows))]
            {
                let packet = ColumnCount { count, metadata_follows };
                let bytes = packet.encode(caps);
                prop_assert_eq!(ColumnCount::decode(&bytes, caps), Ok(packet));
            }
        }
    }

    #[test]
    fn the_flag_stands_behind_the_count() {
        let packet = ColumnCount { count: 3, metadata_follows: Some(false) };
        assert_eq!(packet.encode(MYSQL), [3, 0]);
        assert_eq!(packet.encode(MARIADB), [3, 0]);
        assert_eq!(packet.encode(Capabilities::empty()), [3]);
        assert_eq!(
            ColumnCount::decode(&[3, 2], MYSQL),
            Err(WireError::Invalid { field: "metadata follows", value: 2 })
        );
    }
}

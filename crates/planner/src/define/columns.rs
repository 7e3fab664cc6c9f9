//! How the columns of a table compare, and how rows merge by them.

use super::collation::Collations;
use super::table::{ColumnDefinition, TableDefinition};
use shard::ColumnType;

use crate::limits::LETTER_BYTES_MAX;
use crate::plan::{ColumnInfo, Sorting};

/// Bytes of a sort key that a server may need for itself, besides the value.
const SORT_BYTES_MARGIN: u64 = 4;

/// The columns of a logical table, from the definitions of some of its nodes. None if there is no
/// definition, or the nodes have other columns.
///
/// Columns come in the order of an INSERT without a list of columns; those that are invisible stand
/// behind the others. What nodes do not agree on is not known: such a column prunes nothing, and
/// rows do not merge by it.
pub fn columns(tables: &[&TableDefinition], collations: &Collations) -> Option<Vec<ColumnInfo>> {
    let (first, others) = tables.split_first()?;
    let mut known = of_table(first, collations);
    for other in others {
        let other = of_table(other, collations);
        if known.len() != other.len() {
            return None;
        }
        for (one, two) in known.iter_mut().zip(other) {
            if !one.info.name.eq_ignore_ascii_case(&two.info.name) {
                return None;
            }
            if one.info.compares != two.info.compares {
                one.info.compares = ColumnType::Unknown;
            }
            if (&one.info.sorts, one.weights) != (&two.info.sorts, two.weights) {
                one.info.sorts = Sorting::None;
            }
        }
    }
    Some(known.into_iter().map(|column| column.info).collect())
}

/// A column of one node.
struct Column {
    info: ColumnInfo,
    /// Checksum of the weights that it is merged by.
    weights: Option<u64>,
}

fn of_table(table: &TableDefinition, collations: &Collations) -> Vec<Column> {
    let (invisible, visible): (Vec<_>, Vec<_>) =
        table.columns.iter().partition(|column| column.is_invisible());
    let of = |column: &ColumnDefinition| {
        let (sorts, weights) = sorts(table, column, collations);
        Column { info: ColumnInfo { name: column.name.clone(), compares: compares(column), sorts }, weights }
    };
    visible.into_iter().chain(invisible).map(of).collect()
}

/// How values of a column compare with those of a statement.
fn compares(column: &ColumnDefinition) -> ColumnType {
    let integer = |bits: u32| {
        let max = u64::MAX >> (64 - bits);
        if column.is_unsigned() {
            return ColumnType::Integer { min: 0, max };
        }
        ColumnType::Integer { min: i64::MIN >> (64 - bits), max: max >> 1 }
    };
    match column.data_type.as_str() {
        "tinyint" => integer(8),
        "smallint" => integer(16),
        "mediumint" => integer(24),
        "int" => integer(32),
        "bigint" => integer(64),
        "date" => ColumnType::Date,
        "datetime" => ColumnType::DateTime { fraction_digits: fraction_digits(column) },
        "timestamp" => ColumnType::Timestamp,
        "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => bytes(column),
        "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => match &column.collation {
            Some(collation) if is_of_bytes(&collation.name) => bytes(column),
            _ => ColumnType::Text,
        },
        "char" => ColumnType::Text,
        _ => ColumnType::Other,
    }
}

fn bytes(column: &ColumnDefinition) -> ColumnType {
    let length = column.length.unwrap_or(0);
    ColumnType::Bytes { length_max: u32::try_from(length).unwrap_or(u32::MAX) }
}

/// Whether texts are equal under a collation exactly if their bytes are.
fn is_of_bytes(collation: &str) -> bool {
    collation == "binary" || collation.ends_with("_nopad_bin") || collation.ends_with("_0900_bin")
}

fn fraction_digits(column: &ColumnDefinition) -> u8 {
    column.arguments().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// How rows are merged by a column, and the checksum of the weights by which they are.
fn sorts(
    table: &TableDefinition,
    column: &ColumnDefinition,
    collations: &Collations,
) -> (Sorting, Option<u64>) {
    let sorting = match column.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "bit" | "year" | "date"
        | "datetime" | "time" => Sorting::Value,
        // With digits behind the point it is shown rounded.
        "double" if column.arguments().is_none() => Sorting::Value,
        "double" | "float" | "enum" | "set" => Sorting::Number,
        "timestamp" => Sorting::Instant,
        "binary" | "varbinary" | "tinyblob" | "blob" if is_sorted_whole(table, column) => Sorting::Value,
        "char" | "varchar" | "tinytext" | "text" => return by_weight(table, column, collations),
        // Longer texts, JSON, geometries, vectors; UUIDs and addresses, which sort as no text does.
        _ => Sorting::None,
    };
    (sorting, None)
}

/// Whether a server sorts by all of a text or binary string, if it pads nothing. MySQL does.
/// MariaDB does if all bytes are within `max_sort_length`; that holds for padded texts, too.
fn is_sorted_whole(table: &TableDefinition, column: &ColumnDefinition) -> bool {
    let fits = |octets: u64| octets.saturating_add(SORT_BYTES_MARGIN) <= table.sort_bytes_max.into();
    !table.is_of_mariadb() || column.octets.is_some_and(fits)
}

fn by_weight(
    table: &TableDefinition,
    column: &ColumnDefinition,
    collations: &Collations,
) -> (Sorting, Option<u64>) {
    let facts = column.collation.as_ref().and_then(|collation| collations.get(&table.version, collation));
    let Some(facts) = facts.filter(|facts| facts.sorts && is_sorted_whole(table, column)) else {
        return (Sorting::None, None);
    };
    let longest = column.length.unwrap_or(u64::MAX).saturating_mul(LETTER_BYTES_MAX);
    let sorting = match &facts.pad {
        // MariaDB sorts CHAR as if it were padded.
        None if table.is_of_mariadb() && column.data_type == "char" => return (Sorting::None, None),
        // MySQL sorts by the first bytes of weights.
        Some(pad) if !table.is_of_mariadb() && longest > table.sort_bytes_max.into() => {
            Sorting::WeightPrefix(pad.clone(), table.sort_bytes_max)
        }
        pad => Sorting::Weight(pad.clone()),
    };
    (sorting, Some(facts.weights))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{MARIADB, MYSQL, column, general, head, read, table};
    use super::*;

    fn compared(full_type: &str) -> ColumnType {
        let table = table(MYSQL, &[["c", full_type]], &[]);
        columns(&[&table], &Collations::default()).unwrap().remove(0).compares
    }

    fn sorted_at(version: &str, full_type: &str, text: Option<(&str, &str)>) -> Sorting {
        let table = read(&[&head(version), &column("1", "c", full_type, "", text)]);
        columns(&[&table], &general(version, "7")).unwrap().remove(0).sorts
    }

    fn sorted(full_type: &str, text: Option<(&str, &str)>) -> Sorting {
        sorted_at(MYSQL, full_type, text)
    }

    #[test]
    fn integers_have_the_range_of_their_type() {
        let integer = |min, max| ColumnType::Integer { min, max };
        assert_eq!(compared("tinyint(1)"), integer(-128, 127));
        assert_eq!(compared("smallint(5) unsigned zerofill"), integer(0, 65_535));
        assert_eq!(compared("mediumint"), integer(-8_388_608, 8_388_607));
        assert_eq!(compared("int unsigned"), integer(0, 4_294_967_295));
        assert_eq!(compared("bigint"), integer(i64::MIN, i64::MAX.cast_unsigned()));
        assert_eq!(compared("bigint(20) unsigned"), integer(0, u64::MAX));
    }

    #[test]
    fn other_types_compare_by_their_own_rules() {
        assert_eq!(compared("datetime(3)"), ColumnType::DateTime { fraction_digits: 3 });
        assert_eq!(compared("datetime"), ColumnType::DateTime { fraction_digits: 0 });
        assert_eq!(compared("timestamp"), ColumnType::Timestamp);
        for other in ["decimal(10,0)", "year", "bit(1)", "enum('a')", "json", "uuid", "binary(4)", "double"] {
            assert_eq!(compared(other), ColumnType::Other, "{other}");
        }
    }

    #[test]
    fn texts_are_bytes_under_collations_that_pad_nothing() {
        let compared = |full_type, collation| {
            let table = read(&[&head(MYSQL), &column("1", "c", full_type, "", Some((collation, "9")))]);
            columns(&[&table], &Collations::default()).unwrap().remove(0).compares
        };
        let bytes = ColumnType::Bytes { length_max: 9 };
        assert_eq!(compared("varchar(9)", "utf8mb4_0900_bin"), bytes);
        assert_eq!(compared("varchar(9)", "latin1_nopad_bin"), bytes);
        assert_eq!(compared("varbinary(9)", ""), bytes);
        assert_eq!(compared("varchar(9)", "utf8mb4_bin"), ColumnType::Text);
        assert_eq!(compared("char(9)", "utf8mb4_0900_bin"), ColumnType::Text);
    }

    #[test]
    fn rows_merge_by_values_numbers_instants_and_weights() {
        let general = |length| Some(("utf8mb4_general_ci", length));
        assert_eq!(sorted("decimal(10,2)", None), Sorting::Value);
        assert_eq!(sorted("double", None), Sorting::Value);
        assert_eq!(sorted("double(7,2)", None), Sorting::Number);
        assert_eq!(sorted("set('a','b')", general("3")), Sorting::Number);
        assert_eq!(sorted("timestamp(3)", None), Sorting::Instant);
        let pad = || b"\0 ".as_slice().into();
        assert_eq!(sorted("char(9)", general("9")), Sorting::Weight(Some(pad())));
        assert_eq!(sorted("varchar(25)", general("25")), Sorting::Weight(Some(pad())));
        assert_eq!(sorted("varchar(26)", general("26")), Sorting::WeightPrefix(pad(), 1_024));
        assert_eq!(sorted("text", general("65535")), Sorting::WeightPrefix(pad(), 1_024));
        for (full_type, text) in [
            ("varchar(9)", Some(("utf8mb4_other_ci", "9"))),
            ("mediumtext", general("16777215")),
            ("mediumblob", Some(("", "16777215"))),
            ("json", None),
            ("uuid", None),
            ("inet6", None),
            ("point", None),
        ] {
            assert_eq!(sorted(full_type, text), Sorting::None, "{full_type}");
        }
        assert_eq!(sorted("blob", Some(("", "65535"))), Sorting::Value);
    }

    #[test]
    fn mariadb_sorts_by_the_first_bytes_only() {
        let bytes = |length| Some(("", length));
        assert_eq!(sorted_at(MARIADB, "varbinary(1020)", bytes("1020")), Sorting::Value);
        assert_eq!(sorted_at(MARIADB, "varbinary(1021)", bytes("1021")), Sorting::None);
        let general = |length| Some(("utf8mb4_general_ci", length));
        assert!(matches!(sorted_at(MARIADB, "varchar(255)", general("1020")), Sorting::Weight(_)));
        assert_eq!(sorted_at(MARIADB, "varchar(256)", general("1024")), Sorting::None);
    }

    #[test]
    fn a_collation_that_does_not_sort_by_weights_merges_nothing() {
        let mut collations = Collations::default();
        let table =
            read(&[&head(MYSQL), &column("1", "c", "varchar(9)", "", Some(("latin7_general_ci", "9")))]);
        let asked = collations.unknown(&table);
        assert_eq!(asked.len(), 1);
        let row = ["0", "1", "0", "0", "11", "7"].map(|cell| Some(cell.as_bytes()));
        collations.read(MYSQL, &asked, &row).unwrap();
        assert_eq!(collations.unknown(&table), []);
        assert_eq!(columns(&[&table], &collations).unwrap().remove(0).sorts, Sorting::None);
    }

    #[test]
    fn texts_that_are_not_padded_merge_as_their_server_sorts_them() {
        let merges = |version, full_type| {
            let text = Some(("utf8mb4_nopad_bin", "25"));
            let table = read(&[&head(version), &column("1", "c", full_type, "", text)]);
            let mut collations = Collations::default();
            let asked = collations.unknown(&table);
            let row = ["0", "0", " ", "0", "0", "7"].map(|cell| Some(cell.as_bytes()));
            collations.read(version, &asked, &row).unwrap();
            columns(&[&table], &collations).unwrap().remove(0).sorts
        };
        assert_eq!(merges(MYSQL, "char(25)"), Sorting::Weight(None));
        assert_eq!(merges(MARIADB, "char(25)"), Sorting::None);
        assert_eq!(merges(MYSQL, "text"), Sorting::Weight(None));
        assert_eq!(merges(MARIADB, "varchar(25)"), Sorting::Weight(None));
    }

    #[test]
    fn nodes_have_to_agree() {
        let text = Some(("utf8mb4_general_ci", "9"));
        let on = |version| read(&[&head(version), &column("1", "c", "varchar(9)", "", text)]);
        let (one, other) = (on(MYSQL), on(MARIADB));
        let sorts = |weights| {
            let mut collations = general(MYSQL, "7");
            collations.merge(general(MARIADB, weights));
            columns(&[&one, &other], &collations).unwrap().remove(0).sorts
        };
        assert!(matches!(sorts("7"), Sorting::Weight(_)));
        assert_eq!(sorts("8"), Sorting::None);
        let number = table(MYSQL, &[["c", "int"]], &[]);
        let known = columns(&[&one, &number], &Collations::default()).unwrap().remove(0);
        assert_eq!((known.compares, known.sorts), (ColumnType::Unknown, Sorting::None));
        assert_eq!(columns(&[&one, &table(MYSQL, &[["d", "int"]], &[])], &Collations::default()), None);
        assert_eq!(columns(&[&one, &table(MYSQL, &[], &[])], &Collations::default()), None);
        assert_eq!(columns(&[], &Collations::default()), None);
    }

    #[test]
    fn invisible_columns_stand_behind_the_others() {
        let hidden = column("1", "a", "int", "INVISIBLE", None);
        let table = read(&[&head(MYSQL), &hidden, &column("2", "b", "int", "", None)]);
        let known = columns(&[&table], &Collations::default()).unwrap();
        assert_eq!(known.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    }
}

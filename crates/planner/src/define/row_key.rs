//! The unique key by which rows of a table can be named.

use super::table::{ColumnDefinition, Index, TableDefinition};
use crate::plan::{KeyColumn, Written};

/// The columns of a unique key whose values are never NULL, and how they are written: the primary
/// key, if its values can be written. None if there is no such key.
pub(super) fn row_key(table: &TableDefinition) -> Option<Vec<KeyColumn>> {
    let mut unique: Vec<&Index> = table.indexes.iter().filter(|index| index.is_unique).collect();
    unique.sort_by_key(|index| (index.name != "PRIMARY", index.parts.len()));
    unique.into_iter().find_map(|index| columns_of(table, index))
}

fn columns_of(table: &TableDefinition, index: &Index) -> Option<Vec<KeyColumn>> {
    let column_of = |part: &super::table::IndexPart| {
        let column = table.column(part.column.as_ref()?).filter(|_| part.prefix.is_none())?;
        let written = written(column).filter(|_| !column.is_nullable)?;
        Some(KeyColumn { name: column.name.clone(), written })
    };
    let columns: Option<Vec<_>> = index.parts.iter().map(column_of).collect();
    columns.filter(|columns| !columns.is_empty())
}

/// How the values of a column are written, if a constant equals them whatever they are.
fn written(column: &ColumnDefinition) -> Option<Written> {
    Some(match column.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" => Written::Number,
        "date" | "datetime" => Written::Moment,
        "binary" | "varbinary" => Written::Bytes,
        "char" | "varchar" => Written::Text(column.collation.as_ref()?.charset.clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::{MYSQL, table};
    use super::super::table::IndexPart;
    use super::*;

    fn with_indexes(indexes: &[(&str, &[&str])]) -> TableDefinition {
        let mut table =
            table(MYSQL, &[["id", "bigint(20)"], ["at", "datetime(3)"], ["x", "float"], ["n", "int"]], &[]);
        for column in &mut table.columns {
            column.is_nullable = column.name == "n";
        }
        let part = |name: &&str| IndexPart { column: Some((*name).to_owned()), prefix: None };
        table.indexes = indexes
            .iter()
            .map(|(name, parts)| Index {
                name: (*name).to_owned(),
                is_unique: *name != "plain",
                parts: parts.iter().map(part).collect(),
            })
            .collect();
        table
    }

    fn names(indexes: &[(&str, &[&str])]) -> Option<Vec<String>> {
        row_key(&with_indexes(indexes)).map(|key| key.into_iter().map(|column| column.name).collect())
    }

    #[test]
    fn the_primary_key_comes_first() {
        assert_eq!(
            names(&[("a", &["at"]), ("PRIMARY", &["at", "id"])]),
            Some(vec!["at".into(), "id".into()])
        );
        assert_eq!(names(&[("a", &["at", "id"]), ("b", &["id"])]), Some(vec!["id".into()]));
        // Values that no constant equals, NULLs, rows with equal values.
        assert_eq!(names(&[("PRIMARY", &["x"]), ("a", &["id"])]), Some(vec!["id".into()]));
        assert_eq!(names(&[("PRIMARY", &["x"]), ("a", &["n"]), ("plain", &["id"])]), None);
    }

    #[test]
    fn a_part_of_a_value_names_no_row() {
        let mut table = with_indexes(&[("PRIMARY", &["id"])]);
        table.indexes[0].parts[0].prefix = Some(3);
        assert_eq!(row_key(&table), None);
        table.indexes[0].parts[0] = IndexPart { column: None, prefix: None };
        assert_eq!(row_key(&table), None);
    }
}

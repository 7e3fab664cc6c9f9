//! Columns of all types.

use e2e::Backend;
use planner::define::columns;
use planner::plan::{ColumnInfo, Sorting};
use shard::ColumnType;

use crate::reading::{collations, connect, table};

/// Types that both servers have.
pub(crate) const TYPES: [&str; 49] = [
    "TINYINT",
    "BOOLEAN",
    "SMALLINT UNSIGNED ZEROFILL",
    "MEDIUMINT",
    "INT(5)",
    "BIGINT",
    "BIGINT UNSIGNED",
    "DECIMAL(20,5)",
    "NUMERIC UNSIGNED",
    "FLOAT",
    "FLOAT(7,3)",
    "DOUBLE",
    "DOUBLE(9,2)",
    "REAL UNSIGNED",
    "BIT",
    "BIT(9)",
    "YEAR",
    "DATE",
    "TIME",
    "TIME(6)",
    "DATETIME",
    "DATETIME(6)",
    "TIMESTAMP NULL",
    "TIMESTAMP(3) NULL",
    "CHAR(5) CHARACTER SET latin1",
    "CHAR(12) CHARACTER SET utf8mb4",
    "VARCHAR(20) CHARACTER SET utf8mb4",
    "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "NVARCHAR(12)",
    "BINARY",
    "BINARY(4)",
    "VARBINARY(12)",
    "VARBINARY(2000)",
    "TINYBLOB",
    "BLOB",
    "MEDIUMBLOB",
    "LONGBLOB",
    "TINYTEXT CHARACTER SET utf8mb4",
    "TEXT CHARACTER SET utf8mb4",
    "MEDIUMTEXT",
    "LONGTEXT",
    "VARCHAR(2000) CHARACTER SET latin1",
    "ENUM('b','a','10') CHARACTER SET utf8mb4",
    "SET('x','y','b') CHARACTER SET utf8mb4",
    "JSON",
    "GEOMETRY",
    "POINT",
    "DEC(65,30)",
    "FLOAT(40)",
];

/// Types of one server only, which rows do not merge by.
fn own(db: &Backend) -> &'static [&'static str] {
    if db.is_mysql() { &["VECTOR(3)"] } else { &["UUID", "INET4", "INET6"] }
}

/// Makes a table with a column `cN` of each type, and reads it.
pub(crate) async fn read(db: &Backend, name: &str, types: &[&str]) -> Vec<ColumnInfo> {
    let columns: Vec<_> = types.iter().enumerate().map(|(at, of)| format!("c{at} {of}")).collect();
    db.sql(&format!("CREATE TABLE test.{name} (id INT PRIMARY KEY, {})", columns.join(", ")));
    let mut client = connect(db).await;
    let found = table(&mut client, "test", name).await.unwrap();
    let known = collations(&mut client, &found).await;
    self::columns(&[&found], &known).unwrap()
}

pub(crate) async fn are_known(db: &Backend) {
    let types: Vec<_> = TYPES.iter().chain(own(db)).copied().collect();
    let known = read(db, "all_types", &types).await;
    let of = |name: &str| {
        let at = types.iter().position(|of| *of == name).unwrap();
        &known[at + 1]
    };
    let compares = |name: &str| of(name).compares;
    let integer = |min, max| ColumnType::Integer { min, max };
    assert_eq!(compares("TINYINT"), integer(-128, 127));
    assert_eq!(compares("BOOLEAN"), integer(-128, 127));
    assert_eq!(compares("SMALLINT UNSIGNED ZEROFILL"), integer(0, 65_535));
    assert_eq!(compares("BIGINT UNSIGNED"), integer(0, u64::MAX));
    assert_eq!(compares("DATE"), ColumnType::Date);
    assert_eq!(compares("DATETIME(6)"), ColumnType::DateTime { fraction_digits: 6 });
    assert_eq!(compares("TIMESTAMP NULL"), ColumnType::Timestamp);
    assert_eq!(compares("VARBINARY(12)"), ColumnType::Bytes { length_max: 12 });
    assert_eq!(compares("TINYBLOB"), ColumnType::Bytes { length_max: 255 });
    assert_eq!(compares("VARCHAR(20) CHARACTER SET utf8mb4"), ColumnType::Text);
    for other in ["YEAR", "BIT(9)", "DECIMAL(20,5)", "FLOAT", "BINARY(4)", "POINT", "TIME"] {
        assert_eq!(compares(other), ColumnType::Other, "{other}");
    }
    let sorts = |name: &str| &of(name).sorts;
    for name in ["FLOAT", "FLOAT(7,3)", "DOUBLE(9,2)", "ENUM('b','a','10') CHARACTER SET utf8mb4"] {
        assert_eq!(sorts(name), &Sorting::Number, "{name}");
    }
    for name in ["BIGINT", "DOUBLE", "FLOAT(40)", "DEC(65,30)", "BIT(9)", "YEAR", "TIME(6)", "BINARY(4)"] {
        assert_eq!(sorts(name), &Sorting::Value, "{name}");
    }
    assert_eq!(sorts("TIMESTAMP(3) NULL"), &Sorting::Instant);
    for name in ["CHAR(5) CHARACTER SET latin1", "VARCHAR(20) CHARACTER SET utf8mb4", "NVARCHAR(12)"] {
        assert!(is_by_weight(sorts(name)), "{name}");
    }
    let none = ["MEDIUMBLOB", "LONGTEXT", "JSON", "GEOMETRY"];
    for name in none.iter().chain(own(db)) {
        assert_eq!(sorts(name), &Sorting::None, "{name}");
    }
    // MySQL sorts by all bytes of what it does not pad.
    let long = if db.is_mysql() { Sorting::Value } else { Sorting::None };
    assert_eq!([sorts("VARBINARY(2000)"), sorts("BLOB")], [&long; 2]);
    assert_eq!(is_by_weight(sorts("TEXT CHARACTER SET utf8mb4")), db.is_mysql());
}

/// Whether rows merge by weights.
pub(crate) fn is_by_weight(sorting: &Sorting) -> bool {
    matches!(sorting, Sorting::Weight(_) | Sorting::WeightPrefix(..))
}

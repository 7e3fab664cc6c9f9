//! Definitions for tests.

use super::table::TableDefinition;
use super::{Collation, Collations, Reader};

/// Version of a MariaDB server.
pub(super) const MARIADB: &str = "10.11.19-MariaDB";

/// Version of a MySQL server.
pub(super) const MYSQL: &str = "9.7.4";

/// The first row of the answer about a table.
pub(super) fn head(version: &str) -> [Option<&str>; 5] {
    [Some("0"), Some("BASE TABLE"), Some("InnoDB"), Some(version), Some("1024")]
}

/// The row of a column: its position, name, type, `extra`, collation and length.
pub(super) fn column<'a>(
    position: &'a str,
    name: &'a str,
    full_type: &'a str,
    extra: &'a str,
    text: Option<(&'a str, &'a str)>,
) -> Vec<Option<&'a str>> {
    let data_type = full_type.split(['(', ' ']).next();
    let (collation, length) = text.unzip();
    let charset = collation.filter(|name| !name.is_empty()).and_then(|name| name.split('_').next());
    let collation = collation.filter(|name| !name.is_empty());
    let tail = [Some("YES"), None, Some(extra), None, charset, collation, length, length];
    [Some("1"), Some(position), Some(name), data_type, Some(full_type)].into_iter().chain(tail).collect()
}

/// Reads rows.
pub(super) fn read(rows: &[&[Option<&str>]]) -> TableDefinition {
    let mut reader = Reader::new();
    for row in rows {
        let row: Vec<_> = row.iter().map(|cell| cell.map(str::as_bytes)).collect();
        reader.row(&row).unwrap();
    }
    reader.finish().unwrap().unwrap()
}

/// A table with columns `NAME TYPE`, `id` with `AUTO_INCREMENT`, and rows beside them.
pub(super) fn table(version: &str, columns: &[[&str; 2]], others: &[&[Option<&str>]]) -> TableDefinition {
    let positions: Vec<_> = (1..=columns.len()).map(|number| number.to_string()).collect();
    let mut rows = vec![head(version).to_vec()];
    for ([name, full_type], position) in columns.iter().zip(&positions) {
        let extra = if *name == "id" { "auto_increment" } else { "" };
        rows.push(column(position, name, full_type, extra, None));
    }
    rows.extend(others.iter().map(|row| row.to_vec()));
    read(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// What a server says of `utf8mb4_general_ci`, with this checksum of weights.
pub(super) fn general(version: &str, weights: &str) -> Collations {
    let mut collations = Collations::default();
    let collation = Collation { name: "utf8mb4_general_ci".to_owned(), charset: "utf8mb4".to_owned() };
    let row = ["0", "1", "\0 ", "0", "0", weights].map(|cell| Some(cell.as_bytes()));
    collations.read(version, &[collation], &row).unwrap();
    collations
}

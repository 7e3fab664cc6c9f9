//! Collations, of which some do not sort by their weights.

use e2e::Backend;

use crate::types;

/// Collations of MariaDB that sort by their weights.
pub(crate) const MARIADB: [&str; 22] = [
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_bin",
    "utf8mb4_nopad_bin",
    "utf8mb4_general_nopad_ci",
    "utf8mb4_unicode_nopad_ci",
    "utf8mb4_uca1400_ai_ci",
    "utf8mb4_german2_ci",
    "utf8mb4_spanish_ci",
    "utf8mb4_swedish_ci",
    "utf8mb4_turkish_ci",
    "utf8mb3_general_ci",
    "latin1_swedish_ci",
    "latin1_german2_ci",
    "latin1_bin",
    "latin2_czech_cs",
    "ucs2_general_ci",
    "utf16_unicode_ci",
    "cp1251_general_ci",
    "gbk_chinese_ci",
    "sjis_japanese_ci",
];

/// The same of MySQL.
pub(crate) const MYSQL: [&str; 22] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_ja_0900_as_cs",
    "utf8mb4_de_pb_0900_ai_ci",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_bin",
    "utf8mb4_spanish_ci",
    "utf8mb4_turkish_ci",
    "utf8mb3_general_ci",
    "latin1_swedish_ci",
    "latin1_german2_ci",
    "latin1_bin",
    "latin2_czech_cs",
    "ucs2_general_ci",
    "utf16_unicode_ci",
    "cp1251_general_ci",
    "gbk_chinese_ci",
    "sjis_japanese_ci",
];

/// Collations that do not.
const OTHERS_OF_MARIADB: [&str; 5] = [
    "big5_chinese_ci",
    "cp1250_czech_cs",
    "latin7_general_ci",
    "utf8mb4_uca1400_as_cs",
    "utf8mb4_uca1400_nopad_ai_cs",
];

/// The same of MySQL.
const OTHERS_OF_MYSQL: [&str; 6] = [
    "big5_chinese_ci",
    "cp1250_czech_cs",
    "gb18030_chinese_ci",
    "latin7_estonian_cs",
    "latin7_general_ci",
    "latin7_general_cs",
];

/// Columns of a type under collations.
pub(crate) fn columns(of: &str, collations: &[&str]) -> Vec<String> {
    let column = |name: &&str| {
        let charset = name.split('_').next().unwrap_or(name);
        format!("{of} CHARACTER SET {charset} COLLATE {name}")
    };
    collations.iter().map(column).collect()
}

pub(crate) async fn are_tried(db: &Backend) {
    let (right, others): (&[&str], &[&str]) =
        if db.is_mysql() { (&MYSQL, &OTHERS_OF_MYSQL) } else { (&MARIADB, &OTHERS_OF_MARIADB) };
    for (table, collations, sort) in [("sorting", right, true), ("not_sorting", others, false)] {
        let columns = columns("VARCHAR(20)", collations);
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        let known = types::read(db, table, &columns).await;
        for (name, column) in collations.iter().zip(&known[1..]) {
            assert_eq!(types::is_by_weight(&column.sorts), sort, "{name}: {:?}", column.sorts);
        }
    }
}

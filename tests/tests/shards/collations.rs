//! Collations of the columns, and how their weights are padded.

use e2e::{Backend, Make};
use planner::plan::Sorting;

/// Collation of a column.
#[derive(Debug, Clone)]
pub(crate) struct Collation {
    pub(crate) name: &'static str,
    pub(crate) character_set: &'static str,
    /// Whether the character set has all characters.
    pub(crate) is_unicode: bool,
    /// Whether it compares bytes and pads nothing.
    pub(crate) compares_bytes: bool,
    /// How shards' rows are merged by it.
    pub(crate) sorting: Sorting,
}

const OF_MARIADB: [&str; 24] = [
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_bin",
    "utf8mb4_nopad_bin",
    "utf8mb4_general_nopad_ci",
    "utf8mb4_unicode_nopad_ci",
    "utf8mb4_german2_ci",
    "utf8mb4_spanish_ci",
    "utf8mb4_czech_ci",
    "utf8mb4_swedish_ci",
    "utf8mb4_turkish_ci",
    "utf8mb3_general_ci",
    "utf8mb3_unicode_ci",
    "latin1_swedish_ci",
    "latin1_german1_ci",
    "latin1_general_cs",
    "latin1_bin",
    "ucs2_general_ci",
    "utf16_unicode_ci",
    "utf32_bin",
    "cp1251_general_ci",
    "gbk_chinese_ci",
    "sjis_japanese_ci",
];

const OF_MYSQL: [&str; 24] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_ja_0900_as_cs",
    "utf8mb4_de_pb_0900_ai_ci",
    "utf8mb4_sv_0900_ai_ci",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_bin",
    "utf8mb4_spanish_ci",
    "utf8mb4_turkish_ci",
    "utf8mb3_general_ci",
    "latin1_swedish_ci",
    "latin1_german1_ci",
    "latin1_general_cs",
    "latin1_bin",
    "ucs2_general_ci",
    "utf16_unicode_ci",
    "utf32_bin",
    "cp1251_general_ci",
    "gbk_chinese_ci",
    "sjis_japanese_ci",
];

/// Collations that compare bytes and pad nothing.
const BYTES: [&str; 2] = ["utf8mb4_nopad_bin", "utf8mb4_0900_bin"];

/// The collations of a server.
pub(crate) fn of(backend: &Backend) -> Vec<Collation> {
    let names = if backend.make == Make::MySql { OF_MYSQL } else { OF_MARIADB };
    names.into_iter().map(|name| collation(backend, name)).collect()
}

fn collation(backend: &Backend, name: &'static str) -> Collation {
    let character_set = name.split('_').next().unwrap_or(name);
    let pads = !(name.contains("nopad") || name.contains("0900"));
    let space = || {
        let sql = format!("SELECT HEX(WEIGHT_STRING(CONVERT(' ' USING {character_set}) COLLATE {name}))");
        from_hex(backend.sql(&sql).trim())
    };
    Collation {
        name,
        character_set,
        is_unicode: character_set.starts_with("utf") || character_set == "ucs2",
        compares_bytes: BYTES.contains(&name),
        sorting: Sorting::Weight(pads.then(|| space().into_boxed_slice())),
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| pair.iter().fold(0, |byte, next| byte << 4 | digit(next).unwrap_or_default());
    text.as_bytes().chunks(2).map(byte).collect()
}
